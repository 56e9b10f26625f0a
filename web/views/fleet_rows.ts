import type { InstanceSummary } from "@vessel/gateway/client";

/** State of a boat in a fleet, the worst first. */
export const FLEET_STATES = ["missing", "away", "behind", "live"] as const;
export type FleetState = (typeof FLEET_STATES)[number];

/** What the states mean, for people. */
export const FLEET_STATE_TEXTS: Readonly<Record<FleetState, string>> = {
  missing: "connected, frames missing",
  away: "not connected",
  behind: "catching up",
  live: "live",
};

/** A row of the fleet. */
export interface FleetRow {
  id: string;
  state: FleetState;
  /** Frames that the boat has and the cloud does not. */
  lag: number;
  /** Frames in holes. */
  missing: number;
  /** Ranges of missing frames. */
  holes: number;
  /** Milliseconds since 1970; undefined: never. */
  lastSeenMs: number | undefined;
}

/** Frames behind that are usual while frames are on their way: some seconds of a busy bus. */
const USUAL_LAG = 2000;

/** What the table shows of a boat. */
export function rowOf({ id, connected, holes, lag_seqs: lag, last_seen, frames }: InstanceSummary): FleetRow {
  const missing = frames?.missing ?? holes.reduce((sum, { start, end }) => sum + end - start, 0);
  const state = !connected ? "away" : missing > 0 ? "missing" : lag > USUAL_LAG ? "behind" : "live";
  return { id, state, lag, missing, holes: holes.length, lastSeenMs: last_seen ? Date.parse(last_seen) : undefined };
}

/** The boats whose id contains a text, those that need somebody first, then by id. */
export function sortedRows(rows: readonly FleetRow[], text: string): FleetRow[] {
  const wanted = text.trim().toLowerCase();
  return rows.filter(({ id }) => id.toLowerCase().includes(wanted)).sort((a, b) =>
    FLEET_STATES.indexOf(a.state) - FLEET_STATES.indexOf(b.state) || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0)
  );
}

/** Number of boats in each state. */
export function countStates(rows: readonly FleetRow[]): Record<FleetState, number> {
  const counts = { missing: 0, away: 0, behind: 0, live: 0 };
  for (const { state } of rows) counts[state]++;
  return counts;
}

/** Age as people say it: `12 s`, `5 min`, `3 h`, `2 d`. */
export function ageText(ageMs: number): string {
  const seconds = Math.max(0, Math.round(ageMs / 1000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 2 * 86_400) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86_400)} d`;
}

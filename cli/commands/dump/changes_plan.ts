/** Which fields of a PGN's payload count as a change, from its definitions. */
import {
  describePgn,
  type FieldDescription,
  type ItemDescription,
  type LayoutDescription,
  type MatchDescription,
  type PgnDescription,
} from "@vessel/gateway/pgn";

/** A part of a decoded payload whose change counts. */
export interface WatchedItem {
  name: string;
  /** A change of a number counts only beyond this, in the field's unit; 0: every change. */
  tolerance: number;
  /** Modulus of circular numbers: one turn, in the field's unit. */
  turn?: number;
  /** For a list of objects: what counts in each. */
  fields?: readonly WatchedItem[];
}

/** What counts in one layout of a PGN. */
export interface LayoutPlan {
  /** Its name among the layouts of the PGN. */
  id: string;
  /** Fields that identify one of several things that a device reports with the same PGN. */
  keys: readonly string[];
  items: readonly WatchedItem[];
  /** Fields that change by themselves. */
  running: readonly string[];
  /** Only partly known (reverse-engineered): a change of other bits may be meaningful, too. */
  isPartlyKnown: boolean;
}

/** What counts in a PGN. */
export interface PgnPlan {
  /** Milliseconds between two messages, if the standard defines it. */
  intervalMs?: number;
  /** The layout of a payload. */
  layoutOf(payload: Uint8Array): LayoutPlan | undefined;
}

/** Names of identifying fields: instance, sensor, reference, vessel, register, alert. */
const KEY =
  /^(?:(?:.+_)?instance|(?:.+_)?(?:source|reference)|user_id|source_id|connection_number|connection_id|windlass_id|alert_id|zone_index|fluid_type|register|key)$/;
/** Types of such fields: a code or a number, not a text or a measured value. */
const KEY_TYPES: ReadonlySet<string> = new Set(["number", "enum", "lookup", "key", "hex", "indirect"]);

/**
 * Fields that change by themselves and carry no information: message counters, and for AIS when and on which
 * channel a message was received.
 */
const RUNNING: ReadonlySet<string> = new Set([
  ...["sid", "next_sid", "sequence_id", "sequence_counter", "sequence"],
  ...["time_stamp", "communication_state", "ais_comm_state", "ais_communication_state", "ais_transceiver_info"],
  ...["ais_transceiver_information", "repeat_indicator"],
]);

/** Default tolerances by unit, for fields whose definitions give none. */
const TOLERANCES: Readonly<Record<string, number>> = {
  rad: 0.01,
  "rad/s": 0.005,
  "m/s": 0.1,
  K: 0.1,
  Pa: 100,
  V: 0.1,
  A: 0.5,
  Hz: 0.05,
  W: 10,
  VA: 10,
  VAR: 10,
  "Cos Phi": 0.02,
  rpm: 20,
  deg: 0.00001,
};

const TURNS: Readonly<Record<string, number>> = { rad: 2 * Math.PI, deg: 360 };

const plans = new Map<number, PgnPlan>();

/** What counts in a PGN; undefined without a definition. */
export function planOf(pgn: number): PgnPlan | undefined {
  let plan = plans.get(pgn);
  if (plan === undefined) {
    const description = describePgn(pgn);
    if (description !== undefined) plans.set(pgn, plan = makePlan(description));
  }
  return plan;
}

function makePlan({ interval_ms, layouts }: PgnDescription): PgnPlan {
  const made = layouts.map((layout) => ({ matches: layout.matches ?? [], plan: planOfLayout(layout) }));
  return {
    ...(interval_ms !== undefined && { intervalMs: interval_ms }),
    layoutOf: (payload) => made.find(({ matches }) => matches.every((match) => holds(match, payload)))?.plan,
  };
}

/** Whether the match bits of a layout (within four bytes) have its value; bits beyond the payload's end are ones. */
function holds({ bit, bits, value }: MatchDescription, payload: Uint8Array): boolean {
  const at = bit >>> 3;
  let found = 0;
  for (let index = 0; index < 4; index++) found |= (payload[at + index] ?? 0xff) << (8 * index);
  return (found << (32 - bits - (bit & 7))) >>> (32 - bits) === value;
}

function planOfLayout({ id, fields, complete, matches }: LayoutDescription): LayoutPlan {
  const keys = new Set(fields.filter(isKey).map(({ name }) => name));
  const measured = fields.some(isMeasured);
  const isRunning = (item: ItemDescription) => RUNNING.has(item.name) || (measured && isClock(item));
  return {
    id,
    keys: [...keys],
    items: fields.filter((item) => !keys.has(item.name) && !isRunning(item)).map(watched),
    running: fields.filter(isRunning).map(({ name }) => name),
    isPartlyKnown: matches !== undefined && !complete && !measured,
  };
}

function isKey(item: ItemDescription): boolean {
  return item.type !== "group" && KEY_TYPES.has(item.type) && item.unit === undefined && KEY.test(item.name);
}

/** True when it holds a number that has a tolerance. */
function isMeasured(item: ItemDescription): boolean {
  return item.type === "group" ? item.fields.some(isMeasured) : toleranceOf(item) > 0;
}

/** A date or a time beside measured values: it advances while nothing changes. */
function isClock(item: ItemDescription): boolean {
  if (item.type === "group" || toleranceOf(item) > 0) return false;
  return item.type === "date" || item.type === "time" || item.unit === "s" || item.unit === "d";
}

function watched(item: ItemDescription): WatchedItem {
  if (item.type !== "group") return watchedField(item);
  return { name: item.name, tolerance: 0, fields: item.fields.map(watchedField) };
}

function watchedField(field: FieldDescription): WatchedItem {
  const turn = TURNS[field.unit ?? ""];
  return { name: field.name, tolerance: toleranceOf(field), ...(turn !== undefined && { turn }) };
}

function toleranceOf({ tolerance, unit = "" }: FieldDescription): number {
  return tolerance ?? TOLERANCES[unit] ?? 0;
}

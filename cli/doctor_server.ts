import type { BoatHealth } from "@vessel/gateway";
import { errorText } from "@vessel/gateway/settings";
import type { ChosenServer } from "./boat_choice.ts";
import type { Finding, FindingState } from "./doctor_finding.ts";
import { advised } from "./server_advice.ts";

const STATES: Readonly<Record<string, FindingState>> = { ok: "ok", degraded: "warn", unhealthy: "fail" };

/** How the server was asked for. */
export interface ServerQuestion {
  choose: () => Promise<ChosenServer>;
  timeoutMs: number;
}

/** Looks whether the server answers, and how it says that its parts are. */
export async function checkServer({ choose, timeoutMs }: ServerQuestion): Promise<Finding[]> {
  const name = "server";
  try {
    const server = await choose();
    const health = await server.client.health({ signal: AbortSignal.timeout(timeoutMs) });
    return [{ name, state: "ok", text: `${server.place()} answers` }, ...judgeHealth(health)];
  } catch (error) {
    const isLate = error instanceof DOMException && error.name === "TimeoutError";
    const text = isLate ? `no answer within ${timeoutMs / 1000} s` : errorText(advised(error));
    return [{ name, state: "fail", text }];
  }
}

/** What a server says of its parts. A cloud says less. */
export function judgeHealth(health: Pick<BoatHealth, "status"> & Partial<BoatHealth>): Finding[] {
  const { status, components = {}, last_frame_at, broker } = health;
  const parts = Object.entries(components).map(([part, { status, message }]): Finding => ({
    name: `server: ${part}`,
    state: STATES[status] ?? "warn",
    text: message ?? status,
  }));
  const frames = broker === undefined
    ? []
    : [`${broker.device_count} devices, newest frame ${last_frame_at ?? "never"}`];
  return [{ name: "server's health", state: STATES[status] ?? "warn", text: [status, ...frames].join("; ") }, ...parts];
}

import type { BoatHealth } from "@vessel/gateway";
import { errorText } from "@vessel/gateway/base";
import type { InstanceStatus } from "@vessel/gateway/client";
import type { ChosenServer } from "../../client/boat_choice.ts";
import { advised } from "../../client/server_advice.ts";
import type { Finding, FindingState } from "./machine.ts";

const STATES: Readonly<Record<string, FindingState>> = { ok: "ok", degraded: "warn", unhealthy: "fail" };

/** How the user chose the server. */
export interface ServerQuestion {
  choose: () => Promise<ChosenServer>;
  timeoutMs: number;
}

/** Checks that the server answers, and reports the health of its parts. */
export async function checkServer({ choose, timeoutMs }: ServerQuestion): Promise<Finding[]> {
  const name = "server";
  try {
    const server = await choose();
    const signal = AbortSignal.timeout(timeoutMs);
    const { url, root } = server.address();
    const findings = url === root
      ? evaluateHealth(await server.client.health({ signal }))
      : await checkBoatInCloud(server, signal);
    return [{ name, state: "ok", text: `${server.serverText()} answers` }, ...findings];
  } catch (error) {
    const isLate = error instanceof DOMException && error.name === "TimeoutError";
    const text = isLate ? `no answer within ${timeoutMs / 1000} s` : errorText(advised(error));
    return [{ name, state: "fail", text }];
  }
}

/** A cloud does not report a boat's own health: its own counts, and what it knows of the boat's replication. */
async function checkBoatInCloud({ cloud }: ChosenServer, signal: AbortSignal): Promise<Finding[]> {
  const { client, id } = cloud();
  const status = await client.status(id, { signal });
  return [...evaluateHealth(await client.health({ signal })), ...evaluateBoat(status)];
}

/** State of a boat's replication at its cloud. */
export function evaluateBoat(boat: InstanceStatus): Finding[] {
  const { id, connected, last_seen, lag_seqs, recording, storage } = boat;
  const name = `boat ${id}`;
  const lag = lag_seqs === 0 ? "all frames are here" : `${lag_seqs} frames behind the boat`;
  const findings: Finding[] = [{
    name,
    state: connected ? "ok" : "warn",
    text: `${connected ? "connected" : `not connected, last seen ${last_seen ?? "never"}`}; ${lag}`,
  }];
  // Other cloud implementations do not report these.
  if (recording?.state === "failing") {
    findings.push({ name: `${name}: recording`, state: "fail", text: recording.reason ?? "failing" });
  }
  if (storage?.state === "damaged") {
    const spans = storage.missing.length;
    const text = `${spans} ${spans === 1 ? "range" : "ranges"} of frames are missing on the cloud's disk`;
    findings.push({ name: `${name}: storage`, state: "fail", text });
  }
  return findings;
}

/** Health of the server's parts. A cloud reports fewer. */
export function evaluateHealth(health: Pick<BoatHealth, "status"> & Partial<BoatHealth>): Finding[] {
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

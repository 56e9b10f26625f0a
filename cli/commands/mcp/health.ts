import type { BoatHealth, ComponentHealth, InstanceStatus, Proof } from "@vessel/gateway/client";
import type { Answer } from "./answer.ts";
import type { Boat } from "./tool.ts";

/** Answer of `health`. */
export async function healthAnswer(boat: Boat): Promise<Answer> {
  const { client, signal } = boat;
  const lines = isInCloud(boat) ? cloudLines(boat) : client.health({ signal }).then(boatLines);
  const [items, proof] = await Promise.all([lines, client.proof({ signal })]);
  return {
    head: `Health of ${boat.serverText()}; counts of frames as of ${
      proof.as_of ?? "no time: nothing was received yet"
    }`,
    items: [...items, framesLine(proof)],
    narrow: "the routes /healthz and /proof of the server have all",
  };
}

/** Whether a cloud answers for the boat. */
export function isInCloud({ address }: Boat): boolean {
  const { url, root } = address();
  return url !== root;
}

function boatLines({ status, broker, last_frame_at, components, replication }: BoatHealth): string[] {
  return [
    `server: ${status}, ${broker.device_count} devices, newest frame ${last_frame_at ?? "never"}`,
    ...componentLines(components),
    ...replication
      ? [
        `replication: ${
          replication.connected ? "connected" : "not connected"
        }, ${replication.live_lag} frames not sent ` +
        `live yet, ${replication.backfill_remaining_seqs} older ones to send, last acknowledged ` +
        `${replication.last_ack ?? "never"}`,
      ]
      : [],
  ];
}

/** A cloud does not report a boat's own health: its own, and what it knows of the boat. */
async function cloudLines({ cloud, signal }: Boat): Promise<string[]> {
  const { client, id } = cloud();
  const [health, boat] = await Promise.all([client.health({ signal }), client.status(id, { signal })]);
  return [`cloud: ${health.status}`, ...componentLines(health.components), ...instanceLines(boat)];
}

function instanceLines({ connected, last_seen, lag_seqs, recording, storage }: InstanceStatus): string[] {
  const seen = `last message ${last_seen ?? "never"}`;
  return [
    `boat: ${connected ? "connected" : "not connected"}, ${seen}, ${lag_seqs} frames behind the boat`,
    `recording: ${recording.state}${recording.reason === undefined ? "" : `, ${recording.reason}`}`,
    `storage: ${storage.state}, checked ${storage.checked_at ?? "never"}`,
  ];
}

function componentLines(components: Readonly<Record<string, ComponentHealth>>): string[] {
  return Object.entries(components).map(([name, { status, message }]) =>
    `${name}: ${status}${message === undefined ? "" : `, ${message}`}`
  );
}

/** How many frames are where. */
export function framesLine({ seen, recorded, in_cloud, on_the_way, missing, earlier, unclear }: Proof): string {
  const sum = (each: Proof["missing"]) => each.reduce((total, { count }) => total + count, 0);
  const onDisk = recorded === null
    ? "not recorded or not known here"
    : `${recorded} on the boat's disk (${on_the_way.journal} more on the way)`;
  const inCloud = in_cloud === null
    ? "not replicated"
    : `${in_cloud} in the cloud (${on_the_way.cloud} more on the way)`;
  const gone = `${sum(missing)} missing, ${sum(earlier ?? [])} of earlier runs`;
  const perhaps = sum(unclear) > 0 ? `, at most ${sum(unclear)} more unclear` : "";
  return `frames: ${seen} received, ${onDisk}, ${inCloud}; ${gone}${perhaps}`;
}

import { apiText, described, named } from "./api_text.ts";
import { z } from "zod";
import type { ReplicationStatus } from "../replication/mod.ts";
import { noQuery } from "./params.ts";
import { ApiError, json } from "./reply.ts";
import { type Route, route } from "./routes.ts";
import { PROBLEM } from "./schemas.ts";

const seq = z.int().nonnegative();
const range = z.object({ start: seq, end: described(seq, "Exclusive") });
const time = z.iso.datetime();

const replicationSchema = named("ReplicationStatus", {
  connected: z.boolean(),
  instance_id: z.string(),
  local_head_seq: seq,
  cloud_cursor: described(seq, "The cloud has every frame up to and including this number"),
  holes: described(z.array(range), "Frames that the cloud misses and the boat can still send"),
  live_lag: described(seq, "Frames not yet sent live"),
  backfill_remaining_seqs: described(seq, "Frames still to be sent as blocks"),
  last_ack: time.nullable(),
  state: z.enum(["disconnected", "handshaking", "connected", "reconnecting"]),
  reason: described(z.string().optional(), "Why there is no connection"),
  next_try: time.optional(),
  cloud_durable_seq: described(
    seq.nullable(),
    "Every frame up to and including this number is on the cloud's disk; null: not reported yet",
  ),
  cloud_stored_seq: described(
    seq.nullable().optional(),
    "Every frame up to and including this number is in the cloud's store; without a store, on its disk; null: not reported",
  ),
  lost: described(z.array(range.extend({ reason: z.string() })), "Frames that the boat can no longer send"),
  former_epochs: z.array(z.object({
    epoch: z.string(),
    head_seq: seq,
    oldest_seq: seq,
    holes: described(z.array(range).nullable(), "Frames that the cloud misses; null: not reported yet"),
    lost: z.array(range.extend({ reason: z.string() })),
    refused: described(z.string().optional(), "Why the cloud refuses the frames of this epoch"),
  })).optional().clone().register(apiText, { description: "Earlier epochs with frames that the cloud does not have" }),
  live_frames_sent: seq,
  backfill_blocks_sent: seq,
  backfill_bytes_sent: seq,
  reconnects: seq,
  lag_reconnects: seq,
});

/** `/replication/status`; 404 without replication. */
export function replicationRoute(replication: { status(): ReplicationStatus } | undefined): Route {
  return route({
    path: "/replication/status",
    summary: "Status of replication to the cloud",
    query: noQuery,
    replies: { 200: ["application/json", replicationSchema], 404: PROBLEM },
    answer: () => {
      if (!replication) throw new ApiError(404, "Replication is off: see -replication-target");
      return json(replication.status());
    },
  });
}

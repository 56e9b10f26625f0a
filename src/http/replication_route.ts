import { apiText } from "./api_text.ts";
import { z } from "zod";
import type { ReplicationStatus } from "../replication/mod.ts";
import { noQuery } from "./params.ts";
import { ApiError, json } from "./reply.ts";
import { type Route, route } from "./routes.ts";
import { PROBLEM } from "./schemas.ts";

const seq = z.int().nonnegative();
const range = z.object({ start: seq, end: seq.clone().register(apiText, { description: "Exclusive" }) });
const time = z.iso.datetime();

/** How a boat's replication does. */
const replicationSchema = z.object({
  connected: z.boolean(),
  instance_id: z.string(),
  local_head_seq: seq,
  cloud_cursor: seq.clone().register(apiText, { description: "The cloud holds everything up to and with this number" }),
  holes: z.array(range).clone().register(apiText, { description: "What the cloud misses and the boat can send" }),
  live_lag: seq.clone().register(apiText, { description: "Frames that are not sent live yet" }),
  backfill_remaining_seqs: seq.clone().register(apiText, { description: "Frames to be sent as blocks" }),
  last_ack: time.nullable(),
  state: z.enum(["disconnected", "handshaking", "connected", "reconnecting"]),
  reason: z.string().optional().clone().register(apiText, { description: "Why there is no connection" }),
  next_try: time.optional(),
  cloud_durable_seq: seq.nullable().clone().register(apiText, {
    description: "Everything up to and with this number is on the cloud's disk; null: the cloud has not said what is",
  }),
  lost: z.array(range.extend({ reason: z.string() })).clone().register(apiText, {
    description: "What the boat cannot send any more",
  }),
  former_epochs: z.array(z.object({
    epoch: z.string(),
    head_seq: seq,
    oldest_seq: seq,
    holes: z.array(range).nullable().clone().register(apiText, {
      description: "What the cloud misses; null: it has not said yet",
    }),
    lost: z.array(range.extend({ reason: z.string() })),
    refused: z.string().optional().clone().register(apiText, { description: "Why the cloud takes nothing of it" }),
  })).optional().clone().register(apiText, {
    description: "Epochs before this one of which something is not in the cloud",
  }),
  live_frames_sent: seq,
  backfill_blocks_sent: seq,
  backfill_bytes_sent: seq,
  reconnects: seq,
  lag_reconnects: seq,
}).clone().register(apiText, { refId: "ReplicationStatus" });

/** `/replication/status`; without replication it says so. */
export function replicationRoute(replication: { status(): ReplicationStatus } | undefined): Route {
  return route({
    path: "/replication/status",
    summary: "How replication to the cloud does",
    query: noQuery,
    replies: { 200: ["application/json", replicationSchema], 404: PROBLEM },
    answer: () => {
      if (!replication) throw new ApiError(404, "Nothing is replicated: no -replication-target is set");
      return json(replication.status());
    },
  });
}

import { z } from "@hono/zod-openapi";
import type { ReplicationStatus } from "../replication/mod.ts";
import { noQuery } from "./params.ts";
import { ApiError, json } from "./reply.ts";
import { type Route, route } from "./routes.ts";
import { PROBLEM } from "./schemas.ts";

const seq = z.int().nonnegative();
const range = z.object({ start: seq, end: seq.openapi({ description: "Exclusive" }) });
const time = z.iso.datetime();

/** How a boat's replication does. */
const replicationSchema = z.object({
  connected: z.boolean(),
  instance_id: z.string(),
  local_head_seq: seq,
  cloud_cursor: seq.openapi({ description: "The cloud holds everything up to and with this number" }),
  holes: z.array(range).openapi({ description: "What the cloud misses and the boat can send" }),
  live_lag: seq.openapi({ description: "Frames that are not sent live yet" }),
  backfill_remaining_seqs: seq.openapi({ description: "Frames to be sent as blocks" }),
  last_ack: time.nullable(),
  state: z.enum(["disconnected", "handshaking", "connected", "reconnecting"]),
  reason: z.string().optional().openapi({ description: "Why there is no connection" }),
  next_try: time.optional(),
  cloud_durable_seq: seq.nullable().openapi({
    description: "Everything up to and with this number is on the cloud's disk; null: the cloud has not said what is",
  }),
  lost: z.array(range.extend({ reason: z.string() })).openapi({ description: "What the boat cannot send any more" }),
  former_epochs: z.array(z.object({
    epoch: z.string(),
    head_seq: seq,
    oldest_seq: seq,
    holes: z.array(range).nullable().openapi({ description: "What the cloud misses; null: it has not said yet" }),
    lost: z.array(range.extend({ reason: z.string() })),
    refused: z.string().optional().openapi({ description: "Why the cloud takes nothing of it" }),
  })).optional().openapi({ description: "Epochs before this one of which something is not in the cloud" }),
  live_frames_sent: seq,
  backfill_blocks_sent: seq,
  backfill_bytes_sent: seq,
  reconnects: seq,
  lag_reconnects: seq,
}).openapi("ReplicationStatus");

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

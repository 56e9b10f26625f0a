import { apiText } from "../api_text.ts";
import { z } from "zod";
import type { InstanceSummary } from "../../cloud/mod.ts";
import { formatTimeUs } from "../../frame/mod.ts";
import { statusSchema } from "../schemas.ts";

const count = z.int().min(0);
const time = z.string().clone().register(apiText, { format: "date-time" });
const range = { start: count, end: count.clone().register(apiText, { description: "The first number behind it" }) };

const summaryShape = {
  id: z.string(),
  connected: z.boolean(),
  cursor: count.clone().register(apiText, {
    description: "Every number up to and with this one is here, or cannot be had",
  }),
  boat_head_seq: count.clone().register(apiText, { description: "Newest number of the boat, as far as it has told" }),
  holes: z.array(z.object(range)).clone().register(apiText, { description: "Numbers that are still to come" }),
  lag_seqs: count.clone().register(apiText, { description: "Frames that the cursor is behind the boat" }),
  last_seen: time.nullable().clone().register(apiText, { description: "When anything last came from the boat" }),
};

/** A boat in the list of all. */
export const instanceSchema = z.object(summaryShape).clone().register(apiText, { refId: "Instance" });

/** `GET /instances`. */
export const instancesSchema = z.object({ instances: z.array(instanceSchema) });

/** A boat with all that is known of its replication. */
export const instanceStatusSchema = z.object({
  ...summaryShape,
  boat_journal_bytes: count,
  epoch: z.string().nullable().clone().register(apiText, {
    description: "Run of numbers, hex; null before the first handshake",
  }),
  ack_seq: count.clone().register(apiText, {
    description:
      "Every number up to and with this one is safe on disk, or cannot be had; less than before when files are gone",
  }),
  received_through: count.clone().register(apiText, { description: "Highest number that came live" }),
  lost: z.array(z.object({ ...range, reason: z.string() })).clone().register(apiText, {
    description: "Frames that the boat cannot send any more, and why",
  }),
  former_epochs: z.array(z.object({
    epoch: z.string(),
    boat_head_seq: count,
    holes: z.array(z.object(range)),
    lost: z.array(z.object({ ...range, reason: z.string() })),
    refused: z.string().optional().clone().register(apiText, { description: "Why nothing of it is taken" }),
  })).clone().register(apiText, { description: "Epochs before this one of which something is missing, newest first" }),
  recording: z.object({
    state: z.enum(["idle", "recording", "failing"]),
    reason: z.string().optional().clone().register(apiText, { description: "Why frames cannot be recorded" }),
  }),
  storage: z.object({
    state: z.enum(["ok", "damaged"]).clone().register(apiText, {
      description: "damaged: frames that were on disk are gone from there, and have not come again",
    }),
    missing: z.array(z.object(range)).clone().register(apiText, {
      description: "Their numbers; they are among the holes",
    }),
    checked_at: time.nullable().clone().register(apiText, {
      description: "When all files were last read and checked, since the start",
    }),
  }),
}).clone().register(apiText, { refId: "InstanceStatus" });

/** What happened to a boat's replication, newest first. */
export const replicationEventsSchema = z.array(
  z.object({ time, type: z.string(), detail: z.string() }).clone().register(apiText, { refId: "ReplicationEvent" }),
);

/** Body of the health endpoints of a cloud. */
export const cloudHealthSchema = z.object({
  status: statusSchema,
  instances_total: count,
  instances_connected: count,
  components: z.record(z.string(), z.object({ status: statusSchema, message: z.string().optional() })),
}).clone().register(apiText, { refId: "CloudHealth" });

/** Where an instance stands, in the list of all. */
export function describeInstance(summary: InstanceSummary): z.output<typeof instanceSchema> {
  const { id, connected, cursor, boatHeadSeq, holes, lagSeqs, lastSeenMs } = summary;
  return {
    id,
    connected,
    cursor,
    boat_head_seq: boatHeadSeq,
    holes: holes.map(({ start, end }) => ({ start, end })),
    lag_seqs: lagSeqs,
    last_seen: lastSeenMs === undefined ? null : formatTimeUs(lastSeenMs * 1000),
  };
}

/** The same with everything else. */
export function describeStatus(summary: InstanceSummary): z.output<typeof instanceStatusSchema> {
  const { boatJournalBytes, epoch, ackSeq, receivedThrough, lost, formerEpochs, recording, vanished, checkedMs } =
    summary;
  return {
    ...describeInstance(summary),
    boat_journal_bytes: boatJournalBytes,
    epoch: epoch ?? null,
    ack_seq: ackSeq,
    received_through: receivedThrough,
    lost: lost.map(({ start, end, reason }) => ({ start, end, reason })),
    former_epochs: formerEpochs.map(({ epoch, headSeq, holes, lost, refused }) => {
      return { epoch, boat_head_seq: headSeq, holes, lost, ...(refused !== undefined && { refused }) };
    }),
    recording: { state: recording.kind, ...(recording.kind === "failing" && { reason: recording.reason }) },
    storage: {
      state: vanished.length > 0 ? "damaged" : "ok",
      missing: vanished.map(({ start, end }) => ({ start, end })),
      checked_at: checkedMs === undefined ? null : formatTimeUs(checkedMs * 1000),
    },
  };
}

import { apiText } from "../api_text.ts";
import { z } from "zod";
import type { InstanceSummary } from "../../cloud/mod.ts";
import { formatTimeUs } from "../../frame/mod.ts";
import { componentsSchema, statusSchema } from "../schemas.ts";

const count = z.int().min(0);
const time = z.string().clone().register(apiText, { format: "date-time" });
const range = { start: count, end: count.clone().register(apiText, { description: "First number after the range" }) };

const summaryShape = {
  id: z.string(),
  connected: z.boolean(),
  cursor: count.clone().register(apiText, {
    description: "Every frame up to and including this number is stored, or is lost",
  }),
  boat_head_seq: count.clone().register(apiText, { description: "Newest sequence number that the boat has reported" }),
  holes: z.array(z.object(range)).clone().register(apiText, { description: "Ranges of frames that are still missing" }),
  lag_seqs: count.clone().register(apiText, { description: "Frames that the cursor is behind the boat" }),
  last_seen: time.nullable().clone().register(apiText, { description: "Time of the last message from the boat" }),
};

/** A boat in the list of all. */
export const instanceSchema = z.object(summaryShape).clone().register(apiText, { refId: "Instance" });

/** `GET /instances`. */
export const instancesSchema = z.object({ instances: z.array(instanceSchema) });

export const instanceStatusSchema = z.object({
  ...summaryShape,
  boat_journal_bytes: count,
  epoch: z.string().nullable().clone().register(apiText, {
    description: "Epoch, hex; null before the first handshake",
  }),
  ack_seq: count.clone().register(apiText, {
    description:
      "Every frame up to and including this number is synced to disk, or is lost; goes back when files disappear",
  }),
  received_through: count.clone().register(apiText, { description: "Highest sequence number received live" }),
  lost: z.array(z.object({ ...range, reason: z.string() })).clone().register(apiText, {
    description: "Frames that the boat can no longer send, and why",
  }),
  former_epochs: z.array(z.object({
    epoch: z.string(),
    boat_head_seq: count,
    holes: z.array(z.object(range)),
    lost: z.array(z.object({ ...range, reason: z.string() })),
    refused: z.string().optional().clone().register(apiText, {
      description: "Why the cloud refuses the frames of this epoch",
    }),
  })).clone().register(apiText, { description: "Earlier epochs with missing frames, newest first" }),
  recording: z.object({
    state: z.enum(["idle", "recording", "failing"]),
    reason: z.string().optional().clone().register(apiText, { description: "Why frames cannot be recorded" }),
  }),
  storage: z.object({
    state: z.enum(["ok", "damaged"]).clone().register(apiText, {
      description: "damaged: frames have disappeared from the disk and have not been received again",
    }),
    missing: z.array(z.object(range)).clone().register(apiText, {
      description: "Ranges of those frames; `holes` contains them, too",
    }),
    checked_at: time.nullable().clone().register(apiText, {
      description: "Last complete check of all files since the start",
    }),
  }),
}).clone().register(apiText, { refId: "InstanceStatus" });

/** `GET /instances/{id}/replication/events`, newest first. */
export const replicationEventsSchema = z.array(
  z.object({ time, type: z.string(), detail: z.string() }).clone().register(apiText, { refId: "ReplicationEvent" }),
);

export const cloudHealthSchema = z.object({
  status: statusSchema,
  instances_total: count,
  instances_connected: count,
  components: componentsSchema,
}).clone().register(apiText, { refId: "CloudHealth" });
/** Body of `GET /healthz` of a cloud. */
export type CloudHealth = z.infer<typeof cloudHealthSchema>;

/** Maps a summary to its entry in the list of instances. */
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

/** Maps a summary to the full status of an instance. */
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

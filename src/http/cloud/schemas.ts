import { apiText, described, named } from "../api_text.ts";
import { z } from "zod";
import type { InstanceSummary } from "../../cloud/mod.ts";
import { formatTimeUs } from "../../frame/mod.ts";
import { framesInCloud } from "./proof.ts";
import { componentsSchema, statusSchema } from "../schemas.ts";

const count = z.int().min(0);
const time = described(z.string(), { format: "date-time" });
const range = { start: count, end: described(count, "First number after the range") };

const summaryShape = {
  id: z.string(),
  connected: z.boolean(),
  cursor: described(count, "Every frame up to and including this number is stored, or is lost"),
  boat_head_seq: described(count, "Newest sequence number that the boat has reported"),
  holes: described(z.array(z.object(range)), "Ranges of frames that are still missing"),
  lag_seqs: described(count, "Frames that the cursor is behind the boat"),
  last_seen: described(time.nullable(), "Time of the last message from the boat"),
  frames: described(
    z.object({ seen: count, in_cloud: count, on_the_way: count, missing: count }),
    "Counts of /instances/{id}/proof; missing: with those of earlier epochs",
  ),
};

/** A boat in the list of all. */
export const instanceSchema = named("Instance", summaryShape);

/** `GET /instances`. */
export const instancesSchema = z.object({ instances: z.array(instanceSchema) });

export const instanceStatusSchema = named("InstanceStatus", {
  ...summaryShape,
  boat_journal_bytes: count,
  epoch: described(z.string().nullable(), "Epoch, hex; null before the first handshake"),
  ack_seq: described(
    count,
    "Every frame up to and including this number is synced to disk, or is lost; goes back when files disappear",
  ),
  stored_seq: described(
    count.nullable(),
    "Every frame up to and including this number is in the object store, or is lost; null: the cloud has no store",
  ),
  received_through: described(count, "Highest sequence number received live"),
  lost: described(
    z.array(z.object({ ...range, reason: z.string() })),
    "Frames that the boat can no longer send, and why",
  ),
  former_epochs: z.array(z.object({
    epoch: z.string(),
    boat_head_seq: count,
    holes: z.array(z.object(range)),
    lost: z.array(z.object({ ...range, reason: z.string() })),
    refused: described(z.string().optional(), "Why the cloud refuses the frames of this epoch"),
  })).clone().register(apiText, { description: "Earlier epochs with missing frames, newest first" }),
  recording: z.object({
    state: z.enum(["idle", "recording", "failing"]),
    reason: described(z.string().optional(), "Why frames cannot be recorded"),
  }),
  storage: z.object({
    state: described(
      z.enum(["ok", "damaged"]),
      "damaged: frames have disappeared from the disk and have not been received again",
    ),
    missing: described(z.array(z.object(range)), "Ranges of those frames; `holes` contains them, too"),
    checked_at: described(time.nullable(), "Last complete check of all files since the start"),
  }),
});

/** `GET /instances/{id}/replication/events`, newest first. */
export const replicationEventsSchema = z.array(
  named("ReplicationEvent", { time, type: z.string(), detail: z.string() }),
);

export const cloudHealthSchema = named("CloudHealth", {
  status: statusSchema,
  instances_total: count,
  instances_connected: count,
  components: componentsSchema,
});
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
    holes,
    lag_seqs: lagSeqs,
    last_seen: lastSeenMs === undefined ? null : formatTimeUs(lastSeenMs * 1000),
    frames: framesInCloud(summary),
  };
}

/** Maps a summary to the full status of an instance. */
export function describeStatus(summary: InstanceSummary): z.output<typeof instanceStatusSchema> {
  const { boatJournalBytes, epoch, ackSeq, storedThrough, receivedThrough, lost, formerEpochs, recording } = summary;
  const { vanished, checkedMs } = summary;
  return {
    ...describeInstance(summary),
    boat_journal_bytes: boatJournalBytes,
    epoch: epoch ?? null,
    ack_seq: ackSeq,
    stored_seq: storedThrough ?? null,
    received_through: receivedThrough,
    lost,
    former_epochs: formerEpochs.map(({ epoch, headSeq, holes, lost, refused }) => {
      return { epoch, boat_head_seq: headSeq, holes, lost, ...(refused !== undefined && { refused }) };
    }),
    recording: { state: recording.kind, ...(recording.kind === "failing" && { reason: recording.reason }) },
    storage: {
      state: vanished.length > 0 ? "damaged" : "ok",
      missing: vanished,
      checked_at: checkedMs === undefined ? null : formatTimeUs(checkedMs * 1000),
    },
  };
}

import { apiText } from "./api_text.ts";
import { z } from "zod";

const time = z.string().clone().register(apiText, { format: "date-time" });
const count = z.int();

const FIELD_TYPES =
  "What the value is: number, pgn, index, length, float: a number; enum, indirect, key: a label, or a " +
  "number without one; lookup: {id, name}; bits: a list of labels; text, lau, lz, decimal: text; binary, hex: hex " +
  "digits; date, time: ISO 8601; variable, value: as an earlier field says; parameters: a list of {field, name, value}; " +
  "group: a list of objects";

/** Fields of a payload by name: numbers, texts, nulls, and lists and objects of them. */
const decodedSchema = z.record(z.string(), z.unknown()).clone().register(apiText, {
  description: "Fields of the payload by name, as /pgns/{pgn} lists them; left out when nothing describes the payload",
});

/** What the codes in a payload mean. */
const codeLabelsSchema = z.record(z.string(), z.unknown()).clone().register(apiText, {
  description:
    "Only with labels=true: labels of the numbers that are codes, under their names, in lists and objects as " +
    "the numbers are; left out where none is known",
});

/** Frame, as streams carry it. */
export const frameSchema = z.object({
  seq: count,
  ts: time,
  prio: z.int().min(0).max(7),
  pgn: count,
  src: z.int().min(0).max(255),
  dst: z.int().min(0).max(255),
  bus: z.string().optional(),
  data: z.string(),
  decoded: decodedSchema.optional(),
  labels: codeLabelsSchema.optional(),
}).clone().register(apiText, { refId: "Frame" });

const deviceMembers = {
  src: z.int().min(0).max(253),
  bus: z.string().optional(),
  name: z.string().optional(),
  manufacturer: z.string().optional(),
  manufacturer_code: count.optional(),
  device_class: count.optional(),
  device_function: count.optional(),
  device_instance: count.optional(),
  unique_number: count.optional(),
  product_code: count.optional(),
  model_id: z.string().optional(),
  software_version: z.string().optional(),
  model_version: z.string().optional(),
  model_serial: z.string().optional(),
  first_seen: time,
  last_seen: time,
  packet_count: count,
  byte_count: count,
};

/** Entry of the device table. */
export const deviceSchema = z.object(deviceMembers).clone().register(apiText, { refId: "Device" });

/** The same with what its codes mean. */
export const labelledDeviceSchema = z.object({ ...deviceMembers, labels: codeLabelsSchema.optional() }).register(
  apiText,
  { refId: "LabelledDevice" },
);

const valueSchema = z.object({ pgn: count, ts: time, data: z.string(), seq: count });
const deviceOfValues = {
  name: z.string(),
  src: count,
  bus: z.string().optional(),
  manufacturer: z.string().optional(),
  model_id: z.string().optional(),
};

/** Last values of one device. */
export const valuesSchema = z.object({ ...deviceOfValues, values: z.array(valueSchema) }).clone().register(apiText, {
  refId: "DeviceValues",
});

/** Last values of one device, decoded. */
export const decodedValuesSchema = z.object({
  ...deviceOfValues,
  values: z.array(
    valueSchema.extend({
      description: z.string().optional(),
      decoded: decodedSchema.optional(),
      labels: codeLabelsSchema.optional(),
    }),
  ),
}).clone().register(apiText, { refId: "DecodedDeviceValues" });

const pgnHead = {
  pgn: count,
  description: z.string(),
  framing: z.enum(["single", "fast", "either"]),
  interval_ms: count.optional().clone().register(apiText, {
    description: "Time between two messages of a device, milliseconds",
  }),
};

/** A PGN in the list of all. */
export const pgnSummarySchema = z.object({
  ...pgnHead,
  layouts: count.clone().register(apiText, { description: "Number of layouts" }),
}).clone().register(apiText, { refId: "PgnSummary" });

const labelsSchema = z.record(z.string(), z.string());

const fieldSchema = z.object({
  name: z.string(),
  type: z.string().clone().register(apiText, { description: FIELD_TYPES }),
  unit: z.string().optional(),
  bits: count.optional().clone().register(apiText, {
    description: "Width of one value; left out where the payload tells it",
  }),
  min: z.number().optional(),
  max: z.number().optional(),
  resolution: z.number().optional().clone().register(apiText, {
    description: "Step between two values, where it is not 1",
  }),
  labels: labelsSchema.optional().clone().register(apiText, { description: "Labels by raw value" }),
  by: z.string().optional().clone().register(apiText, { description: "Field whose value decides this one" }),
  labels_by: z.record(z.string(), labelsSchema).optional().clone().register(apiText, {
    description: "Labels by raw value of `by`",
  }),
  bit_labels: labelsSchema.optional().clone().register(apiText, {
    description: "Of a number: labels of its bits, by their place from 0",
  }),
  key_units: labelsSchema.optional().clone().register(apiText, {
    description: "Of a key: units of the values that follow, by raw value",
  }),
  tolerance: z.number().optional().clone().register(apiText, {
    description: "A change of less than this is not worth telling",
  }),
  repeat: count.optional().clone().register(apiText, { description: "The value is a list of so many" }),
});

const groupSchema = z.object({
  name: z.string(),
  type: z.literal("group"),
  count: z.string().optional().clone().register(apiText, { description: "Field that says how many there are" }),
  fields: z.array(fieldSchema),
});

const matchSchema = z.object({
  name: z.string().optional(),
  bit: count.clone().register(apiText, { description: "First bit, from the beginning of the payload" }),
  bits: count,
  value: count,
  label: z.string().optional(),
});

/** Data of `event: dropped`: frames that a stream does not bring. */
const droppedSchema = z.object({
  from_seq: count,
  to_seq: count,
  count: count.nullable().clone().register(apiText, {
    description: "How many frames of these numbers are missing; null with the reason restart: nobody knows",
  }),
  backfill: z.boolean().optional().clone().register(apiText, {
    description: "The cloud does not have them yet: its boat sends them later",
  }),
  reason: z.string().optional().clone().register(apiText, {
    description:
      "Why nobody can send them. In the stream of a session, restart: the server stopped without an orderly end, and " +
      "frames of these numbers, also those that this client had received, were not synced to disk and are gone",
  }),
}).clone().register(apiText, { refId: "DroppedFrames" });

/** Data of the events of a stream: frames, and `event: dropped`. */
export const streamSchema = z.union([frameSchema, droppedSchema]);

/** All that is known about a PGN. */
export const pgnSchema = z.object({
  ...pgnHead,
  layouts: z.array(z.object({
    id: z.string(),
    description: z.string(),
    matches: z.array(matchSchema).optional().clone().register(apiText, {
      description: "What a payload of this layout holds",
    }),
    complete: z.boolean().clone().register(apiText, { description: "Every field and width is known" }),
    fields: z.array(z.union([groupSchema, fieldSchema])),
  })).clone().register(apiText, {
    description: "In the order in which they are tried: the first that matches describes a payload",
  }),
}).clone().register(apiText, { refId: "Pgn" });

/** How a server, or a part of it, does. */
export const statusSchema = z.enum(["ok", "degraded", "unhealthy"]);

/** Body of the health endpoints. */
export const healthSchema = z.object({
  status: statusSchema,
  broker: z.object({
    status: statusSchema,
    frames_total: count,
    head_seq: count,
    device_count: count,
    ring_entries: count,
    ring_capacity: count,
  }),
  last_frame_at: time.nullable(),
  replication: z.object({
    status: statusSchema,
    connected: z.boolean(),
    live_lag: count,
    backfill_remaining_seqs: count,
    last_ack: time.nullable(),
  }).optional().clone().register(apiText, { description: "Left out where nothing is replicated" }),
  components: z.record(z.string(), z.object({ status: statusSchema, message: z.string().optional() })),
}).clone().register(apiText, { refId: "Health" });

/** An error, RFC 9457. */
export const problemSchema = z.object({
  type: z.string(),
  title: z.string(),
  status: z.int(),
  detail: z.string(),
  parameter: z.string().optional().clone().register(apiText, { description: "Parameter that is wrong" }),
  field: z.string().optional().clone().register(apiText, { description: "Field of the body that is wrong" }),
  oldest_seq: count.optional().clone().register(apiText, {
    description: "Where reading can begin, after falling behind",
  }),
}).clone().register(apiText, { refId: "Problem" });

/** How an error is described in a table of replies. */
export const PROBLEM = ["application/problem+json", problemSchema] as const;

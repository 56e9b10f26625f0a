import { apiText } from "./api_text.ts";
import { z } from "zod";

const time = z.string().clone().register(apiText, { format: "date-time" });
const count = z.int();

const FIELD_TYPES =
  "Type of the value. number, pgn, index, length, float: a number; enum, indirect, key: a label, or a " +
  "number without a label; lookup: {id, name}; bits: a list of labels; text, lau, lz, decimal: text; binary, hex: hex " +
  "digits; date, time: ISO 8601; variable, value: given by an earlier field; parameters: a list of {field, name, value}; " +
  "group: a list of objects";

/** Fields of a payload by name: numbers, texts, nulls, and lists and objects of them. */
const decodedSchema = z.record(z.string(), z.unknown()).clone().register(apiText, {
  description: "Fields of the payload by name, as listed by /pgns/{pgn}; left out if the payload is unknown",
});

const codeLabelsSchema = z.record(z.string(), z.unknown()).clone().register(apiText, {
  description:
    "Only with labels=true: labels of the enumeration values by field name, in the same structure of lists and " +
    "objects; left out if none is known",
});

/** A frame in streams and histories. */
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

/** Entry of the device table with the labels of its codes. */
export const labelledDeviceSchema = z.object({ ...deviceMembers, labels: codeLabelsSchema.optional() }).clone()
  .register(apiText, { refId: "LabelledDevice" });

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
    description: "Transmission interval of a device, milliseconds",
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
    description: "Width of one value; left out if it depends on the payload",
  }),
  min: z.number().optional(),
  max: z.number().optional(),
  resolution: z.number().optional().clone().register(apiText, { description: "Step between two values; default 1" }),
  labels: labelsSchema.optional().clone().register(apiText, { description: "Labels by raw value" }),
  by: z.string().optional().clone().register(apiText, {
    description: "Field whose value determines the type of this one",
  }),
  labels_by: z.record(z.string(), labelsSchema).optional().clone().register(apiText, {
    description: "Labels by raw value of `by`",
  }),
  bit_labels: labelsSchema.optional().clone().register(apiText, {
    description: "Labels of the bits of a number, by bit position from 0",
  }),
  key_units: labelsSchema.optional().clone().register(apiText, {
    description: "For a key: units of the values that follow, by raw value of the key",
  }),
  tolerance: z.number().optional().clone().register(apiText, { description: "Smaller changes are not significant" }),
  repeat: count.optional().clone().register(apiText, { description: "The value is a list of this length" }),
});

const groupSchema = z.object({
  name: z.string(),
  type: z.literal("group"),
  count: z.string().optional().clone().register(apiText, { description: "Field with the number of repetitions" }),
  fields: z.array(fieldSchema),
});

const matchSchema = z.object({
  name: z.string().optional(),
  bit: count.clone().register(apiText, { description: "Offset of the first bit in the payload" }),
  bits: count,
  value: count,
  label: z.string().optional(),
});

/** Data of `event: dropped`: frames that the stream leaves out. */
const droppedSchema = z.object({
  from_seq: count,
  to_seq: count,
  count: count.nullable().clone().register(apiText, {
    description: "Number of missing frames in the range; null with reason restart: unknown",
  }),
  backfill: z.boolean().optional().clone().register(apiText, {
    description: "The boat has not sent them to the cloud yet; they can be read later",
  }),
  reason: z.string().optional().clone().register(apiText, {
    description:
      "Why the frames are lost. In the stream of a session, restart: the server crashed, and frames with these " +
      "numbers, including frames that this client had received, were not synced to disk",
  }),
}).clone().register(apiText, { refId: "DroppedFrames" });

/** Data of the events of a stream: frames, and `event: dropped`. */
export const streamSchema = z.union([frameSchema, droppedSchema]);

/** Description of a PGN. */
export const pgnSchema = z.object({
  ...pgnHead,
  layouts: z.array(z.object({
    id: z.string(),
    description: z.string(),
    matches: z.array(matchSchema).optional().clone().register(apiText, {
      description: "Values that identify a payload of this layout",
    }),
    complete: z.boolean().clone().register(apiText, { description: "All fields and widths are known" }),
    fields: z.array(z.union([groupSchema, fieldSchema])),
  })).clone().register(apiText, { description: "In matching order: the first matching layout describes a payload" }),
}).clone().register(apiText, { refId: "Pgn" });

/** Health of a server or component. */
export const statusSchema = z.enum(["ok", "degraded", "unhealthy"]);
/** Its type. */
export type HealthStatus = z.infer<typeof statusSchema>;

const componentSchema = z.object({ status: statusSchema, message: z.string().optional() });
/** One part of the server; `message` says what is wrong, for a person. */
export type ComponentHealth = z.infer<typeof componentSchema>;

/** Parts of a server by name. */
export const componentsSchema = z.record(z.string(), componentSchema);

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
  /** Time of the newest frame of any bus; null before the first. */
  last_frame_at: time.nullable(),
  replication: z.object({
    status: statusSchema,
    connected: z.boolean(),
    live_lag: count,
    backfill_remaining_seqs: count,
    last_ack: time.nullable(),
  }).optional().clone().register(apiText, { description: "Left out without replication" }),
  components: componentsSchema,
}).clone().register(apiText, { refId: "Health" });
/** Its type. */
export type Health = z.infer<typeof healthSchema>;

/** An error, RFC 9457. */
export const problemSchema = z.object({
  type: z.string(),
  title: z.string(),
  status: z.int(),
  detail: z.string(),
  parameter: z.string().optional().clone().register(apiText, { description: "Invalid parameter" }),
  field: z.string().optional().clone().register(apiText, { description: "Invalid field of the body" }),
  oldest_seq: count.optional().clone().register(apiText, {
    description: "First number that can still be read, after the client fell behind",
  }),
}).clone().register(apiText, { refId: "Problem" });

/** Entry for an error in a route's replies. */
export const PROBLEM = ["application/problem+json", problemSchema] as const;

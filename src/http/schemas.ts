import { apiText, described, named } from "./api_text.ts";
import { z } from "zod";

const time = described(z.string(), { format: "date-time" });
const count = z.int();

const FIELD_TYPES =
  "Type of the value. number, pgn, index, length, float: a number; enum, indirect, key: a label, or a " +
  "number without a label; lookup: {id, name}; bits: a list of labels; text, lau, lz, decimal: text; binary, hex: hex " +
  "digits; date, time: ISO 8601; variable, value: given by an earlier field; parameters: a list of {field, name, value}; " +
  "group: a list of objects";

/** Fields of a payload by name: numbers, texts, nulls, and lists and objects of them. */
const decodedSchema = described(
  z.record(z.string(), z.unknown()),
  "Fields of the payload by name, as listed by /pgns/{pgn}; left out if the payload is unknown",
);

const codeLabelsSchema = described(
  z.record(z.string(), z.unknown()),
  "Only with labels=true: labels of the enumeration values by field name, in the same structure of lists and " +
    "objects; left out if none is known",
);

/** A frame in streams and histories. */
export const frameSchema = named("Frame", {
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
});

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
export const deviceSchema = named("Device", deviceMembers);

const knownCount = described(count.nullable(), "null with at: frames are missing, so that it is not known");

/** Entry of the device table with the labels of its codes. */
export const labelledDeviceSchema = named("LabelledDevice", {
  ...deviceMembers,
  packet_count: knownCount,
  byte_count: knownCount,
  labels: codeLabelsSchema.optional(),
});

const valueSchema = z.object({ pgn: count, ts: time, data: z.string(), seq: count });
const deviceOfValues = {
  name: z.string(),
  src: count,
  bus: z.string().optional(),
  manufacturer: z.string().optional(),
  model_id: z.string().optional(),
};

/** Last values of one device. */
export const valuesSchema = named("DeviceValues", { ...deviceOfValues, values: z.array(valueSchema) });

/** Last values of one device, decoded. */
export const decodedValuesSchema = named("DecodedDeviceValues", {
  ...deviceOfValues,
  values: z.array(
    valueSchema.extend({
      description: z.string().optional(),
      decoded: decodedSchema.optional(),
      labels: codeLabelsSchema.optional(),
    }),
  ),
});

const pgnHead = {
  pgn: count,
  description: z.string(),
  framing: z.enum(["single", "fast", "either"]),
  interval_ms: described(count.optional(), "Transmission interval of a device, milliseconds"),
};

/** A PGN in the list of all. */
export const pgnSummarySchema = named("PgnSummary", {
  ...pgnHead,
  layouts: described(count, "Number of layouts"),
});

const labelsSchema = z.record(z.string(), z.string());

const fieldSchema = z.object({
  name: z.string(),
  type: described(z.string(), FIELD_TYPES),
  unit: z.string().optional(),
  bits: described(count.optional(), "Width of one value; left out if it depends on the payload"),
  min: z.number().optional(),
  max: z.number().optional(),
  resolution: described(z.number().optional(), "Step between two values; default 1"),
  labels: described(labelsSchema.optional(), "Labels by raw value"),
  by: described(z.string().optional(), "Field whose value determines the type of this one"),
  labels_by: described(z.record(z.string(), labelsSchema).optional(), "Labels by raw value of `by`"),
  bit_labels: described(labelsSchema.optional(), "Labels of the bits of a number, by bit position from 0"),
  key_units: described(labelsSchema.optional(), "For a key: units of the values that follow, by raw value of the key"),
  tolerance: described(z.number().optional(), "Smaller changes are not significant"),
  repeat: described(count.optional(), "The value is a list of this length"),
});

const groupSchema = z.object({
  name: z.string(),
  type: z.literal("group"),
  count: described(z.string().optional(), "Field with the number of repetitions"),
  fields: z.array(fieldSchema),
});

const matchSchema = z.object({
  name: z.string().optional(),
  bit: described(count, "Offset of the first bit in the payload"),
  bits: count,
  value: count,
  label: z.string().optional(),
});

/** Data of `event: dropped`: frames that the stream leaves out. */
const droppedSchema = named("DroppedFrames", {
  from_seq: count,
  to_seq: count,
  count: described(count.nullable(), "Number of missing frames in the range; null with reason restart: unknown"),
  backfill: described(z.boolean().optional(), "The boat has not sent them to the cloud yet; they can be read later"),
  reason: described(
    z.string().optional(),
    "Why the frames are lost. In the stream of a session, restart: the server crashed, and frames with these " +
      "numbers, including frames that this client had received, were not synced to disk",
  ),
});

/** Data of the events of a stream: frames, and `event: dropped`. */
export const streamSchema = z.union([frameSchema, droppedSchema]);

/** Description of a PGN. */
export const pgnSchema = named("Pgn", {
  ...pgnHead,
  layouts: z.array(z.object({
    id: z.string(),
    description: z.string(),
    matches: described(z.array(matchSchema).optional(), "Values that identify a payload of this layout"),
    complete: described(z.boolean(), "All fields and widths are known"),
    fields: z.array(z.union([groupSchema, fieldSchema])),
  })).clone().register(apiText, { description: "In matching order: the first matching layout describes a payload" }),
});

/** Where a decoded value is in a payload. */
export const fieldSpanSchema = named("FieldSpan", {
  name: described(z.string(), "Key in the decoded object; in lists with the index: `satellites.0.prn`"),
  bit: described(count, "First bit: 0 is the lowest bit of byte 0"),
  bits: described(count, "Number of bits"),
});

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
export const healthSchema = named("Health", {
  status: statusSchema,
  broker: z.object({
    status: statusSchema,
    frames_total: count,
    head_seq: count,
    device_count: count,
    ring_entries: count,
    ring_capacity: count,
  }).clone().register(apiText, { description: "With at only status, head_seq and device_count" }),
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
});
/** Its type. */
export type Health = z.infer<typeof healthSchema>;

/** An error, RFC 9457. */
export const problemSchema = named("Problem", {
  type: z.string(),
  title: z.string(),
  status: z.int(),
  detail: z.string(),
  parameter: described(z.string().optional(), "Invalid parameter"),
  field: described(z.string().optional(), "Invalid field of the body"),
  oldest_seq: described(count.optional(), "First number that can still be read, after the client fell behind"),
});

/** Entry for an error in a route's replies. */
export const PROBLEM = ["application/problem+json", problemSchema] as const;

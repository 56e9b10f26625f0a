import { z } from "@hono/zod-openapi";

const time = z.string().openapi({ format: "date-time" });
const count = z.int();

/** Fields of a payload by name: numbers, texts, nulls, and lists and objects of them. */
const decodedSchema = z.record(z.string(), z.unknown()).openapi({
  description: "Fields of the payload by name; left out when nothing describes the payload",
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
}).openapi("Frame");

/** Entry of the device table. */
export const deviceSchema = z.object({
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
}).openapi("Device");

/** Last values of one device. */
export const valuesSchema = z.object({
  name: z.string(),
  src: count,
  bus: z.string().optional(),
  manufacturer: z.string().optional(),
  model_id: z.string().optional(),
  values: z.array(z.object({ pgn: count, ts: time, data: z.string(), seq: count })),
}).openapi("DeviceValues");

const status = z.enum(["ok", "degraded", "unhealthy"]);

/** Body of the health endpoints. */
export const healthSchema = z.object({
  status,
  broker: z.object({
    status,
    frames_total: count,
    head_seq: count,
    device_count: count,
    ring_entries: count,
    ring_capacity: count,
  }),
  last_frame_at: time.nullable(),
  components: z.record(z.string(), z.object({ status, message: z.string().optional() })),
}).openapi("Health");

/** An error, RFC 9457. */
export const problemSchema = z.object({
  type: z.string(),
  title: z.string(),
  status: z.int(),
  detail: z.string(),
  parameter: z.string().optional(),
}).openapi("Problem");

/** How an error is described in a table of replies. */
export const PROBLEM = ["application/problem+json", problemSchema] as const;

import { described, named } from "./api_text.ts";
import { z } from "zod";
import type { Clock } from "../base/mod.ts";
import { formatTimeUs } from "../frame/mod.ts";
import { CATEGORIES, type Quantity, type QuantitySource } from "../quantities/mod.ts";
import { noQuery } from "./params.ts";
import { json } from "./reply.ts";
import { route, type RouteTable } from "./routes.ts";
import { PROBLEM } from "./schemas.ts";
import { admitStream, type StreamAdmission } from "./streams/client_queue.ts";
import { EventStream } from "./streams/sse.ts";

const deviceMembers = {
  name: described(z.string(), "NAME, 16 hex digits; empty while it is unknown"),
  src: z.int(),
  bus: z.string().optional(),
};
const deviceSchema = z.object(deviceMembers);
const valueSchema = z.union([z.number(), z.string(), z.object({ latitude: z.number(), longitude: z.number() })]);

const sourceSchema = z.object({
  ...deviceMembers,
  pgn: z.int(),
  value: described(valueSchema, "In the unit of the quantity"),
  ts: described(z.string(), { format: "date-time" }),
  age_ms: described(z.number(), "Time since the message came"),
  interval_ms: described(z.number(), "Usual interval of this source"),
  stale: described(z.boolean(), "Older than three of its intervals"),
});

const quantitySchema = named("Quantity", {
  quantity: described(z.string(), "Key, such as `depth` or `engine.0.speed`"),
  category: z.enum(CATEGORIES),
  label: described(z.string(), "For people"),
  pgn: described(z.int(), "PGN of the first source"),
  field: z.string(),
  unit: z.string().optional(),
  preferred: described(
    z.string().nullable(),
    "NAME of the preferred device, empty while unknown; null: all values are stale",
  ),
  by: described(z.enum(["setting", "first_heard"]), "Why it is preferred"),
  sources: described(z.array(sourceSchema), "All devices that have it, the preferred one first"),
});

const sourceEventSchema = named("SourceEvent", {
  quantity: z.string(),
  from: described(deviceSchema.nullable(), "Null: there was none"),
  to: described(deviceSchema.nullable(), "Null: all values are stale"),
  ts: described(z.string(), { format: "date-time" }),
  reason: z.enum(["first", "stale", "fresh", "setting", "removed"]),
});

/** Endpoints about the sources of quantities. */
export const sourceRows: RouteTable<StreamAdmission & { clock: Clock }> = [
  route({
    path: "/sources",
    summary: "Quantities such as depth: the newest value of each device, its age, and the preferred device",
    query: noQuery,
    replies: { 200: ["application/json", z.array(quantitySchema)] },
    answer: (_request, _query, _parts, { subject }) => json(subject.hub.sources.list().map(describe)),
  }),
  route({
    path: "/events/sources",
    summary: "Switches of preferred devices as server-sent events, from now on",
    query: noQuery,
    replies: { 200: ["text/event-stream", sourceEventSchema], 503: PROBLEM },
    answer: (_request, _query, _parts, { subject: { hub, clock, limits } }) => {
      const { bufferBytes } = admitStream({ hub, limits });
      const release = hub.openStream();
      let leave: () => void = () => {};
      const ended = () => {
        leave();
        release();
      };
      const stream = new EventStream({ clock, bufferBytes, memory: hub.memory, devices: false, sources: true, ended });
      leave = hub.watch(stream);
      return stream.response();
    },
  }),
];

function describe({ key, row, label, preferred, by, sources }: Quantity): z.output<typeof quantitySchema> {
  const { category, pgn, field, unit } = row;
  return {
    ...{ quantity: key, category, label, pgn, field },
    ...(unit !== undefined && { unit }),
    preferred: preferred?.device.name ?? null,
    by,
    sources: sources.map(describeSource),
  };
}

function describeSource({ device, pgn, value, timeMs, ageMs, intervalMs, isStale }: QuantitySource) {
  const { name, src, bus } = device;
  return {
    ...{ name, src, ...(bus !== undefined && { bus }), pgn, value },
    ...{
      ts: formatTimeUs(Math.round(timeMs * 1000)),
      age_ms: Math.round(ageMs),
      interval_ms: Math.round(intervalMs),
      stale: isStale,
    },
  };
}

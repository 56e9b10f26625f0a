import { z } from "zod";
import { described, named } from "../api_text.ts";

const time = described(z.string(), { format: "date-time" });
const position = named("Position", { latitude: z.number(), longitude: z.number() });

const voyageSchema = named("Voyage", {
  start: time,
  end: time,
  is_complete: described(
    z.boolean(),
    "false: it has not ended, or its start, its end or a part of it is not known because frames are missing",
  ),
  duration_s: z.int(),
  start_position: position,
  end_position: position,
  distance_m: described(z.int(), "Over ground, metres"),
  avg_speed: described(z.number(), "Over ground, m/s"),
  max_speed: described(z.number().nullable(), "Over ground, m/s"),
  engines: described(
    z.array(z.object({
      instance: z.int(),
      running_s: described(z.int(), "Seconds for which it ran"),
      fuel_l: described(z.number().nullable(), "Litres, from the fuel rate, else from the trip fuel"),
    })),
    "Engines that sent values",
  ),
  fuel_l: described(z.number().nullable(), "Litres of all engines"),
  wind: described(
    z.object({ reference: z.enum(["true", "apparent"]), avg: z.number(), max: z.number() }).nullable(),
    "Speed of the wind, m/s. apparent: the true wind is not known for most of the voyage",
  ),
});

const staySchema = named("Stay", {
  state: described(
    z.enum(["at_anchor", "in_port", "unknown"]),
    "unknown: too few positions, or none, and the boat was elsewhere after it",
  ),
  start: time,
  end: time,
  position: described(position.nullable(), "Average"),
});

/** Reply of `GET /voyages`. */
export const voyagesSchema = named("Voyages", {
  from: time,
  to: time,
  voyages: z.array(voyageSchema),
  stays: described(z.array(staySchema), "What the boat did between them, within the range"),
});

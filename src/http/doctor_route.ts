import { z } from "zod";
import type { BusLoad, Finding } from "../doctor/mod.ts";
import { apiText, described, named } from "./api_text.ts";
import { filterQuery, last, parsed } from "./params.ts";
import { json } from "./reply.ts";
import { type Route, route } from "./routes.ts";

const SEVERITIES = ["critical", "warning", "info"] as const;
const time = (text: string) => described(z.string(), { description: text, format: "date-time" });

const frameSchema = z.object({
  epoch: described(z.string(), "32 hex digits").optional(),
  seq: z.int(),
});

const findingSchema = named("Finding", {
  kind: described(z.string(), "For programs: `stuck_value`, `duplicate_name` …; see docs/doctor.md"),
  severity: z.enum(SEVERITIES),
  bus: z.string(),
  src: described(z.int(), "Source address; left out: the bus as a whole, or one of the devices in the text").optional(),
  name: described(z.string(), "NAME, 0x and 16 hex digits").optional(),
  pgn: z.int().optional(),
  since: time("When the cause was first seen"),
  last_seen: time("When it was last seen"),
  confidence: described(z.number(), "0 to 1"),
  text: described(z.string(), "What is wrong, one sentence for people"),
  advice: described(z.string(), "What to do about it"),
  frames: described(z.array(frameSchema), "Up to three frames that show it"),
});

const loadSchema = z.object({
  bus: z.string(),
  load_percent: described(z.number(), "Of 250 kbit/s, in the last ten seconds"),
  peak_percent: described(z.number(), "The busiest second since the start"),
  peak_at: time("When that was").optional(),
});

const doctorSchema = named("Doctor", {
  findings: described(z.array(findingSchema), "What is wrong now, the worst first"),
  buses: z.array(loadSchema),
});

/** Reply of `GET /doctor`. */
export interface DoctorReport {
  findings: readonly Finding[];
  buses: readonly BusLoad[];
}

const query = z.object({
  bus: filterQuery.shape.bus,
  severity: parsed((text) => SEVERITIES.find((each) => each === text), `one of ${SEVERITIES.join(", ")}`)
    .optional().transform(last)
    .clone().register(apiText, { type: "string", enum: SEVERITIES, description: "Findings so severe, or worse" }),
});

/** `GET /doctor`. */
export function doctorRoute(report: () => DoctorReport): Route {
  return route({
    path: "/doctor",
    summary: "What is wrong on the buses: findings with their device, advice and frames; and the load of each bus",
    query,
    replies: { 200: ["application/json", doctorSchema] },
    answer: (_request, { bus: names, severity = "info" }) => {
      const { findings, buses } = report();
      const worst = SEVERITIES.indexOf(severity);
      const isWanted = ({ bus }: { bus: string }) => names?.includes(bus) ?? true;
      return json({
        findings: findings.filter((each) => isWanted(each) && SEVERITIES.indexOf(each.severity) <= worst),
        buses: buses.filter(isWanted),
      });
    },
  });
}

import { z } from "zod";
import { described, named } from "./api_text.ts";
import { noQuery } from "./params.ts";
import { jsonList } from "./reply.ts";
import { type Route, route } from "./routes.ts";

const alertSchema = named("Alert", {
  timestamp: described(z.string(), { format: "date-time" }),
  type: described(z.string(), "What happened, for programs: bus_silence, source_switched …"),
  severity: described(z.enum(["critical", "warning", "info"]), "info: a problem has ended"),
  summary: described(z.string(), "One sentence for people"),
  subject: described(
    z.string(),
    "What it is about; the alerts for the beginning and the end of a problem have the same",
  ),
});

const limitSchema = named("Limit", {
  name: described(z.string(), "Name of the setting"),
  value: described(z.string(), "With its unit, as the setting is written"),
  beyond: described(z.string(), "What happens beyond it"),
});

/** An alert as it is listed. */
export type TellableAlert = z.output<typeof alertSchema>;
/** A limit that is in force. */
export interface LimitInForce {
  /** Name of the setting. */
  name: string;
  /** With its unit, as the setting is written. */
  value: string;
  /** What happens beyond it. */
  beyond: string;
}

/** `GET /alerts` and `GET /limits`. */
export function stateListRoutes({ alerts, limitsInForce }: {
  alerts?: () => readonly TellableAlert[];
  limitsInForce?: () => readonly LimitInForce[];
}): Route[] {
  return [
    route({
      path: "/alerts",
      summary: "Alerts since the start, newest first, at most 100",
      query: noQuery,
      replies: { 200: ["application/json", z.array(alertSchema)] },
      answer: () =>
        jsonList((alerts?.() ?? []).map(({ timestamp, type, severity, summary, subject }) => {
          return { timestamp, type, severity, summary, subject };
        })),
    }),
    route({
      path: "/limits",
      summary: "Limits in force",
      query: noQuery,
      replies: { 200: ["application/json", z.array(limitSchema)] },
      answer: () => jsonList([...limitsInForce?.() ?? []]),
    }),
  ];
}

import { z } from "@hono/zod-openapi";
import { type HistorySource, openHistory } from "./history.ts";
import { historyQuery } from "./history_query.ts";
import { type Route, route } from "./routes.ts";
import { frameSchema, PROBLEM } from "./schemas.ts";

/** `GET /history`: the same on every server that keeps a journal. */
export const historyRow: Route<HistorySource> = route({
  path: "/history",
  summary: "Frames of the journal between two times, those not yet written included. The header Frame-Count says how " +
    'many they are; a list that the limit cuts has a header Link with rel="next". Without both: counting took too long',
  query: historyQuery,
  replies: { 200: ["application/json", z.array(frameSchema)], 503: PROBLEM },
  answer: (request, query, _parts, { subject }) => openHistory(subject, { query, request }),
});

import { z } from "@hono/zod-openapi";
import { type HistorySource, openHistory } from "./history.ts";
import { historyQuery } from "./history_query.ts";
import { type Route, route } from "./routes.ts";
import { frameSchema, PROBLEM } from "./schemas.ts";

/** `GET /history`: the same on every server that keeps a journal. */
export const historyRow: Route<HistorySource> = route({
  path: "/history",
  summary: "Frames of the journal between two times, those not yet written included. A list that the limit " +
    'cuts has the headers Link, with rel="next", and Frame-Count, which a list that might be cut has, too. Counting may take 5 s',
  query: historyQuery,
  replies: { 200: ["application/json", z.array(frameSchema)], 503: PROBLEM },
  answer: (request, query, _parts, { subject }) => openHistory(subject, { query, request }),
});

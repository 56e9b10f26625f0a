import { z } from "zod";
import { type HistorySource, openHistory } from "./history.ts";
import { COUNT_HEADER } from "./pages.ts";
import { historyQuery } from "./query.ts";
import { type Route, route } from "../routes.ts";
import { frameSchema, PROBLEM } from "../schemas.ts";

const PAGE_HEADERS = {
  [COUNT_HEADER]: "Number of frames in this page",
  Link: 'The next page, relative to this one: `<history?…>; rel="next"`',
};

/** `GET /history`: the same on every server that keeps a journal. */
export const historyRow: Route<HistorySource> = route({
  path: "/history",
  summary: "Recorded frames between two times, including frames not yet on disk. If the limit may cut the list, the " +
    'header Frame-Count has its length; if the limit cuts it, Link has rel="next". Counting may take 5 s',
  query: historyQuery,
  replies: { 200: ["application/json", z.array(frameSchema), PAGE_HEADERS], 503: PROBLEM },
  answer: (request, query, _parts, { subject }) => openHistory(subject, { query, request }),
});

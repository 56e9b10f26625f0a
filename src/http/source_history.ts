import { z } from "zod";
import { formatTimeUs } from "../frame/mod.ts";
import type { QuantityHistory, SourceHistoryReply, SourceSpan } from "../stream/mod.ts";
import { described, named } from "./api_text.ts";
import { timeRangeOf, timeRangeQuery } from "./history/query.ts";
import { repeated } from "./params.ts";
import { ApiError, slices } from "./reply.ts";
import { type Route, route } from "./routes.ts";
import { PROBLEM } from "./schemas.ts";

const time = described(z.string(), { format: "date-time" });

const spanSchema = z.object({
  from: time,
  to: time,
  bus: z.string(),
  src: z.int(),
  name: described(z.string(), "NAME, 16 hex digits; empty while it was unknown"),
  model: z.string().optional(),
});

const sourceHistorySchema = named("SourceHistory", {
  since: described(time.nullable(), "Since when changes are logged; null: nothing is logged yet"),
  quantities: z.array(z.object({
    quantity: described(z.string(), "Key, such as `depth` or `engine.0.speed`"),
    spans: described(z.array(spanSchema), "When each device gave it; a pause of less than a minute is none"),
    preferred: described(z.array(spanSchema), "Which of them was preferred: each next one is a switch"),
  })),
});

const query = z.object({
  ...timeRangeQuery,
  quantity: repeated(z.string().min(1, "must not be empty"), "Key of a quantity; repeatable. Default all"),
});

/** `GET /sources/history`; `history` undefined: none is kept. */
export function sourceHistoryRoute(
  history: { read(): Promise<SourceHistoryReply> } | undefined,
  wallUs: () => number,
): Route {
  return route({
    path: "/sources/history",
    summary: "Which device gave each quantity when, and which one was preferred",
    query,
    replies: { 200: ["application/json", sourceHistorySchema], 503: PROBLEM },
    answer: async (_request, { from, to, quantity }) => {
      const { fromUs, toUs } = timeRangeOf({ from, to }, wallUs());
      if (!history) throw new ApiError(503, "No history of sources is kept: see -source-history-max-size");
      const { sinceMs, quantities } = await history.read();
      const range = { fromMs: fromUs / 1000, toMs: toUs / 1000 };
      const wanted = quantity && new Set(quantity);
      const rows = [...quantities].filter(([key]) => wanted?.has(key) ?? true).sort(([a], [b]) => a < b ? -1 : 1);
      return new Response(slices(textsOf(rows, { sinceMs, range })), {
        headers: { "Content-Type": "application/json" },
      });
    },
  });
}

interface Range {
  fromMs: number;
  toMs: number;
}

/** The reply as JSON, in pieces. */
function* textsOf(
  rows: readonly (readonly [string, QuantityHistory])[],
  { sinceMs, range }: { sinceMs: number | undefined; range: Range },
): Generator<string, void> {
  const since = sinceMs === undefined ? null : timeText(sinceMs);
  yield `{"since":${JSON.stringify(since)},"quantities":[`;
  let separator = "";
  for (const [quantity, history] of rows) {
    const [spans, preferred] = [history.spans, history.preferred].map((list) => within(list, range));
    if (!spans || !preferred || spans.length + preferred.length === 0) continue;
    yield `${separator}${JSON.stringify({ quantity }).slice(0, -1)},"spans":`;
    yield* listTexts(spans);
    yield `,"preferred":`;
    yield* listTexts(preferred);
    yield "}";
    separator = ",";
  }
  yield "]}";
}

function* listTexts(spans: readonly SourceSpan[]): Generator<string, void> {
  let separator = "[";
  for (const { fromMs, toMs, device: { bus, src, name, model } } of spans) {
    const span = { from: timeText(fromMs), to: timeText(toMs), bus, src, name, ...(model !== undefined && { model }) };
    yield separator + JSON.stringify(span);
    separator = ",";
  }
  yield separator === "[" ? "[]" : "]";
}

/** The spans that touch a range, as they are. */
function within(spans: readonly SourceSpan[], { fromMs, toMs }: Range): SourceSpan[] {
  return spans.filter((span) => span.fromMs <= toMs && span.toMs >= fromMs);
}

function timeText(ms: number): string {
  return formatTimeUs(ms * 1000);
}

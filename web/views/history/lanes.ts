import type { FieldSeries } from "@vessel/gateway/client";
import type { LineValues } from "./columns.ts";

/** A time in which a label held. */
export interface LabelSpan {
  fromMs: number;
  toMs: number;
  text: string;
}

/** Joins buckets with the same label; a gap in the data ends a span. */
export function labelSpans(
  { last }: Pick<FieldSeries, "last">,
  { time, longestMs }: Pick<LineValues, "time" | "longestMs">,
  { bucketMs, textOf }: { bucketMs: number; textOf: (value: FieldSeries["last"][number]) => string },
): LabelSpan[] {
  const spans: LabelSpan[] = [];
  for (const [index, fromMs] of time.entries()) {
    const next = time[index + 1];
    const toMs = next === undefined || next - fromMs > longestMs ? fromMs + bucketMs : next;
    const text = textOf(last[index] ?? null);
    const before = spans.at(-1);
    if (before && before.toMs === fromMs && before.text === text) before.toMs = toMs;
    else spans.push({ fromMs, toMs, text });
  }
  return spans;
}

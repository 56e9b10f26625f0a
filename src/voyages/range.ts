import type { Period } from "./detector.ts";

/** The voyages that touch a range, whole, and the part of the other periods that is in it; bounds are inclusive. */
export function inRange(periods: readonly Period[], { fromMs, toMs }: { fromMs: number; toMs: number }): Period[] {
  return periods.filter(({ startMs, endMs }) => endMs >= fromMs && startMs <= toMs).map((period) => {
    if (period.state === "under_way") return period;
    return { ...period, startMs: Math.max(fromMs, period.startMs), endMs: Math.min(toMs, period.endMs) };
  });
}

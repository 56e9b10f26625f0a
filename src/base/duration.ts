const SHORT_UNIT_MS = new Map([
  ["ms", 1],
  ["s", 1000],
  ["m", 60_000],
  ["h", 3_600_000],
  ["d", 86_400_000],
  ["w", 604_800_000],
]);

/** Temporal takes a week for 7 days only when it knows from when. */
const ANY_DAY = "2000-01-01";

const SHORT_FORM = /^(?:\d+(?:\.\d+)?(?:ms|[smhdw]))+$/;
const ISO_FORM = /^P(?:\d+W)?(?:\d+D)?(?:T(?=\d)(?:\d+H)?(?:\d+M)?(?:\d+(?:\.\d+)?S)?)?$/;

/**
 * Milliseconds of a duration in ISO 8601 (`PT5M`, `P1DT12H`; no years or months, whose length varies) or in the short
 * form (`5m`, `1h30m`, `250ms`). `0` alone is zero.
 *
 * @throws {RangeError} the text is neither
 */
export function parseDuration(text: string): number {
  const value = text.trim();
  if (value === "0") return 0;
  if (ISO_FORM.test(value) && /\d/.test(value)) {
    return Temporal.Duration.from(value).total({ unit: "milliseconds", relativeTo: ANY_DAY });
  }
  if (!SHORT_FORM.test(value)) {
    throw new RangeError(`Cannot read the duration "${text}": expected ISO 8601 such as PT5M, or 5m, 1h30m, 250ms`);
  }
  let totalMs = 0;
  for (const [, amount, unit] of value.matchAll(/(\d+(?:\.\d+)?)(ms|[smhdw])/g)) {
    totalMs += Number(amount) * (SHORT_UNIT_MS.get(unit ?? "") ?? 0);
  }
  return totalMs;
}

/** ISO 8601 text of a number of milliseconds, in hours, minutes and seconds: `PT1H30M`. */
export function formatDuration(ms: number): string {
  return Temporal.Duration.from({ milliseconds: Math.round(ms) }).round({ largestUnit: "hours" }).toString();
}

const UNIT_SECONDS: Readonly<Record<string, number>> = { ms: 0.001, s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 };

/**
 * A duration in ISO 8601, which is what servers are promised: of milliseconds, or of a text such as `1h30m`. A text of
 * another form, ISO 8601 included, stays as it is: the server judges it.
 */
export function isoDuration(duration: number | string): string {
  if (typeof duration === "number") return secondsText(duration / 1000);
  if (!/^(?:\d+(?:\.\d+)?(?:ms|[smhdw]))+$/.test(duration)) return duration;
  let seconds = 0;
  for (const [, amount, unit = ""] of duration.matchAll(/(\d+(?:\.\d+)?)(ms|[smhdw])/g)) {
    seconds += Number(amount) * (UNIT_SECONDS[unit] ?? 0);
  }
  return secondsText(seconds);
}

function secondsText(seconds: number): string {
  return `PT${Math.round(seconds * 1000) / 1000}S`;
}

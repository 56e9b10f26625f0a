/** Date, time with seconds, and an offset; a `+` that a URL turned into a space is taken as meant. */
const RFC_3339 = /^(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d:\d\d)(?:\.(\d+))?([Zz]|[+\- ]\d\d:\d\d)$/;

/** Reads an RFC 3339 time such as `2026-01-02T03:04:05Z`: microseconds since 1970; undefined when it is none. */
export function parseTimestamp(text: string): number | undefined {
  const found = RFC_3339.exec(text);
  if (!found) return undefined;
  const [, date, time, fraction = "0", zone = "Z"] = found;
  try {
    const instant = Temporal.Instant.from(`${date}T${time}.${fraction.slice(0, 9)}${zone.replace(" ", "+")}`);
    return Number(instant.epochNanoseconds / 1000n);
  } catch {
    return undefined;
  }
}

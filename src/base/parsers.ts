/** Address that a server listens on. */
export interface ListenAddress {
  /** Host name or IP address; {@linkcode ALL_ADDRESSES} for all. */
  hostname: string;
  /** 0 chooses a free port. */
  port: number;
}

/** All addresses of the machine, IPv6 and IPv4. */
export const ALL_ADDRESSES = "::";

/** Highest port number. */
export const MAX_PORT = 65_535;

/**
 * Reads `host:port`, `[::1]:port`, or `:port` for all addresses.
 *
 * @throws {RangeError} the text has another form
 */
export function parseAddress(text: string): ListenAddress {
  const [, bracketed, plain, digits] = /^(?:\[([\da-f:.%]+)\]|([\w.-]*)):(\d{1,5})$/i.exec(text) ?? [];
  const port = Number(digits ?? NaN);
  if (port <= MAX_PORT) return { hostname: bracketed ?? (plain || ALL_ADDRESSES), port };
  throw new RangeError(
    `Cannot read the address "${text}": expected host:port such as 127.0.0.1:8089, [::1]:8089 or :8089, port 0 to ${MAX_PORT}`,
  );
}

/** Formats `host:port`, with an IPv6 address in brackets. */
export function formatAddress({ hostname, port }: ListenAddress): string {
  return `${hostname.includes(":") ? `[${hostname}]` : hostname}:${port}`;
}

const SHORT_UNIT_MS = new Map([
  ["ms", 1],
  ["s", 1000],
  ["m", 60_000],
  ["h", 3_600_000],
  ["d", 86_400_000],
  ["w", 604_800_000],
]);

const SHORT_FORM = /^(?:\d+(?:\.\d+)?(?:ms|[smhdw]))+$/;
const N = String.raw`\d+(?:[.,]\d+)?`;
const ISO_FORM = new RegExp(`^P(?=.)(?:${N}W)?(?:${N}D)?(?:T(?=.)(?:${N}H)?(?:${N}M)?(?:${N}S)?)?$`);
/** Only the last part of an ISO 8601 duration may have a fraction. */
const EARLY_FRACTION = /[.,]\d+[A-Z].*\d/;
const PART = new RegExp(`(${N})(ms|[smhdw])`, "gi");

/**
 * Milliseconds of a duration in ISO 8601 (`PT5M`, `P1DT12H`, `PT1.5H`; no years or months, whose length varies) or in the
 * short form (`5m`, `1h30m`, `250ms`). `0` alone is zero.
 *
 * @throws {RangeError} the text has another form, or the duration is too long for whole milliseconds
 */
export function parseDuration(text: string): number {
  const value = text.trim();
  if (value === "0") return 0;
  const isIso = ISO_FORM.test(value) && !EARLY_FRACTION.test(value);
  if (!isIso && !SHORT_FORM.test(value)) {
    throw new RangeError(`Cannot read the duration "${text}": expected ISO 8601 such as PT5M, or 5m, 1h30m, 250ms`);
  }
  let totalMs = 0;
  for (const [, amount = "", unit = ""] of value.matchAll(PART)) {
    totalMs += Number(amount.replace(",", ".")) * (SHORT_UNIT_MS.get(unit.toLowerCase()) ?? 0);
  }
  if (totalMs <= Number.MAX_SAFE_INTEGER) return totalMs;
  throw new RangeError(`Cannot read the duration "${text}": it is too long`);
}

/** ISO 8601 text of a number of milliseconds, in hours, minutes and seconds: `PT1H30M`. */
export function formatDuration(ms: number): string {
  return Temporal.Duration.from({ milliseconds: Math.round(ms) }).round({ largestUnit: "hours" }).toString();
}

const UNIT_BYTES = new Map([
  ["", 1],
  ["b", 1],
  ["kb", 1e3],
  ["mb", 1e6],
  ["gb", 1e9],
  ["tb", 1e12],
  ["kib", 2 ** 10],
  ["mib", 2 ** 20],
  ["gib", 2 ** 30],
  ["tib", 2 ** 40],
]);

/**
 * Bytes of a size such as `4096`, `10GB` (powers of ten) or `512KiB` (powers of two).
 *
 * @throws {RangeError} the text is not a size
 */
export function parseSize(text: string): number {
  const [, amount, unit] = /^(\d+(?:\.\d+)?)\s*([a-z]*)$/i.exec(text.trim()) ?? [];
  const unitBytes = UNIT_BYTES.get(unit?.toLowerCase() ?? "none");
  if (amount === undefined || unitBytes === undefined) {
    throw new RangeError(
      `Cannot read the size "${text}": expected bytes, or a number with kB, MB, GB, KiB, MiB or GiB`,
    );
  }
  return Math.round(Number(amount) * unitBytes);
}

/** Date, time with seconds, and offset. Accepts a space instead of `+`, because URLs decode `+` as a space. */
const RFC_3339 = /^(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d:\d\d)(?:\.(\d+))?([Zz]|[+\- ]\d\d:\d\d)$/;

/** Parses an RFC 3339 time such as `2026-01-02T03:04:05Z` to microseconds since 1970; undefined when invalid. */
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

import type { Message } from "../frame/mod.ts";

/** PGNs that tell date and time. */
export const TIME_PGN = { systemTime: 126992, gnssPosition: 129029, timeDate: 129033 } as const;

const DAY_US = 86_400_000_000;
/** Unit of a time of day: 0.0001 s. */
const TICK_US = 100;
/** A day of 86 401 s has a leap second. */
const MAX_TICKS = 86_401 * 10_000;
/** Days from here on are "reserved", "error" and "not available". */
const FIRST_RESERVED_DAY = 0xfffd;
/** Sources of PGN 126992 that follow UTC: GPS, GLONASS, radio station. The others are crystals and atomic clocks. */
const LAST_UTC_SOURCE = 2;
/** Methods of PGN 129029 whose time is that of satellites: fix, DGNSS, precise, RTK fixed, RTK float, estimated. */
const METHODS = { first: 1, last: 6 } as const;

/**
 * Time that a message tells, microseconds since 1970 UTC. Undefined: it tells none, or one that does not come from
 * satellites or a radio station (a local clock, no fix, manual input, a simulator), or an invalid one.
 */
export function gnssTimeOf(message: Message): number | undefined {
  switch (message.pgn) {
    case TIME_PGN.systemTime:
      return (byteAt(message, 1) & 0x0f) <= LAST_UTC_SOURCE ? timeAt(message, 2) : undefined;
    case TIME_PGN.gnssPosition: {
      const method = byteAt(message, 31) >> 4;
      return method >= METHODS.first && method <= METHODS.last ? timeAt(message, 1) : undefined;
    }
    case TIME_PGN.timeDate:
      return timeAt(message, 0);
    default:
      return undefined;
  }
}

/** A byte of the payload; one that is missing is "not available". */
function byteAt({ data, offset, length }: Message, at: number): number {
  return at < length ? data[offset + at] ?? 0xff : 0xff;
}

/** Day (16 bits) and time of day (32 bits), little-endian. */
function timeAt(message: Message, at: number): number | undefined {
  if (at + 6 > message.length) return undefined;
  const byte = (index: number) => byteAt(message, at + index);
  const day = byte(0) + byte(1) * 0x100;
  const ticks = byte(2) + byte(3) * 0x100 + byte(4) * 0x1_0000 + byte(5) * 0x100_0000;
  return day < FIRST_RESERVED_DAY && ticks < MAX_TICKS ? day * DAY_US + ticks * TICK_US : undefined;
}

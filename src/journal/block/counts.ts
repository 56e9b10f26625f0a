import { type BlockEnd, type BusCounts, type FrameFates, MAX_BUSES } from "../types.ts";
import { pushVarint, VarintReader } from "./varint.ts";

// Body of tag 7, for each bus in the order of their indexes, all numbers varints:
//
//   received | dropped | number of reasons | frames or messages for each reason, in the order of INCOMPLETE_REASONS
//
// Trailing reasons with a count of 0 are omitted. A reader ignores counts beyond the reasons that it knows.

/** Why frames never became a message. Codes on disk are indexes of this list: only append to it. */
export const INCOMPLETE_REASONS: readonly string[] = [
  "timeout",
  "replaced",
  "overflow",
  "malformed",
  "unexpected",
  "tp_timeout",
  "tp_aborted",
  "tp_unexpected",
  "tp_control",
];

/** Maximum number of reasons per bus that a reader accepts. */
const MAX_REASONS = 32;

/** Encodes the counters of at most {@linkcode MAX_BUSES} buses. Omits reasons without a code. */
export function encodeBusCounts(counts: readonly BusCounts[]): Uint8Array {
  const bytes: number[] = [];
  for (const { received, dropped, incomplete } of counts.slice(0, MAX_BUSES)) {
    pushVarint(bytes, received);
    pushVarint(bytes, dropped);
    pushReasons(bytes, incomplete);
  }
  return Uint8Array.from(bytes);
}

function pushReasons(bytes: number[], incomplete: Readonly<Record<string, number>>): void {
  const values = INCOMPLETE_REASONS.map((reason) => incomplete[reason] ?? 0);
  const used = values.findLastIndex((value) => value > 0) + 1;
  for (const value of [used, ...values.slice(0, used)]) pushVarint(bytes, value);
}

function readReasons(reader: VarintReader): Record<string, number> | undefined {
  const used = reader.next();
  if (used === undefined || used > MAX_REASONS) return undefined;
  const incomplete: Record<string, number> = {};
  for (let code = 0; code < used; code++) {
    const value = reader.next();
    if (value === undefined) return undefined;
    const reason = INCOMPLETE_REASONS[code];
    if (reason !== undefined && value > 0) incomplete[reason] = value;
  }
  return incomplete;
}

/** Decodes the output of {@linkcode encodeBusCounts}; undefined if the bytes are invalid. */
export function decodeBusCounts(body: Uint8Array): BusCounts[] | undefined {
  const reader = new VarintReader(body);
  const counts: BusCounts[] = [];
  while (!reader.isAtEnd && counts.length < MAX_BUSES) {
    const [received, dropped, incomplete] = [reader.next(), reader.next(), readReasons(reader)];
    if (received === undefined || dropped === undefined || incomplete === undefined) return undefined;
    counts.push({ received, dropped, incomplete });
  }
  return counts;
}

// Body of tag 10, in the same way, for each bus:
//
//   frames in messages | waiting | numbered | unrecorded | interface id, 0: unknown | received by the interface at the
//   start | now | number of reasons | frames for each reason

const UNKNOWN = { id: 0, atStart: 0, received: 0 };

/** Encodes what became of the frames of each bus; empty if that is not known of all. */
export function encodeFates(counts: readonly BusCounts[]): Uint8Array {
  const bytes: number[] = [];
  for (const { fates } of counts.slice(0, MAX_BUSES)) {
    if (fates === undefined) return new Uint8Array(0);
    const { inMessages, waiting, numbered, unrecorded, interface: own = UNKNOWN } = fates;
    const values = [inMessages, waiting, numbered, unrecorded, own.id, own.atStart, own.received];
    for (const value of values) pushVarint(bytes, value);
    pushReasons(bytes, fates.incomplete);
  }
  return Uint8Array.from(bytes);
}

/** Decodes the output of {@linkcode encodeFates}; undefined if the bytes are invalid. */
export function decodeFates(body: Uint8Array): FrameFates[] | undefined {
  const reader = new VarintReader(body);
  const all: FrameFates[] = [];
  while (!reader.isAtEnd && all.length < MAX_BUSES) {
    const values = Array.from({ length: 7 }, () => reader.next());
    const [inMessages, waiting, numbered, unrecorded, id = 0, atStart = 0, received] = values;
    const incomplete = readReasons(reader);
    if (inMessages === undefined || waiting === undefined || numbered === undefined || unrecorded === undefined) {
      return undefined;
    }
    if (received === undefined || incomplete === undefined) return undefined;
    all.push({
      inMessages,
      incomplete,
      waiting,
      numbered,
      unrecorded,
      ...(id > 0 && { interface: { id, atStart, received } }),
    });
  }
  return all;
}

/** Adds what became of the frames to the counters. */
export function withFates(counts: readonly BusCounts[], fates: readonly FrameFates[] | undefined): BusCounts[] {
  return counts.map((each, bus) => {
    const own = fates?.[bus];
    return own ? { ...each, fates: own } : each;
  });
}

// Body of tag 11: frames before | microseconds since 1970 | bytes of the counters | body of tag 7 | body of tag 10.

/** Encodes the counters at a moment within a block. */
export function encodeEnd({ frames, timeUs, counts }: BlockEnd): Uint8Array {
  const received = encodeBusCounts(counts);
  const bytes: number[] = [];
  for (const value of [frames, Math.max(0, timeUs), received.length]) pushVarint(bytes, value);
  return Uint8Array.of(...bytes, ...received, ...encodeFates(counts));
}

/** Decodes the output of {@linkcode encodeEnd}; undefined if the bytes are invalid. */
export function decodeEnd(body: Uint8Array): BlockEnd | undefined {
  const reader = new VarintReader(body);
  const [frames, timeUs, length] = [reader.next(), reader.next(), reader.next()];
  if (frames === undefined || timeUs === undefined || length === undefined) return undefined;
  const at = reader.position;
  const counts = decodeBusCounts(body.subarray(at, at + length));
  const fates = decodeFates(body.subarray(at + length));
  return counts && fates && { frames, timeUs, counts: withFates(counts, fates) };
}

/** Bytes by which the counters may grow within a block; a longer end is left out. */
const END_GROWTH_BYTES = 16;

/** Bytes to reserve for the counters at the end of a block that begins with these. */
export function endBytesOf(counts: readonly BusCounts[]): number {
  return encodeEnd({ frames: 2 ** 20, timeUs: 2 ** 51, counts }).length + END_GROWTH_BYTES * counts.length;
}

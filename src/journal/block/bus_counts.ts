import { type BusCounts, MAX_BUSES } from "../types.ts";
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
];

/** Maximum number of reasons per bus that a reader accepts. */
const MAX_REASONS = 32;

/** Encodes the counters of at most {@linkcode MAX_BUSES} buses. Omits reasons without a code. */
export function encodeBusCounts(counts: readonly BusCounts[]): Uint8Array {
  const bytes: number[] = [];
  for (const { received, dropped, incomplete } of counts.slice(0, MAX_BUSES)) {
    const values = INCOMPLETE_REASONS.map((reason) => incomplete[reason] ?? 0);
    const used = values.findLastIndex((value) => value > 0) + 1;
    for (const value of [received, dropped, used, ...values.slice(0, used)]) pushVarint(bytes, value);
  }
  return Uint8Array.from(bytes);
}

/** Decodes the output of {@linkcode encodeBusCounts}; undefined if the bytes are invalid. */
export function decodeBusCounts(body: Uint8Array): BusCounts[] | undefined {
  const reader = new VarintReader(body);
  const counts: BusCounts[] = [];
  while (!reader.isAtEnd && counts.length < MAX_BUSES) {
    const [received, dropped, used] = [reader.next(), reader.next(), reader.next()];
    if (received === undefined || dropped === undefined || used === undefined || used > MAX_REASONS) return undefined;
    const incomplete: Record<string, number> = {};
    for (let code = 0; code < used; code++) {
      const value = reader.next();
      if (value === undefined) return undefined;
      const reason = INCOMPLETE_REASONS[code];
      if (reason !== undefined && value > 0) incomplete[reason] = value;
    }
    counts.push({ received, dropped, incomplete });
  }
  return counts;
}

import definitions from "./definitions.gen.json" with { type: "json" };
import { type Framing, FRAMING_CORRECTIONS } from "./overlay.ts";

const known = new Map<number, Framing>();
for (const [pgn, type] of definitions.pgns) known.set(Number(pgn), type === "fast" ? "fast" : "single");
for (const { pgns, framing } of FRAMING_CORRECTIONS) for (const pgn of pgns) known.set(pgn, framing);

/**
 * How this PGN travels: the definitions with their corrections first; for a PGN that nobody has described, the ranges
 * of the standard: 0x1ED00-0x1EFFF and 0x1FF00-0x1FFFF are fast packets, everything else is one frame.
 */
export function framingOf(pgn: number): Framing {
  const framing = known.get(pgn);
  if (framing !== undefined) return framing;
  const fast = (pgn >= 0x1ed00 && pgn <= 0x1efff) || (pgn >= 0x1ff00 && pgn <= 0x1ffff);
  return fast ? "fast" : "single";
}

/** True when a message of this PGN is sent as a fast packet, whatever its length. */
export function isFastPacket(pgn: number): boolean {
  return framingOf(pgn) === "fast";
}

/**
 * How a PGN travels: in one frame (`single`), as an NMEA 2000 fast packet (`fast`), or `either`, when real devices do
 * both: one frame cannot tell, so that the assembler holds what looks like a first fragment until the next frame shows
 * what it is, and remembers the habit of each source.
 */
export type Framing = "single" | "fast" | "either";

/** One correction of the definitions, with the evidence for it. */
export interface FramingCorrection {
  pgn: number;
  framing: Framing;
  reason: string;
}

/** PGNs that real devices frame differently from the definitions or the PGN ranges. */
export const FRAMING_CORRECTIONS: readonly FramingCorrection[] = [
  {
    pgn: 127510,
    framing: "either",
    reason: "fast packet by canboat; WS500 regulators send one plain frame (a00831000145210f)",
  },
  { pgn: 130723, framing: "single", reason: "RV-C charger status 2, sent as one frame by WS500 regulators" },
  { pgn: 130762, framing: "single", reason: "RV-C diagnostics, sent as one frame by WS500 regulators" },
  { pgn: 130969, framing: "single", reason: "RV-C equalization status: one frame inside the proprietary fast range" },
  { pgn: 131015, framing: "single", reason: "RV-C charger status: one frame inside the proprietary fast range" },
  ...[129811, 129812, 129813, 129814, 129815, 129816, 130568, 130575].map((pgn) => (
    { pgn, framing: "fast" as const, reason: "fast packet by canboat's definitions of 2026-08, newer than the package" }
  )),
];

import { describePgn, type PgnDescription } from "../../pgn/mod.ts";
import { crc32c } from "../../journal/mod.ts";
import { ROLLUP_BUCKET_MS } from "./base.ts";

/**
 * Identifies what sidecars are built with: width of buckets, fields, and definitions of their PGNs. A sidecar with another
 * signature is rebuilt, since a corrected definition changes the values of recorded frames, too.
 */
export function signatureOf(
  fields: readonly { pgn: number }[],
  describe: (pgn: number) => Pick<PgnDescription, "layouts"> | undefined = describePgn,
): number {
  const pgns = new Set(fields.map(({ pgn }) => pgn));
  const layouts = Array.from(pgns, (pgn) => describe(pgn)?.layouts);
  return crc32c(new TextEncoder().encode(JSON.stringify([ROLLUP_BUCKET_MS, fields, layouts])));
}

import { describePgn, listPgns } from "../../src/pgn/mod.ts";
import { parseWhere as parse, type PgnCatalog, type Where } from "../../src/where/mod.ts";

/** The real definitions. */
export const PGN_CATALOG: PgnCatalog = { describe: describePgn, list: listPgns };

/** Reads an expression, with the real definitions. */
export function parseWhere(source: string): Where {
  return parse(source, PGN_CATALOG);
}

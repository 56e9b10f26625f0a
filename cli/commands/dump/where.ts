import { describePgn, listPgns } from "@vessel/gateway/pgn";
import { doubtFields, manufacturersIn, parseWhere, type PgnCatalog, type Where } from "@vessel/gateway/where";
import { doubtManufacturers } from "../../settings/filter_names.ts";

/** An expression as written and as compiled. */
export interface WhereChoice {
  source: string;
  where: Where;
}

const CATALOG: PgnCatalog = { describe: describePgn, list: listPgns };

/** Reads the expression of `-where`. @throws {WhereError} */
export function readWhere(source: string): WhereChoice {
  return { source, where: parseWhere(source, CATALOG) };
}

/** A warning about a field or manufacturer that this version does not know (a newer server may); undefined: none. */
export function doubtWhere({ source }: WhereChoice): string | undefined {
  return doubtFields(source, CATALOG) ?? doubtManufacturers(manufacturersIn(source));
}

/** What definitions say of the fields that an expression names. */
import { describePgn, type ItemDescription, listPgns } from "@vessel/gateway/pgn";

/** Fields of a PGN, one of each layout that has it, at the end of a path from outside to inside. */
export function fieldsAt(pgn: number, path: readonly string[]): ItemDescription[] {
  let items: ItemDescription[] = describePgn(pgn)?.layouts.flatMap(({ fields }) => fields) ?? [];
  for (const [index, name] of path.entries()) {
    const found = items.filter((item) => item.name === name);
    if (index === path.length - 1) return found;
    items = found.flatMap((item) => item.type === "group" ? item.fields : []);
  }
  return [];
}

/** The same of several PGNs; of all that are known where none are given. */
export function* fieldsOfAll(
  path: readonly string[],
  pgns: Iterable<number> | undefined,
): Generator<ItemDescription> {
  const all = pgns ?? Array.from(listPgns(), ({ pgn }) => pgn);
  for (const pgn of all) yield* fieldsAt(pgn, path);
}

import { readName } from "../frame/mod.ts";

/**
 * Selects the frames that a client gets (the specification's Filter resource). Every field is optional. Several values of
 * one field are OR'd, different fields are AND'd; the excluding fields take precedence.
 */
export interface Filter {
  /** Include these PGNs. */
  pgn?: number[];
  /** Exclude these PGNs. */
  exclude_pgn?: number[];
  /** Manufacturer names, case-insensitive, or decimal codes. */
  manufacturer?: string[];
  /** Device instances 0-252. */
  instance?: number[];
  /** Include these NAMEs, hex with or without `0x`. */
  name?: string[];
  /** Exclude these NAMEs. */
  exclude_name?: string[];
  /** Names of buses. */
  bus?: string[];
}

/** A filter is invalid; `field` names the list. */
export class FilterError extends Error {
  /** `FilterError`. */
  override name = "FilterError";
  /** The invalid list. */
  readonly field: keyof Filter;

  /** @ignore */
  constructor(field: keyof Filter, message: string) {
    super(message);
    this.field = field;
  }
}

/** Most entries of a filter: the sum of all its lists, without duplicates. */
export const MAX_FILTER_ENTRIES = 256;
/** Longest name of a manufacturer or bus in a filter, characters. */
export const MAX_FILTER_TEXT_CHARACTERS = 128;

/**
 * Removes duplicates from a client's filter (the first spelling stays) and checks its size. The size is limited because
 * sessions store filters in memory and on disk.
 *
 * @param filter the lists; null and undefined are ignored
 * @throws {FilterError} too many entries, or a text is too long; `field` is the list that exceeds the limit
 */
export function boundFilter(filter: { [Name in keyof Filter]?: Filter[Name] | null | undefined }): Filter {
  const { pgn, exclude_pgn, manufacturer, instance, name, exclude_name, bus } = filter;
  let entries = 0;
  const bound = <T>(field: keyof Filter, list: readonly T[], keyOf: (entry: T) => unknown): T[] => {
    const unique = new Map<unknown, T>();
    for (const entry of list) {
      const key = keyOf(entry);
      if (unique.has(key)) continue;
      if (++entries > MAX_FILTER_ENTRIES) throw new FilterError(field, tooMany);
      unique.set(key, checkText(field, entry));
    }
    return [...unique.values()];
  };
  return {
    ...(pgn && { pgn: bound("pgn", pgn, Number) }),
    ...(exclude_pgn && { exclude_pgn: bound("exclude_pgn", exclude_pgn, Number) }),
    ...(manufacturer && { manufacturer: bound("manufacturer", manufacturer, (text) => text.toLowerCase()) }),
    ...(instance && { instance: bound("instance", instance, Number) }),
    ...(name && { name: bound("name", name, nameKey) }),
    ...(exclude_name && { exclude_name: bound("exclude_name", exclude_name, nameKey) }),
    ...(bus && { bus: bound("bus", bus, String) }),
  };
}

const tooMany =
  `more than ${MAX_FILTER_ENTRIES} entries: a filter has at most ${MAX_FILTER_ENTRIES} in all its lists ` +
  "together, duplicates not counted";

function checkText<T>(field: keyof Filter, entry: T): T {
  if (typeof entry === "string" && entry.length > MAX_FILTER_TEXT_CHARACTERS) {
    throw new FilterError(field, `expected at most ${MAX_FILTER_TEXT_CHARACTERS} characters, got ${entry.length}`);
  }
  return entry;
}

/** Unifies the spellings of a NAME. An invalid NAME is rejected later, by {@linkcode compileFilter}. */
function nameKey(text: string): bigint | string {
  return readName(text) ?? text;
}

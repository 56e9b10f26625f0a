/** Selects the layout of a PGN that the given fields belong to. */
import { type Definition, definitionsOf, type Field, isGroup, type Item } from "./model.ts";
import { EncodeError, isNothing, listed, quote } from "./encode_error.ts";
import { standsFor } from "./encode_field.ts";

type Values = Readonly<Record<string, unknown>>;

const SHOWN_FIELDS = 12;
const SHOWN_LAYOUTS = 12;

/** Names of the fields and groups among these items. */
export function namesOf(items: readonly Item[]): string[] {
  return items.map((item) => isGroup(item) ? item.group : item.name).filter((name) => name !== undefined);
}

/** Names of the given fields; undefined counts as not given. */
function givenNames(values: Values): string[] {
  return Object.keys(values).filter((name) => values[name] !== undefined);
}

/** Given names that these items do not have. */
export function unknownNames(items: readonly Item[], values: Values): string[] {
  const known = new Set(namesOf(items));
  return givenNames(values).filter((name) => !known.has(name));
}

/** The value of a field; undefined when it is not given. */
export function valueOf(values: Values, name: string): unknown {
  return Object.hasOwn(values, name) ? values[name] : undefined;
}

/** Whether a value agrees with the discriminator of a layout. */
function isMatch(field: Field, { value, match }: { value: unknown; match: number }): boolean {
  try {
    return standsFor(field, value, { path: "", raw: match });
  } catch (error) {
    if (error instanceof EncodeError) return false;
    throw error;
  }
}

/** Discriminators of a layout that are not given, and the number of those that disagree. */
function discriminators({ items }: Definition, values: Values): { missing: number; wrong: number } {
  let [missing, wrong] = [0, 0];
  for (const item of items) {
    if (isGroup(item) || item.match === undefined || item.name === undefined) continue;
    const value = valueOf(values, item.name);
    if (isNothing(value)) missing++;
    else if (!isMatch(item, { value, match: item.match })) wrong++;
  }
  return { missing, wrong };
}

/** The fields of the layouts, for errors. */
export function fieldsOf(items: readonly Item[]): string {
  return listed(namesOf(items), SHOWN_FIELDS) || "none";
}

function refuse(closest: Definition, values: Values, { layouts }: { layouts: readonly Definition[] }): never {
  const { pgn, id, items } = closest;
  const names = unknownNames(items, values);
  const unknownToAll = names.find((name) => layouts.every(({ items }) => !namesOf(items).includes(name)));
  const name = unknownToAll ?? names[0] ?? "";
  const has = `has ${fieldsOf(items)}`;
  const message = layouts.length === 1
    ? `PGN ${pgn} has no field ${quote(name)}; it ${has}`
    : unknownToAll === undefined
    ? `PGN ${pgn} has no layout with all of these fields; ${id}, the closest one, has no ${quote(name)}; it ${has}`
    : `PGN ${pgn} has no field ${quote(name)}; ${id}, its closest layout, ${has}`;
  throw new EncodeError(message, name);
}

/** Whether every field of a layout is given, as decoding returns them: null when unavailable. */
function isComplete({ items }: Definition, values: Values): boolean {
  return items.every((item) =>
    isGroup(item) || item.name === undefined || item.proprietary || Object.hasOwn(values, item.name)
  );
}

/** Distance of the given values from a layout, compared element by element. */
function distance(definition: Definition, values: Values): [wrong: number, unknown: number, ...more: number[]] {
  const unknown = unknownNames(definition.items, values).length;
  const { missing, wrong } = discriminators(definition, values);
  return [unknown + wrong, unknown, missing, isComplete(definition, values) ? 0 : 1];
}

function isLess(one: readonly number[], other: readonly number[]): boolean {
  const at = one.findIndex((each, index) => each !== other[index]);
  return at >= 0 && (one[at] ?? 0) < (other[at] ?? 0);
}

/**
 * Returns the named layout, otherwise one whose discriminators agree and which has every given field: of several the one
 * that fills in the fewest discriminators by itself, so that no unintended command is sent; then one of which every
 * field is given; then the first.
 *
 * @throws EncodeError when there is none
 */
export function layoutFor(pgn: number, values: Values, { layout }: { layout?: string }): Definition {
  const all = definitionsOf(pgn);
  const layouts = layout === undefined ? all : all.filter(({ id }) => id === layout);
  let [closest] = layouts;
  if (closest === undefined) {
    if (all.length === 0) throw new EncodeError(`unknown PGN ${pgn}`);
    const ids = listed(all.map(({ id }) => id), SHOWN_LAYOUTS);
    throw new EncodeError(`PGN ${pgn} has no layout ${quote(layout)}; it has ${ids}`);
  }
  let least = distance(closest, values);
  for (const each of layouts.slice(1)) {
    const far = distance(each, values);
    if (isLess(far, least)) [closest, least] = [each, far];
  }
  const [, unknown] = least;
  // If only a discriminator disagrees, encoding reports the reason.
  return unknown === 0 ? closest : refuse(closest, values, { layouts: all });
}

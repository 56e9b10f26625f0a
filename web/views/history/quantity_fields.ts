import type { FieldSeries, KnownPgn, PgnDetails } from "@vessel/gateway/client";
import { labelOfQuantity, QUANTITIES, type QuantityRow, readQuantities } from "@vessel/gateway/quantities";

/** Something that can be charted. */
export interface Chartable {
  /** Key of quantities, `*` for each instance: `engine.*.speed`; or a field: `128267.depth`. */
  id: string;
  label: string;
  /** For people: category, or PGN and field. */
  about: string;
}

/** The parts of a series that tell what it is. */
export type SeriesOf = Pick<FieldSeries, "field" | "keys">;

const PLACEHOLDER = /\{(\w+)\}/g;

/** All quantities, each once for all its instances. */
export const CHARTABLE_QUANTITIES: readonly Chartable[] = QUANTITIES.flatMap((row, index) => {
  const id = patternOf(row);
  if (QUANTITIES.findIndex((each) => patternOf(each) === id) !== index) return [];
  return [{ id, label: labelOfPattern(row), about: row.category }];
});

/** The quantities of which a boat has at least one instance, by their keys. */
export function quantitiesOf(keys: readonly string[]): readonly Chartable[] {
  return CHARTABLE_QUANTITIES.filter(({ id }) => keys.some((key) => canBe(key, id)));
}

/** Whether a choice is a field of a PGN. */
export function isField(id: string): boolean {
  return /^\d{1,6}\./.test(id);
}

/** The fields of a choice: a quantity may be in several PGNs. */
export function fieldsOfChoice(id: string): string[] {
  if (isField(id)) return [id];
  const rows = QUANTITIES.filter((row) => canBe(patternOf(row), id));
  return [
    ...new Set(rows.flatMap(({ pgn, field, also }) => [field, ...also ? [also] : []].map((each) => `${pgn}.${each}`))),
  ];
}

/** Whether a series is what was chosen: of `wind.apparent.speed`, not the speed of another wind. */
export function isChosen(id: string, series: SeriesOf): boolean {
  if (isField(id)) return series.field === id;
  const found = quantityOf(series);
  return found !== undefined && canBe(found.key, id);
}

/** Name of a choice for people. */
export function choiceLabel(id: string): string {
  if (isField(id)) {
    const row = QUANTITIES.find(({ pgn, field }) => `${pgn}.${field}` === id);
    const [pgn = "", name = ""] = splitField(id);
    return `${row && !row.when ? labelOfPattern(row) : fieldWords(name)} (${pgn})`;
  }
  const row = QUANTITIES.find((each) => patternOf(each) === id) ??
    QUANTITIES.find((each) => canBe(patternOf(each), id));
  if (!row) return id;
  return id.includes("*") ? labelOfPattern(row) : labelOfQuantity(row, id);
}

/** Name of a series for people: quantity and instance, else field and keys. */
export function seriesLabel(series: SeriesOf): string {
  const found = quantityOf(series);
  const [, name = ""] = splitField(series.field);
  if (found) {
    const label = labelOfQuantity(found.row, found.key);
    return found.row.also === undefined ? label : fieldWords(name);
  }
  const keys = Object.entries(series.keys ?? {}).map(([key, value]) =>
    `${key.replaceAll("_", " ")} ${String(value).replaceAll("_", " ")}`
  );
  return fieldWords(name) + (keys.length === 0 ? "" : `, ${keys.join(", ")}`);
}

/** `wind_speed` as `Wind speed`. */
export function fieldWords(name: string): string {
  const words = name.replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** PGN and name of a field. */
export function splitField(field: string): [pgn: string, name: string] {
  const at = field.indexOf(".");
  return [field.slice(0, at), field.slice(at + 1)];
}

/** The choices whose label or id has all the words; those that begin with the text come first. */
export function search(text: string, list: readonly Chartable[]): Chartable[] {
  const words = text.toLowerCase().split(/\s+/).filter((word) => word !== "");
  const rank = ({ label }: Chartable) => label.toLowerCase().startsWith(words[0] ?? "") ? 0 : 1;
  return list.filter(({ id, label, about }) => {
    const all = `${label} ${id} ${about}`.toLowerCase();
    return words.every((word) => all.includes(word));
  }).sort((a, b) => rank(a) - rank(b));
}

/** The PGNs that a text names by number or by words of their description. */
export function pgnsNamed(text: string, pgns: readonly KnownPgn[]): KnownPgn[] {
  const [, digits] = /\b(\d{3,6})\b/.exec(text) ?? [];
  if (digits !== undefined) return pgns.filter(({ pgn }) => String(pgn).startsWith(digits));
  const words = text.toLowerCase().split(/\s+/).filter((word) => word.length >= 3);
  return pgns.filter(({ description }) => words.some((word) => description.toLowerCase().includes(word)));
}

/** The fields of a PGN that have series: no lists, no groups. */
export function fieldsOfPgn({ pgn, description, layouts }: PgnDetails): Chartable[] {
  const names = layouts.flatMap(({ fields }) =>
    fields.flatMap((each) => each.type === "group" || "repeat" in each || each.type === "parameters" ? [] : [each.name])
  );
  return [...new Set(names)].map((name) => (
    { id: `${pgn}.${name}`, label: fieldWords(name), about: `${pgn} ${description}` }
  ));
}

function quantityOf({ field, keys }: SeriesOf): { row: QuantityRow; key: string } | undefined {
  const [pgn, name] = splitField(field);
  return readQuantities(Number(pgn), { ...keys, [name]: 0 })
    .find(({ row }) => row.field === name || row.also === name);
}

function patternOf({ key }: QuantityRow): string {
  return key.replaceAll(PLACEHOLDER, "*");
}

function labelOfPattern({ label }: QuantityRow): string {
  const text = label.replaceAll(PLACEHOLDER, "").replaceAll(/ +/g, " ").trim();
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Whether one key can be both; `*` stands for any part. */
function canBe(a: string, b: string): boolean {
  const [parts, others] = [a.split("."), b.split(".")];
  return parts.length === others.length &&
    parts.every((part, index) => part === others[index] || part === "*" || others[index] === "*");
}

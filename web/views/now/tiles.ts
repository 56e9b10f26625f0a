import type { PgnDetails } from "@vessel/gateway/client";
import {
  type Category,
  type DecodedValues,
  QUANTITIES,
  type Quantity,
  type QuantityRow,
  type QuantityValue,
} from "@vessel/gateway/quantities";
import { type DescribedField, oneFieldText, type UnitSystem } from "@vessel/gateway/units";
import { fieldsOf, plainText } from "../plain_text.ts";

/** Text of a value: the part that must be readable from afar, and its unit. */
export interface ValueParts {
  readonly value: string;
  readonly unit: string;
}

/** Tiles below a title: a category, or one of several engines. */
export interface TileGroup {
  readonly title: string;
  readonly keys: readonly string[];
}

/** Tiles in their order. */
export interface TileOrder {
  /** What is read most, for the first screen. */
  readonly main: readonly string[];
  readonly rest: readonly TileGroup[];
}

/** Beginnings of the keys of the tiles on the first screen. */
const MAIN = [
  "position",
  "heading",
  "cog",
  "sog",
  "stw",
  "depth",
  "wind.apparent",
  "wind.true_water",
  "wind.true_boat",
];
const NOT_MAIN = new Set(["depth.offset"]);
/** Labels that fit a tile; the panel has the whole ones. */
const SHORT_LABELS: Readonly<Record<string, string>> = {
  "cog.true": "COG",
  "cog.magnetic": "COG",
  "heading.magnetic": "Heading",
  "sog": "SOG",
  "stw": "Speed in water",
  "wind.apparent.angle": "Apparent angle",
  "wind.apparent.speed": "Apparent wind",
  "wind.true_boat.angle": "True wind angle",
  "wind.true_boat.speed": "True wind",
  "wind.true_water.angle": "True wind angle",
  "wind.true_water.speed": "True wind",
  "wind.north.angle": "Wind from",
  "wind.north.speed": "Wind speed",
  "wind.magnetic_north.angle": "Wind from",
  "wind.magnetic_north.speed": "Wind speed, mag.",
};
/** Titles of the groups below the first screen. */
const CATEGORY_TITLES: Readonly<Record<Category, string>> = {
  position: "Navigation",
  course: "Navigation",
  speed: "Navigation",
  depth: "Navigation",
  wind: "Navigation",
  environment: "Environment",
  engine: "Engines",
  electrical: "Batteries",
  tank: "Tanks",
  steering: "Steering",
};

/** The part of a key that names an engine. */
const ENGINE = /^(?:engine|gear)\.[^.]+/;
const PLACEHOLDER = /^\{(\w+)\}$/;
/** A number with its sign and degree sign, and the rest. */
const NUMBER = /^([+-]?\d+(?:\.\d+)?(?:°(?![C/]))?)\s*(.*)$/;

/** Order of the tiles: new quantities appear at their fixed place. */
export function orderTiles(quantities: readonly Pick<Quantity, "key" | "row">[]): TileOrder {
  const main = quantities.filter(({ key }) => isMain(key)).map(({ key }) => key);
  const others = quantities.filter(({ key }) => !isMain(key));
  const rest = [...Map.groupBy(others, ({ row }) => CATEGORY_TITLES[row.category]).values()].flatMap(groupsOf);
  return { main, rest };
}

function isMain(key: string): boolean {
  return !NOT_MAIN.has(key) && MAIN.some((each) => key === each || key.startsWith(`${each}.`));
}

/** The group of a category; each engine has its own. */
function groupsOf(quantities: readonly Pick<Quantity, "key" | "row">[]): TileGroup[] {
  const order = new Intl.Collator("en", { numeric: true });
  return [...Map.groupBy(quantities, titleOf)].sort(([a], [b]) => order.compare(a, b))
    .map(([title, group]) => ({ title, keys: group.map(({ key }) => key) }));
}

function titleOf({ key, row }: Pick<Quantity, "key" | "row">): string {
  const engine = ENGINE.exec(key)?.[0].replace("gear", "engine").replace(".", " ");
  return engine === undefined ? CATEGORY_TITLES[row.category] : engine.charAt(0).toUpperCase() + engine.slice(1);
}

/** Label of a tile. */
export function tileLabel({ key, label }: Pick<Quantity, "key" | "label">): string {
  const whole = plainText(label);
  // The title of the group names the engine.
  const own = ENGINE.test(key) ? whole.replace(/^\S+ \S+ (?=.)/, "") : whole;
  return SHORT_LABELS[key] ?? own.charAt(0).toUpperCase() + own.slice(1);
}

/** Text of a value in the preferred unit, as the CLI writes it. */
export function valueText(
  { key, row }: Pick<Quantity, "key" | "row">,
  { value, details, system }: { value: QuantityValue; details: PgnDetails | undefined; system: UnitSystem },
): string {
  const decoded = decodedOf(row, { key, value });
  const described = fieldsOf(decoded, details);
  // Until the description is here, unit and name say enough.
  const bare = (name: string): DescribedField => ({ name, type: "unknown", unit: row.unit });
  const fields = described.has(row.field)
    ? described
    : new Map([row.field, ...row.also === undefined ? [] : [row.also]].map((name) => [name, bare(name)]));
  const names = row.also === undefined ? [row.field] : [row.field, row.also];
  const texts = names.map((name) => oneFieldText(name, decoded, { fields, system, clean: plainText }) ?? "");
  return plainText(texts.join(" "));
}

/** Splits a text at its unit: `12.4` and `kn`, `088.2°` and `M`. A text that is no number has no unit. */
export function valueParts(text: string): ValueParts {
  const [, value, unit] = NUMBER.exec(text) ?? [];
  // A position has more numbers.
  return value === undefined || unit === undefined || /\d.*\d/.test(unit) ? { value: text, unit: "" } : { value, unit };
}

/** The decoded fields from which a quantity is read: the opposite of reading it. */
export function decodedOf(
  row: QuantityRow,
  { key, value }: { key: string; value: QuantityValue },
): Record<string, number | string> & DecodedValues {
  const parts = key.split(".");
  const decoded: Record<string, number | string> = {};
  row.key.split(".").forEach((part, index) => {
    const name = PLACEHOLDER.exec(part)?.[1];
    if (name !== undefined) decoded[name] = wordOf(parts[index] ?? "", row.words?.[name] ?? []);
  });
  for (const [name, wanted] of Object.entries(row.when ?? {})) {
    const [first] = typeof wanted === "string" ? [wanted] : wanted;
    if (first !== undefined) decoded[name] = first;
  }
  if (typeof value !== "object") return { ...decoded, [row.field]: value };
  return { ...decoded, [row.field]: value.latitude, ...(row.also !== undefined && { [row.also]: value.longitude }) };
}

/** The field whose value became a part of a key: a number became a word, and a word its number. */
function wordOf(part: string, words: readonly string[]): number | string {
  const index = words.findIndex((word) => word.replaceAll(" ", "_") === part);
  return index >= 0 ? index : words[Number(part)] ?? part;
}

/** The row of a quantity of a PGN. */
export function rowOf(key: string, pgn: number): QuantityRow | undefined {
  const parts = key.split(".");
  return QUANTITIES.find((row) => {
    if (row.pgn !== pgn) return false;
    const pattern = row.key.split(".");
    return pattern.length === parts.length &&
      pattern.every((part, index) => part === parts[index] || PLACEHOLDER.test(part));
  });
}

/** The setting of the boat's server that prefers a device for a quantity. */
export function preferSetting(key: string, name: string): string {
  return `-preferred-source ${key}=${name}`;
}

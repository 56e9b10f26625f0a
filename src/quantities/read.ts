import { QUANTITIES, type QuantityRow } from "./table.ts";

/** Decoded fields of a payload by name. */
export type DecodedValues = Readonly<Record<string, unknown>>;

/** Value of a quantity: a number in the unit of its row, a word, or a position in degrees. */
export type QuantityValue = number | string | { latitude: number; longitude: number };

/** A quantity in a message. */
export interface QuantityReading {
  /** Description of the quantity. */
  readonly row: QuantityRow;
  /** Rank of the row among those of its key, from 0: the lower one is better. */
  readonly rank: number;
  /** Name for programs, without placeholders: `engine.0.speed`. */
  readonly key: string;
  /** Undefined: the device says that it is not available. */
  readonly value: QuantityValue | undefined;
}

const PLACEHOLDER = /\{(\w+)\}/g;

const byPgn = Map.groupBy(
  QUANTITIES.map((row, index) => ({
    row,
    rank: QUANTITIES.slice(0, index).filter(({ key }) => key === row.key).length,
  })),
  ({ row }) => row.pgn,
);

/** The quantities in a decoded message. A message of a PGN without quantities has none. */
export function readQuantities(pgn: number, decoded: DecodedValues): QuantityReading[] {
  return byPgn.get(pgn)?.flatMap(({ row, rank }): QuantityReading[] => {
    if (!holds(row, decoded)) return [];
    const key = filled(row.key, { row, decoded });
    return key === undefined ? [] : [{ row, rank, key, value: valueOf(row, decoded) }];
  }) ?? [];
}

/** Name of a quantity for people: `Engine 0 speed`. A first instance of what is mostly there once has no number. */
export function labelOfQuantity(row: QuantityRow, key: string): string {
  const values = placeholdersOf(row.key, key);
  const single = row.category === "environment" || row.category === "steering";
  const text = row.label.replace(PLACEHOLDER, (_, name: string) => {
    const value = values.get(name) ?? "";
    return single && name === "instance" && value === "0" ? "" : value.replaceAll("_", " ");
  }).trim().replace(/ +/g, " ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function holds({ when }: QuantityRow, decoded: DecodedValues): boolean {
  return when === undefined || Object.entries(when).every(([field, wanted]) => {
    const value = decoded[field];
    return typeof value === "string" && (typeof wanted === "string" ? value === wanted : wanted.includes(value));
  });
}

function valueOf({ field, also }: QuantityRow, decoded: DecodedValues): QuantityValue | undefined {
  const value = decoded[field];
  if (also !== undefined) {
    const other = decoded[also];
    return typeof value === "number" && typeof other === "number" ? { latitude: value, longitude: other } : undefined;
  }
  return typeof value === "number" || typeof value === "string" ? value : undefined;
}

/** Fills the placeholders of a key; undefined: the message lacks one of the fields. */
function filled(key: string, { row, decoded }: { row: QuantityRow; decoded: DecodedValues }): string | undefined {
  if (!key.includes("{")) return key;
  let isWhole = true;
  const text = key.replace(PLACEHOLDER, (_, name: string) => {
    const value = decoded[name];
    if (typeof value !== "number" && typeof value !== "string") isWhole = false;
    const words = row.words?.[name];
    const word = typeof value === "number" ? words?.[value] : undefined;
    const index = typeof value === "string" ? words?.indexOf(value) ?? -1 : -1;
    return String(word ?? (index >= 0 ? index : value)).replaceAll(/[\s.]/g, "_");
  });
  return isWhole ? text : undefined;
}

/** The values that a key has where the row's key has placeholders. */
function placeholdersOf(pattern: string, key: string): Map<string, string> {
  const parts = key.split(".");
  return new Map(
    pattern.split(".").flatMap((part, index): [string, string][] => {
      const name = /^\{(\w+)\}$/.exec(part)?.[1];
      return name === undefined ? [] : [[name, parts[index] ?? ""]];
    }),
  );
}

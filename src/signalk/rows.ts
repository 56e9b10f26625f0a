/** Compiles the rows of the mapping to functions. */
import { type Decoded, type DecodedValue, describePgn } from "../pgn/mod.ts";
import { type Conversion, conversionOf, LABELLED } from "./mapping/conversions.ts";
import type { Condition, Row, Rule, Source } from "./mapping/types.ts";
import { compilePath, type FieldReader } from "./path_template.ts";
import type { Json, SignalKValue } from "./types.ts";

/** Appends the values of one row. */
export type CompiledRow = (decoded: Decoded, values: SignalKValue[]) => void;

/** Reads the value of a row; undefined: none. */
type ValueReader = (read: FieldReader) => Json | undefined;

/** Compiles a row of a PGN. */
export function compileRow([path, source, rule = {}]: Row, pgn: number): CompiledRow {
  const template = compilePath(path);
  const holds = compileCondition(rule.when);
  const value = compileValue(source, { rule, pgn });
  const field = fieldsOf(source)[0]?.replace("?", "") ?? "";
  const append = (read: FieldReader, values: SignalKValue[]) => {
    if (!holds(read)) return;
    const found = value(read);
    if (found === undefined) return;
    const at = template(read);
    if (at !== undefined) values.push({ path: at, value: found, field });
  };
  const { each } = rule;
  if (each === undefined) return (decoded, values) => append((name) => decoded[name], values);
  return (decoded, values) => {
    const list = decoded[each];
    if (!Array.isArray(list)) return;
    for (const item of list) {
      if (typeof item !== "object" || item === null || Array.isArray(item)) continue;
      append((name) => name in item ? item[name] : decoded[name], values);
    }
  };
}

/** Compiles a condition. */
export function compileCondition(when: Condition | undefined): (read: FieldReader) => boolean {
  if (when === undefined) return () => true;
  const tests = Object.entries(when).map(([field, wanted]) => {
    const values = Array.isArray(wanted) ? wanted : [wanted];
    return (read: FieldReader) => values.includes(read(field) ?? null);
  });
  return (read) => tests.every((test) => test(read));
}

function fieldsOf(source: Source): readonly string[] {
  if (typeof source === "string") return [source];
  return isList(source) ? source : Object.values(source);
}

function isList(source: Source): source is readonly string[] {
  return Array.isArray(source);
}

function compileValue(source: Source, { rule, pgn }: { rule: Rule; pgn: number }): ValueReader {
  const { alarm, is, orNull, as } = rule;
  const convert = as && labelled(conversionOf(as), { names: fieldsOf(source), pgn, isLabelled: LABELLED.has(as) });
  if (typeof source === "object" && !isList(source)) return compileObject(source, { convert, orNull });
  const reads = fieldsOf(source).map(readerOf);
  if (alarm) return compileAlarm(source, alarm);
  return (read) => {
    const values: DecodedValue[] = [];
    for (const { name, isOptional } of reads) {
      const value = read(name) ?? null;
      if (value === null && !isOptional) return orNull ? null : undefined;
      values.push(value);
    }
    if (is !== undefined) return is;
    return convert ? convert(...values) : values[0] ?? undefined;
  };
}

function readerOf(field: string): { name: string; isOptional: boolean } {
  return { name: field.replace("?", ""), isOptional: field.endsWith("?") };
}

function compileObject(
  source: Readonly<Record<string, string>>,
  { convert, orNull }: { convert: Conversion | undefined; orNull: true | undefined },
): ValueReader {
  const parts = Object.entries(source).map(([key, field]) => ({ keys: key.split("."), ...readerOf(field) }));
  return (read) => {
    const object: { [key: string]: Json } = {};
    let isEmpty = true;
    for (const { keys, name, isOptional } of parts) {
      const raw = read(name) ?? undefined;
      const value = raw !== undefined && convert ? convert(raw) : raw;
      if (value !== undefined) {
        isEmpty = false;
        put(object, { keys, value });
      } else if (!isOptional) return orNull ? null : undefined;
    }
    return isEmpty ? undefined : object;
  };
}

function put(object: { [key: string]: Json }, { keys, value }: { keys: readonly string[]; value: Json }): void {
  const [first = "", second] = keys;
  object[first] = second === undefined ? value : { [second]: value };
}

function compileAlarm(source: Source, { bit, message }: { bit: number; message: string }): ValueReader {
  const [field = ""] = fieldsOf(source);
  const text = compilePath(message);
  return (read) => {
    const bits = read(field);
    if (typeof bits !== "number") return undefined;
    const told = text(read) ?? "";
    return (bits >> bit & 1) === 1
      ? { state: "alarm", method: ["visual", "sound"], message: told }
      : { state: "normal", method: [], message: `${told} is Normal` };
  };
}

/** Gives a conversion the label of a code from the definitions. */
function labelled(
  convert: Conversion,
  { names, pgn, isLabelled }: { names: readonly string[]; pgn: number; isLabelled: boolean },
): Conversion {
  if (!isLabelled) return convert;
  let labels: Record<string, string> | undefined;
  return (value) => {
    if (typeof value !== "number") return convert(value);
    labels ??= labelsOf(pgn, names[0] ?? "");
    return convert(labels[value] ?? value);
  };
}

function labelsOf(pgn: number, name: string): Record<string, string> {
  const fields = describePgn(pgn)?.layouts.flatMap(({ fields }) => fields) ?? [];
  const field = fields.find((each) => each.name === name && each.type !== "group");
  return field && field.type !== "group" ? field.labels ?? {} : {};
}

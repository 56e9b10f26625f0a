import { type DescribedField, type DescribedFields, type FieldValue, type FieldValues, labelOf } from "./label.ts";
import type { UnitSystem } from "./display_format.ts";
import { valueText } from "./value_text.ts";

/** A field as human-readable text: name and value. */
export interface FieldText {
  name: string;
  text: string;
}

/** Options of writing fields as text. */
export interface FieldTextOptions {
  /** Descriptions of the fields; a field without one is written unchanged. */
  fields: DescribedFields;
  system: UnitSystem;
  /** Sanitizes text from the bus for the output. Default: unchanged. */
  clean?: (text: string) => string;
}

/**
 * Fields of a decoded payload as human-readable text: values with units, labels instead of codes. Unavailable fields are
 * omitted, and so is a reference that is shown with its direction: `heading 088.2°M`.
 */
export function fieldTexts(values: FieldValues, options: FieldTextOptions): FieldText[] {
  const used = new Set<string>();
  const texts = Object.entries(values).flatMap(([name, value]): FieldText[] => {
    if (value === null) return [];
    const text = fieldText({ name, value, values, used }, options);
    return [{ name, text }];
  });
  return texts.filter(({ name }) => !used.has(name));
}

/** Text of one field; undefined when it is not available. */
export function oneFieldText(name: string, values: FieldValues, options: FieldTextOptions): string | undefined {
  const value = values[name];
  return value === undefined || value === null ? undefined : fieldText({ name, value, values }, options);
}

/** A field within its payload. */
interface Part {
  name: string;
  value: FieldValue;
  values: FieldValues;
  /** Names of fields that are shown as part of others. */
  used?: Set<string>;
}

function fieldText(part: Part, options: FieldTextOptions): string {
  const { name, value, values } = part;
  const field = options.fields.get(name);
  if (Array.isArray(value)) return listText(value, { part, field, options });
  if (typeof value === "object" && value !== null) return objectText(value, options);
  if (field?.type === "value" && typeof value === "number") return keyedText(value, { field, values, options });
  if (typeof value === "number") return numberText(value, { part, field, options });
  return wordText(String(value), { field, options });
}

interface Found {
  field: DescribedField | undefined;
  options: FieldTextOptions;
}

function numberText(value: number, { part, field, options }: Found & { part: Part }): string {
  const { name, values, used } = part;
  if (field === undefined) return String(value);
  const label = labelOf(value, field, values);
  if (label !== undefined) return Array.isArray(label) ? label.join(" + ") || "none" : clean(label, options);
  const { unit } = field;
  // The description omits a resolution of 1.
  const resolution = field.resolution ?? (field.type === "number" ? 1 : undefined);
  if (unit === undefined) return String(value);
  const found = options.system === "si" || unit !== "rad" ? undefined : referenceOf(name, values);
  if (found?.field !== undefined && found.reference !== "bow") used?.add(found.field);
  // Only the source distinguishes atmospheric pressure from oil pressure.
  const isAir = unit === "Pa" && /^atmospheric$/i.test(String(values.pressure_source));
  const measured = { name: isAir ? `atmospheric_${name}` : name, unit };
  return valueText(value, measured, { system: options.system, resolution, reference: found?.reference });
}

function wordText(value: string, { field, options }: Found): string {
  if (field?.type === "time" && options.system !== "si") return `${value} UTC`;
  // Labels for programs have underscores instead of spaces.
  const isWord = field?.type === "enum" && /^[a-z][a-z0-9_]*$/.test(value);
  return clean(isWord ? value.replaceAll("_", " ") : value.trimEnd(), options);
}

function clean(text: string, { clean = (same) => same }: FieldTextOptions): string {
  return clean(text);
}

/** Text of the value after a key, which decides the unit. */
function keyedText(
  value: number,
  { field, values, options }: { field: DescribedField; values: FieldValues; options: FieldTextOptions },
): string {
  const key = options.fields.get(field.by ?? "") ?? options.fields.values().find(({ type }) => type === "key");
  const word = values[key?.name ?? ""];
  const code = Object.entries(key?.labels ?? {}).find(([, label]) => label === word)?.[0];
  const unit = code === undefined ? undefined : key?.key_units?.[code];
  if (unit === undefined || typeof word !== "string") return String(value);
  const name = word.toLowerCase().replaceAll(" ", "_");
  return valueText(value, { name, unit }, { system: options.system });
}

function objectText(value: { [name: string]: FieldValue }, options: FieldTextOptions): string {
  const { id, name } = value;
  const keys = Object.keys(value);
  if (id !== undefined && keys.every((key) => key === "id" || key === "name")) {
    return typeof name === "string" ? clean(name, options) : String(id);
  }
  return `{${fieldTexts(value, options).map((each) => `${each.name} ${each.text}`).join(", ")}}`;
}

function listText(
  list: readonly FieldValue[],
  { part, field, options }: Found & { part: Part },
): string {
  const inner = field?.fields;
  const fields = inner ? new Map(inner.map((each) => [each.name, each])) : options.fields;
  const within = { ...options, fields };
  const texts = list.map((value) => {
    if (value === null) return "–";
    if (typeof value === "object" && !Array.isArray(value)) return objectText(value, within);
    return fieldText({ ...part, value }, options);
  });
  if (field?.repeat !== undefined) return `(${runsOf(texts).join(", ")})`;
  return inner ? `${list.length}: ${texts.join(" ")}` : `[${texts.join(", ")}]`;
}

/** Groups equal neighbours, numbered from 1: `1 On`, `2-28 Unavailable`. */
function runsOf(texts: readonly string[]): string[] {
  const runs: { from: number; to: number; text: string }[] = [];
  texts.forEach((text, index) => {
    const last = runs.at(-1);
    if (last?.text === text) last.to = index + 1;
    else runs.push({ from: index + 1, to: index + 1, text });
  });
  return runs.map(({ from, to, text }) => `${from === to ? from : `${from}-${to}`} ${text}`);
}

const REFERENCE = /^(.+)_reference$/;

/** Reference of a direction, and the field that contains it. */
function referenceOf(
  name: string,
  values: FieldValues,
): { reference: "T" | "M" | "bow" | undefined; field?: string } | undefined {
  if (/_true$|^true_/.test(name)) return { reference: "T" };
  if (/_magnetic$|^magnetic_/.test(name)) return { reference: "M" };
  for (const [field, value] of Object.entries(values)) {
    const of = REFERENCE.exec(field)?.[1];
    if (of === undefined || typeof value !== "string") continue;
    const [fits, isWind] = [name === of || name.startsWith(`${of}_`) || name.endsWith(`_${of}`), of === "wind"];
    if (fits) return { reference: letterOf(value, isWind), field };
  }
  return undefined;
}

/** For wind, "true" alone does not mean true north: `true_water` is relative to the bow. */
function letterOf(label: string, isWind: boolean): "T" | "M" | "bow" | undefined {
  const text = label.toLowerCase();
  if (text.startsWith("magnetic")) return "M";
  if (text.startsWith("true") && (!isWind || text.includes("north"))) return "T";
  return isWind ? "bow" : undefined;
}

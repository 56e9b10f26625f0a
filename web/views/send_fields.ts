import type { DecodedFields, PgnField, PgnLayout } from "@vessel/gateway/client";

/** An input of the form. */
export interface Input {
  name: string;
  unit: string | undefined;
  /** For people: range and step. */
  hint: string;
  /** The labels to choose from; undefined: a number or a text. */
  choices: readonly string[] | undefined;
}

/** Types of fields that a form cannot have inputs for: the payload can be given as hex. */
const WITHOUT_INPUT = ["group", "variable", "parameters"];

/** Inputs for the fields of a layout. Fields that identify the layout are filled in by the server. */
export function inputsOf({ fields, matches = [] }: PgnLayout): Input[] {
  const fixed = new Set(matches.map(({ name }) => name));
  return fields.flatMap((field): Input[] => {
    if (WITHOUT_INPUT.includes(field.type) || !isField(field) || fixed.has(field.name)) return [];
    const choices = field.labels && ["enum", "indirect"].includes(field.type) ? Object.values(field.labels) : undefined;
    return [{ name: field.name, unit: field.unit, hint: hintOf(field), choices }];
  });
}

/** What was typed, as the server takes it: numbers as numbers, nothing for what was left empty. */
export function fieldsOf(inputs: readonly Input[], typed: Readonly<Record<string, string>>): DecodedFields {
  const entries = inputs.flatMap(({ name, choices }): [string, number | string][] => {
    const text = typed[name]?.trim() ?? "";
    if (text === "") return [];
    const number = Number(text.replace(",", "."));
    return [[name, choices === undefined && Number.isFinite(number) ? number : text]];
  });
  return Object.fromEntries(entries);
}

function isField(field: PgnLayout["fields"][number]): field is PgnField {
  return field.type !== "group";
}

function hintOf({ type, min, max, resolution }: PgnField): string {
  const range = min !== undefined && max !== undefined ? `${min} to ${max}` : "";
  const step = resolution === undefined ? "" : `steps of ${resolution}`;
  return [type === "number" ? "" : type, range, step].filter(Boolean).join(", ");
}

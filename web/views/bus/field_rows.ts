import type { ClientFrame, PgnDetails } from "@vessel/gateway/client";
import { fieldTexts, type FieldValues, type UnitSystem } from "@vessel/gateway/units";
import { decodedTexts, fieldsOf, plainText } from "../plain_text.ts";

/** A field of a message, or one of the objects in a list. */
export interface FieldRow {
  /** As the spans of its bits begin: `heading`, `satellites.0`. */
  name: string;
  /** For people, who count from 1: `satellites 1`. */
  label: string;
  text: string;
}

/** The fields of a decoded message for people. */
export function fieldRows(
  decoded: NonNullable<ClientFrame["decoded"]>,
  { details, system }: { details: PgnDetails | undefined; system: UnitSystem },
): FieldRow[] {
  const texts = new Map(decodedTexts(decoded, { details, system }).map(({ name, text }) => [name, text]));
  const described = fieldsOf(decoded, details);
  return Object.entries(decoded).flatMap(([name, value]): FieldRow[] => {
    const label = plainText(name.replaceAll("_", " "));
    const objects = Array.isArray(value) ? value.filter(isObject) : [];
    if (!Array.isArray(value) || objects.length === 0 || objects.length < value.length) {
      return [{ name, label, text: texts.get(name) ?? (value === null ? "not available" : plainText(String(value))) }];
    }
    const fields = new Map(described.get(name)?.fields?.map((each) => [each.name, each]));
    return objects.map((each, index) => {
      const parts = fieldTexts(each, { fields, system, clean: plainText });
      const text = plainText(parts.map(({ name, text }) => `${name.replaceAll("_", " ")} ${text}`).join(", "));
      return { name: `${name}.${index}`, label: `${label} ${index + 1}`, text };
    });
  });
}

function isObject(value: FieldValues[string]): value is { [name: string]: FieldValues[string] } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

import type { DecodedValue } from "../pgn/mod.ts";
import { camelCase } from "./mapping/conversions.ts";
import { isWordsName, wordFor, WORDS } from "./mapping/words.ts";

/** Value of a decoded field by its name. */
export type FieldReader = (field: string) => DecodedValue | undefined;

/** Makes a path from the fields of a message; undefined: the message has no such value. */
export type PathTemplate = (read: FieldReader) => string | undefined;

/** Instance of what has none. */
const NO_INSTANCE = "default";
const PLACEHOLDER = /\{([^{}]+)\}/;

/** Forms of a text in a path, by the name after the bar. */
const FORMS: Readonly<Record<string, (value: string | number) => string>> = {
  camel: (value) => camelCase(String(value)),
  camelAlarm: (value) => typeof value === "number" ? `unknown${value}` : camelCase(value),
  joined: (value) => String(value).toLowerCase().replaceAll(" ", ""),
  alarm: (value) => typeof value === "number" ? `unknown${value}` : value.replaceAll(" ", ""),
};

type Part = string | ((read: FieldReader) => string | undefined);

/** Compiles a path with placeholders (`mapping/types.ts`). */
export function compilePath(path: string): PathTemplate {
  if (!PLACEHOLDER.test(path)) return () => path;
  // Every second piece is the inside of a placeholder.
  const parts: Part[] = path.split(PLACEHOLDER).map((piece, index) =>
    index % 2 === 0 ? piece : compilePlaceholder(piece)
  );
  return (read) => {
    let text = "";
    for (const part of parts) {
      const piece = typeof part === "string" ? part : part(read);
      if (piece === undefined) return undefined;
      text += piece;
    }
    return text;
  };
}

function compilePlaceholder(text: string): Part {
  const [field = "", form] = text.replace("!", "").split("|");
  const isNeeded = text.endsWith("!");
  /** Words have placeholders themselves. */
  const inner = new Map<string, PathTemplate>();
  return (read) => {
    const value = read(field);
    if (typeof value !== "string" && typeof value !== "number") return isNeeded || form ? undefined : NO_INSTANCE;
    if (form === undefined) return asSegment(String(value));
    if (!isWordsName(form)) return asSegment(FORMS[form]?.(value) ?? String(value));
    const word = wordFor(form, value);
    if (word === undefined || !word.includes("{")) return word;
    let template = inner.get(word);
    if (!template) inner.set(word, template = compilePath(word.replaceAll(" ", "_")));
    return template(read);
  };
}

/** A value as one part of a path: dots separate parts. */
function asSegment(text: string): string {
  return text.replaceAll(/[.\s]/g, "_");
}

/** Whether a path can come from a path with placeholders. */
export function matchesTemplate(path: string, template: string): boolean {
  return pathPattern(template).test(path);
}

/** The paths that can come from a path with placeholders. */
export function pathPattern(template: string): RegExp {
  return new RegExp(`^${patternOf(template)}$`);
}

/** The fields that a path with placeholders reads. */
export function fieldsOfTemplate(template: string): string[] {
  return [...template.matchAll(/\{([^{}]+)\}/g)].flatMap(([, text = ""]) => {
    const [field = "", form = ""] = text.replace("!", "").split("|");
    return isWordsName(form) ? [field, ...Object.values(WORDS[form]).flatMap(fieldsOfTemplate)] : [field];
  });
}

function patternOf(template: string): string {
  // Words have `{}` for the value, too.
  return template.split(/\{([^{}]*)\}/).map((piece, index) =>
    index % 2 === 0 ? RegExp.escape(piece) : placeholderPattern(piece)
  ).join("");
}

function placeholderPattern(text: string): string {
  const [field, form = ""] = text.replace("!", "").split("|");
  if (field === "") return ".+";
  if (!isWordsName(form)) return "[^.]*";
  return `(?:${[...new Set<string>(Object.values(WORDS[form]))].map(patternOf).join("|")})`;
}

import { errorText, importLate } from "@vessel/gateway/base";
import { nearest } from "@vessel/gateway/units";
import { pathToFileURL } from "node:url";
import { type Options, settingNames } from "./options.ts";

type HoconPackage = typeof import("./hocon_package.ts");

/** A position in a text, both counted from 1. */
interface Position {
  line: number;
  column: number;
}

/** Values of a configuration file by key. */
export interface FlatConfig {
  values: Map<string, unknown>;
  /** Unknown keys, each with the nearest known one. */
  unknown: { key: string; nearest: string | undefined }[];
}

/** The configuration file is not valid HOCON. The message names the file, line and column. */
export class HoconError extends Error {
  override name = "HoconError";
}

/** Closing bracket by opening bracket. */
const CLOSER_OF: Readonly<Record<string, string>> = { "{": "}", "[": "]" };
/** One lexical element: comment, triple-quoted text, quoted text, `+=`, number with exponent, bracket, word, or one character. */
const LEXEME =
  /#[^\n]*|\/\/[^\n]*|"""[\s\S]*?"{3,}|"(?:\\.|[^"\\\n])*"|\+=|-?\d+(?:\.\d+)?e[+-]?\d+(?![^\s"{}[\]:=,+#$])|[{}[\]]|[^\s"{}[\]:=,+#$]+|[\s\S]/gi;
const EXPONENT_NUMBER = /^-?\d+(?:\.\d+)?e[+-]?\d+$/i;
/** What follows `+=` when it is several unquoted words. */
const APPENDED_WORDS = /^[ \t]*[^\s"{}[\]:=,#$]+[ \t]+[^\s"{}[\]:=,#]+/;

/** Reads a HOCON file into plain objects. @throws {HoconError} */
export async function readHocon(path: string): Promise<unknown> {
  checkTraps(await Deno.readTextFile(path), path);
  // Without the named builder the parser reads a file that is not called *.conf as plain text.
  return await parse({ url: pathToFileURL(path).href, builder: "config", strict: true }, path);
}

/** Reads HOCON text into plain objects; `include` is relative to the working directory. @throws {HoconError} */
export async function parseHocon(text: string): Promise<unknown> {
  const plain = text.replace(/^\uFEFF/, "");
  checkTraps(plain, "text");
  return await parse({ text: plain, builder: "config", strict: true }, "text");
}

/** Flattens a parsed file to one value per key of the table. */
export function flattenConfig<S>(tree: unknown, table: Options<S>): FlatConfig {
  const known = new Set(settingNames(table).flatMap((name) => table[name].keys));
  const flat: FlatConfig = { values: new Map(), unknown: [] };
  const walk = (value: unknown, path: readonly string[]): void => {
    const key = path.join(".");
    if (known.has(key) && (!isSection(value) || !hasKeysBelow(known, key))) {
      // HOCON's null removes a value of an included file.
      if (value !== null) flat.values.set(key, value);
    } else if (isSection(value)) {
      for (const [name, child] of Object.entries(value)) walk(child, [...path, name]);
    } else {
      flat.unknown.push({ key, nearest: nearest(key, known) });
    }
  };
  walk(tree, []);
  return flat;
}

/** A key may be both a value and a section: `mdns = false`, `mdns.name = boat`. */
function hasKeysBelow(known: ReadonlySet<string>, key: string): boolean {
  return [...known].some((name) => name.startsWith(`${key}.`));
}

function isSection(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

async function parse(options: Parameters<HoconPackage["hoconParser"]>[0], name: string): Promise<unknown> {
  // Loaded on demand: the library reads the environment when it is loaded.
  const { hoconParser } = await importLate<HoconPackage>(new URL("./hocon_package.ts", import.meta.url))
    .catch((error) => {
      throw new HoconError(`Cannot read config file "${name}": ${errorText(error)}`, { cause: error });
    });
  let tree: unknown;
  try {
    tree = await hoconParser(options);
  } catch (error) {
    throw new HoconError(explain(errorText(error), name), { cause: error });
  }
  if (isSection(tree)) return tree;
  // A file with comments only.
  if (tree === undefined) return {};
  throw new HoconError(`Cannot read config file "${name}": expected keys and values, found a list or a single value`);
}

/** The library's message without its internal names, and the position in our own form. */
function explain(message: string, name: string): string {
  const place = /line: (\d+), col: (\d+)/.exec(message);
  const included = /file: (file:\/\/[^\s)}]+)/.exec(message)?.[1];
  const file = included === undefined ? name : decodeURIComponent(new URL(included).pathname);
  const words = message
    .replace(/\s*\((?:Source|text|line):.*$/s, "")
    .replace(/\.?\s*Token: \{.*$/s, "")
    .replace(/[.!]$/, "");
  const character = /value: "([^"]{1,3})", line/.exec(message)?.[1];
  const hint = words === "Unexpected token" && character !== undefined
    ? ` "${character}" (a value with ${character} in it must be written in quotes)`
    : "";
  return place === null
    ? `Cannot read config file "${file}": ${words}`
    : `Cannot read config file "${file}": ${words}${hint} at line ${place[1]}, column ${place[2]}`;
}

/**
 * Refuses what the library misreads silently: an extra closing bracket, several unquoted words after `+=` (the space is
 * lost), a number with an exponent (`1e5` as a name becomes 100000) or with too many digits. Also refuses an unclosed
 * bracket, whose position the library does not report.
 */
function checkTraps(text: string, name: string): void {
  const open: { bracket: string; offset: number }[] = [];
  const fail = (what: string, offset: number): never => {
    const { line, column } = positionOf(text, offset);
    throw new HoconError(`Cannot read config file "${name}": ${what} at line ${line}, column ${column}`);
  };
  for (const { 0: lexeme, index } of text.matchAll(LEXEME)) {
    // The library reports an unclosed quote.
    if (lexeme === '"') return;
    if (lexeme === "{" || lexeme === "[") open.push({ bracket: lexeme, offset: index });
    else if (lexeme === "}" || lexeme === "]") {
      if (CLOSER_OF[open.pop()?.bracket ?? ""] !== lexeme) fail(`Unexpected "${lexeme}"`, index);
    } else if (lexeme === "+=" && APPENDED_WORDS.test(text.slice(index + lexeme.length))) {
      fail("Several words after += must be written in quotes", index);
    } else if (EXPONENT_NUMBER.test(lexeme) || isRounded(lexeme)) {
      fail(`The number ${lexeme} must be written in quotes`, index);
    }
  }
  const last = open.pop();
  if (last !== undefined) fail(`"${last.bracket}" is never closed`, last.offset);
}

/** True for a whole number that a double cannot hold exactly, such as a NAME. */
function isRounded(lexeme: string): boolean {
  return /^-?[1-9]\d*$/.test(lexeme) && !Number.isSafeInteger(Number(lexeme));
}

function positionOf(text: string, offset: number): Position {
  const before = text.slice(0, offset);
  return { line: before.split("\n").length, column: offset - before.lastIndexOf("\n") };
}

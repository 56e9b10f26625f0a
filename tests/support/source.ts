/** A TypeScript file as the tidy rules look at it. */
export interface Source {
  /** From the root of the repository, with slashes: `src/base/mod.ts`. */
  path: string;
  text: string;
  /** The text with comments, and what is inside strings and regular expressions, blanked out: same length and lines. */
  code: string;
  /** Comments with their markers. */
  comments: Part[];
}

/** A piece of a text. */
export interface Part {
  at: number;
  text: string;
}

/** An import, or an export from elsewhere. */
export interface Import extends Part {
  specifier: string;
  kind: "static" | "dynamic" | "type";
}

/** The body of a function with the line of its head. */
export interface FunctionSpan {
  line: number;
  lines: number;
}

/** Words after which a slash begins a regular expression. */
const BEFORE_REGEX = /(?:^|[=(,:;!&|?{}[+\-*%<>~^]|\b(?:return|typeof|case|in|of|void|throw|await|yield))\s*$/;
/** Heads of blocks that are no functions. */
const NO_FUNCTION =
  /^(?:export\s+|default\s+|declare\s+|abstract\s+)*(?:class|interface|enum|namespace|type|if|else|for|while|do|switch|try|catch|finally)\b/;

/** Line of a place in a text, from 1. */
export function lineAt(text: string, at: number): number {
  return text.slice(0, at).split("\n").length;
}

/** Reads a TypeScript text. */
export function readSource(path: string, text: string): Source {
  const source: Source = { path, text, code: "", comments: [] };
  scan(source, { at: 0, untilBrace: false });
  return source;
}

/** Reads on from `at` to the end, or to the brace that closes a template's expression; returns where it stopped. */
function scan(source: Source, { at, untilBrace }: { at: number; untilBrace: boolean }): number {
  const { text } = source;
  let depth = 0;
  while (at < text.length) {
    const char = text[at]!;
    if (untilBrace && char === "}" && depth === 0) return at;
    if (char === "{") depth++;
    if (char === "}") depth--;
    const end = partEnd(source, at);
    if (end === at) {
      source.code += char;
      at++;
    } else if (char === "`") {
      at = scanTemplate(source, at);
    } else {
      const part = text.slice(at, end);
      if (part.startsWith("//") || part.startsWith("/*")) source.comments.push({ at, text: part });
      const quoted = char === '"' || char === "'";
      source.code += quoted ? char + blank(part.slice(1, -1)) + char : blank(part);
      at = end;
    }
  }
  return at;
}

/** Where a comment, string or regular expression that begins at `at` ends; `at` itself when none does. */
function partEnd({ text, code }: Source, at: number): number {
  const char = text[at]!;
  if (char === "`") return at + 1;
  const pattern = char === '"' || char === "'"
    ? /(["'])(?:\\[^]|(?!\1)[^\\\n])*\1/y
    : char !== "/"
    ? undefined
    : text[at + 1] === "/"
    ? /\/\/[^\n]*/y
    : text[at + 1] === "*"
    ? /\/\*[^]*?\*\//y
    : BEFORE_REGEX.test(code.slice(-40).trimEnd())
    ? /\/(?:\\.|\[(?:\\.|[^\]\n\\])*\]|[^/\n\\[])+\/[a-z]*/y
    : undefined;
  if (!pattern) return at;
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : at;
}

function scanTemplate(source: Source, from: number): number {
  const { text } = source;
  source.code += "`";
  let at = from + 1;
  while (at < text.length && text[at] !== "`") {
    if (text.startsWith("${", at)) {
      source.code += "${";
      at = scan(source, { at: at + 2, untilBrace: true });
      source.code += "}";
      at++;
    } else {
      const length = text[at] === "\\" ? 2 : 1;
      source.code += blank(text.slice(at, at + length));
      at += length;
    }
  }
  source.code += "`";
  return at + 1;
}

function blank(text: string): string {
  return text.replace(/[^\n]/g, " ");
}

/** All imports of a file. */
export function importsOf({ text, code }: Source): Import[] {
  const found: Import[] = [];
  const pattern = /\bfrom\s*(?=["'])|\bimport\s*(?=["'])|\bimport\s*\(\s*(?=["'`])/g;
  for (const { 0: match, index } of code.matchAll(pattern)) {
    const quote = index + match.length;
    const specifier = text.slice(quote + 1, text.indexOf(text[quote]!, quote + 1));
    const head = code.slice(0, index).split(/;|\n(?=import|export)/).at(-1)!;
    const kind = match.includes("(") ? "dynamic" : /^\s*(?:import|export)\s+type\b/.test(head) ? "type" : "static";
    found.push({ at: index, text: match, specifier, kind });
  }
  return found;
}

/** All functions of a file with their lengths, from the line where the head begins to the closing brace. */
export function functionsOf({ code }: Source): FunctionSpan[] {
  const spans: FunctionSpan[] = [];
  const open: number[] = [];
  for (let at = 0; at < code.length; at++) {
    if (code[at] === "{") open.push(at);
    if (code[at] !== "}") continue;
    const start = open.pop();
    const head = start === undefined ? undefined : headBefore(code, start);
    if (head === undefined || !isFunction(head.text)) continue;
    const line = lineAt(code, head.at);
    spans.push({ line, lines: lineAt(code, at) - line + 1 });
  }
  return spans;
}

/** What stands before a block, back to the end of the last statement; groups in brackets are taken whole. */
function headBefore(code: string, brace: number): Part {
  let at = brace - 1;
  while (at >= 0 && /\s/.test(code[at]!)) at--;
  if (code[at] === "}") at = opening(code, at) - 1;
  for (; at >= 0 && !/[;{}([,]/.test(code[at]!); at--) {
    if (code[at] === ")" || code[at] === "]") at = opening(code, at);
    else if (code[at] === ">" && code[at - 1] !== "=") at = openingAngle(code, at);
  }
  const text = code.slice(at + 1, brace);
  return { at: at + 1 + (text.length - text.trimStart().length), text: text.trim() };
}

/** The bracket that opens what is closed at `at`. */
function opening(code: string, at: number): number {
  let depth = 0;
  for (; at >= 0; at--) {
    if (/[)\]}]/.test(code[at]!)) depth++;
    if (/[([{]/.test(code[at]!) && --depth === 0) return at;
  }
  return 0;
}

/** The bracket that opens the type arguments closed at `at`. */
function openingAngle(code: string, at: number): number {
  let depth = 0;
  for (; at >= 0 && !/[;]/.test(code[at]!); at--) {
    if (code[at] === ">" && code[at - 1] !== "=") depth++;
    if (code[at] === "<" && --depth === 0) return at;
  }
  return at + 1;
}

function isFunction(head: string): boolean {
  if (head.endsWith("=>")) return true;
  return head.includes(")") && !/[=:(,[?&|]$/.test(head) && !NO_FUNCTION.test(head) &&
    !/\breturn$|^return\b/.test(head);
}

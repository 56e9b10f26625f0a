/** One payload with what canboat's analyzer says about it (`-json -nv -empty -camel -si`). */
export interface Analyzed {
  pgn: number;
  hex: string;
  /** Id of the definition that the analyzer took. */
  id: string;
  fields: AnalyzedFields;
}

export type AnalyzedFields = { [id: string]: AnalyzedValue };
export type AnalyzedValue = null | number | string | AnalyzedValue[] | AnalyzedFields;

/** The recorded payloads, one of a kind for each PGN and layout that was seen. */
export async function readAnalyzed(): Promise<Analyzed[]> {
  const file = await Deno.open(new URL("../data/canboat_analyzer.jsonl.gz", import.meta.url));
  const text = await new Response(file.readable.pipeThrough(new DecompressionStream("gzip"))).text();
  return text.trim().split("\n").map((line) => JSON.parse(line));
}

/** snake_case of one of canboat's camelCase ids. */
export function snakeCase(id: string): string {
  return id.replace(/[A-Z]/g, (letter, at: number) => (at === 0 ? "" : "_") + letter.toLowerCase());
}

const TOLERANCE = 2e-6;

/** Equal as far as the analyzer's digits go: it prints between no and seven decimals. */
function near(theirs: number, ours: number): boolean {
  const decimals = /\.(\d+)$/.exec(String(theirs))?.[1]?.length ?? 7;
  const rounding = decimals > 6 ? 0 : 0.501 * 10 ** -decimals;
  return Math.abs(theirs - ours) <= Math.max(rounding, TOLERANCE * Math.max(1, Math.abs(theirs), Math.abs(ours)));
}

function isNothing(value: unknown): boolean {
  if (typeof value === "string") return value.trim() === "";
  return value === null || value === undefined || (Array.isArray(value) && value.length === 0);
}

/** Seconds of `hh:mm:ss.sss`, with a sign in front of negative ones. */
function seconds(text: string): number {
  const [hours = 0, minutes = 0, rest = 0] = text.replace("-", "").split(":").map(Number);
  return (text.startsWith("-") ? -1 : 1) * (hours * 3600 + minutes * 60 + rest);
}

/** What the comparison needs of our side: the raw number behind a label of ours. */
export type CodeOf = (label: string) => number | undefined;

function agreesWithText(text: string, ours: unknown): boolean {
  if (typeof ours === "number") return near(Number(text), ours);
  if (typeof ours !== "string") return false;
  return ours.trimEnd() === text.trimEnd() || ours === text.replaceAll(" ", "").toLowerCase();
}

function agreesWithNamed({ value, name }: AnalyzedFields, ours: unknown, codeOf: CodeOf): boolean {
  if (value === null || value === undefined) return isNothing(ours);
  if (typeof name === "string") {
    if (ours === name || ours === name.replaceAll(".", "-")) return true;
    const clock = /^-?\d+:\d\d:\d\d/.test(name);
    if (clock && typeof ours === "number") return near(seconds(name), ours);
    if (clock && typeof ours === "string") return near(seconds(name), seconds(ours));
  }
  if (typeof name === "object" && name !== null && typeof ours === "string") {
    return near(Number(value), Number(ours));
  }
  if (name === null && typeof ours === "number" && value === 2 ** ours) return true; // a bit without a label
  if (typeof ours === "object" && ours !== null && "id" in ours) return ours.id === value;
  if (typeof ours === "string") {
    return codeOf(ours) === value || (typeof value === "string" && agreesWithText(value, ours));
  }
  return agrees(value, ours, codeOf);
}

/** True when both say the same in their own ways: label or code, ISO text or number of days and seconds, null or "". */
export function agrees(theirs: AnalyzedValue, ours: unknown, codeOf: CodeOf): boolean {
  if (isNothing(theirs)) return isNothing(ours);
  if (Array.isArray(theirs)) {
    return Array.isArray(ours) && theirs.length === ours.length &&
      theirs.every((each, index) => agrees(each, ours[index], codeOf));
  }
  if (typeof theirs === "number") return typeof ours === "number" ? near(theirs, ours) : Number(ours) === theirs;
  if (typeof theirs === "string") return agreesWithText(theirs, ours);
  return theirs !== null && agreesWithNamed(theirs, ours, codeOf);
}

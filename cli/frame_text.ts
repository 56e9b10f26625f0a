import type { ClientFrame, DecodedFields, DecodedFieldValue } from "@vessel/gateway/client";
import { describePgn } from "@vessel/gateway/pgn";
import { printable } from "./terminal.ts";

/** What people read where a payload has no value that can be told. */
export const NOTHING = "–";
const BROADCAST = 255;
/** Where it lies in a time. */
const TIME_OF_DAY = [11, 19] as const;

/** What is told of a PGN; looking it up takes long. */
interface PgnWords {
  /** What its messages are called. */
  name: string | undefined;
  units: ReadonlyMap<string, string>;
}

const words = new Map<number, PgnWords>();

/** What messages of a PGN are called; undefined when nobody has described them. */
export function nameOf(pgn: number): string | undefined {
  return wordsOf(pgn).name;
}

/** The fields of a payload for people, with their units: `heading 1.57 rad`, `heading_reference magnetic`. */
export function fieldTexts(pgn: number, fields: DecodedFields): string[] {
  const { units } = wordsOf(pgn);
  const texts = Object.entries(fields).filter(([, value]) => value !== null).flatMap(([name, value]) => {
    if (Array.isArray(value)) return [`${name}: ${value.length}`, ...value.map(valueText)];
    const unit = typeof value === "number" ? units.get(name) : undefined;
    return [`${name} ${valueText(value)}${unit === undefined ? "" : ` ${unit}`}`];
  });
  return texts.length === 0 ? [NOTHING] : texts;
}

/** What a payload says in one line: its fields, or hex. */
export function payloadText({ pgn, data, decoded }: Pick<ClientFrame, "pgn" | "data" | "decoded">): string {
  return decoded ? fieldTexts(pgn, decoded).join(", ") : data;
}

/** A frame for people: `2026-01-02T03:04:05.000Z can0 7>all 127250 Vessel heading: heading 1.57 rad`. */
export function frameText(frame: ClientFrame): string {
  const { ts, bus, src, dst, pgn } = frame;
  const from = `${bus === undefined ? "" : `${printable(bus)} `}${src}>${dst === BROADCAST ? "all" : dst}`;
  const name = nameOf(pgn);
  return `${ts} ${from} ${pgn}${name === undefined ? "" : ` ${name}`}: ${payloadText(frame)}`;
}

/** Time of day of a server's time, UTC as in the lines of `vbg dump`: `03:04:05`. */
export function timeOfDay(ts: string): string {
  return ts.slice(...TIME_OF_DAY);
}

/** An amount of bytes for people. */
export function bytesText(bytes: number): string {
  if (bytes < 1000) return `${Math.round(bytes)} B`;
  const [scale, unit] = bytes >= 1e9 ? [1e9, "GB"] : bytes >= 1e6 ? [1e6, "MB"] : [1e3, "KB"];
  return `${(bytes / scale).toFixed(1)} ${unit}`;
}

/** A list as lines with commas, the first of at most `first` characters, the others of `width`. Items stay whole. */
export function listLines(items: readonly string[], { first, width }: { first: number; width: number }): string[] {
  const lines: string[] = [];
  let line = "";
  items.forEach((item, index) => {
    const text = index === items.length - 1 ? item : `${item},`;
    const joined = line === "" ? text : `${line} ${text}`;
    if (line === "" || joined.length <= (lines.length === 0 ? first : width)) line = joined;
    else {
      lines.push(line);
      line = text;
    }
  });
  return [...lines, line];
}

function valueText(value: DecodedFieldValue): string {
  if (typeof value === "string") return printable(value);
  if (typeof value !== "object" || value === null) return String(value);
  if (Array.isArray(value)) return `[${value.map(valueText).join(" ")}]`;
  const members = Object.entries(value).filter(([, each]) => each !== null);
  return `{${members.map(([name, each]) => `${name} ${valueText(each)}`).join(" ")}}`;
}

function wordsOf(pgn: number): PgnWords {
  const known = words.get(pgn);
  if (known) return known;
  const description = describePgn(pgn);
  const fields = description?.layouts.flatMap((layout) => layout.fields) ?? [];
  const units = fields.flatMap((field): [string, string][] =>
    "unit" in field && field.unit !== undefined ? [[field.name, field.unit]] : []
  );
  const found = { name: description?.description, units: new Map(units) };
  words.set(pgn, found);
  return found;
}

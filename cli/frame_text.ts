import type { ClientFrame, DecodedFields, DecodedFieldValue } from "@vessel/gateway/client";
import { describePgn } from "@vessel/gateway/pgn";
import { printable } from "./terminal.ts";

/** What people read where a payload has no value that can be told. */
export const NOTHING = "–";
const BROADCAST = 255;

const units = new Map<number, ReadonlyMap<string, string>>();

/** The fields of a payload for people, with their units: `heading 1.57 rad`, `heading_reference magnetic`. */
export function fieldTexts(pgn: number, fields: DecodedFields): string[] {
  const known = unitsOf(pgn);
  const texts = Object.entries(fields).filter(([, value]) => value !== null).flatMap(([name, value]) => {
    if (Array.isArray(value)) return [`${name}: ${value.length}`, ...value.map(valueText)];
    const unit = typeof value === "number" ? known.get(name) : undefined;
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
  const name = describePgn(pgn)?.description;
  return `${ts} ${from} ${pgn}${name === undefined ? "" : ` ${name}`}: ${payloadText(frame)}`;
}

/** Time of day here of an RFC 3339 time. */
export function timeOfDay(ts: string): string {
  const time = new Date(ts);
  return [time.getHours(), time.getMinutes(), time.getSeconds()].map((each) => String(each).padStart(2, "0")).join(":");
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

function unitsOf(pgn: number): ReadonlyMap<string, string> {
  const known = units.get(pgn);
  if (known) return known;
  const fields = describePgn(pgn)?.layouts.flatMap((layout) => layout.fields) ?? [];
  const found = new Map(
    fields.flatMap((field): [string, string][] =>
      "unit" in field && field.unit !== undefined ? [[field.name, field.unit]] : []
    ),
  );
  units.set(pgn, found);
  return found;
}

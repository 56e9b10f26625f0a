import type { ClientFrame, DecodedFields } from "@vessel/gateway/client";
import { readHex } from "@vessel/gateway/frame";
import { describePayload, fieldsOfPayload } from "@vessel/gateway/pgn";
import { fieldTexts, type UnitSystem } from "@vessel/gateway/units";
import { lengthOf } from "../program/table.ts";
import { printable } from "../program/terminal.ts";

/** What people read where a payload has no value that can be told. */
export const NOTHING = "–";
const BROADCAST = 255;
/** Where it lies in a time. */
const TIME_OF_DAY = [11, 19] as const;

/** What of a message is written. */
type Payload = Pick<ClientFrame, "pgn" | "data" | "decoded">;

/** What messages of a PGN are called; undefined when nobody has described them. */
export function nameOf(pgn: number): string | undefined {
  return describePayload(pgn, new Uint8Array(0));
}

/**
 * The fields of a payload for people, with their units: `heading 088.2°M`, `fluid_type Water`; its hex where it is not
 * decoded.
 */
export function payloadTexts({ pgn, data, decoded }: Payload, system: UnitSystem): string[] {
  if (!decoded) return [data];
  return decodedTexts({ pgn, data: readHex(data) ?? new Uint8Array(0), decoded }, system);
}

/** The same of a payload in bytes. */
export function decodedTexts(
  { pgn, data, decoded }: { pgn: number; data: Uint8Array; decoded: DecodedFields },
  system: UnitSystem,
): string[] {
  const fields = fieldsOfPayload(pgn, data) ?? new Map();
  const texts = fieldTexts(decoded, { fields, system, clean: printable }).map(({ name, text }) => `${name} ${text}`);
  return texts.length === 0 ? [NOTHING] : texts;
}

/** What a payload says in one line: its fields, or hex. */
export function payloadText(payload: Payload, system: UnitSystem): string {
  return payloadTexts(payload, system).join(", ");
}

/** A frame for people: `2026-01-02T03:04:05.000Z can0 7>all 127250 Vessel heading: heading 088.2°M`. */
export function frameText(frame: ClientFrame, system: UnitSystem): string {
  const { ts, bus, src, dst, pgn } = frame;
  const from = `${bus === undefined ? "" : `${printable(bus)} `}${src}>${dst === BROADCAST ? "all" : dst}`;
  const name = nameOf(pgn);
  return `${ts} ${from} ${pgn}${name === undefined ? "" : ` ${name}`}: ${payloadText(frame, system)}`;
}

/** Time of day of a server's time, UTC as in the lines of `vbg dump`: `03:04:05Z`. */
export function timeOfDay(ts: string): string {
  return `${ts.slice(...TIME_OF_DAY)}Z`;
}

/** An amount of bytes for people. */
export function bytesText(bytes: number): string {
  if (bytes < 1000) return `${Math.round(bytes)} B`;
  const [scale, unit] = bytes >= 1e9 ? [1e9, "GB"] : bytes >= 1e6 ? [1e6, "MB"] : [1e3, "KB"];
  return `${(bytes / scale).toFixed(1)} ${unit}`;
}

/**
 * A list as lines with commas, the first of at most `first` characters, the others of `width`. Items stay whole where one
 * fits a line; the first line is empty where the first item needs more room.
 */
export function listLines(items: readonly string[], { first, width }: { first: number; width: number }): string[] {
  const lines: string[] = [];
  let line = "";
  const room = () => Math.max(1, lines.length === 0 ? first : width);
  items.forEach((item, index) => {
    let text = index === items.length - 1 ? item : `${item},`;
    const joined = line === "" ? text : `${line} ${text}`;
    if (lengthOf(joined) <= room()) return void (line = joined);
    if (line !== "" || lines.length === 0) lines.push(line);
    while (lengthOf(text) > room()) {
      const characters = Array.from(text);
      const space = characters.lastIndexOf(" ", room());
      lines.push(characters.slice(0, space > 0 ? space : room()).join(""));
      text = characters.slice(space > 0 ? space + 1 : room()).join("");
    }
    line = text;
  });
  return [...lines, line];
}

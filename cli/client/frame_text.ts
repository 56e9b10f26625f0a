import type { ClientFrame, DecodedFields } from "@vessel/gateway/client";
import { readHex } from "@vessel/gateway/frame";
import { describePayload, fieldsOfPayload } from "@vessel/gateway/pgn";
import { fieldTexts, type UnitSystem } from "@vessel/gateway/units";
import { lengthOf } from "../program/table.ts";
import { printable } from "../program/terminal.ts";

/** Text for a missing value. */
export const NOTHING = "–";
const BROADCAST = 255;
/** Start and end of the time of day in an RFC 3339 time. */
const TIME_OF_DAY = [11, 19] as const;

/** The parts of a message that are printed. */
type Payload = Pick<ClientFrame, "pgn" | "data" | "decoded">;

/** Title of a PGN; undefined without a definition. */
export function nameOf(pgn: number): string | undefined {
  return describePayload(pgn, new Uint8Array(0));
}

/**
 * The fields of a payload for people, with units and labels: `heading 088.2°M`, `fluid_type Water`. A payload that is
 * not decoded is returned in hex.
 */
export function payloadTexts({ pgn, data, decoded }: Payload, system: UnitSystem): string[] {
  if (!decoded) return [data];
  return decodedTexts({ pgn, data: readHex(data) ?? new Uint8Array(0), decoded }, system);
}

/** Like {@linkcode payloadTexts}, for a payload in bytes. */
export function decodedTexts(
  { pgn, data, decoded }: { pgn: number; data: Uint8Array; decoded: DecodedFields },
  system: UnitSystem,
): string[] {
  const fields = fieldsOfPayload(pgn, data) ?? new Map();
  const texts = fieldTexts(decoded, { fields, system, clean: printable }).map(({ name, text }) => `${name} ${text}`);
  return texts.length === 0 ? [NOTHING] : texts;
}

/** A payload in one line: its fields, or hex. */
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
 * Wraps a comma-separated list: the first line has at most `first` characters, the others `width`. Splits no item that
 * fits a line; the first line is empty if the first item does not fit.
 */
export function listLines(items: readonly string[], { first, width }: { first: number; width: number }): string[] {
  const lines: string[] = [];
  let line = "";
  const available = () => Math.max(1, lines.length === 0 ? first : width);
  items.forEach((item, index) => {
    let text = index === items.length - 1 ? item : `${item},`;
    const joined = line === "" ? text : `${line} ${text}`;
    if (lengthOf(joined) <= available()) return void (line = joined);
    if (line !== "" || lines.length === 0) lines.push(line);
    while (lengthOf(text) > available()) {
      const characters = Array.from(text);
      const space = characters.lastIndexOf(" ", available());
      lines.push(characters.slice(0, space > 0 ? space : available()).join(""));
      text = characters.slice(space > 0 ? space + 1 : available()).join("");
    }
    line = text;
  });
  return [...lines, line];
}

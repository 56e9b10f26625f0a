import { describePayload, labelsOfPayload } from "@vessel/gateway/pgn";
import type { UnitSystem } from "@vessel/gateway/units";
import type { Change, Silence } from "./changes.ts";
import type { DumpFrame } from "./frame.ts";
import type { NamedDevice } from "./devices.ts";
import { decodedTexts, listLines } from "../../client/frame_text.ts";
import { cut, lengthOf, padded } from "../../program/table.ts";
import { type Output, paint, printable, type Style } from "../../program/terminal.ts";

/** What a line shows besides the frame. */
export interface LineParts {
  sender: NamedDevice | undefined;
  change: Change | undefined;
  /** Whether the fields are wanted. */
  decode: boolean;
  /** Whether the labels of codes are. */
  labels: boolean;
}

/** Widths of the terminal's columns, characters. */
const SENDER_WIDTH = 24;
const PGN_WIDTH = 6;
const TITLE_WIDTH = 26;
const CHANGE_WIDTH = 11;
/** Narrower columns for a narrow window, to leave space for the payload. */
const NARROW = { columns: 110, sender: 14, title: 16 };
/** Indentation of further lines of fields: the width of the time. */
const FIELD_INDENT = 14;
/** Offsets of the time of day in an RFC 3339 time. */
const TIME_OF_DAY = [11, 23] as const;
const SENDER_STYLES: readonly Style[] = ["cyan", "green", "yellow", "magenta", "blue", "red"];

/** A frame as a line of JSON, its end included. */
export function jsonLine(frame: DumpFrame, { sender, change, decode, labels }: LineParts): string {
  const { seq, ts, headText, hex } = frame;
  const decoded = decode || labels ? frame.decoded : undefined;
  const words = labels && decoded ? labelsOfPayload(frame.pgn, frame.data, decoded) : undefined;
  return `{${change ? changeText(change) : ""}"seq":${seq},"ts":"${ts}",${headText}${sender?.nameText ?? ""}` +
    `"data":"${hex}"${decoded === undefined ? "" : `,"decoded":${JSON.stringify(decoded)}`}` +
    `${words === undefined ? "" : `,"labels":${JSON.stringify(words)}`}}\n`;
}

/** A silence as a line of JSON. */
export function jsonSilence({ change, bus, src, pgn, sinceMs }: Silence): string {
  return JSON.stringify({ change, ts: new Date(sinceMs).toISOString(), pgn, src, ...(bus !== undefined && { bus }) }) +
    "\n";
}

/**
 * A frame for people. A raw payload is cut to the terminal's width; decoded fields wrap. Times are UTC.
 */
export function terminalLine(
  frame: DumpFrame,
  { output, units, sender, decode, change }: LineParts & { output: Output; units: UnitSystem },
): string {
  const { pgn, data } = frame;
  const title = describePayload(pgn, data) ?? "";
  const body = decode ? textsOf(frame, units) : spaced(frame.hex);
  const tag = change === undefined ? "" : padded(changeTag(change), { width: CHANGE_WIDTH }) + " ";
  return lineOf({ ...frame, ts: frame.ts, label: labelOf(frame, sender), title }, { tag, body, output });
}

/** A silence as a line for people. */
export function terminalSilence(
  { src, pgn, bus, sinceMs, lastMs }: Silence,
  { sender, output }: { sender: NamedDevice | undefined; output: Output },
): string {
  const tag = padded("idle", { width: CHANGE_WIDTH }) + " ";
  const body = `silent since ${new Date(lastMs).toISOString().slice(...TIME_OF_DAY)}Z`;
  const label = labelOf({ src, ...(bus !== undefined && { bus }) }, sender);
  const title = describePayload(pgn, new Uint8Array(0)) ?? "";
  return lineOf({ ts: new Date(sinceMs).toISOString(), src, pgn, dst: undefined, label, title }, { tag, body, output });
}

interface Head {
  ts: string;
  src: number;
  dst: number | undefined;
  pgn: number;
  label: string;
  title: string;
}

function lineOf(
  { ts, src, dst, pgn, label, title }: Head,
  { tag, body, output }: { tag: string; body: string | readonly string[]; output: Output },
): string {
  const width = output.isTerminal ? output.columns : Infinity;
  const isNarrow = width < NARROW.columns;
  const time = `${ts.slice(...TIME_OF_DAY)}Z`;
  const sender = padded(label, { width: isNarrow ? NARROW.sender : SENDER_WIDTH });
  const to = dst === undefined || dst === 255 ? "    " : `>${padded(String(dst), { width: 3 })}`;
  const number = padded(String(pgn), { width: PGN_WIDTH, align: "right" });
  const name = padded(printable(title), { width: isNarrow ? NARROW.title : TITLE_WIDTH });
  // Five spaces separate the columns.
  const available = width - [time, tag, sender, to, number, name].reduce((sum, each) => sum + lengthOf(each), 0) - 5;
  const text = typeof body === "string"
    ? (available > 0 ? cut(body, available) : "")
    : wrapped(body, { available, width });
  const style = SENDER_STYLES[src % SENDER_STYLES.length] ?? "cyan";
  return `${paint(output, "dim", time)} ${tag}${paint(output, style, sender)} ${to} ${number} ` +
    `${paint(output, "bold", name)} ${text}`.trimEnd().replace(/ +\n/, "\n") + "\n";
}

function textsOf({ pgn, data, hex, decoded }: DumpFrame, units: UnitSystem): string[] {
  return decoded === undefined ? [spaced(hex)] : decodedTexts({ pgn, data, decoded }, units);
}

/** Fields in as many lines as they need; indented below the time. */
function wrapped(texts: readonly string[], { available, width }: { available: number; width: number }): string {
  const [first = "", ...more] = listLines(texts, { first: available, width: width - FIELD_INDENT });
  return [first, ...more.map((line) => " ".repeat(FIELD_INDENT) + line)].join("\n");
}

function labelOf({ src, bus }: { src: number; bus?: string }, sender: NamedDevice | undefined): string {
  const label = printable(sender?.label ?? `[${src}]`);
  return bus === undefined ? label : `${printable(bus)} ${label}`;
}

function changeText(change: Change): string {
  if (change.change === "snapshot") return `"change":"snapshot",`;
  const { fields, diff_bytes, full_bytes } = change;
  return `"change":"delta","fields":${JSON.stringify(fields)},"diff_bytes":${diff_bytes},"full_bytes":${full_bytes},`;
}

function changeTag(change: Change): string {
  return change.change === "snapshot" ? "snapshot" : `delta ${change.diff_bytes}/${change.full_bytes}`;
}

function spaced(hex: string): string {
  return hex.replace(/..(?=.)/g, "$& ");
}

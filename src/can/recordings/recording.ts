import { type CanHeader, isAddressed, MAX_PGN } from "../../frame/mod.ts";

/**
 * Forms of recordings: `candump` (log, screen and old), `ydwg` (RAW of Yacht Devices' gateways), `csv` (Actisense's and
 * canboat's, frames and whole messages), `ebl` (Actisense's binary log), `ikonvert` (Digital Yacht's sentences),
 * `n2k-ascii` (Actisense's and others' lines), `actisense` (the serial line of Actisense's gateways).
 */
export type RecordingFormat = "candump" | "ydwg" | "csv" | "ebl" | "ikonvert" | "n2k-ascii" | "actisense";

/** The forms by name. */
export const RECORDING_FORMATS: readonly RecordingFormat[] = [
  ...["candump", "ydwg", "csv", "ebl", "ikonvert", "n2k-ascii", "actisense"] as const,
];

/** What was recorded; each is an object of its own, to be kept at will. */
export interface RecordedItem {
  /** A CAN frame, of which the assembler makes messages; or a message that the recorder has put together. */
  kind: "frame" | "message";
  /** Index of the bus, by first appearance. */
  bus: number;
  /** 29-bit identifier. */
  id: number;
  /** Recorded time, microseconds since 1970. Recorders do not promise that it never goes back. */
  timeUs: number;
  data: Uint8Array<ArrayBuffer>;
}

/** Why a line holds nothing to import and is nevertheless as it should be. */
export interface PassedOver {
  /** Empty lines, comments, headings. */
  comment: number;
  /** What the recorder says of itself: its state, times, versions. */
  status: number;
  /** PGNs from 0x40000, which no bus carries: gateways tell of themselves with them. */
  vendor_pgn: number;
  /** Frames that are not of NMEA 2000: 11-bit identifiers, remote and error frames, CAN FD. */
  foreign_frame: number;
  /** Commands to the gateway: they do not tell from which source they were sent, if at all. */
  to_gateway: number;
}

/** What was assumed of a recording that does not say everything. */
export type RecordingNote = "date_assumed" | "times_assumed" | "times_from_start" | "addresses_exchanged";

/** The notes in words. */
export const RECORDING_NOTES: Readonly<Record<RecordingNote, string>> = {
  date_assumed: "the recording has no dates and none was given: it begins on 1970-01-01",
  times_assumed: "frames have no times: they are a millisecond apart",
  times_from_start: "times count from a start that is not told: the first is the given start",
  addresses_exchanged: "broadcasts come from address 255 and go to a device: source and destination are exchanged",
};

/** A line that could not be read. */
export interface BadLine {
  /** Number of the line, or of the record of a binary format; the first is 1. */
  line: number;
  /** What is wrong with it. */
  why: string;
  /** Its beginning; of a binary format in hex. */
  text: string;
}

/** What became of the lines: `lines` is the sum of `frames`, `messages`, `bad` and all of `passedOver`. */
export interface RecordingSummary {
  /** Undefined until it is known. */
  format: RecordingFormat | undefined;
  /** Lines of text, or records of a binary format. */
  lines: number;
  /** CAN frames. */
  frames: number;
  /** Messages that the recorder has put together. */
  messages: number;
  /** Lines that hold nothing to import. */
  passedOver: PassedOver;
  /** Lines that could not be read. */
  bad: number;
  /** The first bad lines, up to {@linkcode MAX_TOLD_BAD}. */
  firstBad: BadLine[];
  /** Names of the buses by index, where the format tells them. */
  buses: string[];
  /** What was assumed. */
  notes: RecordingNote[];
}

/** Bad lines that are told in full. */
export const MAX_TOLD_BAD = 20;

/** A summary of nothing yet. */
export function newRecordingSummary(): RecordingSummary {
  return {
    format: undefined,
    lines: 0,
    frames: 0,
    messages: 0,
    passedOver: { comment: 0, status: 0, vendor_pgn: 0, foreign_frame: 0, to_gateway: 0 },
    bad: 0,
    firstBad: [],
    buses: [],
    notes: [],
  };
}

/** A recording cannot be read at all: nobody told its format and it does not show, or an option makes no sense. */
export class RecordingError extends Error {
  override readonly name = "RecordingError";
}

/** What a line or record says. */
export type Reading =
  | { type: "item"; item: RecordedItem }
  | { type: "passed"; why: keyof PassedOver }
  | { type: "bad"; why: string; text?: string };

/** What readers need to know of the recording as a whole, and tell of it. */
export interface RecordingContext {
  /** When the recording began, microseconds since 1970; notes when nobody told. */
  startUs(): number;
  note(note: RecordingNote): void;
  /** Index of a bus; undefined when there are too many. */
  bus(name: string): number | undefined;
}

/** Reads a recording piece by piece, wherever it is cut. */
export interface RecordingReader {
  push(chunk: Uint8Array): Iterable<Reading>;
  /** Reads what is left when nothing more comes. */
  end(): Iterable<Reading>;
}

/** Reads a recording line by line; lines come without white space at their ends. */
export interface LineReader {
  read(line: string): Reading;
}

export function bad(why: string): Reading {
  return { type: "bad", why };
}

export function passed(why: keyof PassedOver): Reading {
  return { type: "passed", why };
}

/** Why a header is none that a bus can carry; undefined when it is one. */
export function whyNotHeader({ prio, pgn, src, dst }: CanHeader): string | undefined {
  if (prio > 7) return `priority ${prio}`;
  if (src > 255) return `source ${src}`;
  if (dst > 255) return `destination ${dst}`;
  if (pgn > MAX_PGN || (isAddressed(pgn) && (pgn & 0xff) !== 0)) return `PGN ${pgn}`;
  return undefined;
}

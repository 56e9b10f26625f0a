import { buildCanId, type CanHeader, isAddressed, MAX_MESSAGE_BYTES, MAX_PGN } from "../../frame/mod.ts";

/**
 * Formats of recordings: `candump` (log, screen and old), `ydwg` (RAW of Yacht Devices' gateways), `csv` (Actisense's and
 * canboat's, frames and complete messages), `ebl` (Actisense's binary log), `ikonvert` (Digital Yacht's sentences),
 * `n2k-ascii` (Actisense's and others' lines), `actisense` (the serial line of Actisense's gateways), `mxpgn` (ShipModul's
 * sentences), `pcdin` (SeaSmart.Net sentences).
 */
export const RECORDING_FORMATS = [
  "candump",
  "ydwg",
  "csv",
  "ebl",
  "ikonvert",
  "n2k-ascii",
  "actisense",
  "mxpgn",
  "pcdin",
] as const;

/** One of {@linkcode RECORDING_FORMATS}. */
export type RecordingFormat = typeof RECORDING_FORMATS[number];

/** A recorded frame or message. Objects are not reused. */
export interface RecordedItem {
  /** A CAN frame, or a message that the recorder has reassembled. */
  kind: "frame" | "message";
  /** Index of the bus, by first appearance. */
  bus: number;
  /** 29-bit identifier. */
  id: number;
  /** Recorded time, microseconds since 1970. It may go back. */
  timeUs: number;
  data: Uint8Array<ArrayBuffer>;
}

/** Valid lines without a frame or message, by kind. */
export interface PassedOver {
  /** Empty lines, comments, headings. */
  comment: number;
  /** Information of the recorder about itself: status, times, versions. */
  status: number;
  /** PGNs from 0x40000, with which gateways report about themselves; they are not on the bus. */
  vendor_pgn: number;
  /** Frames that are not NMEA 2000: 11-bit identifiers, remote and error frames, CAN FD; sentences of NMEA 0183. */
  foreign_frame: number;
  /** Commands to the gateway: they have no source, and it is unknown whether they were sent. */
  to_gateway: number;
}

/** An assumption about information that is missing in a recording. */
export type RecordingNote =
  | "date_assumed"
  | "times_assumed"
  | "times_from_start"
  | "addresses_exchanged"
  | "header_assumed";

/** Texts of the notes. */
export const RECORDING_NOTES: Readonly<Record<RecordingNote, string>> = {
  date_assumed: "the recording has no dates and none was given: it begins on 1970-01-01",
  times_assumed: "frames have no times: they are a millisecond apart",
  times_from_start: "times count from an unknown start: the first is the given start",
  addresses_exchanged: "broadcasts come from address 255 and go to a device: source and destination are exchanged",
  header_assumed: "messages have no priority and no destination: all have priority 6 and go to all",
};

/** A line that could not be read. */
export interface BadLine {
  /** Number of the line, or of the record in a binary format; from 1. */
  line: number;
  /** Why it could not be read. */
  why: string;
  /** Its beginning; in hex for a binary format. */
  text: string;
}

/** Result of reading: `lines` is the sum of `frames`, `messages`, `bad` and all of `passedOver`. */
export interface RecordingSummary {
  /** Undefined until it is detected. */
  format: RecordingFormat | undefined;
  /** Lines of text, or records of a binary format. */
  lines: number;
  /** CAN frames. */
  frames: number;
  /** Messages that the recorder has reassembled. */
  messages: number;
  /** Valid lines without a frame or message. */
  passedOver: PassedOver;
  /** Lines that could not be read. */
  bad: number;
  /** The first bad lines, up to {@linkcode MAX_LISTED_BAD}. */
  firstBad: BadLine[];
  /** Names of the buses by index, in formats that have them. */
  buses: string[];
  /** Assumptions that were made. */
  notes: RecordingNote[];
}

/** Bad lines that are listed in a summary. */
export const MAX_LISTED_BAD = 20;

/** Creates an empty summary. */
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

/** A recording cannot be read at all: its format is not given and not detected, or an option is invalid. */
export class RecordingError extends Error {
  override readonly name = "RecordingError";
}

/** Result of reading one line or record. */
export type Reading =
  | { type: "item"; item: RecordedItem }
  | { type: "passed"; why: keyof PassedOver }
  | { type: "bad"; why: string; text?: string };

/** State of the whole recording, for the readers of its lines. */
export interface RecordingContext {
  /** Start of the recording, microseconds since 1970; adds a note when it is not given. */
  startUs(): number;
  note(note: RecordingNote): void;
  /** Index of a bus; undefined when there are too many. */
  bus(name: string): number | undefined;
}

/** Reads a recording in pieces of any size. */
export interface RecordingReader {
  push(chunk: Uint8Array): Iterable<Reading>;
  /** Reads the rest, at the end of the data. */
  end(): Iterable<Reading>;
}

/** Reads a recording line by line; lines are trimmed. */
export interface LineReader {
  read(line: string): Reading;
}

export function bad(why: string): Reading {
  return { type: "bad", why };
}

export function passed(why: keyof PassedOver): Reading {
  return { type: "passed", why };
}

/**
 * The complete message of a line without a bus, or why it has none.
 *
 * @param options.data undefined when it cannot be read
 * @param options.time called for valid lines only; undefined when the time is invalid
 */
export function messageOf(
  header: CanHeader,
  { data, time }: { data: Uint8Array<ArrayBuffer> | undefined; time: () => number | undefined },
): Reading {
  if (!data || data.length > MAX_MESSAGE_BYTES) return bad("payload invalid or longer than any message");
  if (header.pgn > MAX_PGN) return passed("vendor_pgn");
  const why = whyNotHeader(header);
  if (why !== undefined) return bad(why);
  const timeUs = time();
  if (timeUs === undefined) return bad("invalid time");
  return { type: "item", item: { kind: "message", bus: 0, id: buildCanId(header), timeUs, data } };
}

/** Why a header is invalid on a bus; undefined when it is valid. */
export function whyNotHeader({ prio, pgn, src, dst }: CanHeader): string | undefined {
  if (prio > 7) return `priority ${prio}`;
  if (src > 255) return `source ${src}`;
  if (dst > 255) return `destination ${dst}`;
  if (pgn > MAX_PGN || (isAddressed(pgn) && (pgn & 0xff) !== 0)) return `PGN ${pgn}`;
  return undefined;
}

import { bad, type LineReader, passed, type Reading, type RecordingReader } from "./recording.ts";

/** Longest line, characters; the longest message in hex has 5355. Longer lines are counted as bad. */
export const MAX_LINE: number = 16 * 1024;
/** Characters of a bad line in the summary. */
const SHOWN_CHARACTERS = 120;

/** Splits text into lines, which a line reader reads. */
export class TextReader implements RecordingReader {
  readonly #reader: LineReader;
  readonly #decoder = new TextDecoder();
  #rest = "";

  constructor(reader: LineReader) {
    this.#reader = reader;
  }

  *push(chunk: Uint8Array): Iterable<Reading> {
    const lines = (this.#rest + this.#decoder.decode(chunk, { stream: true })).split("\n");
    this.#rest = (lines.pop() ?? "").slice(0, MAX_LINE + 1);
    for (const line of lines) yield this.#read(line);
  }

  *end(): Iterable<Reading> {
    const line = this.#rest + this.#decoder.decode();
    this.#rest = "";
    if (line !== "") yield this.#read(line);
  }

  #read(line: string): Reading {
    const isLong = line.length > MAX_LINE;
    const reading = isLong ? bad(`more than ${MAX_LINE} characters`) : this.#reader.read(line.trim());
    return reading.type === "bad" ? { ...reading, text: line.trim().slice(0, SHOWN_CHARACTERS) } : reading;
  }
}

/** A sentence of NMEA 0183 with its checksum, optionally after a tag block. */
const SENTENCE = /^(?:\\[^\\]*\\)?[$!]([^$!*]+)\*([0-9A-F]{2})$/i;

/** The text of an NMEA 0183 sentence `$NAME,` up to its checksum, or the result of reading any other line. */
export function readSentence(line: string, name: string): string | Reading {
  if (line === "" || line.startsWith("#")) return passed("comment");
  const [, text, digits = ""] = SENTENCE.exec(line) ?? [];
  if (text === undefined || checksumOf(text) !== parseInt(digits, 16)) {
    return bad("not a sentence with a valid checksum");
  }
  return text.startsWith(`${name},`) ? text : passed("foreign_frame");
}

/** The NMEA 0183 sentence `$text*checksum`. */
export function formatSentence(text: string): string {
  return `$${text}*${checksumOf(text).toString(16).toUpperCase().padStart(2, "0")}`;
}

function checksumOf(text: string): number {
  let sum = 0;
  for (let i = 0; i < text.length; i++) sum ^= text.charCodeAt(i);
  return sum;
}

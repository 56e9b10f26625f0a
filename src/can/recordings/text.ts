import { bad, type LineReader, type Reading, type RecordingReader } from "./recording.ts";

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

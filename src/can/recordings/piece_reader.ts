import { ActisenseReader } from "./actisense.ts";
import { CandumpReader } from "./candump.ts";
import { CsvReader } from "./csv.ts";
import { detectFormat } from "./detect.ts";
import { EblReader } from "./ebl.ts";
import { IkonvertReader } from "./ikonvert.ts";
import { N2kAsciiReader } from "./n2k_ascii.ts";
import {
  MAX_TOLD_BAD,
  newRecordingSummary,
  type Reading,
  type RecordedItem,
  type RecordingContext,
  RecordingError,
  type RecordingFormat,
  type RecordingReader,
  type RecordingSummary,
} from "./recording.ts";
import { TextReader } from "./text.ts";
import { YdwgReader } from "./ydwg.ts";

/** Bytes by which a format is looked for; more when the first do not show it. */
const HEAD_BYTES = [4096, 65536];
/** Bytes of what comes live after which its format is given up. */
export const MAX_LIVE_HEAD_BYTES = 4096;
/** Buses that one recording may have; more are a sign that their names are none. */
const MAX_BUSES = 32;

/** How to read a recording. */
export interface ReadRecordingOptions {
  /** Format; without it the beginning shows it. */
  format?: RecordingFormat | undefined;
  /**
   * When the recording began, for formats without dates: the day of times of day, the time of the first item otherwise.
   * 1970-01-01 when not given, with a note.
   */
  startTime?: Date | undefined;
  /**
   * Look for the format with every piece, not at fixed lengths: what comes live may pause for long, but then the format
   * may depend on the pieces. Default false.
   */
  isLive?: boolean | undefined;
  /** Filled while reading; complete when the items have ended. */
  summary?: RecordingSummary;
}

const READERS: Readonly<Record<RecordingFormat, (context: RecordingContext) => RecordingReader>> = {
  candump: (context) => new TextReader(new CandumpReader(context)),
  ydwg: (context) => new TextReader(new YdwgReader(context)),
  csv: () => new TextReader(new CsvReader()),
  ebl: (context) => new EblReader(context),
  ikonvert: (context) => new TextReader(new IkonvertReader(context)),
  "n2k-ascii": (context) => new TextReader(new N2kAsciiReader(context)),
  actisense: (context) => new ActisenseReader(context),
};

/**
 * Reads a recording, or what comes from a gateway, in pieces of any size, and keeps no more of it than a line. What cannot
 * be read is counted and told in the summary, and the rest is read nevertheless.
 */
export class PieceReader {
  readonly summary: RecordingSummary;
  readonly #context: RecordingContext;
  readonly #isLive: boolean;
  readonly #head = new Head();
  #reader: RecordingReader | undefined;

  /** @throws {RecordingError} `startTime` is none */
  constructor({ format, startTime, isLive = false, summary = newRecordingSummary() }: ReadRecordingOptions = {}) {
    if (startTime && Number.isNaN(startTime.getTime())) throw new RecordingError("The start time is no time");
    this.summary = summary;
    this.#isLive = isLive;
    this.#context = contextOf(summary, startTime);
    this.#reader = format && READERS[format](this.#context);
    summary.format = format;
  }

  /**
   * Reads a piece.
   *
   * @throws {RecordingError} the format was not given and has not shown for too long
   */
  *push(piece: Uint8Array): Iterable<RecordedItem> {
    if (this.#reader) return yield* itemsOf(this.#reader.push(piece), this.summary);
    this.#head.add(piece);
    const format = this.#isLive ? this.#head.detectNow() : this.#head.detect();
    if (format) yield* this.#begin(format);
  }

  /**
   * Reads what is left when nothing more comes.
   *
   * @throws {RecordingError} the format was not given and has not shown
   */
  *end(): Iterable<RecordedItem> {
    if (!this.#reader) {
      const format = detectFormat(this.#head.bytes);
      if (!format) throw new RecordingError("The recording is in no format that is known");
      yield* this.#begin(format);
    }
    if (this.#reader) yield* itemsOf(this.#reader.end(), this.summary);
  }

  #begin(format: RecordingFormat): Iterable<RecordedItem> {
    this.summary.format = format;
    this.#reader = READERS[format](this.#context);
    return itemsOf(this.#reader.push(this.#head.take()), this.summary);
  }
}

function contextOf(summary: RecordingSummary, startTime: Date | undefined): RecordingContext {
  const note: RecordingContext["note"] = (what) => {
    if (!summary.notes.includes(what)) summary.notes.push(what);
  };
  return {
    note,
    startUs: () => {
      if (!startTime) note("date_assumed");
      return (startTime?.getTime() ?? 0) * 1000;
    },
    bus: (name) => {
      const index = summary.buses.indexOf(name);
      if (index >= 0) return index;
      return summary.buses.length < MAX_BUSES ? summary.buses.push(name) - 1 : undefined;
    },
  };
}

/** Counts what was read and passes items on. */
function* itemsOf(readings: Iterable<Reading>, summary: RecordingSummary): Iterable<RecordedItem> {
  for (const reading of readings) {
    summary.lines++;
    switch (reading.type) {
      case "item":
        if (reading.item.kind === "frame") summary.frames++;
        else summary.messages++;
        yield reading.item;
        break;
      case "passed":
        summary.passedOver[reading.why]++;
        break;
      case "bad":
        summary.bad++;
        if (summary.firstBad.length >= MAX_TOLD_BAD) break;
        summary.firstBad.push({ line: summary.lines, why: reading.why, text: reading.text ?? "" });
    }
  }
}

/** The beginning of a recording, kept until its format shows. */
class Head {
  #bytes = new Uint8Array(HEAD_BYTES[0] ?? 0);
  #length = 0;
  #tries = 0;

  get bytes(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  add(chunk: Uint8Array): void {
    const length = this.#length + chunk.length;
    if (length > this.#bytes.length) {
      const grown = new Uint8Array(Math.max(length, 2 * this.#bytes.length));
      grown.set(this.bytes);
      this.#bytes = grown;
    }
    this.#bytes.set(chunk, this.#length);
    this.#length = length;
  }

  /**
   * The format, looked for at fixed lengths, so that it does not depend on the pieces.
   *
   * @throws {RecordingError} it has not shown for too long
   */
  detect(): RecordingFormat | undefined {
    for (
      let size = HEAD_BYTES[this.#tries];
      size !== undefined && size <= this.#length;
      size = HEAD_BYTES[this.#tries]
    ) {
      this.#tries++;
      const format = detectFormat(this.#bytes.subarray(0, size));
      if (format) return format;
    }
    if (this.#tries < HEAD_BYTES.length) return undefined;
    throw new RecordingError(`The recording's first ${HEAD_BYTES.at(-1)} bytes are in no format that is known`);
  }

  /**
   * The format, as soon as it shows.
   *
   * @throws {RecordingError} it has not shown for too long
   */
  detectNow(): RecordingFormat | undefined {
    const format = detectFormat(this.bytes);
    if (format || this.#length < MAX_LIVE_HEAD_BYTES) return format;
    throw new RecordingError(`The first ${MAX_LIVE_HEAD_BYTES} bytes are in no format that is known`);
  }

  /** Hands the bytes over. */
  take(): Uint8Array {
    const bytes = this.bytes;
    this.#bytes = new Uint8Array(0);
    this.#length = 0;
    return bytes;
  }
}

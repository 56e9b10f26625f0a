import { createReader, detectFormat } from "./detect.ts";
import {
  MAX_LISTED_BAD,
  newRecordingSummary,
  type Reading,
  type RecordedItem,
  RECORDING_FORMATS,
  type RecordingContext,
  RecordingError,
  type RecordingFormat,
  type RecordingReader,
  type RecordingSummary,
} from "./recording.ts";

/** Bytes for the detection of the format; the larger number when the first is not enough. */
const HEAD_BYTES = [4096, 65536];
/** Bytes of live data after which the detection of the format is given up. */
export const MAX_LIVE_HEAD_BYTES = 4096;
/** Most buses of a recording; more show that the names are not bus names. */
const MAX_BUSES = 32;

/** @param what what was read, with its verb */
function unknownFormat(what: string): RecordingError {
  return new RecordingError(`${what} an unknown format; expected ${RECORDING_FORMATS.join(", ")}`);
}

/** Options of reading a recording. */
export interface ReadRecordingOptions {
  /** Format; default: detected from the beginning. */
  format?: RecordingFormat | undefined;
  /**
   * Start of the recording, for formats without dates: the date for times of day, otherwise the time of the first item.
   * Default 1970-01-01, with a note.
   */
  startTime?: Date | undefined;
  /**
   * Detects the format with every piece, not at fixed lengths, because live data may pause for long. The detected format
   * may then depend on the pieces. Default false.
   */
  isLive?: boolean | undefined;
  /** Filled while reading; complete when the items have ended. */
  summary?: RecordingSummary;
}

/**
 * Reads a recording, or the data of a gateway, in pieces of any size, with one line in memory. Unreadable lines are counted
 * and listed in the summary; reading continues after them.
 */
export class PieceReader {
  readonly summary: RecordingSummary;
  readonly #context: RecordingContext;
  readonly #isLive: boolean;
  readonly #head = new Head();
  #reader: RecordingReader | undefined;

  /** @throws {RecordingError} `startTime` is invalid */
  constructor({ format, startTime, isLive = false, summary = newRecordingSummary() }: ReadRecordingOptions = {}) {
    if (startTime && Number.isNaN(startTime.getTime())) throw new RecordingError("The start time is invalid");
    this.summary = summary;
    this.#isLive = isLive;
    this.#context = contextOf(summary, startTime);
    this.#reader = format && createReader(format, this.#context);
    summary.format = format;
  }

  /**
   * Reads a piece.
   *
   * @throws {RecordingError} the format is not given and was not detected in the first bytes
   */
  *push(piece: Uint8Array): Iterable<RecordedItem> {
    if (this.#reader) return yield* itemsOf(this.#reader.push(piece), this.summary);
    this.#head.add(piece);
    const format = this.#isLive ? this.#head.detectNow() : this.#head.detect();
    if (format) yield* this.#begin(format);
  }

  /**
   * Reads the rest, at the end of the data.
   *
   * @throws {RecordingError} the format is not given and was not detected
   */
  *end(): Iterable<RecordedItem> {
    if (!this.#reader) {
      const format = detectFormat(this.#head.bytes);
      if (!format) throw unknownFormat("The recording has");
      yield* this.#begin(format);
    }
    if (this.#reader) yield* itemsOf(this.#reader.end(), this.summary);
  }

  #begin(format: RecordingFormat): Iterable<RecordedItem> {
    this.summary.format = format;
    this.#reader = createReader(format, this.#context);
    return itemsOf(this.#reader.push(this.#head.take()), this.summary);
  }
}

/**
 * Reads a recording in pieces of any size, with one line in memory. Unreadable lines are counted and listed in the
 * summary; reading continues after them.
 *
 * @throws {RecordingError} the format is not given and not detected, or `startTime` is invalid
 */
export async function* readRecording(
  chunks: AsyncIterable<Uint8Array>,
  options: ReadRecordingOptions = {},
): AsyncGenerator<RecordedItem, void> {
  const reader = new PieceReader(options);
  for await (const chunk of chunks) yield* reader.push(chunk);
  yield* reader.end();
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

/** Updates the summary and yields the items. */
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
        if (summary.firstBad.length >= MAX_LISTED_BAD) break;
        summary.firstBad.push({ line: summary.lines, why: reading.why, text: reading.text ?? "" });
    }
  }
}

/** The beginning of a recording, buffered until its format is detected. */
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
   * Detects the format at fixed lengths, so that it does not depend on the pieces.
   *
   * @throws {RecordingError} it was not detected in the first bytes
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
    throw unknownFormat(`The recording's first ${HEAD_BYTES.at(-1)} bytes have`);
  }

  /**
   * Detects the format from the bytes so far.
   *
   * @throws {RecordingError} it was not detected in the first bytes
   */
  detectNow(): RecordingFormat | undefined {
    const format = detectFormat(this.bytes);
    if (format || this.#length < MAX_LIVE_HEAD_BYTES) return format;
    throw unknownFormat(`The first ${MAX_LIVE_HEAD_BYTES} bytes have`);
  }

  /** Returns the bytes and clears the buffer. */
  take(): Uint8Array {
    const bytes = this.bytes;
    this.#bytes = new Uint8Array(0);
    this.#length = 0;
    return bytes;
  }
}

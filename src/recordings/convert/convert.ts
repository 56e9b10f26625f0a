import { errorText } from "../../base/mod.ts";
import {
  type AssemblerDrops,
  assembleRecording,
  newDrops,
  newRecordingSummary,
  readRecording,
  RecordingError,
  type RecordingFormat,
  type RecordingSummary,
} from "../../can/mod.ts";
import { type ConvertedBlock, ConvertedBlocks } from "./blocks.ts";
import { type ConvertedFile, ConvertedFiles, type ConvertTarget, OutputExistsError } from "./files.ts";
import { TimeOrder } from "./order.ts";
import type { Message } from "../../frame/mod.ts";
import { DEFAULT_BLOCK_BYTES, MAX_BUSES } from "../../journal/mod.ts";

export { type ConvertedFile, type ConvertTarget, OutputExistsError };

/** A recording of another program or device. */
export interface RecordingInput {
  /** For messages and the summary. */
  name: string;
  /** Its bytes, in pieces of any size. They are asked for when the recordings before are read. */
  chunks: AsyncIterable<Uint8Array>;
}

/** How recordings become a journal. */
export interface ConvertOptions {
  /** First part of the files' names, default `nmea2k`. */
  prefix?: string;
  /** Bytes of a block, a power of two; default 256 KiB. */
  blockBytes?: number;
  /** Default `zstd`. */
  compression?: "none" | "zstd";
  /** In a directory a new file begins after so long, milliseconds; 0 (the default) never. */
  rotateDurationMs?: number;
  /** In a directory a new file begins when one is larger, bytes; 0 (the default) never. */
  rotateBytes?: number;
  /** Where it is written. Files of a directory are rotated and named as a boat server's. */
  to: ConvertTarget;
  /** Format of all recordings; left out: each one's beginning shows it. */
  format?: RecordingFormat | undefined;
  /** When the first recording began, if it has no dates; 1970-01-01 when left out. Others go on where it ends. */
  startTime?: Date | undefined;
  /** Whether files that are there are written over; default false. */
  overwrite?: boolean;
}

/** What became of one recording. */
export interface ConvertedInput {
  /** As it was given. */
  name: string;
  /** What became of its lines. */
  recording: RecordingSummary;
  /** What never became a whole message. */
  drops: AssemblerDrops;
  /** Messages that were written. */
  converted: number;
  /** Messages that were not, as no journal can hold their times: before 1828, or after 2111. */
  unstorable: number;
  /** Whether it has no dates and was taken to begin where the recording before it ends. */
  isContinued: boolean;
}

/** What became of all of it. */
export interface ConvertSummary {
  /** In the order in which they were given. */
  inputs: ConvertedInput[];
  /** In the order of their messages; none when there was no message. */
  files: ConvertedFile[];
  /** Messages written; they have the numbers from 1. */
  messages: number;
  /** Names of the buses by index; an empty one where the format tells none. */
  buses: string[];
  /** Name of the run of numbers, 32 hex digits. */
  epoch: string;
}

/**
 * Recordings that cannot be converted.
 *
 * - `format`: it was not given and does not show, or the start time is none
 * - `journal`: it is a journal already
 * - `buses`: there are more than a journal tells apart
 * - `unreadable`: reading its bytes failed
 */
export class ConvertError extends Error {
  /** `ConvertError`. */
  override readonly name = "ConvertError";
  /** For programs. */
  readonly reason: "format" | "journal" | "buses" | "unreadable";

  /** An error about the recording of that name. */
  constructor(reason: ConvertError["reason"], { name, why, cause }: { name: string; why: string; cause?: unknown }) {
    super(`Cannot convert "${name}": ${why}`, { cause });
    this.reason = reason;
  }
}

/** Times further from 1970 than this are no recorder's; the time between two of them is still an exact number. */
const MAX_TIME_US = Number.MAX_SAFE_INTEGER / 2;
/** First bytes of a journal. */
const JOURNAL_MAGIC = [0x4c, 0x50, 0x4a] as const;

/**
 * Writes recordings, one after the other, as a journal: whole messages with their times, numbered from 1, and the
 * devices that told of themselves. The same recordings give the same bytes. Files get their names when everything is
 * whole; after an error there are none. What could not be read is counted in the summary, and the rest is converted.
 *
 * @throws {ConvertError} a recording cannot be converted
 * @throws {OutputExistsError} a file is there already and `overwrite` is not set
 * @throws {FileError} the journal cannot be written
 */
export async function convertRecordings(
  inputs: Iterable<RecordingInput>,
  options: ConvertOptions,
): Promise<ConvertSummary> {
  const { to, prefix = "nmea2k", blockBytes = DEFAULT_BLOCK_BYTES, compression = "zstd", overwrite = false } = options;
  const { rotateDurationMs = 0, rotateBytes = 0 } = to.kind === "directory" ? options : {};
  const files = new ConvertedFiles({ to, prefix, blockBytes, compression, rotateBytes, overwrite });
  const conversion = new Conversion(options, { files, blockBytes, rotateDurationMs });
  try {
    await files.check();
    for (const input of inputs) await conversion.read(input);
    return await conversion.end();
  } catch (error) {
    await files.abandon();
    throw error;
  }
}

/** Recordings on their way into files. */
class Conversion {
  readonly #files: ConvertedFiles;
  readonly #options: Pick<ConvertOptions, "format" | "startTime">;
  readonly #inputs: ConvertedInput[] = [];
  readonly #buses: string[] = [];
  readonly #blocks: ConvertedBlocks;
  readonly #full: ConvertedBlock[] = [];
  /** Time of the newest message; undefined before the first. */
  #endUs: number | undefined;

  constructor(
    options: Pick<ConvertOptions, "format" | "startTime">,
    { files, blockBytes, rotateDurationMs }: { files: ConvertedFiles; blockBytes: number; rotateDurationMs: number },
  ) {
    this.#files = files;
    this.#options = options;
    const emit = (block: ConvertedBlock) => this.#full.push(block);
    this.#blocks = new ConvertedBlocks({ buses: this.#buses, blockBytes, rotateDurationMs, emit });
  }

  async read({ name, chunks }: RecordingInput): Promise<void> {
    const { format } = this.#options;
    const startTime = this.#endUs === undefined ? this.#options.startTime : new Date(Math.ceil(this.#endUs / 1000));
    const recording = newRecordingSummary();
    const drops = newDrops();
    const input = { name, recording, drops, converted: 0, unstorable: 0, isContinued: false };
    this.#inputs.push(input);
    const order = new TimeOrder((message) => this.#blocks.add(message));
    try {
      const items = readRecording(checked(chunks, name), { format, startTime, summary: recording });
      for await (const message of assembleRecording(items, { drops })) {
        if (this.#take(message, input)) order.add(message);
        if (this.#full.length > 0) await this.#write();
      }
    } catch (cause) {
      if (!(cause instanceof RecordingError)) throw cause;
      throw new ConvertError("format", { name, why: cause.message, cause });
    }
    order.flush();
    input.isContinued = this.#inputs.length > 1 && isUndated(recording);
  }

  async end(): Promise<ConvertSummary> {
    this.#blocks.end();
    await this.#write();
    const files = await this.#files.finish();
    const { lastSeq: messages, epoch } = this.#blocks;
    return { inputs: this.#inputs, files, messages, buses: this.#buses, epoch: epoch.toHex() };
  }

  /** Gives a message its bus among those of all recordings. False when it cannot be kept. */
  #take(message: Message, input: ConvertedInput): boolean {
    if (Math.abs(message.timeUs) > MAX_TIME_US) {
      input.unstorable++;
      return false;
    }
    message.bus = this.#busOf(input.recording.buses[message.bus] ?? "", input.name);
    this.#endUs = Math.max(this.#endUs ?? -Infinity, message.timeUs);
    input.converted++;
    return true;
  }

  #busOf(bus: string, name: string): number {
    const index = this.#buses.indexOf(bus);
    if (index >= 0) return index;
    if (this.#buses.length >= MAX_BUSES) {
      throw new ConvertError("buses", { name, why: `bus "${bus}" is one more than the ${MAX_BUSES} of a journal` });
    }
    return this.#buses.push(bus) - 1;
  }

  async #write(): Promise<void> {
    for (const block of this.#full.splice(0)) await this.#files.write(block);
  }
}

/** Passes bytes on unless they are a journal's. */
async function* checked(chunks: AsyncIterable<Uint8Array>, name: string): AsyncGenerator<Uint8Array> {
  let isFirst = true;
  try {
    for await (const chunk of chunks) {
      if (isFirst && JOURNAL_MAGIC.every((byte, i) => chunk[i] === byte)) {
        throw new ConvertError("journal", { name, why: "it is a journal already" });
      }
      isFirst = false;
      yield chunk;
    }
  } catch (cause) {
    if (cause instanceof ConvertError) throw cause;
    const why = errorText(cause);
    throw new ConvertError("unreadable", { name, why, cause });
  }
}

/** Whether the day, at least, had to be assumed. */
function isUndated({ format, notes }: RecordingSummary): boolean {
  return format === "ydwg" || notes.includes("times_from_start") || notes.includes("times_assumed");
}

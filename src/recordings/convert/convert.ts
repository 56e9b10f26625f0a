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
  /** Name for messages and the summary. */
  name: string;
  /** Content, in chunks of any size. Read after the previous recordings. */
  chunks: AsyncIterable<Uint8Array>;
}

/** Options of {@linkcode convertRecordings}. */
export interface ConvertOptions {
  /** Prefix of the file names; default `nmea2k`. */
  prefix?: string;
  /** Size of a block, bytes; a power of two, default 256 KiB. */
  blockBytes?: number;
  /** Default `zstd`. */
  compression?: "none" | "zstd";
  /** Duration after which a directory gets a new file, milliseconds; default 0: never. */
  rotateDurationMs?: number;
  /** Size after which a directory gets a new file, bytes; default 0: never. */
  rotateBytes?: number;
  /** Output. Files in a directory are rotated and named like those of a boat server. */
  to: ConvertTarget;
  /** Format of all recordings; default: detected from the beginning of each one. */
  format?: RecordingFormat | undefined;
  /** Start of the first recording if it has no dates; default 1970-01-01. Later recordings continue at its end. */
  startTime?: Date | undefined;
  /** Overwrite existing files; default false. */
  overwrite?: boolean;
}

/** Result for one recording. */
export interface ConvertedInput {
  /** Name of the input. */
  name: string;
  /** Counts of its lines. */
  recording: RecordingSummary;
  /** Frames that never became a message, by reason. */
  drops: AssemblerDrops;
  /** Messages written. */
  converted: number;
  /** Messages not written, because a journal cannot store their times: before 1828, or after 2111. */
  unstorable: number;
  /** True if it has no dates and was assumed to begin at the end of the previous recording. */
  isContinued: boolean;
}

/** Result of a conversion. */
export interface ConvertSummary {
  /** In the order of the inputs. */
  inputs: ConvertedInput[];
  /** In the order of their messages; empty without messages. */
  files: ConvertedFile[];
  /** Number of messages written; their sequence numbers start at 1. */
  messages: number;
  /** Names of the buses by index; empty if the format has none. */
  buses: string[];
  /** Epoch, 32 hex digits. */
  epoch: string;
}

/**
 * A recording cannot be converted.
 *
 * - `format`: the format was neither given nor detected, or the start time is invalid
 * - `journal`: it is a journal already
 * - `buses`: it has more buses than a journal supports
 * - `unreadable`: reading its bytes failed
 */
export class ConvertError extends Error {
  /** `ConvertError`. */
  override readonly name = "ConvertError";
  /** Cause, for programs. */
  readonly reason: "format" | "journal" | "buses" | "unreadable";

  /** Creates an error about one recording, given by its name. */
  constructor(reason: ConvertError["reason"], { name, why, cause }: { name: string; why: string; cause?: unknown }) {
    super(`Cannot convert "${name}": ${why}`, { cause });
    this.reason = reason;
  }
}

/** Maximum distance of a time from 1970: differences of two times stay exact. */
const MAX_TIME_US = Number.MAX_SAFE_INTEGER / 2;
/** First bytes of a journal. */
const JOURNAL_MAGIC = [0x4c, 0x50, 0x4a] as const;

/**
 * Converts recordings, in the given order, to a journal: complete messages with their times, numbered from 1, and the
 * devices that identified themselves. The same recordings give the same bytes. Files get their final names when all are
 * complete; after an error there are none. Unreadable lines are counted in the summary, and the rest is converted.
 *
 * @throws {ConvertError} a recording cannot be converted
 * @throws {OutputExistsError} a file exists and `overwrite` is not set
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

/** A running conversion. */
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
        if (this.#accept(message, input)) order.add(message);
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

  /** Sets the bus of a message to its index among those of all recordings. False if the message cannot be stored. */
  #accept(message: Message, input: ConvertedInput): boolean {
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
      throw new ConvertError("buses", { name, why: `bus "${bus}" exceeds the ${MAX_BUSES} buses of a journal` });
    }
    return this.#buses.push(bus) - 1;
  }

  async #write(): Promise<void> {
    for (const block of this.#full.splice(0)) await this.#files.write(block);
  }
}

/** Passes the bytes on. @throws {ConvertError} they are a journal, or cannot be read */
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

/** True if at least the date had to be assumed. */
function isUndated({ format, notes }: RecordingSummary): boolean {
  return format === "ydwg" || notes.includes("times_from_start") || notes.includes("times_assumed");
}

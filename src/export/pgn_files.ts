import type { StoredFrame } from "../frame/mod.ts";
import type { BeginFile } from "./formats.ts";
import type { MessageWriter } from "./message_writer.ts";
import type { Origins } from "./origins.ts";
import { tableOf } from "./tables.ts";

/** Most files. */
export const MAX_PGN_FILES = 1000;
/** Default limit of values that wait in all files together; beyond it those of the files with most are written. */
const MAX_WAITING_VALUES = 4_000_000;
/** Messages between two counts of them. */
const MESSAGES_PER_COUNT = 8192;

/** There are more PGNs than files may be written. */
export class TooManyFilesError extends Error {
  /** `TooManyFilesError`. */
  override readonly name = "TooManyFilesError";
}

/** The file of one PGN. */
export interface PgnFile {
  /** Name without the ending. */
  name: string;
  /** Makes its bytes. */
  writer: MessageWriter;
  /** Messages in it. */
  messages: number;
}

/** Options of {@linkcode PgnFiles}. */
export interface PgnFilesOptions {
  /** Names of buses and devices. */
  origins: Origins;
  /** Limit of values that have no bytes yet, exceeded by some thousand messages at most; default 4 million. */
  maxWaitingValues?: number;
}

/** Distributes messages to a file for each PGN, with its fields as columns. */
export class PgnFiles {
  readonly #begin: BeginFile;
  readonly #origins: Origins;
  readonly #maxWaitingValues: number;
  readonly #files = new Map<number, PgnFile>();
  #uncounted = 0;

  /** Begins without files. `begin` begins each. */
  constructor(begin: BeginFile, { origins, maxWaitingValues = MAX_WAITING_VALUES }: PgnFilesOptions) {
    this.#begin = begin;
    this.#origins = origins;
    this.#maxWaitingValues = maxWaitingValues;
  }

  /** The files, in the order of their first messages. */
  get all(): Iterable<PgnFile> {
    return this.#files.values();
  }

  /** To be called when a bus or the device at an address has another name than before. */
  originsChanged(): void {
    for (const { writer } of this.#files.values()) writer.originsChanged();
  }

  /** Adds a message to its file, which is returned. @throws {TooManyFilesError} it would be one more than 1000 */
  add(frame: StoredFrame): PgnFile {
    const file = this.#files.get(frame.pgn) ?? this.#beginFile(frame.pgn);
    if (file.writer.add(frame)) file.messages++;
    if (++this.#uncounted >= MESSAGES_PER_COUNT) this.#limitValues();
    return file;
  }

  #beginFile(pgn: number): PgnFile {
    if (this.#files.size >= MAX_PGN_FILES) {
      throw new TooManyFilesError(`Cannot write more than ${MAX_PGN_FILES} files: -pgn chooses what is exported`);
    }
    const table = tableOf(pgn);
    const file = { name: table.name, writer: this.#begin(this.#origins, table), messages: 0 };
    this.#files.set(pgn, file);
    return file;
  }

  #limitValues(): void {
    this.#uncounted = 0;
    const writers = Array.from(this.#files.values(), ({ writer }) => writer);
    writers.sort((one, other) => other.waitingValues - one.waitingValues);
    let waiting = writers.reduce((sum, { waitingValues }) => sum + waitingValues, 0);
    for (const writer of writers) {
      if (waiting <= this.#maxWaitingValues) return;
      waiting -= writer.waitingValues;
      writer.settle();
    }
  }
}

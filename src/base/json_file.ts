import type { DurableFile } from "./atomic_file.ts";
import { FileError } from "./file_error.ts";
import type { Logger } from "./log.ts";

/** Options of a {@linkcode JsonFile}. */
export interface JsonFileOptions {
  /** Name of the content in the log, such as `sessions`. */
  what: string;
  /** Returns the content; called at each write, and stored as JSON. */
  content: () => unknown;
  /** Gets one line when writing fails and one when it works again. */
  log: Logger;
}

/** Delay before changes are written, to save writes: each one wears the boat's SD card. */
const WRITE_AFTER_MS = 1000;
/** Delay before a failed write is repeated. */
const RETRY_AFTER_MS = 10_000;

/** Stores a JSON value in a file: written as a whole, at most once a second. Never throws: failures are logged. */
export class JsonFile {
  readonly #file: DurableFile;
  readonly #options: JsonFileOptions;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #writing: Promise<void> = Promise.resolve();
  #isWriting = false;
  /** The content has changed since the last write began; that write may hang. */
  #isDue = false;
  #error: string | undefined;
  #isClosed = false;

  /** Nothing is written before the first call of {@linkcode JsonFile.changed}. */
  constructor(file: DurableFile, options: JsonFileOptions) {
    this.#file = file;
    this.#options = options;
  }

  /** Why the last write failed; undefined when it succeeded or is scheduled. */
  get error(): string | undefined {
    return this.#error;
  }

  /** Schedules a write, because the content has changed. */
  changed(): void {
    if (this.#isClosed) return;
    this.#timer ??= setTimeout(() => this.#startWrite(), this.#error === undefined ? WRITE_AFTER_MS : RETRY_AFTER_MS);
  }

  /** Writes pending changes at once. */
  async flush(): Promise<void> {
    if (this.#timer !== undefined) this.#startWrite();
    await this.#writing;
  }

  /** Writes pending changes and stops writing. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.flush();
  }

  #startWrite(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#isDue = true;
    if (!this.#isWriting) this.#writing = this.#writeDue();
  }

  /** Writes one at a time: while a write hangs, later changes are merged into one more write. */
  async #writeDue(): Promise<void> {
    this.#isWriting = true;
    try {
      while (this.#isDue) {
        this.#isDue = false;
        await this.#write();
      }
    } finally {
      this.#isWriting = false;
    }
  }

  async #write(): Promise<void> {
    const { what, content, log } = this.#options;
    try {
      await this.#file.write(JSON.stringify(content()) + "\n");
      if (this.#error !== undefined) log.info("state file written again", { what });
      this.#error = undefined;
    } catch (error) {
      if (!(error instanceof FileError)) throw error;
      if (this.#error === undefined) log.error("state file not written", { what, error: error.message });
      this.#error = error.message;
      this.changed();
    }
  }
}

/**
 * Reads and parses a file. Undefined when it does not exist, and, with a line in the log, when it cannot be read.
 *
 * @param options.parse throws SyntaxError or TypeError when the text is invalid
 */
export async function readJsonFile<T>(
  file: DurableFile,
  { what, parse, log }: { what: string; parse: (text: string) => T; log: Logger },
): Promise<T | undefined> {
  try {
    const bytes = await file.read();
    return bytes && parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (error) {
    if (!(error instanceof FileError || error instanceof SyntaxError || error instanceof TypeError)) throw error;
    log.error("state file not readable", { what, file: file.path, error: error.message });
    return undefined;
  }
}

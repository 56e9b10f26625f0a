import type { DurableFile } from "./atomic_file.ts";
import { FileError } from "./file_error.ts";
import type { Logger } from "./log.ts";

/** What is kept, and who is told. */
export interface KeptFileOptions {
  /** What it is called in the log, such as `sessions`. */
  what: string;
  /** What is to be kept, asked for at each write; it becomes JSON. */
  content: () => unknown;
  /** Gets what goes wrong, once, and when it is over. */
  log: Logger;
}

/** Changes wait this long for company: the disk of a boat is a card that wears out. */
const WRITE_AFTER_MS = 1000;
/** What could not be written is tried again after so long. */
const RETRY_AFTER_MS = 10_000;

/** Keeps something in a file: written as a whole, at most once a second. Never fails: what goes wrong is logged. */
export class KeptFile {
  readonly #file: DurableFile;
  readonly #options: KeptFileOptions;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #writing: Promise<void> = Promise.resolve();
  #isWriting = false;
  /** Something has changed while a write was under way, which may hang. */
  #isDue = false;
  #error: string | undefined;
  #isClosed = false;

  /** Nothing is written before something has changed. */
  constructor(file: DurableFile, options: KeptFileOptions) {
    this.#file = file;
    this.#options = options;
  }

  /** Why what changed last is not written down; undefined when it is, or soon will be. */
  get error(): string | undefined {
    return this.#error;
  }

  /** Something has changed: it is written soon. */
  changed(): void {
    if (this.#isClosed) return;
    this.#timer ??= setTimeout(() => this.#begin(), this.#error === undefined ? WRITE_AFTER_MS : RETRY_AFTER_MS);
  }

  /** Writes what has changed now. */
  async flush(): Promise<void> {
    if (this.#timer !== undefined) this.#begin();
    await this.#writing;
  }

  /** Writes what has changed, and nothing any more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.flush();
  }

  #begin(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#isDue = true;
    if (!this.#isWriting) this.#writing = this.#writeDue();
  }

  /** One write after another: while one hangs, not all that changes meanwhile waits in memory, each as a whole. */
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
      if (this.#error !== undefined) log.info(`${what} are written down again`);
      this.#error = undefined;
    } catch (error) {
      if (!(error instanceof FileError)) throw error;
      if (this.#error === undefined) log.error(`${what} are not written down`, { error: error.message });
      this.#error = error.message;
      this.changed();
    }
  }
}

/**
 * What a kept file holds; undefined where there is none, and, with a line in the log, where it cannot be read.
 *
 * @param options.parse throws SyntaxError or TypeError where the text is none of ours
 */
export async function readKept<T>(
  file: DurableFile,
  { what, parse, log }: { what: string; parse: (text: string) => T; log: Logger },
): Promise<T | undefined> {
  try {
    const bytes = await file.read();
    return bytes && parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (error) {
    if (!(error instanceof FileError || error instanceof SyntaxError || error instanceof TypeError)) throw error;
    log.error(`${what} are lost`, { file: file.path, error: error.message });
    return undefined;
  }
}

import { basename, dirname } from "node:path";
import { AtomicFile, errorText, type Logger } from "../base/mod.ts";
import { normalSerial, parseRevocations, RevocationError } from "./revocation.ts";

/** Options of {@linkcode RevocationFile}. */
export interface RevocationFileOptions {
  /** Path of the list: lines of serial numbers, or signed lists (PEM). */
  path: string;
  /** Certificates (PEM) of the authorities that may sign lists; called at each reading. */
  authorities: () => string;
  log: Logger;
}

/** Interval of checking the file. Short, so that revoked clients are disconnected soon. */
const CHECK_INTERVAL_MS = 1000;
/** About 300 000 lines. */
const MAX_FILE_BYTES = 16 * 1024 * 1024;

/** Content of a valid file. */
interface Content {
  text: string;
  serials: ReadonlySet<string>;
}

/** The revoked certificates, reloaded when their file changes. An invalid file leaves the old list in use. */
export class RevocationFile {
  readonly #file: AtomicFile;
  readonly #authorities: () => string;
  readonly #log: Logger;
  readonly #listeners = new Set<() => void>();
  #text: string;
  #serials: ReadonlySet<string>;
  #fault: string | undefined;
  #timer: ReturnType<typeof setInterval> | undefined;

  private constructor({ path, authorities, log }: RevocationFileOptions, { text, serials }: Content) {
    this.#file = fileAt(path);
    this.#authorities = authorities;
    this.#log = log;
    this.#text = text;
    this.#serials = serials;
  }

  /**
   * Reads the file.
   *
   * @throws {RevocationError} the file is missing or invalid
   */
  static async open(options: RevocationFileOptions): Promise<RevocationFile> {
    const { path, authorities } = options;
    return new RevocationFile(options, await read(path, authorities()));
  }

  /** Why the current file is invalid; undefined if it is valid. */
  get fault(): string | undefined {
    return this.#fault;
  }

  /** Number of serial numbers on the list. */
  get size(): number {
    return this.#serials.size;
  }

  /** True if a certificate is revoked. @param serial hex */
  has(serial: string): boolean {
    return this.#serials.has(normalSerial(serial) ?? serial);
  }

  /** Calls `onChange` after each change. The first call starts checking the file. Returns the unsubscribe function. */
  follow(onChange: () => void): () => void {
    this.#listeners.add(onChange);
    this.#timer ??= setInterval(() => void this.check(), CHECK_INTERVAL_MS);
    return () => void this.#listeners.delete(onChange);
  }

  /** Checks the file now. Never rejects: an error is logged once and kept as {@linkcode RevocationFile.fault}. */
  async check(): Promise<void> {
    try {
      const text = await readText(this.#file);
      if (text !== this.#text || this.#fault !== undefined) {
        const serials = await parseRevocations(text, { authorities: this.#authorities() });
        this.#use(text, serials);
      }
    } catch (error) {
      const fault = errorText(error);
      if (fault !== this.#fault) {
        this.#log.error("list of revoked certificates refused, the old one stays", {
          path: this.#file.path,
          error: fault,
        });
      }
      this.#fault = fault;
    }
  }

  /** Stops checking the file. */
  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #use(text: string, serials: ReadonlySet<string>): void {
    this.#fault = undefined;
    if (text === this.#text) return;
    this.#text = text;
    this.#serials = serials;
    this.#log.info("list of revoked certificates replaced", { certificates: serials.size });
    for (const listener of this.#listeners) listener();
  }
}

/**
 * Reads and checks a list of revoked certificates as a cloud does at its start. @returns serial numbers
 *
 * @param authorities certificates (PEM) of the authorities that may sign lists
 * @throws {RevocationError} the file is missing or invalid
 */
export async function readRevoked(path: string, authorities: string): Promise<ReadonlySet<string>> {
  return (await read(path, authorities)).serials;
}

async function read(path: string, authorities: string): Promise<Content> {
  try {
    const text = await readText(fileAt(path));
    return { text, serials: await parseRevocations(text, { authorities }) };
  } catch (error) {
    throw new RevocationError(`Cannot use the list of revoked certificates "${path}": ${errorText(error)}`);
  }
}

function fileAt(path: string): AtomicFile {
  return new AtomicFile(dirname(path), { name: basename(path), maxBytes: MAX_FILE_BYTES });
}

async function readText(file: AtomicFile): Promise<string> {
  const bytes = await file.read();
  if (bytes === undefined) throw new RevocationError("there is no such file");
  return new TextDecoder().decode(bytes);
}

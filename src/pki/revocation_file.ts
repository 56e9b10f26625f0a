import { basename, dirname } from "node:path";
import { AtomicFile, errorText, type Logger } from "../base/mod.ts";
import { parseRevocations, RevocationError } from "./revocation.ts";
import { normalSerial } from "./revocation_serial.ts";

/** How a list of revoked certificates is kept fresh. */
export interface RevocationFileOptions {
  /** Where it is: lines of serial numbers, or signed lists (PEM). */
  path: string;
  /** Certificates (PEM) of those who may sign lists; asked again whenever the file is read. */
  authorities: () => string;
  log: Logger;
}

/** How often the file is looked at: who is revoked is to be out at once. */
const LOOK_EVERY_MS = 1000;
/** About 300 000 lines. */
const MAX_FILE_BYTES = 16 * 1024 * 1024;

/** What is in a file that can be used. */
interface Content {
  text: string;
  serials: ReadonlySet<string>;
}

/** The revoked certificates, kept as fresh as their file. A file that cannot be used leaves the old list in use. */
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
   * @throws {RevocationError} there is none, or it cannot be used
   */
  static async open(options: RevocationFileOptions): Promise<RevocationFile> {
    const { path, authorities } = options;
    return new RevocationFile(options, await read(path, authorities()));
  }

  /** Why the file as it is now cannot be used; nothing when it can. */
  get fault(): string | undefined {
    return this.#fault;
  }

  /** How many serial numbers are on the list. */
  get size(): number {
    return this.#serials.size;
  }

  /** Whether a certificate is revoked. @param serial hex */
  has(serial: string): boolean {
    return this.#serials.has(normalSerial(serial) ?? serial);
  }

  /** Calls `onChange` whenever there is another list; looks for it from now on. Answers how to call it no more. */
  follow(onChange: () => void): () => void {
    this.#listeners.add(onChange);
    this.#timer ??= setInterval(() => void this.check(), LOOK_EVERY_MS);
    return () => void this.#listeners.delete(onChange);
  }

  /** Looks at the file now. Never rejects: what is wrong is logged once. */
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

  /** Looks no more. */
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
 * The serial numbers of a list of revoked certificates, judged as a cloud does that starts with it.
 *
 * @param authorities certificates (PEM) of those who may sign lists
 * @throws {RevocationError} there is none, or it cannot be used
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

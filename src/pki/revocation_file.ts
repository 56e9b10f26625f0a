import { basename, dirname } from "node:path";
import { AtomicFile, errorText, type Logger } from "../base/mod.ts";
import { normalSerial, parseRevocations, RevocationError } from "./revocation.ts";
import { WatchedContent } from "./watched_content.ts";

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
  readonly #watched: WatchedContent<Content>;

  private constructor({ path, authorities, log }: RevocationFileOptions, content: Content) {
    const file = fileAt(path);
    this.#watched = new WatchedContent(content, {
      read: async (before, { wasInvalid }) => {
        const text = await readText(file);
        // After an error, also an unchanged list is checked: other authorities may have signed it.
        if (text === before.text && !wasInvalid) return before;
        const serials = await parseRevocations(text, { authorities: authorities() });
        return text === before.text ? before : { text, serials };
      },
      intervalMs: CHECK_INTERVAL_MS,
      onReplaced: ({ serials }) => log.info("list of revoked certificates replaced", { certificates: serials.size }),
      onRefused: (error) =>
        log.error("list of revoked certificates refused, the old one stays", { path: file.path, error }),
    });
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
    return this.#watched.fault;
  }

  /** Number of serial numbers on the list. */
  get size(): number {
    return this.#watched.content.serials.size;
  }

  /** True if a certificate is revoked. @param serial hex */
  has(serial: string): boolean {
    return this.#watched.content.serials.has(normalSerial(serial) ?? serial);
  }

  /** Calls `onChange` after each change. The first call starts checking the file. Returns the unsubscribe function. */
  follow(onChange: () => void): () => void {
    return this.#watched.follow(onChange);
  }

  /** Checks the file now. Never rejects: an error is logged once and kept as {@linkcode RevocationFile.fault}. */
  async check(): Promise<void> {
    await this.#watched.check();
  }

  /** Stops checking the file. */
  stop(): void {
    this.#watched.stop();
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

import { type DurableFile, FileError, type Logger } from "../base/mod.ts";
import type { Filter } from "../filter/mod.ts";

/** Name of the file in the state directory. */
export const SESSION_FILE = "sessions.json";
/** What ids of clients look like, of sessions and slots alike. */
export const CLIENT_ID: RegExp = /^[A-Za-z0-9_-]{1,64}$/;

/** Changes wait this long for company: the disk of a boat is a card that wears out. */
const WRITE_AFTER_MS = 1000;
/** What could not be written is tried again after so long. */
const RETRY_AFTER_MS = 10_000;
const VERSION = 1;

/** What survives a restart. */
export interface StoredSession {
  id: string;
  /** Epoch that the cursor counts in. */
  epoch: string;
  /** Number of the first frame that has not been acknowledged. */
  cursor: number;
  timeoutMs: number;
  filter: Filter;
}

/** Keeps sessions in a file: written as a whole, at most once a second. Never fails: what goes wrong is logged. */
export class SessionFile {
  readonly #file: DurableFile;
  readonly #log: Logger;
  readonly #sessions: () => readonly StoredSession[];
  #timer: ReturnType<typeof setTimeout> | undefined;
  #writing: Promise<void> = Promise.resolve();
  #failures = 0;
  #isClosed = false;

  /** @param options.sessions what is to be kept, asked for at each write */
  constructor(file: DurableFile, { log, sessions }: { log: Logger; sessions: () => readonly StoredSession[] }) {
    this.#file = file;
    this.#log = log;
    this.#sessions = sessions;
  }

  /** What the file holds; nothing when it cannot be read. */
  async read(): Promise<StoredSession[]> {
    try {
      const bytes = await this.#file.read();
      return bytes ? parseSessions(new TextDecoder("utf-8", { fatal: true }).decode(bytes)) : [];
    } catch (error) {
      if (!(error instanceof FileError || error instanceof SyntaxError || error instanceof TypeError)) throw error;
      this.#log.error("sessions are lost", { file: this.#file.path, error: error.message });
      return [];
    }
  }

  /** Something has changed: it is written soon. */
  changed(): void {
    if (this.#isClosed) return;
    this.#timer ??= setTimeout(() => this.#begin(), this.#failures > 0 ? RETRY_AFTER_MS : WRITE_AFTER_MS);
  }

  /** Writes what has changed, and nothing any more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#timer !== undefined) this.#begin();
    await this.#writing;
  }

  #begin(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#writing = Promise.all([this.#writing, this.#write()]).then(() => {});
  }

  async #write(): Promise<void> {
    try {
      await this.#file.write(JSON.stringify({ version: VERSION, sessions: this.#sessions() }) + "\n");
      if (this.#failures > 0) this.#log.info("sessions are written down again");
      this.#failures = 0;
    } catch (error) {
      if (!(error instanceof FileError)) throw error;
      if (this.#failures++ === 0) this.#log.error("sessions are not written down", { error: error.message });
      this.changed();
    }
  }
}

/**
 * Reads the file's content; entries that make no sense are left out.
 *
 * @throws {SyntaxError} it is no JSON
 * @throws {TypeError} it is no list of sessions
 */
export function parseSessions(text: string): StoredSession[] {
  const { version, sessions } = record(JSON.parse(text));
  if (version !== VERSION || !Array.isArray(sessions)) throw new TypeError(`no sessions of version ${VERSION}`);
  return sessions.map(readSession).filter((session) => session !== undefined);
}

function readSession(value: unknown): StoredSession | undefined {
  const { id, epoch, cursor, timeoutMs, filter } = record(value);
  if (typeof id !== "string" || !CLIENT_ID.test(id) || typeof epoch !== "string") return undefined;
  if (!Number.isSafeInteger(cursor) || Number(cursor) < 1 || !(Number(timeoutMs) > 0)) return undefined;
  return { id, epoch, cursor: Number(cursor), timeoutMs: Number(timeoutMs), filter: readFilter(record(filter)) };
}

/** Fields of a filter that have the right form; one that has not was written by nobody of ours. */
function readFilter(value: Record<string, unknown>): Filter {
  const filter: Filter = {};
  for (const key of ["pgn", "exclude_pgn", "instance"] as const) {
    const list = value[key];
    if (Array.isArray(list) && list.every((item) => typeof item === "number")) filter[key] = list;
  }
  for (const key of ["manufacturer", "name", "exclude_name", "bus"] as const) {
    const list = value[key];
    if (Array.isArray(list) && list.every((item) => typeof item === "string")) filter[key] = list;
  }
  return filter;
}

function record(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? { ...value } : {};
}

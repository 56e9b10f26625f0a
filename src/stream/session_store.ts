import { AtomicFile, FileError, LineLog, type Logger, readJsonFile } from "../base/mod.ts";
import {
  definitionLine,
  epochLine,
  headerLine,
  mergeLines,
  mergeOld,
  oldSessionsText,
  parseOldSessions,
  positionLine,
  removalLine,
  type StoredSession,
} from "./session_file.ts";

/** Identifies a session, also a removed one. */
export type SessionKey = Pick<StoredSession, "id" | "number">;

/** Sessions with unwritten changes, by number. */
interface Changed {
  definitions: Map<number, SessionKey>;
  positions: Map<number, SessionKey>;
}

/** Access to the current sessions, used at each write. */
export interface StoreContent {
  /** Epoch of the cursors. */
  epoch: () => string;
  /** All sessions, the oldest first. */
  all: () => Iterable<StoredSession>;
  /** One session; undefined when it was removed. */
  find: (session: SessionKey) => StoredSession | undefined;
}

/** Longer files are rejected. */
export const MAX_FILE_BYTES: number = 2 ** 30;
/** File of releases before the line log. It exists while no server of this release is running, for a rollback. */
const OLD_FILE = "sessions.json";
/** Definitions of the sessions. */
export const DEFINITIONS_FILE = "sessions.log";
/** Positions of the sessions. */
export const POSITIONS_FILE = "session_positions.log";
/** The files of the sessions in a directory: definitions, positions. */
export const SESSION_FILES: readonly string[] = [DEFINITIONS_FILE, POSITIONS_FILE];
/** Delay before changes are written, to save writes: each one wears the boat's SD card. */
const WRITE_AFTER_MS = 1000;
/** Delay before a failed write is repeated. */
const RETRY_AFTER_MS = 10_000;
/** A file is compacted when it is longer than twice its length after the last compaction plus this. */
const SLACK_BYTES = 64 * 1024;

/**
 * Stores sessions in two line logs: `sessions.log` has their definitions, which seldom change, and
 * `session_positions.log` their cursors. Changes are appended and synced at most once a second. Never throws: a failed
 * write is logged and repeated.
 */
export class SessionStore {
  readonly #definitions: LineLog;
  readonly #positions: LineLog;
  readonly #old: AtomicFile;
  readonly #content: StoreContent;
  readonly #log: Logger;
  #nextNumber = 1;
  #unwritten: Changed = { definitions: new Map(), positions: new Map() };
  /** Epoch of the last line in the positions file. */
  #epoch: string | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #writing: Promise<void> = Promise.resolve();
  /** The last write failed: the next one replaces both files, so changes need not be collected until then. */
  #isFailing = false;
  #isClosed = false;
  /** The old file was read: the next write replaces both files and removes the old one. */
  #hasOld = false;

  /** @param directory must exist; nothing is read or written yet */
  constructor(directory: string, { content, log }: { content: StoreContent; log: Logger }) {
    this.#definitions = new LineLog(directory, { name: DEFINITIONS_FILE, maxBytes: MAX_FILE_BYTES });
    this.#positions = new LineLog(directory, { name: POSITIONS_FILE, maxBytes: MAX_FILE_BYTES });
    this.#old = new AtomicFile(directory, { name: OLD_FILE, maxBytes: MAX_FILE_BYTES });
    this.#content = content;
    this.#log = log;
  }

  /** Reads the stored sessions, the oldest first. Includes those of an older release that has run since. */
  async read(): Promise<StoredSession[]> {
    const definitions = await this.#readLines(this.#definitions);
    const positions = await this.#readLines(this.#positions);
    const lines = { definitions: definitions ?? [], positions: positions ?? [], epoch: this.#content.epoch() };
    const { sessions, next } = mergeLines(lines);
    this.#nextNumber = next;
    const old = await readJsonFile(this.#old, { what: "sessions", parse: parseOldSessions, log: this.#log });
    if (old) {
      this.#hasOld = true;
      this.#schedule();
      return mergeOld(sessions, { old, epoch: lines.epoch, newNumber: () => this.newNumber() });
    }
    const isNew = this.#definitions.bytes === undefined || this.#positions.bytes === undefined;
    if (definitions && isNew) this.#schedule();
    return sessions;
  }

  /** Returns a number that no session has had. */
  newNumber(): number {
    return this.#nextNumber++;
  }

  /** Schedules writing a session that was created, removed, or changed in more than its position. */
  definitionChanged({ id, number }: SessionKey): void {
    if (!this.#isFailing) this.#unwritten.definitions.set(number, { id, number });
    this.#schedule();
  }

  /** Schedules writing the position of a session. */
  positionChanged({ id, number }: SessionKey): void {
    if (!this.#isFailing) this.#unwritten.positions.set(number, { id, number });
    this.#schedule();
  }

  /** Writes the changes. Resolves when they are on disk or writing has failed. */
  async written(): Promise<void> {
    if (this.#timer !== undefined) this.#startWrite();
    await this.#writing;
  }

  /** Writes the changes and the file for older releases, then stops writing. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.written();
    if (this.#isFailing || this.#definitions.bytes === undefined) return;
    const { all, epoch } = this.#content;
    try {
      await this.#old.write(oldSessionsText(all(), epoch()));
    } catch (error) {
      if (!(error instanceof FileError)) throw error;
      this.#log.warn("session file for older releases not written", { file: this.#old.path, error: error.message });
    }
  }

  async #readLines(file: LineLog): Promise<unknown[] | undefined> {
    try {
      const lines = await file.read();
      if (lines && lines.damaged > 0) {
        this.#log.warn("session records damaged", { file: file.path, skipped: lines.damaged });
      }
      return lines?.values;
    } catch (error) {
      if (!(error instanceof FileError)) throw error;
      this.#log.error("session file not readable", { file: file.path, error: error.message });
      return undefined;
    }
  }

  #schedule(): void {
    if (this.#isClosed) return;
    this.#timer ??= setTimeout(() => this.#startWrite(), this.#isFailing ? RETRY_AFTER_MS : WRITE_AFTER_MS);
  }

  #startWrite(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#writing = this.#writing.then(() => this.#write());
  }

  async #write(): Promise<void> {
    const changed = this.#takeUnwritten();
    const hasFailed = this.#isFailing;
    this.#isFailing = false;
    try {
      const all = hasFailed || this.#hasOld;
      await this.#writeDefinitions([...changed.definitions.values()], all);
      await this.#writePositions([...changed.positions.values()], all);
      if (this.#hasOld) await this.#removeOld();
      this.#hasOld = false;
      if (hasFailed) this.#log.info("session file written again");
    } catch (error) {
      if (!(error instanceof FileError)) throw error;
      if (!hasFailed) this.#log.error("session file not written", { error: error.message });
      this.#isFailing = true;
      this.#takeUnwritten();
      clearTimeout(this.#timer);
      this.#timer = undefined;
      this.#schedule();
    }
  }

  #takeUnwritten(): Changed {
    const changed = this.#unwritten;
    this.#unwritten = { definitions: new Map(), positions: new Map() };
    return changed;
  }

  async #writeDefinitions(changed: readonly SessionKey[], all: boolean): Promise<void> {
    if (all || mustReplace(this.#definitions)) {
      await this.#definitions.replace(this.#allDefinitions());
    } else if (changed.length > 0) {
      const { epoch, find } = this.#content;
      const lineOf = (key: SessionKey) => {
        const session = find(key);
        return session ? definitionLine(session, epoch()) : removalLine(key.number);
      };
      await this.#definitions.append(changed.map(lineOf));
    }
  }

  async #writePositions(changed: readonly SessionKey[], all: boolean): Promise<void> {
    const epoch = this.#content.epoch();
    if (all || mustReplace(this.#positions)) {
      await this.#positions.replace(this.#allPositions(epoch));
    } else {
      const sessions = changed.map((key) => this.#content.find(key));
      const lines = sessions.flatMap((session) => session?.cursor === undefined ? [] : [positionLine(session)]);
      if (lines.length === 0) return;
      await this.#positions.append(epoch === this.#epoch ? lines : [epochLine(epoch), ...lines]);
    }
    this.#epoch = epoch;
  }

  *#allDefinitions(): Generator<unknown> {
    const { epoch, all } = this.#content;
    yield headerLine(this.#nextNumber);
    for (const session of all()) yield definitionLine(session, epoch());
  }

  *#allPositions(epoch: string): Generator<unknown> {
    yield epochLine(epoch);
    for (const session of this.#content.all()) if (session.cursor !== undefined) yield positionLine(session);
  }

  /** Call it when the new files hold all its sessions. */
  async #removeOld(): Promise<void> {
    try {
      await Deno.remove(this.#old.path);
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return;
      this.#log.warn("old session file not removed", { file: this.#old.path, error: String(error) });
    }
  }
}

function mustReplace({ bytes, compactBytes }: LineLog): boolean {
  return bytes === undefined || bytes > 2 * compactBytes + SLACK_BYTES;
}

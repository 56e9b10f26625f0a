import { AtomicFile, FileError, LineLog, type Logger, readKept } from "../base/mod.ts";
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

/** Names a session, also one that is gone. */
export type SessionKey = Pick<StoredSession, "id" | "number">;

/** Sessions whose lines have to be written, by number. */
interface Changed {
  definitions: Map<number, SessionKey>;
  positions: Map<number, SessionKey>;
}

/** What is to be written, asked for at each write. */
export interface StoreContent {
  /** Epoch that cursors count in. */
  epoch: () => string;
  /** Every session, the oldest first. */
  all: () => Iterable<StoredSession>;
  /** One session; undefined: it is gone. */
  find: (session: SessionKey) => StoredSession | undefined;
}

/** A longer file is not read. */
const MAX_FILE_BYTES = 2 ** 30;
/** How releases before the line log keep sessions. It is there while no server of this release runs, for a roll back. */
const OLD_FILE = "sessions.json";
const DEFINITIONS_FILE = "sessions.log";
const POSITIONS_FILE = "session_positions.log";
/** Changes are collected for this long: each write wears the SD card of a boat. */
const WRITE_AFTER_MS = 1000;
/** Wait before a failed write is tried again. */
const RETRY_AFTER_MS = 10_000;
/** A file is replaced when it is longer than twice its length after the last replacement plus this. */
const SLACK_BYTES = 64 * 1024;

/**
 * Keeps sessions in two files of lines: `sessions.log` has their definitions, which seldom change, and
 * `session_positions.log` their cursors. Changes are appended and synced at most once a second. Never throws: a failed
 * write is logged and tried again.
 */
export class SessionStore {
  readonly #definitions: LineLog;
  readonly #positions: LineLog;
  readonly #old: AtomicFile;
  readonly #content: StoreContent;
  readonly #log: Logger;
  #nextNumber = 1;
  #changed: Changed = { definitions: new Map(), positions: new Map() };
  /** Epoch of the last line of the positions. */
  #epoch: string | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #writing: Promise<void> = Promise.resolve();
  /** The last write failed: the next one replaces both files, so nothing is collected until it begins. */
  #isFailing = false;
  #isClosed = false;
  /** The old file was read: the next write replaces both files, and removes it. */
  #hasOld = false;

  /** Takes an existing directory; touches nothing yet. */
  constructor(directory: string, { content, log }: { content: StoreContent; log: Logger }) {
    this.#definitions = new LineLog(directory, { name: DEFINITIONS_FILE, maxBytes: MAX_FILE_BYTES });
    this.#positions = new LineLog(directory, { name: POSITIONS_FILE, maxBytes: MAX_FILE_BYTES });
    this.#old = new AtomicFile(directory, { name: OLD_FILE, maxBytes: MAX_FILE_BYTES });
    this.#content = content;
    this.#log = log;
  }

  /** What was kept, the oldest first. What an older release kept meanwhile is written into the new files. */
  async read(): Promise<StoredSession[]> {
    const definitions = await this.#linesOf(this.#definitions);
    const positions = await this.#linesOf(this.#positions);
    const lines = { definitions: definitions ?? [], positions: positions ?? [], epoch: this.#content.epoch() };
    const { sessions, next } = mergeLines(lines);
    this.#nextNumber = next;
    const old = await readKept(this.#old, { what: "sessions", parse: parseOldSessions, log: this.#log });
    if (old) {
      this.#hasOld = true;
      this.#schedule();
      return mergeOld(sessions, { old, epoch: lines.epoch, newNumber: () => this.newNumber() });
    }
    const isNew = this.#definitions.bytes === undefined || this.#positions.bytes === undefined;
    if (definitions && isNew) this.#schedule();
    return sessions;
  }

  /** A number for a new session: no other one ever had it. */
  newNumber(): number {
    return this.#nextNumber++;
  }

  /** A session was made, changed in more than its position, or removed: it is written soon. */
  defined({ id, number }: SessionKey): void {
    if (!this.#isFailing) this.#changed.definitions.set(number, { id, number });
    this.#schedule();
  }

  /** The position of a session has changed: it is written soon. */
  moved({ id, number }: SessionKey): void {
    if (!this.#isFailing) this.#changed.positions.set(number, { id, number });
    this.#schedule();
  }

  /** Writes what has changed; resolves when it is on disk, or could not be written. */
  async written(): Promise<void> {
    if (this.#timer !== undefined) this.#begin();
    await this.#writing;
  }

  /** Writes what has changed, and the file of older releases, and nothing any more. */
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

  async #linesOf(file: LineLog): Promise<unknown[] | undefined> {
    try {
      const lines = await file.read();
      if (lines && lines.damaged > 0) {
        this.#log.warn("session records damaged", { file: file.path, skipped: lines.damaged });
      }
      return lines?.values;
    } catch (error) {
      if (!(error instanceof FileError)) throw error;
      this.#log.error("sessions are lost", { file: file.path, error: error.message });
      return undefined;
    }
  }

  #schedule(): void {
    if (this.#isClosed) return;
    this.#timer ??= setTimeout(() => this.#begin(), this.#isFailing ? RETRY_AFTER_MS : WRITE_AFTER_MS);
  }

  #begin(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#writing = this.#writing.then(() => this.#write());
  }

  async #write(): Promise<void> {
    const changed = this.#takeChanged();
    const hasFailed = this.#isFailing;
    this.#isFailing = false;
    try {
      const all = hasFailed || this.#hasOld;
      await this.#writeDefinitions([...changed.definitions.values()], all);
      await this.#writePositions([...changed.positions.values()], all);
      if (this.#hasOld) await this.#removeOld();
      this.#hasOld = false;
      if (hasFailed) this.#log.info("sessions are written down again");
    } catch (error) {
      if (!(error instanceof FileError)) throw error;
      if (!hasFailed) this.#log.error("sessions are not written down", { error: error.message });
      this.#isFailing = true;
      this.#takeChanged();
      clearTimeout(this.#timer);
      this.#timer = undefined;
      this.#schedule();
    }
  }

  #takeChanged(): Changed {
    const changed = this.#changed;
    this.#changed = { definitions: new Map(), positions: new Map() };
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

  /** All that it held is in the new files by now. */
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

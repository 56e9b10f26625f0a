import { type Clock, FileError, LineLog, type Logger } from "../../base/mod.ts";
import { JOURNAL_FILE_MODE } from "../../journal/mod.ts";

/** What is noted of a boat's replication. */
export type DiagnosticEventType =
  | "live_start"
  | "live_stop"
  | "backfill_start"
  | "backfill_stop"
  | "block_received"
  | "checkpoint";

/** Something that happened. */
export interface DiagnosticEvent {
  /** Milliseconds since 1970. */
  timeMs: number;
  type: DiagnosticEventType;
  /** For people. */
  detail: string;
}

/** Notes what happened now. */
export type Note = (type: DiagnosticEventType, detail: string) => void;

/** Events that are kept of one boat. */
export const MAX_DIAGNOSTIC_EVENTS = 1024;
/** Name of their file in the boat's directory. */
export const EVENTS_FILE = "events.log";

/** A longer detail is cut. */
const MAX_DETAIL_CHARS = 1000;
/** Most lines of the file; before it gets more it is replaced by the newest {@linkcode MAX_DIAGNOSTIC_EVENTS}. */
export const MAX_EVENT_LINES: number = 2 * MAX_DIAGNOSTIC_EVENTS;
/** More than the longest file can have. */
const MAX_FILE_BYTES = 16 * 1024 * 1024;
/** Events are collected for this long before they are written. */
const WRITE_AFTER_MS = 1000;
/** Wait before a failed write is tried again. */
const RETRY_AFTER_MS = 10_000;
const TYPES: readonly unknown[] = [
  "live_start",
  "live_stop",
  "backfill_start",
  "backfill_stop",
  "block_received",
  "checkpoint",
] satisfies DiagnosticEventType[];

/** How the events of one boat are kept. */
export interface DiagnosticEventsOptions {
  id: string;
  /** The boat's directory, which is there. */
  directory: string;
  clock: Clock;
  log: Logger;
}

/**
 * The newest events of one boat. They are in a file, to which they are appended and synced at most once a second; in
 * memory are only those that are not written yet. Never throws: a failed write is logged and tried again.
 */
export class DiagnosticEvents {
  readonly #options: DiagnosticEventsOptions;
  readonly #file: LineLog;
  /** Not written yet, oldest first. */
  #pending: DiagnosticEvent[] = [];
  /** Lines of the file; undefined before it was read. */
  #lines: number | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Reading and writing, one after the other. */
  #turn: Promise<unknown> = Promise.resolve();
  #isFailing = false;
  #isClosed = false;

  constructor(options: DiagnosticEventsOptions) {
    this.#options = options;
    const { directory } = options;
    this.#file = new LineLog(directory, { name: EVENTS_FILE, maxBytes: MAX_FILE_BYTES, mode: JOURNAL_FILE_MODE });
  }

  /** Notes what happens now; the oldest event goes when there are too many. */
  add(type: DiagnosticEventType, detail: string): void {
    const timeMs = Math.floor(this.#options.clock.wallUs() / 1000);
    this.#pending.push({ timeMs, type, detail: detail.slice(0, MAX_DETAIL_CHARS) });
    if (this.#pending.length > MAX_DIAGNOSTIC_EVENTS) this.#pending.shift();
    this.#schedule();
  }

  /** The newest ones, newest first, at most `limit`. */
  list(limit: number = MAX_DIAGNOSTIC_EVENTS): Promise<DiagnosticEvent[]> {
    return this.#inTurn(async () => {
      const written = await this.#read();
      const all = [...written, ...this.#pending].slice(-MAX_DIAGNOSTIC_EVENTS);
      return all.slice(Math.max(0, all.length - limit)).reverse();
    });
  }

  /** Writes what is not written yet. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    return this.#inTurn(() => this.#write());
  }

  /** Writes what is not written yet, and nothing any more. */
  async close(): Promise<void> {
    await this.flush();
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  #schedule(): void {
    if (this.#isClosed) return;
    this.#timer ??= setTimeout(() => void this.flush(), this.#isFailing ? RETRY_AFTER_MS : WRITE_AFTER_MS);
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(work);
    this.#turn = done.catch(() => {});
    return done;
  }

  /** What the file holds. Where it is read for the first time, streams that a crash has cut get their stops. */
  async #read(): Promise<DiagnosticEvent[]> {
    const { id, log } = this.#options;
    let events: DiagnosticEvent[] = [];
    try {
      const found = await this.#file.read();
      events = (found?.values ?? []).map(parseEvent).filter((each) => each !== undefined);
    } catch (error) {
      if (!(error instanceof FileError)) throw error;
      if (!this.#isFailing) log.error("events of a boat cannot be read", { id, error: error.message });
    }
    if (this.#lines === undefined) {
      const stops = missingStops(events);
      this.#pending.unshift(...stops);
      if (stops.length > 0) this.#schedule();
    }
    this.#lines = events.length;
    return events;
  }

  async #write(): Promise<void> {
    if (this.#isClosed || this.#pending.length === 0) return;
    const { id, log } = this.#options;
    const before = this.#lines === undefined ? await this.#read() : undefined;
    const writing = this.#pending;
    const lines = (this.#lines ?? 0) + writing.length;
    this.#pending = [];
    try {
      if (this.#file.bytes !== undefined && lines <= MAX_EVENT_LINES) {
        await this.#file.append(writing.map(lineOf));
        this.#lines = lines;
      } else {
        const kept = [...before ?? await this.#read(), ...writing].slice(-MAX_DIAGNOSTIC_EVENTS);
        await this.#file.replace(kept.map(lineOf));
        this.#lines = kept.length;
      }
      if (this.#isFailing) log.info("events of a boat are written again", { id });
      this.#isFailing = false;
    } catch (error) {
      if (!(error instanceof FileError)) throw error;
      if (!this.#isFailing) log.error("events of a boat cannot be written", { id, error: error.message });
      this.#isFailing = true;
      this.#pending = [...writing, ...this.#pending].slice(-MAX_DIAGNOSTIC_EVENTS);
      this.#schedule();
    }
  }
}

/** The events of one stream: a start, and after it a stop. */
export class StreamEvents {
  readonly #kind: "live" | "backfill";
  readonly #note: Note;
  #state: "new" | "running" | "over" = "new";

  constructor(kind: "live" | "backfill", note: Note) {
    this.#kind = kind;
    this.#note = note;
  }

  /** The stream has begun, unless it is over already. */
  start(detail: string): void {
    if (this.#state !== "new") return;
    this.#state = "running";
    this.#note(`${this.#kind}_start`, detail);
  }

  /** The stream is over; what is noted is the first reason. */
  stop(detail: string): void {
    if (this.#state === "running") this.#note(`${this.#kind}_stop`, detail);
    this.#state = "over";
  }
}

/** Stops of the streams that had begun when the cloud ended without notice. */
function missingStops(events: readonly DiagnosticEvent[]): DiagnosticEvent[] {
  const timeMs = events.at(-1)?.timeMs ?? 0;
  return (["backfill", "live"] as const).flatMap((kind): DiagnosticEvent[] => {
    const last = events.findLast(({ type }) => type === `${kind}_start` || type === `${kind}_stop`);
    if (last?.type !== `${kind}_start`) return [];
    return [{ timeMs, type: `${kind}_stop`, detail: "the cloud has ended without notice" }];
  });
}

function lineOf({ timeMs, type, detail }: DiagnosticEvent): unknown {
  return [timeMs, type, detail];
}

function parseEvent(value: unknown): DiagnosticEvent | undefined {
  if (!Array.isArray(value)) return undefined;
  const [timeMs, type, detail]: unknown[] = value;
  if (!Number.isSafeInteger(timeMs) || !isType(type) || typeof detail !== "string") return undefined;
  return { timeMs: Number(timeMs), type, detail };
}

function isType(value: unknown): value is DiagnosticEventType {
  return TYPES.includes(value);
}

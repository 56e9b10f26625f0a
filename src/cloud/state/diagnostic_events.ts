import { type Clock, FileError, LineLog, type Logger } from "../../base/mod.ts";
import { JOURNAL_FILE_MODE } from "../../journal/mod.ts";

const TYPES = ["live_start", "live_stop", "backfill_start", "backfill_stop", "block_received", "checkpoint"] as const;

/** Type of a diagnostic event. */
export type DiagnosticEventType = typeof TYPES[number];

/** An event of a boat's replication. */
export interface DiagnosticEvent {
  /** Milliseconds since 1970. */
  timeMs: number;
  type: DiagnosticEventType;
  /** Text for people. */
  detail: string;
}

/** Adds an event with the current time. */
export type Note = (type: DiagnosticEventType, detail: string) => void;

/** Maximum events of one boat. */
export const MAX_DIAGNOSTIC_EVENTS = 1024;
/** Name of their file in the boat's directory. */
export const EVENTS_FILE = "events.log";

/** Longer details are cut. */
const MAX_DETAIL_CHARS = 1000;
/** Maximum lines of the file; beyond it the file is rewritten with the newest {@linkcode MAX_DIAGNOSTIC_EVENTS}. */
export const MAX_EVENT_LINES: number = 2 * MAX_DIAGNOSTIC_EVENTS;
/** More than the largest possible file. */
const MAX_FILE_BYTES = 16 * 1024 * 1024;
/** Delay before events are written, to write several at once. */
const WRITE_AFTER_MS = 1000;
/** Delay before a failed write is repeated. */
const RETRY_AFTER_MS = 10_000;

/** Options of {@linkcode DiagnosticEvents}. */
export interface DiagnosticEventsOptions {
  id: string;
  /** The boat's directory, which exists. */
  directory: string;
  clock: Clock;
  log: Logger;
}

/**
 * The newest events of one boat, in a file. Memory only has those that are not written yet; they are appended and synced at
 * most once a second. Never throws: a failed write is logged and repeated.
 */
export class DiagnosticEvents {
  readonly #options: DiagnosticEventsOptions;
  readonly #file: LineLog;
  /** Events not written yet, oldest first. */
  #pending: DiagnosticEvent[] = [];
  /** Lines of the file; undefined before it is read. */
  #lines: number | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** The last of the reads and writes, which run one after the other. */
  #turn: Promise<unknown> = Promise.resolve();
  #isFailing = false;
  #isClosed = false;

  constructor(options: DiagnosticEventsOptions) {
    this.#options = options;
    const { directory } = options;
    this.#file = new LineLog(directory, { name: EVENTS_FILE, maxBytes: MAX_FILE_BYTES, mode: JOURNAL_FILE_MODE });
  }

  /** Adds an event with the current time; drops the oldest one beyond the limit. */
  add(type: DiagnosticEventType, detail: string): void {
    const timeMs = Math.floor(this.#options.clock.wallUs() / 1000);
    this.#pending.push({ timeMs, type, detail: detail.slice(0, MAX_DETAIL_CHARS) });
    if (this.#pending.length > MAX_DIAGNOSTIC_EVENTS) this.#pending.shift();
    this.#schedule();
  }

  /** The newest events, newest first, at most `limit`. */
  list(limit: number = MAX_DIAGNOSTIC_EVENTS): Promise<DiagnosticEvent[]> {
    return this.#inTurn(async () => {
      const written = await this.#read();
      const all = [...written, ...this.#pending].slice(-MAX_DIAGNOSTIC_EVENTS);
      return all.slice(Math.max(0, all.length - limit)).reverse();
    });
  }

  /** Writes pending events at once. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    return this.#inTurn(() => this.#write());
  }

  /** Writes pending events and stops writing. */
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

  /** The events in the file. The first read adds the stop events of streams that a crash has cut. */
  async #read(): Promise<DiagnosticEvent[]> {
    const { id, log } = this.#options;
    let events: DiagnosticEvent[] = [];
    try {
      const found = await this.#file.read();
      events = (found?.values ?? []).map(parseEvent).filter((each) => each !== undefined);
    } catch (error) {
      if (!(error instanceof FileError)) throw error;
      if (!this.#isFailing) log.error("boat events not readable", { id, error: error.message });
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
      if (this.#isFailing) log.info("boat events written again", { id });
      this.#isFailing = false;
    } catch (error) {
      if (!(error instanceof FileError)) throw error;
      if (!this.#isFailing) log.error("boat events not written", { id, error: error.message });
      this.#isFailing = true;
      this.#pending = [...writing, ...this.#pending].slice(-MAX_DIAGNOSTIC_EVENTS);
      this.#schedule();
    }
  }
}

/** The start and stop events of one stream. */
export class StreamEvents {
  readonly #kind: "live" | "backfill";
  readonly #note: Note;
  #state: "new" | "running" | "over" = "new";

  constructor(kind: "live" | "backfill", note: Note) {
    this.#kind = kind;
    this.#note = note;
  }

  /** Adds the start event, unless the stream has ended already. */
  start(detail: string): void {
    if (this.#state !== "new") return;
    this.#state = "running";
    this.#note(`${this.#kind}_start`, detail);
  }

  /** Adds the stop event, unless there is one already. */
  stop(detail: string): void {
    if (this.#state === "running") this.#note(`${this.#kind}_stop`, detail);
    this.#state = "over";
  }
}

/** Stop events of the streams that were open when the cloud crashed. */
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
  const [timeMs, name, detail]: unknown[] = value;
  const type = TYPES.find((each) => each === name);
  if (!Number.isSafeInteger(timeMs) || !type || typeof detail !== "string") return undefined;
  return { timeMs: Number(timeMs), type, detail };
}

import { type DurableFile, FileError, type Logger } from "../base/mod.ts";
import type { StoredAlert, StoredQueue } from "./alerts_queue.ts";
import type { ToldSubject } from "./alerts_subjects.ts";
import type { Alert, AlertSeverity } from "./alerts_types.ts";

/** Name of the file in the state directory. */
export const ALERT_FILE = "alerts.json";
/** A file larger than this is none of ours. */
export const MAX_ALERT_FILE_BYTES: number = 64 * 1024 * 1024;

/** Changes wait this long for company: the disk of a boat is a card that wears out. */
const WRITE_AFTER_MS = 1000;
/** What could not be written is tried again after so long. */
const RETRY_AFTER_MS = 10_000;
const VERSION = 1;
const SEVERITIES: readonly AlertSeverity[] = ["critical", "warning", "info"];

/** What survives a restart. */
export interface StoredAlerts {
  /** What was told and is not well again, as far as is known. */
  told: readonly ToldSubject[];
  /** What waits, by the digest of the receiver's address. */
  queues: Readonly<Record<string, StoredQueue>>;
}

const NOTHING: StoredAlerts = { told: [], queues: {} };

/** Keeps alerts in a file: written as a whole, at most once a second. Never fails: what goes wrong is logged. */
export class AlertStore {
  readonly #file: DurableFile;
  readonly #log: Logger;
  readonly #content: () => StoredAlerts;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #writing: Promise<void> = Promise.resolve();
  #error: string | undefined;
  #isClosed = false;

  /** @param options.content what is to be kept, asked for at each write */
  constructor(file: DurableFile, { log, content }: { log: Logger; content: () => StoredAlerts }) {
    this.#file = file;
    this.#log = log;
    this.#content = content;
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
      await this.#file.write(JSON.stringify({ version: VERSION, ...this.#content() }) + "\n");
      if (this.#error !== undefined) this.#log.info("alerts are written down again");
      this.#error = undefined;
    } catch (error) {
      if (!(error instanceof FileError)) throw error;
      if (this.#error === undefined) this.#log.error("alerts are not written down", { error: error.message });
      this.#error = error.message;
      this.changed();
    }
  }
}

/** What a file holds; nothing, and a line in the log, when it cannot be read. */
export async function readAlerts(file: DurableFile, log: Logger): Promise<StoredAlerts> {
  try {
    const bytes = await file.read();
    return bytes ? parseAlerts(new TextDecoder("utf-8", { fatal: true }).decode(bytes)) : NOTHING;
  } catch (error) {
    if (!(error instanceof FileError || error instanceof SyntaxError || error instanceof TypeError)) throw error;
    log.error("alerts of the last run are lost", { file: file.path, error: error.message });
    return NOTHING;
  }
}

/**
 * Reads the file's content; entries that make no sense are left out.
 *
 * @throws {SyntaxError} it is no JSON
 * @throws {TypeError} it holds no alerts of this version
 */
export function parseAlerts(text: string): StoredAlerts {
  const { version, told, queues } = record(JSON.parse(text));
  if (version !== VERSION) throw new TypeError(`no alerts of version ${VERSION}`);
  return {
    told: listOf(told, readTold),
    queues: Object.fromEntries(Object.entries(record(queues)).map(([key, queue]) => [key, readQueue(queue)])),
  };
}

function readTold(value: unknown): ToldSubject | undefined {
  const { subject, key } = record(value);
  return typeof subject === "string" && typeof key === "string" ? { subject, key } : undefined;
}

function readQueue(value: unknown): StoredQueue {
  const { untoldDrops, waiting } = record(value);
  return { untoldDrops: count(untoldDrops) ?? 0, waiting: listOf(waiting, readWaiting) };
}

function readWaiting(value: unknown): StoredAlert | undefined {
  const { ageMs, toldDrops, alert } = record(value);
  const read = readAlert(alert);
  if (!read || typeof ageMs !== "number" || !(ageMs >= 0)) return undefined;
  return { ageMs, toldDrops: count(toldDrops) ?? 0, alert: read };
}

/** As it was, key by key: what was tried once is sent again with the same bytes. */
function readAlert(value: unknown): Alert | undefined {
  const { timestamp, type, severity, summary, subject, instance_id, details, id } = record(value);
  const texts = [timestamp, type, summary, subject, id];
  const found = SEVERITIES.find((each) => each === severity);
  if (!texts.every((each) => typeof each === "string" && each !== "") || !found) return undefined;
  return {
    timestamp: String(timestamp),
    type: String(type),
    severity: found,
    summary: String(summary),
    subject: String(subject),
    ...(typeof instance_id === "string" && { instance_id }),
    details: Object.fromEntries(Object.entries(record(details)).filter(isDetail)),
    id: String(id),
  };
}

function isDetail(entry: [string, unknown]): entry is [string, string | number] {
  return typeof entry[1] === "string" || typeof entry[1] === "number";
}

function count(value: unknown): number | undefined {
  return Number.isSafeInteger(value) && Number(value) >= 0 ? Number(value) : undefined;
}

function listOf<T>(value: unknown, read: (each: unknown) => T | undefined): T[] {
  return Array.isArray(value) ? value.map(read).filter((each) => each !== undefined) : [];
}

function record(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : {};
}

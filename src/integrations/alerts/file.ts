import type { StoredAlert, StoredQueue } from "./queue.ts";
import type { ReportedSubject } from "./subjects.ts";
import type { Alert, AlertSeverity } from "./types.ts";

/** Name of the file in the state directory. */
export const ALERT_FILE = "alerts.json";
/** A larger file was not written by the server and is not read. */
export const MAX_ALERT_FILE_BYTES: number = 64 * 1024 * 1024;

/** Value of `version` in the file. */
export const ALERT_FILE_VERSION = 1;
const SEVERITIES: readonly AlertSeverity[] = ["critical", "warning", "info"];

/** Content of the file: what survives a restart. */
export interface StoredAlerts {
  /** Reported subjects that have not recovered, as far as is known. */
  told: readonly ReportedSubject[];
  /** Queued alerts by the digest of the receiver's URL. */
  queues: Readonly<Record<string, StoredQueue>>;
}

/**
 * Parses the file's content; invalid entries are skipped.
 *
 * @throws {SyntaxError} it is not JSON
 * @throws {TypeError} it does not contain alerts of this version
 */
export function parseAlerts(text: string): StoredAlerts {
  const { version, told, queues } = record(JSON.parse(text));
  if (version !== ALERT_FILE_VERSION) throw new TypeError(`no alerts of version ${ALERT_FILE_VERSION}`);
  return {
    told: listOf(told, readReported),
    queues: Object.fromEntries(Object.entries(record(queues)).map(([key, queue]) => [key, readQueue(queue)])),
  };
}

function readReported(value: unknown): ReportedSubject | undefined {
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

/** Keeps the order of the keys: an alert that was sent before is sent again with the same bytes. */
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

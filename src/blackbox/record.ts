import { formatTimeUs } from "../frame/mod.ts";
import type { BlackBoxEvent } from "./events.ts";

/** Most characters of a kind; it begins the name of the file. */
export const MAX_KIND_CHARS = 32;
/** Frames before and after an event, milliseconds. */
export const AROUND_MS = 60_000;

/** What is stored beside the frames of an event, from the event on. */
export interface StoredEvent {
  /** Name of the file with the frames. */
  name: string;
  kind: string;
  subject: string;
  text: string;
  /** Of the event, RFC 3339. */
  time: string;
  /** Epoch of the numbers, 32 hex digits. */
  epoch: string;
  /** Number of the first frame that belongs to it. */
  from_seq: number;
  /** The server had started less than a minute before: frames before this number belong to it, too. */
  is_after_start: boolean;
  /** Left out until the frames are written. */
  frames?: StoredWindow;
}

/** What a file has. */
export interface StoredWindow {
  /** Time of its first frame, RFC 3339. */
  from: string;
  /** Time of its last frame. */
  to: string;
  /** Number of frames. */
  count: number;
  /** Frames that were numbered in this time and are not in the file. */
  missing: number;
  /** True if the server was not running all the time: nobody knows what was on the bus then. */
  is_interrupted: boolean;
}

/** The beginning of a file's name. */
export function prefixOf({ kind }: Pick<BlackBoxEvent, "kind">): string {
  return kind.replaceAll(/[^A-Za-z0-9_]+/g, "_").slice(0, MAX_KIND_CHARS) || "event";
}

/** The event as it is stored. */
export function storedEventOf(
  { kind, subject, text, timeUs }: BlackBoxEvent,
  rest: Pick<StoredEvent, "name" | "epoch" | "from_seq" | "is_after_start">,
): StoredEvent {
  return { ...rest, kind, subject, text, time: formatTimeUs(timeUs) };
}

/** Reads a stored event. @throws {SyntaxError | TypeError} it is none */
export function parseStoredEvent(text: string): StoredEvent {
  const value: unknown = JSON.parse(text);
  if (!isStoredEvent(value)) throw new TypeError("it is no event of a black box");
  return value;
}

const TEXTS = ["name", "kind", "subject", "text", "time", "epoch"] as const;

function isStoredEvent(value: unknown): value is StoredEvent {
  if (typeof value !== "object" || value === null) return false;
  const members: Record<string, unknown> = { ...value };
  return TEXTS.every((name) => typeof members[name] === "string") && typeof members.from_seq === "number" &&
    typeof members.is_after_start === "boolean" && Number.isFinite(Date.parse(String(members.time)));
}

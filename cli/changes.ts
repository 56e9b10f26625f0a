import { decode, type Decoded, type DecodedValue } from "@vessel/gateway/pgn";
import { type LayoutPlan, type PgnPlan, planOf, type WatchedItem } from "./changes_plan.ts";

/** A message as the tracker sees it. */
export interface TrackedFrame {
  /** As in the frame. */
  bus?: string;
  src: number;
  pgn: number;
  /** The payload; copied when it is kept. */
  data: Uint8Array;
}

/** Why a message is worth telling. */
export type Change =
  /** It is the first of its kind, the first after a silence, or of another length than before. */
  | { change: "snapshot" }
  /** These fields differ from what was told last; none are named where only the bytes are known. */
  | { change: "delta"; fields: string[]; diff_bytes: number; full_bytes: number };

/** A device has stopped sending a PGN. */
export interface Silence {
  change: "idle";
  bus?: string;
  src: number;
  pgn: number;
  /** Time of its last message, milliseconds. */
  lastMs: number;
  /** When that was long enough ago, milliseconds. */
  sinceMs: number;
}

/** Limits of a tracker. */
export interface ChangeTrackerOptions {
  /** Messages that are remembered, and streams of messages. Default: {@linkcode MAX_TRACKED_MESSAGES}. */
  maxMessages?: number;
}

/** Most messages that are remembered: a few megabytes. The one not heard for the longest time is forgotten first. */
export const MAX_TRACKED_MESSAGES = 20_000;
/** A PGN is silent after so many of its intervals … */
export const SILENT_INTERVALS = 3;
/** … or after this, where the standard tells none. */
export const SILENT_MS = 5000;

/** Rounding noise of decoded numbers is no change. */
const NOISE = 1e-6;

/** What one device sends with one PGN. */
interface Stream {
  frame: { bus?: string; src: number; pgn: number };
  silentMs: number;
  lastMs: number;
  isSilent: boolean;
  /** Grows with each silence: what was told before it is no baseline after it. */
  era: number;
}

/** What was told last. */
interface Baseline {
  era: number;
  data: Uint8Array;
  decoded: Decoded | undefined;
}

/**
 * Tells which messages bring a meaningful change, and which devices have fallen silent.
 *
 * A message is compared with what was last told of the same bus, source, PGN, layout and instance. Where its PGN is
 * described, numbers count beyond the tolerance of their field (angles around the circle) and everything else when it
 * differs, null included; counters (SID), reserved bits, and clocks beside measured values do not count. Where it is
 * not, every byte counts, and so it does beside the known fields of a maker's own PGN. What is not told moves nothing, so slow drifts are told once they are large enough.
 *
 * Time comes with each call: that of the frames for recordings, that of the clock for what is live.
 */
export class ChangeTracker {
  readonly #maxMessages: number;
  /** Both in the order in which they were heard last. */
  readonly #streams = new Map<string, Stream>();
  readonly #baselines = new Map<string, Baseline>();
  /** Before this nobody can have fallen silent. */
  #nextSilenceMs = Infinity;
  #lastMs = -Infinity;

  constructor({ maxMessages = MAX_TRACKED_MESSAGES }: ChangeTrackerOptions = {}) {
    this.#maxMessages = maxMessages;
  }

  /** What is worth telling of this message; nothing when it changes nothing. */
  see(frame: TrackedFrame, timeMs: number): Change | undefined {
    const { bus = "", src, pgn, data } = frame;
    const plan = planOf(pgn);
    const streamKey = `${src}/${pgn}/${bus}`;
    const stream = this.#hear(streamKey, { frame, plan, timeMs });
    const decoded = plan && decode(pgn, data);
    const layout = decoded && plan?.layoutOf(data);
    const key = decoded && layout ? streamKey + identityOf(decoded, layout) : streamKey;
    const before = this.#baselines.get(key);
    const change = before && before.era === stream.era && before.data.length === data.length
      ? deltaOf(before, { data, decoded, layout })
      : { change: "snapshot" as const };
    keep(this.#baselines, key, {
      value: change || before === undefined ? { era: stream.era, data: data.slice(), decoded } : before,
      max: this.#maxMessages,
    });
    return change;
  }

  /** Who has fallen silent by now and was not told yet, in the order in which they did. Cheap when nobody has. */
  silences(nowMs: number): Silence[] {
    if (nowMs < this.#lastMs) this.#goBack(nowMs);
    this.#lastMs = nowMs;
    if (nowMs < this.#nextSilenceMs) return [];
    const silences: Silence[] = [];
    this.#nextSilenceMs = Infinity;
    for (const stream of this.#streams.values()) {
      const sinceMs = stream.lastMs + stream.silentMs;
      if (stream.isSilent) continue;
      if (nowMs < sinceMs) {
        this.#nextSilenceMs = Math.min(this.#nextSilenceMs, sinceMs);
        continue;
      }
      stream.isSilent = true;
      silences.push({ change: "idle", ...stream.frame, lastMs: stream.lastMs, sinceMs });
    }
    return silences.sort((one, other) => one.sinceMs - other.sinceMs);
  }

  /** Messages that are remembered now. */
  get size(): number {
    return this.#baselines.size;
  }

  #hear(key: string, { frame, plan, timeMs }: {
    frame: TrackedFrame;
    plan: PgnPlan | undefined;
    timeMs: number;
  }): Stream {
    const { src, pgn, bus } = frame;
    let stream = this.#streams.get(key);
    if (stream === undefined) {
      const silentMs = plan?.intervalMs === undefined ? SILENT_MS : plan.intervalMs * SILENT_INTERVALS;
      const named = { ...(bus !== undefined && { bus }), src, pgn };
      stream = { frame: named, silentMs, lastMs: timeMs, isSilent: false, era: 0 };
    }
    if (stream.isSilent) stream.era++;
    stream.isSilent = false;
    stream.lastMs = timeMs;
    this.#nextSilenceMs = Math.min(this.#nextSilenceMs, timeMs + stream.silentMs);
    keep(this.#streams, key, { value: stream, max: this.#maxMessages });
    return stream;
  }

  /** After a clock was set back, silences are counted from then. */
  #goBack(nowMs: number): void {
    for (const stream of this.#streams.values()) stream.lastMs = Math.min(stream.lastMs, nowMs);
    this.#nextSilenceMs = nowMs;
  }
}

/** Puts an entry last, and forgets the first when there are too many. */
function keep<T>(map: Map<string, T>, key: string, { value, max }: { value: T; max: number }): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= max) return;
  for (const first of map.keys()) {
    map.delete(first);
    return;
  }
}

/** What tells this message from others of the same device and PGN. */
function identityOf(decoded: Decoded, { id, keys }: LayoutPlan): string {
  let identity = `/${id}`;
  for (const key of keys) {
    const value = decoded[key];
    identity += `/${typeof value === "object" ? JSON.stringify(value) : value}`;
  }
  return identity;
}

function deltaOf(before: Baseline, now: {
  data: Uint8Array;
  decoded: Decoded | undefined;
  layout: LayoutPlan | undefined;
}): Change | undefined {
  const { data, decoded, layout } = now;
  let diffBytes = 0;
  for (let at = 0; at < data.length; at++) if (data[at] !== before.data[at]) diffBytes++;
  if (diffBytes === 0) return undefined;
  const told = before.decoded;
  const fields = decoded && layout && told
    ? layout.items.filter((item) => differs(told[item.name], decoded[item.name], item)).map(({ name }) => name)
    : undefined;
  if (fields?.length === 0 && !(decoded && layout && told && othersDiffer(told, decoded, layout))) return undefined;
  return { change: "delta", fields: fields ?? [], diff_bytes: diffBytes, full_bytes: data.length };
}

/** Whether it must be bits that nobody knows which differ: every field is the same, counters as well. */
function othersDiffer(before: Decoded, now: Decoded, { isPartlyKnown, running }: LayoutPlan): boolean {
  return isPartlyKnown && running.every((name) => before[name] === now[name]);
}

/** Whether a value differs by more than its tolerance. */
function differs(before: DecodedValue | undefined, now: DecodedValue | undefined, item: WatchedItem): boolean {
  if (before === now) return false;
  if (typeof before === "number" && typeof now === "number") return apart(before, now, item) > item.tolerance;
  if (Array.isArray(before) && Array.isArray(now)) {
    return before.length !== now.length || before.some((each, index) => differs(each, now[index], item));
  }
  if (!isObject(before) || !isObject(now)) return true;
  const { fields } = item;
  if (fields) return fields.some((field) => differs(before[field.name], now[field.name], field));
  return JSON.stringify(before) !== JSON.stringify(now);
}

/** How far two numbers are from each other, around the circle where there is one, without rounding noise. */
function apart(before: number, now: number, { tolerance, turn }: WatchedItem): number {
  const straight = Math.abs(now - before);
  const around = turn === undefined ? straight : Math.min(straight % turn, turn - straight % turn);
  return around - tolerance * NOISE;
}

function isObject(value: DecodedValue | undefined): value is { [name: string]: DecodedValue } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

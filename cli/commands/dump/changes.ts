import { DeadlineQueue } from "./deadline_queue.ts";
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
  /** Messages that are remembered. Default: {@linkcode MAX_TRACKED_MESSAGES}. */
  maxMessages?: number;
}

/** Most messages that are remembered: some megabytes. Those not heard for the longest time are forgotten first. */
export const MAX_TRACKED_MESSAGES = 20_000;
/** A PGN is silent after so many of its intervals … */
export const SILENT_INTERVALS = 3;
/** … or after this, where the standard tells none … */
export const SILENT_MS = 5000;
/** … but devices have a pace of their own, and may also be slower. Longer gaps than this are no pace. */
const MAX_PACE_MS = 300_000;
/** What is left, after each message, of the longest gap that is remembered: a gap between two bursts outlasts them. */
const PACE_DECAY = 0.95;

/** Messages of several buses may come out of order by so much; beyond it a clock was set back. */
const MAX_DISORDER_MS = 1000;
/** Rounding noise of decoded numbers is no change. */
const NOISE = 1e-6;

/** What one device sends with one PGN. */
interface Stream {
  frame: { bus?: string; src: number; pgn: number };
  silentMs: number;
  lastMs: number;
  /** Time between its messages, milliseconds: of the longest gaps of late. */
  paceMs: number;
  /** So it begins, too. */
  isSilent: boolean;
  /** Grows with each silence: what was told before it is no baseline after it. */
  era: number;
  /** By layout and instance. */
  baselines: Map<string, Baseline>;
}

/** What was told last. */
interface Baseline {
  era: number;
  data: Uint8Array;
  decoded: Decoded | undefined;
  /** Number of the message that was compared with it last. */
  heard: number;
}

/** A message and what its definitions say of it. */
interface Seen {
  data: Uint8Array;
  decoded: Decoded | undefined;
  layout: LayoutPlan | undefined;
}

/**
 * Tells which messages bring a meaningful change, and which devices have fallen silent.
 *
 * A message is compared with what was last told of the same bus, source, PGN, layout and instance. Where its PGN is
 * described, numbers count beyond the tolerance of their field (angles around the circle) and everything else when it
 * differs, null included; counters (SID), reserved bits, and clocks beside measured values do not count. Where it is
 * not, every byte counts, and so it does beside the known fields of a maker's own PGN. What is not told moves nothing,
 * so slow drifts are told once they are large enough.
 *
 * Time comes with each call: that of the frames for recordings, that of the clock for what is live.
 */
export class ChangeTracker {
  readonly #maxMessages: number;
  /** By bus, then by PGN and source. */
  readonly #buses = new Map<string, Map<number, Stream>>();
  #size = 0;
  #heard = 0;
  /** Streams that are not silent, each by a time before which it cannot be. */
  readonly #due = new DeadlineQueue<Stream>();
  #lastMs = -Infinity;

  constructor({ maxMessages = MAX_TRACKED_MESSAGES }: ChangeTrackerOptions = {}) {
    this.#maxMessages = maxMessages;
  }

  /** What is worth telling of this message; nothing when it changes nothing. */
  see(frame: TrackedFrame, timeMs: number): Change | undefined {
    const { pgn, data } = frame;
    const plan = planOf(pgn);
    const stream = this.#hear(frame, { plan, timeMs });
    const decoded = plan && decode(pgn, data);
    const layout = decoded && plan?.layoutOf(data);
    const seen = { data, decoded, layout };
    const identity = decoded && layout ? identityOf(decoded, layout) : "";
    const before = stream.baselines.get(identity);
    if (before === undefined) {
      stream.baselines.set(identity, { era: stream.era, data: data.slice(), decoded, heard: ++this.#heard });
      if (++this.#size > this.#maxMessages) this.#forget();
      return { change: "snapshot" };
    }
    before.heard = ++this.#heard;
    const comparable = before.era === stream.era && before.data.length === data.length;
    const change = comparable ? deltaOf(before, seen) : { change: "snapshot" as const };
    if (change) {
      before.era = stream.era;
      before.decoded = decoded;
      if (before.data.length === data.length) before.data.set(data);
      else before.data = data.slice();
    }
    return change;
  }

  /** Who has fallen silent by now and was not told yet, in the order in which they did. Cheap when nobody has. */
  silences(nowMs: number): Silence[] {
    if (nowMs < this.#lastMs - MAX_DISORDER_MS) this.#goBack(nowMs);
    this.#lastMs = Math.max(this.#lastMs, nowMs);
    const silences: Silence[] = [];
    for (let stream = this.#due.takeDue(nowMs); stream; stream = this.#due.takeDue(nowMs)) {
      const { frame, lastMs } = stream;
      const sinceMs = silentSince(stream);
      stream.isSilent = sinceMs <= nowMs;
      if (stream.isSilent) silences.push({ change: "idle", ...frame, lastMs, sinceMs });
      else this.#due.push(stream, sinceMs);
    }
    return silences.sort((one, other) => one.sinceMs - other.sinceMs);
  }

  /** Messages that are remembered now. */
  get size(): number {
    return this.#size;
  }

  *#streams(): Generator<Stream, void> {
    for (const streams of this.#buses.values()) yield* streams.values();
  }

  #hear(frame: TrackedFrame, { plan, timeMs }: { plan: PgnPlan | undefined; timeMs: number }): Stream {
    const { src, pgn, bus } = frame;
    let streams = this.#buses.get(bus ?? "");
    if (streams === undefined) this.#buses.set(bus ?? "", streams = new Map());
    const key = pgn * 256 + src;
    let stream = streams.get(key);
    if (stream === undefined) {
      const silentMs = plan?.intervalMs === undefined ? SILENT_MS : plan.intervalMs * SILENT_INTERVALS;
      const named = { ...(bus !== undefined && { bus }), src, pgn };
      stream = { frame: named, silentMs, lastMs: timeMs, paceMs: 0, isSilent: true, era: 0, baselines: new Map() };
      streams.set(key, stream);
    }
    stream.paceMs = Math.max(stream.paceMs * PACE_DECAY, Math.min(timeMs - stream.lastMs, MAX_PACE_MS));
    stream.lastMs = timeMs;
    if (stream.isSilent) {
      stream.isSilent = false;
      stream.era++;
      this.#due.push(stream, timeMs + stream.silentMs);
    }
    return stream;
  }

  /** Forgets the quarter that was not heard for the longest time, so that this is seldom necessary. */
  #forget(): void {
    const heard = Float64Array.from(
      [...this.#streams()].flatMap(({ baselines }) => Array.from(baselines.values(), (each) => each.heard)),
    ).sort();
    const last = heard[Math.ceil(heard.length / 4) - 1] ?? Infinity;
    for (const [bus, streams] of this.#buses) {
      for (const [key, { baselines }] of streams) {
        for (const [identity, baseline] of baselines) if (baseline.heard <= last) baselines.delete(identity);
        if (baselines.size === 0) streams.delete(key);
      }
      if (streams.size === 0) this.#buses.delete(bus);
    }
    this.#size = [...this.#streams()].reduce((sum, { baselines }) => sum + baselines.size, 0);
    this.#schedule();
  }

  /** After a clock was set back, silences are counted from then. */
  #goBack(nowMs: number): void {
    this.#lastMs = nowMs;
    for (const stream of this.#streams()) stream.lastMs = Math.min(stream.lastMs, nowMs);
    this.#schedule();
  }

  #schedule(): void {
    this.#due.clear();
    for (const stream of this.#streams()) {
      if (!stream.isSilent) this.#due.push(stream, silentSince(stream));
    }
  }
}

/** When a stream is silent unless it is heard. */
function silentSince({ lastMs, silentMs, paceMs }: Stream): number {
  return lastMs + Math.max(silentMs, paceMs * SILENT_INTERVALS);
}

/** What tells this message from others of the same device and PGN. */
function identityOf(decoded: Decoded, { id, keys }: LayoutPlan): string {
  let identity = id;
  for (const key of keys) {
    const value = decoded[key];
    identity += `/${typeof value === "object" ? JSON.stringify(value) : value}`;
  }
  return identity;
}

function deltaOf(before: Baseline, { data, decoded, layout }: Seen): Change | undefined {
  if (isSame(before.data, data)) return undefined;
  const told = before.decoded;
  const fields: string[] = [];
  if (decoded && layout && told) {
    for (const item of layout.items) if (differs(told[item.name], decoded[item.name], item)) fields.push(item.name);
    if (fields.length === 0 && !othersDiffer(told, decoded, layout)) return undefined;
  }
  let diffBytes = 0;
  for (let at = 0; at < data.length; at++) if (data[at] !== before.data[at]) diffBytes++;
  return { change: "delta", fields, diff_bytes: diffBytes, full_bytes: data.length };
}

function isSame(before: Uint8Array, now: Uint8Array): boolean {
  for (let at = 0; at < now.length; at++) if (now[at] !== before[at]) return false;
  return true;
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

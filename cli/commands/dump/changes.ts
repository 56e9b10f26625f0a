import { decode, type Decoded, type DecodedValue } from "@vessel/gateway/pgn";
import { type LayoutPlan, type PgnPlan, planOf, type WatchedItem } from "./changes_plan.ts";
import { DeadlineQueue } from "./deadline_queue.ts";

/** A message as the tracker sees it. */
export interface TrackedFrame {
  /** As in the frame. */
  bus?: string;
  src: number;
  pgn: number;
  /** The payload. The tracker copies what it stores. */
  data: Uint8Array;
}

/** Why a message is reported. */
export type Change =
  /** It is the first of its kind, the first after a silence, or of another length than before. */
  | { change: "snapshot" }
  /** These fields differ from the last report; empty if only the bytes are known. */
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
  /** Most messages in memory. Default: {@linkcode MAX_TRACKED_MESSAGES}. */
  maxMessages?: number;
}

/** Most messages in memory: some megabytes. The least recently received ones are evicted first. */
export const MAX_TRACKED_MESSAGES = 20_000;
/** A PGN is silent after this many of its intervals … */
export const SILENT_INTERVALS = 3;
/** … or after this time, if the standard defines no interval … */
export const SILENT_MS = 5000;
/** … but devices may send more slowly. Gaps longer than this are not taken as an interval. */
const MAX_PACE_MS = 300_000;
/** Decay of the longest observed gap per message, so that a gap between two bursts outlasts them. */
const PACE_DECAY = 0.95;

/** Messages of several buses may be out of order by this much; beyond it a clock was set back. */
const MAX_DISORDER_MS = 1000;
/** Rounding error of decoded numbers, which is no change. */
const NOISE = 1e-6;

/** Messages of one device with one PGN. */
interface Stream {
  frame: { bus?: string; src: number; pgn: number };
  silentMs: number;
  lastMs: number;
  /** Time between its messages, milliseconds: the longest recent gap. */
  paceMs: number;
  /** Also before the first message. */
  isSilent: boolean;
  /** Number of silences: reports before a silence are no baseline after it. */
  era: number;
  /** By layout and instance. */
  baselines: Map<string, Baseline>;
}

/** The last report. */
interface Baseline {
  era: number;
  data: Uint8Array;
  decoded: Decoded | undefined;
  /** Number of the message that was compared with it last. */
  lastUse: number;
}

/** A message and its definitions. */
interface Seen {
  data: Uint8Array;
  decoded: Decoded | undefined;
  layout: LayoutPlan | undefined;
}

/**
 * Reports messages with a meaningful change, and devices that have stopped sending a PGN.
 *
 * Compares a message with the last report of the same bus, source, PGN, layout and instance. If the PGN is
 * described, numbers count beyond the tolerance of their field (angles modulo one turn) and everything else when it
 * differs, null included; counters (SID), reserved bits, and clocks beside measured values do not count. If it is
 * not, every byte counts, as do the unknown bits of a proprietary PGN. A message that is not reported is no baseline,
 * so slow drifts are reported once they are large enough.
 *
 * Callers pass the time: that of the frames for recordings, that of the clock for live frames.
 */
export class ChangeTracker {
  readonly #maxMessages: number;
  /** By bus, then by PGN and source. */
  readonly #buses = new Map<string, Map<number, Stream>>();
  #size = 0;
  #uses = 0;
  /** Streams that are not silent, each by the earliest time at which it can be. */
  readonly #due = new DeadlineQueue<Stream>();
  #lastMs = -Infinity;

  constructor({ maxMessages = MAX_TRACKED_MESSAGES }: ChangeTrackerOptions = {}) {
    this.#maxMessages = maxMessages;
  }

  /** The reason to report this message; undefined if it changes nothing. */
  see(frame: TrackedFrame, timeMs: number): Change | undefined {
    const { pgn, data } = frame;
    const plan = planOf(pgn);
    const stream = this.#update(frame, { plan, timeMs });
    const decoded = plan && decode(pgn, data);
    const layout = decoded && plan?.layoutOf(data);
    const seen = { data, decoded, layout };
    const identity = decoded && layout ? identityOf(decoded, layout) : "";
    const before = stream.baselines.get(identity);
    if (before === undefined) {
      stream.baselines.set(identity, { era: stream.era, data: data.slice(), decoded, lastUse: ++this.#uses });
      if (++this.#size > this.#maxMessages) this.#forget();
      return { change: "snapshot" };
    }
    before.lastUse = ++this.#uses;
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

  /** Takes the streams that have become silent since the last call, in that order. Cheap if there are none. */
  silences(nowMs: number): Silence[] {
    if (nowMs < this.#lastMs - MAX_DISORDER_MS) this.#goBack(nowMs);
    this.#lastMs = Math.max(this.#lastMs, nowMs);
    const silences: Silence[] = [];
    for (let stream = this.#due.popDue(nowMs); stream; stream = this.#due.popDue(nowMs)) {
      const { frame, lastMs } = stream;
      const sinceMs = silentSince(stream);
      stream.isSilent = sinceMs <= nowMs;
      if (stream.isSilent) silences.push({ change: "idle", ...frame, lastMs, sinceMs });
      else this.#due.push(stream, sinceMs);
    }
    return silences.sort((one, other) => one.sinceMs - other.sinceMs);
  }

  /** Number of messages in memory. */
  get size(): number {
    return this.#size;
  }

  *#streams(): Generator<Stream, void> {
    for (const streams of this.#buses.values()) yield* streams.values();
  }

  #update(frame: TrackedFrame, { plan, timeMs }: { plan: PgnPlan | undefined; timeMs: number }): Stream {
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

  /** Evicts the least recently received quarter, so that this is seldom necessary. */
  #forget(): void {
    const uses = Float64Array.from(
      [...this.#streams()].flatMap(({ baselines }) => Array.from(baselines.values(), (each) => each.lastUse)),
    ).sort();
    const last = uses[Math.ceil(uses.length / 4) - 1] ?? Infinity;
    for (const [bus, streams] of this.#buses) {
      for (const [key, { baselines }] of streams) {
        for (const [identity, baseline] of baselines) if (baseline.lastUse <= last) baselines.delete(identity);
        if (baselines.size === 0) streams.delete(key);
      }
      if (streams.size === 0) this.#buses.delete(bus);
    }
    this.#size = [...this.#streams()].reduce((sum, { baselines }) => sum + baselines.size, 0);
    this.#schedule();
  }

  /** After a clock was set back, silences count from that time. */
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

/** Time at which a stream becomes silent without another message, milliseconds. */
function silentSince({ lastMs, silentMs, paceMs }: Stream): number {
  return lastMs + Math.max(silentMs, paceMs * SILENT_INTERVALS);
}

/** Key of this message among those of the same device and PGN. */
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
  const reported = before.decoded;
  const fields: string[] = [];
  if (decoded && layout && reported) {
    for (const item of layout.items) if (differs(reported[item.name], decoded[item.name], item)) fields.push(item.name);
    if (fields.length === 0 && !othersDiffer(reported, decoded, layout)) return undefined;
  }
  let diffBytes = 0;
  for (let at = 0; at < data.length; at++) if (data[at] !== before.data[at]) diffBytes++;
  return { change: "delta", fields, diff_bytes: diffBytes, full_bytes: data.length };
}

function isSame(before: Uint8Array, now: Uint8Array): boolean {
  for (let at = 0; at < now.length; at++) if (now[at] !== before[at]) return false;
  return true;
}

/** Whether only undefined bits can differ: all fields are equal, counters included. */
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

/** Distance of two numbers, modulo the turn for angles, without rounding error. */
function apart(before: number, now: number, { tolerance, turn }: WatchedItem): number {
  const straight = Math.abs(now - before);
  const around = turn === undefined ? straight : Math.min(straight % turn, turn - straight % turn);
  return around - tolerance * NOISE;
}

function isObject(value: DecodedValue | undefined): value is { [name: string]: DecodedValue } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

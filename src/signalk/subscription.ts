import {
  type ContextEntry,
  isStale,
  type NewValue,
  type PathEntry,
  type SignalKModel,
  type StaleValue,
  type Update,
} from "./model.ts";
import type { Metadata } from "./metadata.ts";

/**
 * When values are sent: `instant` as they come, at most every `minPeriodMs`; `ideal` likewise, and again when there was none
 * for `periodMs`; `fixed` the newest one every `periodMs`, if there is a new one.
 */
export type Policy = "instant" | "ideal" | "fixed";

/** A subscribed pattern of paths. */
export interface PathSubscription {
  /** Pattern of contexts: `vessels.self`, `vessels.*`, `*`. */
  readonly context: string;
  /** Pattern of paths: `navigation.*`. A `*` stands for any text. */
  readonly path: string;
  readonly policy: Policy;
  readonly periodMs: number;
  readonly minPeriodMs: number;
  /** Values of the preferred source of a path, or of all. */
  readonly sources: "preferred" | "all";
}

/** What a client has subscribed to. */
export interface Subscriptions {
  readonly rows: readonly PathSubscription[];
  /** Send units and descriptions before the first value of a path. */
  readonly metadata: boolean;
}

interface CompiledRow extends PathSubscription {
  readonly matchesContext: (context: ContextEntry) => boolean;
  readonly matchesPath: (path: string) => boolean;
  /** Next time of a `fixed` row, monotonic milliseconds. */
  dueMs: number;
}

/** A value that is held back, or sent again. */
interface Held {
  readonly row: CompiledRow;
  readonly entry: PathEntry;
  update: Update;
  value: NewValue;
  isNew: boolean;
  sentMs: number;
}

/** Values that are sent together. */
interface Part {
  readonly update: Update;
  readonly values: NewValue[];
}

/**
 * Makes the deltas that one or more clients with the same subscriptions get. Deltas are text, encoded once for all of them.
 * Pure: times are parameters.
 */
export class DeltaWriter {
  readonly #model: SignalKModel;
  readonly #rows: readonly CompiledRow[];
  readonly #metadata: boolean;
  /** Row of each path; null: not subscribed to. */
  readonly #rowOf = new WeakMap<PathEntry, CompiledRow | null>();
  readonly #rowsOf = new WeakMap<ContextEntry, readonly CompiledRow[]>();
  /** Paths whose metadata was sent. */
  readonly #described = new WeakSet<PathEntry>();
  /** Values of rows with a period, by path, then by source. */
  readonly #held = new Map<PathEntry, Map<string, Held>>();
  #ready: Part[] = [];
  #new: PathEntry[] = [];

  constructor(model: SignalKModel, { rows, metadata }: Subscriptions) {
    this.#model = model;
    this.#metadata = metadata;
    // Of several rows for a path the fastest one counts.
    this.#rows = rows.map((row) => compile(row, model)).sort((a, b) => shortestMs(a) - shortestMs(b));
  }

  /** Takes new values. */
  add(update: Update, nowMs: number): void {
    let values: NewValue[] | undefined;
    for (const value of update.values) {
      const row = this.#find(value.entry);
      if (!row || (row.sources === "preferred" && !value.isPreferred)) continue;
      if (this.#metadata) this.#describe(value.entry);
      if (isUnlimited(row)) (values ??= []).push(value);
      else this.#hold(row, { update, value, nowMs });
    }
    if (values) this.#ready.push({ update, values });
  }

  /** Takes a value that has become stale: it is null now. */
  addStale({ entry, source, timeMs, isPreferred }: StaleValue): void {
    const row = this.#find(entry);
    if (!row || (row.sources === "preferred" && !isPreferred)) return;
    this.#held.get(entry)?.delete(row.sources === "all" ? source : "");
    const update: Update = { context: entry.context, source, timeMs, values: [] };
    this.#ready.push({ update, values: [{ entry, value: null, isPreferred }] });
  }

  /** The deltas that are due, one for each context, as JSON, and the number of their values. */
  take(nowMs: number): { texts: string[]; values: number } {
    this.#release(nowMs);
    const texts = this.#new.length > 0 ? [...metadataTexts(this.#new)] : [];
    let values = 0;
    const byContext = Map.groupBy(this.#ready, ({ update }) => update.context);
    for (const [context, parts] of byContext) {
      texts.push(deltaText(context, parts));
      for (const part of parts) values += part.values.length;
    }
    this.#ready = [];
    this.#new = [];
    return { texts, values };
  }

  /** Everything that matches and is not stale, as deltas in JSON: metadata first. */
  *snapshot(nowMs: number): Generator<string> {
    if (this.#metadata) yield* this.metadata();
    for (const context of this.#model.contexts.values()) {
      const entries = [...context.paths.values()].filter((entry) => this.#find(entry));
      const parts = entries.flatMap((entry) => this.#newest(entry, nowMs));
      if (parts.length > 0) yield deltaText(context, parts);
    }
  }

  /** Metadata of everything that matches, as deltas in JSON. */
  *metadata(): Generator<string> {
    for (const context of this.#model.contexts.values()) {
      const entries = [...context.paths.values()].filter((entry) => this.#find(entry));
      for (const entry of entries) this.#described.add(entry);
      yield* metadataTexts(entries);
    }
  }

  #newest(entry: PathEntry, nowMs: number): Part[] {
    const row = this.#find(entry);
    const isAll = row?.sources === "all" || entry.path === "";
    const readings = isAll ? [...entry.readings.values()] : entry.preferred ? [entry.preferred] : [];
    return readings.filter((each) => !isStale(each, nowMs)).map(({ source, timeMs, value }) => ({
      update: { context: entry.context, source, timeMs, values: [] },
      values: [{ entry, value, isPreferred: true }],
    }));
  }

  #find(entry: PathEntry): CompiledRow | null {
    let row = this.#rowOf.get(entry);
    if (row === undefined) {
      row = this.#rowsFor(entry.context).find((each) => each.matchesPath(entry.path)) ?? null;
      this.#rowOf.set(entry, row);
    }
    return row;
  }

  /** The rows of a context: few of many patterns. */
  #rowsFor(context: ContextEntry): readonly CompiledRow[] {
    let rows = this.#rowsOf.get(context);
    if (!rows) this.#rowsOf.set(context, rows = this.#rows.filter((row) => row.matchesContext(context)));
    return rows;
  }

  #describe(entry: PathEntry): void {
    if (this.#described.has(entry)) return;
    this.#described.add(entry);
    this.#new.push(entry);
  }

  #hold(row: CompiledRow, { update, value, nowMs }: { update: Update; value: NewValue; nowMs: number }): void {
    const { entry } = value;
    let bySource = this.#held.get(entry);
    if (!bySource) this.#held.set(entry, bySource = new Map<string, Held>());
    // Of the preferred source there is one value, whichever source that is.
    const key = row.sources === "all" ? update.source : "";
    const held = bySource.get(key);
    if (held) Object.assign(held, { update, value, isNew: true });
    else bySource.set(key, { row, entry, update, value, isNew: true, sentMs: nowMs - row.periodMs - row.minPeriodMs });
  }

  #release(nowMs: number): void {
    if (this.#held.size === 0) return;
    const isDue = new Set(this.#rows.filter((row) => row.policy === "fixed" && row.dueMs <= nowMs));
    for (const row of isDue) row.dueMs = nowMs + row.periodMs;
    const { contexts } = this.#model;
    const parts = new Map<Update, NewValue[]>();
    for (const [entry, bySource] of this.#held) {
      if (contexts.get(entry.context.id) !== entry.context) this.#held.delete(entry);
      else {for (const held of bySource.values()) {
          if (isReady(held, { isDue, nowMs })) {
            held.sentMs = nowMs;
            held.isNew = false;
            const values = parts.get(held.update);
            if (values) values.push(held.value);
            else parts.set(held.update, [held.value]);
          }
        }}
    }
    for (const [update, values] of parts) this.#ready.push({ update, values });
  }
}

/** Whether a value that is held back is due. */
function isReady(
  { row, entry, update, isNew, sentMs }: Held,
  { isDue, nowMs }: { isDue: ReadonlySet<CompiledRow>; nowMs: number },
): boolean {
  if (row.policy === "fixed") return isNew && isDue.has(row);
  if (isNew) return nowMs - sentMs >= row.minPeriodMs;
  const reading = entry.readings.get(update.source);
  return row.policy === "ideal" && nowMs - sentMs >= row.periodMs && reading !== undefined && !isStale(reading, nowMs);
}

function compile(row: PathSubscription, { self }: SignalKModel): CompiledRow {
  const matchesId = matcher(row.context);
  const matchesSelf = row.context === "self" || matchesId("vessels.self");
  return {
    ...row,
    matchesContext: ({ id, isSelf }) => matchesId(id) || (isSelf && id === self.id && matchesSelf),
    matchesPath: matcher(row.path),
    dueMs: -Infinity,
  };
}

/** Compiles a pattern with `*`: its parts must follow one another. */
function matcher(pattern: string): (text: string) => boolean {
  const [first = "", ...parts] = pattern.split(/\*+/);
  const last = parts.pop();
  if (last === undefined) return (text) => text === pattern;
  return (text) => {
    if (!text.startsWith(first)) return false;
    let at = first.length;
    for (const part of parts) {
      const found = text.indexOf(part, at);
      if (found < 0) return false;
      at = found + part.length;
    }
    return text.length - last.length >= at && text.endsWith(last);
  };
}

function isUnlimited({ policy, minPeriodMs }: PathSubscription): boolean {
  return policy === "instant" && minPeriodMs === 0;
}

function shortestMs({ policy, periodMs, minPeriodMs }: PathSubscription): number {
  return policy === "fixed" ? periodMs : minPeriodMs;
}

const updateHeads = new WeakMap<Update, string>();
const valueTexts = new WeakMap<NewValue, string>();

function headOf(update: Update): string {
  let text = updateHeads.get(update);
  if (text === undefined) {
    const time = new Date(update.timeMs).toISOString();
    text = `{"$source":${JSON.stringify(update.source)},"timestamp":"${time}","values":[`;
    updateHeads.set(update, text);
  }
  return text;
}

function textOf(value: NewValue): string {
  let text = valueTexts.get(value);
  if (text === undefined) {
    text = `{"path":${JSON.stringify(value.entry.path)},"value":${JSON.stringify(value.value)}}`;
    valueTexts.set(value, text);
  }
  return text;
}

function deltaText({ id }: ContextEntry, parts: readonly Part[]): string {
  const updates = parts.map(({ update, values }) => `${headOf(update)}${values.map(textOf).join(",")}]}`);
  return `{"context":${JSON.stringify(id)},"updates":[${updates.join(",")}]}`;
}

function* metadataTexts(entries: readonly PathEntry[]): Generator<string> {
  for (const [{ id }, each] of Map.groupBy(entries, ({ context }) => context)) {
    const meta = each.filter(({ path }) => path !== "").map((entry): { path: string; value: Metadata } => ({
      path: entry.path,
      value: entry.metadata,
    }));
    if (meta.length > 0) yield JSON.stringify({ context: id, updates: [{ meta }] });
  }
}

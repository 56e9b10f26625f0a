import type { ClientFrame } from "@vessel/gateway/client";

/** Seconds over which rates are averaged. */
export const RATE_SECONDS = 5;
/** Messages kept in their order. */
export const KEPT_MESSAGES = 500;
/** Most pairs of PGN and source that have a row. */
export const MAX_ROWS = 2000;

/** Counts events over the last seconds. */
export class Rate {
  readonly #sinceMs: number;
  /** One for each second, and the one that is under way. */
  readonly #counts = new Float64Array(RATE_SECONDS + 1);
  #second = 0;

  /** @param sinceMs time from which events were received: what came before does not count as silence */
  constructor(sinceMs = 0) {
    this.#sinceMs = sinceMs;
  }

  /** @param amount what happened, such as one message or so many bits */
  add(nowMs: number, amount = 1): void {
    this.#advance(nowMs);
    const slot = this.#second % this.#counts.length;
    this.#counts[slot] = (this.#counts[slot] ?? 0) + amount;
  }

  /** Mean of the whole seconds before the one that is under way, for each second. */
  perSecond(nowMs: number): number {
    this.#advance(nowMs);
    const now = this.#second % this.#counts.length;
    let sum = 0;
    for (const [slot, count] of this.#counts.entries()) if (slot !== now) sum += count;
    const seconds = (this.#second * 1000 - this.#sinceMs) / 1000;
    return sum / Math.min(RATE_SECONDS, Math.max(1, seconds));
  }

  #advance(nowMs: number): void {
    const second = Math.floor(nowMs / 1000);
    const steps = Math.min(second - this.#second, this.#counts.length);
    for (let i = 0; i < steps; i++) this.#counts[(second - i) % this.#counts.length] = 0;
    if (steps > 0) this.#second = second;
  }
}

/** The newest message of one PGN from one source. */
export interface Row {
  key: string;
  frame: ClientFrame;
  rate: Rate;
}

/** What the bus view shows: the newest message of each PGN and source, and the last messages in their order. */
export class BusLog {
  readonly #rows = new Map<string, Row>();
  readonly #ring: ClientFrame[] = [];
  #oldest = 0;
  #sorted: Row[] | undefined = [];
  #isPaused = false;
  #sinceMs = 0;
  /** Messages received while paused. */
  passed = 0;
  /** Messages of PGNs and sources beyond the most rows; they are in the order of messages. */
  withoutRow = 0;

  get isPaused(): boolean {
    return this.#isPaused;
  }

  /** Messages are received from now on. */
  begin(nowMs: number): void {
    this.#sinceMs = nowMs;
  }

  /** A message that matches the filter. While paused it is only counted. */
  add(frame: ClientFrame, nowMs: number): void {
    const key = `${frame.pgn} ${frame.src} ${frame.bus ?? ""}`;
    const row = this.#rows.get(key);
    row?.rate.add(nowMs);
    if (this.#isPaused) return void this.passed++;
    this.#keep(frame);
    if (row) row.frame = frame;
    else if (this.#rows.size >= MAX_ROWS) this.withoutRow++;
    else this.#addRow({ key, frame, rate: new Rate(this.#sinceMs) }, nowMs);
  }

  pause(): void {
    this.#isPaused = true;
    this.passed = 0;
  }

  resume(): void {
    this.#isPaused = false;
    this.passed = 0;
  }

  row(key: string): Row | undefined {
    return this.#rows.get(key);
  }

  /** By PGN, source and bus. The same array until there is another row. */
  rows(): readonly Row[] {
    return this.#sorted ??= [...this.#rows.values()].sort(({ frame: a }, { frame: b }) =>
      a.pgn - b.pgn || a.src - b.src || (a.bus ?? "").localeCompare(b.bus ?? "")
    );
  }

  /** The last messages, newest first. */
  messages(): ClientFrame[] {
    return [...this.#ring.slice(this.#oldest), ...this.#ring.slice(0, this.#oldest)].reverse();
  }

  /** Forgets what does not match any more. */
  retain(matches: (frame: ClientFrame) => boolean): void {
    for (const [key, { frame }] of this.#rows) if (!matches(frame)) this.#rows.delete(key);
    const kept = this.messages().filter(matches).reverse();
    this.#ring.splice(0, this.#ring.length, ...kept);
    this.#oldest = 0;
    this.#sorted = undefined;
    this.withoutRow = 0;
    this.passed = 0;
  }

  #addRow(row: Row, nowMs: number): void {
    row.rate.add(nowMs);
    this.#rows.set(row.key, row);
    this.#sorted = undefined;
  }

  #keep(frame: ClientFrame): void {
    if (this.#ring.length < KEPT_MESSAGES) return void this.#ring.push(frame);
    this.#ring[this.#oldest] = frame;
    this.#oldest = (this.#oldest + 1) % KEPT_MESSAGES;
  }
}

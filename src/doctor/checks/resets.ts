import { PGN } from "../../pgn/mod.ts";
import { MINUTE_MS } from "../kinds.ts";
import type { BusModel, Check, ClaimEvent, Context, Received, Sender, Track } from "../model.ts";
import { newest } from "../values.ts";
import type { RequestCheck } from "./requests.ts";

/** A claim within this time after a request, or after another's claim for the address, is an answer, milliseconds. */
const ANSWER_MS = 3000;
/** A device that starts is silent before its claim for at least this time, and this multiple of its usual interval. */
const SILENT = { leastMs: 250, intervals: 5 } as const;
/** What belongs to one start, milliseconds. */
const ONE_START_MS = 5000;
/** At least this many devices that start together have been switched on. */
const TOGETHER = 3;
/** Starts within ten minutes from which a device is not switched by hand. */
const MIN_STARTS = 3;
const WINDOW_MS = 10 * MINUTE_MS;
/** A dip is a voltage so far below the average, as a share of it, around a start. */
const DIP = { share: 0.08, beforeMs: 8000, afterMs: 12_000 } as const;
/** Weight of a sample in the average voltage. */
const WEIGHT = 0.02;
/** Samples before an average is one. */
const MIN_SAMPLES = 10;
/** Position of the sequence counter in PGN 126993, and its largest value. */
const HEARTBEAT_COUNTER = { at: 2, last: 252 } as const;

interface Start {
  readonly bus: BusModel;
  readonly name: bigint;
  readonly atMs: number;
  readonly seq: number;
}

interface Dip {
  readonly bus: BusModel;
  readonly atMs: number;
  readonly seq: number;
  readonly text: string;
}

/** Devices that start again, and voltage dips that come with it. */
export class ResetCheck implements Check {
  readonly pgns = [PGN.heartbeat];
  readonly #context: Context;
  readonly #requests: RequestCheck;
  readonly #counters = new WeakMap<Sender, number>();
  readonly #averages = new WeakMap<Track, number>();
  readonly #lastClaims = new Map<string, { atMs: number; name: bigint }>();
  #starts: Start[] = [];
  #dips: Dip[] = [];

  constructor(context: Context, requests: RequestCheck) {
    this.#context = context;
    this.#requests = requests;
  }

  message({ message: { data, offset, length }, sender, seq }: Received): void {
    if (length <= HEARTBEAT_COUNTER.at) return;
    const counter = data[offset + HEARTBEAT_COUNTER.at] ?? 0xff;
    if (counter > HEARTBEAT_COUNTER.last) return;
    const last = this.#counters.get(sender);
    this.#counters.set(sender, counter);
    // One that counts from 0 again before its end; some devices never count.
    if (last !== undefined && counter <= 1 && last > 2 && last < HEARTBEAT_COUNTER.last - 2) this.#started(sender, seq);
  }

  claim({ bus, src, name, seq, holder, former }: ClaimEvent): void {
    const { nowMs } = this.#context;
    const key = `${bus.index}/${src}`;
    const last = this.#lastClaims.get(key);
    this.#lastClaims.set(key, { atMs: nowMs, name });
    const sender = former ?? holder;
    if (!sender || sender.name !== name || nowMs - this.#requests.claimRequestedMs(bus, src) < ANSWER_MS) return;
    if (last && last.name !== name && nowMs - last.atMs < ANSWER_MS) return;
    const usualMs = (sender.lastMs - sender.firstMs) / Math.max(1, sender.messages);
    if (sender.messages < MIN_SAMPLES || !bus.isSettled(nowMs, ANSWER_MS)) return;
    if (nowMs - sender.lastMs >= Math.max(SILENT.leastMs, SILENT.intervals * usualMs)) this.#started(sender, seq);
  }

  value(track: Track): void {
    const { key, sender: { bus } } = track;
    const last = newest(track);
    if (!/\.(?:voltage|alternator)$/.test(key) || typeof last?.value !== "number") return;
    const average = this.#averages.get(track);
    this.#averages.set(track, average === undefined ? last.value : average + (last.value - average) * WEIGHT);
    if (average === undefined || track.count < MIN_SAMPLES || last.value > average * (1 - DIP.share)) return;
    const text = `${key.split(".").slice(0, 2).join(" ")} falls from ${average.toFixed(1)} V to ${
      last.value.toFixed(1)
    } V`;
    this.#dips.push({ bus, atMs: last.atMs, seq: last.seq, text });
    if (this.#dips.length > 256) this.#dips.shift();
  }

  round(): void {
    const { nowMs } = this.#context;
    this.#starts = this.#starts.filter(({ atMs }) => nowMs - atMs < WINDOW_MS);
    this.#dips = this.#dips.filter(({ atMs }) => nowMs - atMs < WINDOW_MS);
    const devices = new Map<string, Start[]>();
    for (const start of this.#starts) {
      const key = `${start.bus.index}/${start.name}`;
      if (nowMs - start.atMs >= ONE_START_MS && !this.#isTogether(start)) {
        devices.set(key, [...devices.get(key) ?? [], start]);
      }
    }
    for (const starts of devices.values()) this.#report(starts);
  }

  #started({ bus, name }: Sender, seq: number): void {
    const { nowMs } = this.#context;
    if (name === undefined) return;
    const isKnown = this.#starts.some((each) =>
      each.bus === bus && each.name === name && nowMs - each.atMs < ONE_START_MS
    );
    if (!isKnown && this.#starts.length < 256) this.#starts.push({ bus, name, atMs: nowMs, seq });
  }

  #isTogether({ bus, atMs }: Start): boolean {
    const names = this.#starts.filter((each) => each.bus === bus && Math.abs(each.atMs - atMs) < ONE_START_MS * 2)
      .map(({ name }) => name);
    return new Set(names).size >= TOGETHER;
  }

  #report(starts: readonly Start[]): void {
    const last = starts.at(-1);
    const sender = last?.bus.byName(last.name);
    if (!last || !sender) return;
    const { bus } = sender;
    const dips = starts.flatMap(({ atMs }) => this.#dipNear(bus, atMs) ?? []);
    const [dip] = dips;
    if (dip) {
      const text = `${sender.label} starts again when the supply dips: ${dip.text}`;
      const confidence = dips.length > 1 ? 0.9 : 0.6;
      this.#context.report({ kind: "voltage_dip", bus, sender, text, confidence, seqs: [dip.seq, last.seq] });
    }
    if (starts.length < MIN_STARTS) return;
    const text = `${sender.label} has started again ${starts.length} times within ten minutes`;
    this.#context.report({ kind: "device_reset", bus, sender, text, seqs: starts.slice(-3).map(({ seq }) => seq) });
  }

  #dipNear(bus: BusModel, atMs: number): Dip | undefined {
    return this.#dips.find((dip) => dip.bus === bus && dip.atMs > atMs - DIP.beforeMs && dip.atMs < atMs + DIP.afterMs);
  }
}

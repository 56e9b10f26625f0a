import { isAddressed } from "../../frame/mod.ts";
import { describePgn, PGN } from "../../pgn/mod.ts";
import type { Habit, Memory } from "../memory.ts";
import type { Check, Context, Sender, Stream } from "../model.ts";

/** A rate is measured over at least this time and so many messages, or over the longest time, milliseconds. */
const WINDOW = { leastMs: 10_000, mostMs: 60_000, messages: 8 } as const;
/** Windows until a habit is known. */
const LEARN_WINDOWS = 30;
/** The rates of a regular stream differ by at most this factor. */
const REGULAR = 1.5;
/** Factors by which a rate is out of the habit. */
const OUT = { low: 0.5, high: 1.7 } as const;
/** Factors of two senders at one address. */
const DOUBLE = { from: 1.7, to: 2.3 } as const;
/** Windows out of the habit until it is reported, and until it is the new habit. */
const REPORT_WINDOWS = 2;
const RELEARN_WINDOWS = 180;
/** Most PGNs of a device whose usual rate is remembered. */
const MAX_HABITS = 64;
/** Factors by which a rate is out of the standard: devices may choose their rates, so these are wide. */
const STANDARD = { low: 0.05, high: 20, windows: 3 } as const;
/** Messages sent when something happens: AIS reports, network management, group functions, alerts. */
const IRREGULAR: ReadonlySet<number> = new Set<number>([
  ...[PGN.productInformation, 126464, 126998, 126208, 126720, 126983, 126984, 126985, 127233],
  ...[129038, 129039, 129040, 129041, 129792, 129793, 129794, 129795, 129796, 129797, 129798, 129799, 129800, 129801],
  ...[129802, 129803, 129804, 129805, 129806, 129807, 129808, 129809, 129810, 129284, 129285],
]);

interface Measure {
  fromMs: number;
  count: number;
  /** Consecutive windows out of the habit; negative: below. */
  out: number;
  /** Last rate divided by the bounds of the habit: above 1 is above, below 1 is below; undefined: no habit yet. */
  ratio: number | undefined;
  rate: number;
  /** Consecutive windows out of the standard. */
  odd: number;
}

/** PGNs that come faster or slower than this device sends them, or than the standard says. */
export class RateCheck implements Check {
  readonly #context: Context;
  readonly #memory: Memory;
  readonly #measures = new WeakMap<Stream, Measure>();
  readonly #intervals = new Map<number, number | undefined>();

  constructor(context: Context, memory: Memory) {
    this.#context = context;
    this.#memory = memory;
  }

  round(): void {
    const { nowMs, nowUs, buses } = this.#context;
    for (const bus of buses) {
      for (const sender of bus.all()) {
        const device = this.#memory.of(sender, nowUs);
        if (!device) continue;
        let isNew = false;
        for (const stream of sender.streams.values()) {
          if (isAddressed(stream.pgn) || IRREGULAR.has(stream.pgn)) continue;
          isNew = this.#measure(stream, { habits: device.habits, isSettled: (forMs) => bus.isSettled(nowMs, forMs) }) ||
            isNew;
        }
        if (isNew) this.#evaluate(sender, device.habits);
      }
    }
  }

  /** Measures a stream; true if a window has ended. */
  #measure(
    stream: Stream,
    { habits, isSettled }: { habits: Map<number, Habit>; isSettled: (forMs: number) => boolean },
  ): boolean {
    const { nowMs } = this.#context;
    let measure = this.#measures.get(stream);
    if (!measure) {
      measure = { fromMs: nowMs, count: stream.count, out: 0, ratio: undefined, rate: 0, odd: 0 };
      this.#measures.set(stream, measure);
      return false;
    }
    const elapsedMs = nowMs - measure.fromMs;
    const messages = stream.count - measure.count;
    if (elapsedMs < WINDOW.leastMs || (messages < WINDOW.messages && elapsedMs < WINDOW.mostMs)) return false;
    measure.fromMs = nowMs;
    measure.count = stream.count;
    measure.rate = messages * 1000 / elapsedMs;
    // A pause of the sender or the bus is no rate.
    const isPausing = nowMs - stream.lastMs > 1000 + 2 * elapsedMs / messages;
    if (messages < 2 || isPausing || !isSettled(elapsedMs + WINDOW.leastMs)) {
      measure.out = 0;
      measure.odd = 0;
      return false;
    }
    const ratio = measure.rate * (this.#standardMs(stream.pgn) ?? 1000 / measure.rate) / 1000;
    measure.odd = ratio <= STANDARD.high && ratio >= STANDARD.low ? 0 : measure.odd + 1;
    const habit = habits.get(stream.pgn);
    if (!habit && habits.size >= MAX_HABITS) return true;
    if (!habit) habits.set(stream.pgn, { low: measure.rate, high: measure.rate, windows: 1 });
    else this.#compare(measure, habit, messages);
    return true;
  }

  /** Compares a rate with the habit, which follows slowly. */
  #compare(measure: Measure, habit: Habit, messages: number): void {
    const { rate } = measure;
    // Counting is exact to one message.
    const slack = 1 + 1.5 / messages;
    const isKnown = habit.windows >= LEARN_WINDOWS;
    const isRegular = habit.high <= habit.low * REGULAR * slack;
    measure.ratio = isKnown && isRegular
      ? rate > habit.high ? rate / habit.high : Math.min(1, rate / habit.low)
      : undefined;
    const { ratio = 1 } = measure;
    const isHigh = ratio > OUT.high;
    const isLow = ratio < OUT.low;
    if ((isHigh || isLow) && Math.abs(measure.out) < RELEARN_WINDOWS) {
      measure.out = isHigh ? Math.max(1, measure.out + 1) : Math.min(-1, measure.out - 1);
      return;
    }
    measure.out = 0;
    habit.windows++;
    habit.low = Math.min(rate, habit.low + (rate - habit.low) * 0.01);
    habit.high = Math.max(rate, habit.high + (rate - habit.high) * 0.01);
  }

  #evaluate(sender: Sender, habits: ReadonlyMap<number, Habit>): void {
    const measured = [...sender.streams.values()].flatMap((stream) => {
      const measure = this.#measures.get(stream);
      return measure ? [{ stream, measure }] : [];
    });
    const known = measured.filter(({ measure }) => measure.ratio !== undefined);
    const doubled = known.filter(({ measure: { ratio = 1, out } }) =>
      out >= REPORT_WINDOWS && ratio >= DOUBLE.from && ratio <= DOUBLE.to
    );
    if (doubled.length >= 2 && doubled.length >= 0.6 * known.length) {
      this.#context.report({
        kind: "address_shared",
        bus: sender.bus,
        sender,
        text: `Everything that ${sender.label} sends comes twice as often as usual: a second sender uses its address`,
        confidence: 0.7,
        seqs: doubled.slice(0, 2).map(({ stream }) => stream.lastSeq),
      });
      return;
    }
    for (const { stream, measure } of measured) {
      this.#reportRate(sender, { stream, measure, habit: habits.get(stream.pgn) });
    }
  }

  #reportRate(
    sender: Sender,
    { stream, measure, habit }: { stream: Stream; measure: Measure; habit: Habit | undefined },
  ): void {
    const { pgn, lastSeq } = stream;
    const { rate, out, odd } = measure;
    const common = { bus: sender.bus, sender, pgn, seqs: [lastSeq] };
    if (habit && Math.abs(out) >= REPORT_WINDOWS) {
      const usual = (habit.low + habit.high) / 2;
      const text = `${sender.label} sends PGN ${pgn} ${perSecond(rate)}; usual for it is ${perSecond(usual)}`;
      this.#context.report({ ...common, kind: out > 0 ? "rate_high" : "rate_low", text, confidence: 0.8 });
      return;
    }
    const standardMs = this.#standardMs(pgn);
    if (standardMs === undefined || odd < STANDARD.windows) return;
    const text = `${sender.label} sends PGN ${pgn} ${perSecond(rate)}; the standard has ${
      perSecond(1000 / standardMs)
    }`;
    const kind = rate * standardMs > 1000 ? "rate_high" : "rate_low";
    this.#context.report({ ...common, kind, detail: "standard", text, severity: "info", confidence: 0.5 });
  }

  /** Standard interval of a PGN that is about one thing only; undefined: it has none. */
  #standardMs(pgn: number): number | undefined {
    if (!this.#intervals.has(pgn)) this.#intervals.set(pgn, standardIntervalMs(pgn));
    return this.#intervals.get(pgn);
  }
}

function standardIntervalMs(pgn: number): number | undefined {
  const description = describePgn(pgn);
  const isNumbered = description?.layouts.some(({ fields }) =>
    fields.some(({ name }) => /instance|source|reference|index|number|type|bank/.test(name))
  );
  return isNumbered ? undefined : description?.interval_ms;
}

function perSecond(rate: number): string {
  return rate >= 1 ? `${Number(rate.toPrecision(3))} times a second` : `every ${Number((1 / rate).toPrecision(3))} s`;
}

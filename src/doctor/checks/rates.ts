import { isAddressed } from "../../frame/mod.ts";
import { describePgn, PGN } from "../../pgn/mod.ts";
import type { Habit, Memory } from "../memory.ts";
import type { BusModel, Check, Context, Sender, Stream } from "../model.ts";

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
/** So many devices whose rates change together are not at fault. */
const MANY = { least: 3, share: 0.3 } as const;
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

/** A stream with its measure. */
interface Measured {
  readonly stream: Stream;
  readonly measure: Measure;
  readonly habit: Habit | undefined;
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
        for (const stream of sender.streams.values()) {
          if (isAddressed(stream.pgn) || IRREGULAR.has(stream.pgn)) continue;
          this.#measure(stream, { habits: device.habits, isSettled: (forMs) => bus.isSettled(nowMs, forMs) });
        }
      }
      this.#evaluate(bus);
    }
  }

  /** Measures a stream, and compares it with its habit when a window has ended. */
  #measure(
    stream: Stream,
    { habits, isSettled }: { habits: Map<number, Habit>; isSettled: (forMs: number) => boolean },
  ): void {
    const { nowMs } = this.#context;
    let measure = this.#measures.get(stream);
    if (!measure) {
      measure = { fromMs: nowMs, count: stream.count, out: 0, ratio: undefined, rate: 0, odd: 0 };
      this.#measures.set(stream, measure);
      return;
    }
    const elapsedMs = nowMs - measure.fromMs;
    const messages = stream.count - measure.count;
    if (elapsedMs < WINDOW.leastMs || (messages < WINDOW.messages && elapsedMs < WINDOW.mostMs)) return;
    measure.fromMs = nowMs;
    measure.count = stream.count;
    measure.rate = messages * 1000 / elapsedMs;
    // A pause of the sender or the bus is no rate.
    const isPausing = nowMs - stream.lastMs > 1000 + 2 * elapsedMs / messages;
    if (messages < 2 || isPausing || !isSettled(elapsedMs + WINDOW.leastMs)) {
      measure.out = 0;
      measure.odd = 0;
      return;
    }
    const ratio = measure.rate * (this.#standardMs(stream.pgn) ?? 1000 / measure.rate) / 1000;
    measure.odd = ratio <= STANDARD.high && ratio >= STANDARD.low ? 0 : measure.odd + 1;
    const habit = habits.get(stream.pgn);
    if (!habit && habits.size >= MAX_HABITS) return;
    if (!habit) habits.set(stream.pgn, { low: measure.rate, high: measure.rate, windows: 1 });
    else this.#compare(measure, habit, messages);
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

  #evaluate(bus: BusModel): void {
    const measured = [...bus.all()].map((sender) => ({ sender, streams: this.#measured(sender) }));
    const known = measured.filter(({ streams }) => streams.some(({ measure }) => measure.ratio !== undefined));
    const slow = known.filter(({ streams }) => streams.some(({ measure: { out } }) => out <= -REPORT_WINDOWS));
    const fast = known.filter(({ streams }) => streams.some(({ measure: { out } }) => out >= REPORT_WINDOWS));
    const areMany = (senders: readonly unknown[]) =>
      senders.length >= MANY.least && senders.length > MANY.share * known.length;
    if (areMany(slow)) this.#reportMany(bus, { kind: "rate_low", senders: slow.map(({ sender }) => sender) });
    if (areMany(fast)) this.#reportMany(bus, { kind: "rate_high", senders: fast.map(({ sender }) => sender) });
    if (areMany(slow) || areMany(fast)) return;
    for (const { sender, streams } of measured) {
      const doubled = doubledOf(streams);
      if (doubled.length > 0) this.#reportShared(sender, doubled);
      else for (const each of streams) this.#reportRate(sender, each);
    }
  }

  #measured(sender: Sender): Measured[] {
    const habits = this.#memory.of(sender, this.#context.nowUs)?.habits;
    return [...sender.streams.values()].flatMap((stream) => {
      const measure = this.#measures.get(stream);
      return measure ? [{ stream, measure, habit: habits?.get(stream.pgn) }] : [];
    });
  }

  /** What changes for many devices at once is no device's fault. */
  #reportMany(bus: BusModel, { kind, senders }: { kind: "rate_low" | "rate_high"; senders: readonly Sender[] }): void {
    const text = kind === "rate_low"
      ? `${senders.length} devices on ${bus.name} send less than half as often as usual: frames are lost on their way here`
      : `${senders.length} devices on ${bus.name} send much more often than usual: a gateway or bridge repeats their frames`;
    const advice = kind === "rate_low"
      ? "Check the gateway and its network or Wi-Fi, the load of the bus, and the terminators"
      : "Look for two gateways or bridges between the same networks, and remove one of them";
    const seqs = senders.slice(0, 2).map(({ lastSeq }) => lastSeq);
    this.#context.report({ kind, bus, text, advice, confidence: 0.7, seqs });
  }

  #reportShared(sender: Sender, doubled: readonly Measured[]): void {
    this.#context.report({
      kind: "address_shared",
      bus: sender.bus,
      sender,
      text: `Everything that ${sender.label} sends comes twice as often as usual: a second sender uses its address`,
      confidence: 0.7,
      seqs: doubled.slice(0, 2).map(({ stream }) => stream.lastSeq),
    });
  }

  #reportRate(sender: Sender, { stream, measure, habit }: Measured): void {
    const { pgn, lastSeq } = stream;
    const { rate, out, odd } = measure;
    const common = { bus: sender.bus, sender, pgn, seqs: [lastSeq] };
    if (habit && Math.abs(out) >= REPORT_WINDOWS) {
      const usual = out > 0 ? habit.low : habit.high;
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

/** Streams that come twice as often as usual, if these are most of the sender's. */
function doubledOf(streams: readonly Measured[]): Measured[] {
  const known = streams.filter(({ measure }) => measure.ratio !== undefined);
  const doubled = known.filter(({ measure: { ratio = 1, out } }) =>
    out >= REPORT_WINDOWS && ratio >= DOUBLE.from && ratio <= DOUBLE.to
  );
  return doubled.length >= 2 && doubled.length >= 0.6 * known.length ? doubled : [];
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

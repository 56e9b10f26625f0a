import { gnssTimeOf } from "../../clock/mod.ts";
import type { Check, Context, Received, Sender } from "../model.ts";

/** A difference from here on is a disagreement, microseconds; messages may be late by some tenths of a second. */
const LIMIT_US = 2.5e6;
/** An offset counts while it is not older, milliseconds. */
const FRESH_MS = 10_000;
const MIN_MESSAGES = 4;
/** Weeks after which the time of old GPS receivers begins again. */
const ROLLOVER_S = 1024 * 7 * 86_400;

interface Offset {
  /** Time of the device minus that of this machine, microseconds. */
  us: number;
  atMs: number;
  seq: number;
  pgn: number;
  count: number;
}

/** GNSS receivers whose times disagree. */
export class ClockCheck implements Check {
  readonly pgns = [126992, 129029, 129033];
  readonly #context: Context;
  readonly #offsets = new Map<Sender, Offset>();

  constructor(context: Context) {
    this.#context = context;
  }

  message({ message, sender, seq }: Received): void {
    const timeUs = gnssTimeOf(message);
    if (timeUs === undefined) return;
    const count = (this.#offsets.get(sender)?.count ?? 0) + 1;
    this.#offsets.set(sender, { us: timeUs - message.timeUs, atMs: message.monoMs, seq, pgn: message.pgn, count });
  }

  round(): void {
    const { nowMs } = this.#context;
    for (const [sender, { atMs }] of this.#offsets) {
      if (nowMs - atMs > FRESH_MS || sender.bus.senders[sender.src] !== sender) this.#offsets.delete(sender);
    }
    const clocks = [...this.#offsets].filter(([{ bus }, { count }]) =>
      count >= MIN_MESSAGES && bus.isSettled(nowMs, FRESH_MS)
    );
    if (clocks.length < 2) return;
    for (const [sender, offset] of clocks) {
      const others = clocks.filter(([other]) => other !== sender);
      const against = others.filter(([, { us }]) => Math.abs(us - offset.us) > LIMIT_US);
      // With two clocks, this machine's clock decides if one of them agrees with it.
      const isAlone = clocks.length > 2
        ? against.length === others.length
        : against.length === 1 && Math.abs(offset.us) > LIMIT_US &&
          against.every(([, { us }]) => Math.abs(us) < LIMIT_US);
      if (isAlone && against[0]) this.#report(sender, { offset, other: against[0], isSure: true });
    }
    const [a, b] = clocks;
    if (clocks.length !== 2 || !a || !b || Math.abs(a[1].us - b[1].us) <= LIMIT_US) return;
    if (Math.abs(a[1].us) > LIMIT_US === Math.abs(b[1].us) > LIMIT_US) {
      this.#report(a[0], { offset: a[1], other: b, isSure: false });
    }
  }

  #report(
    sender: Sender,
    { offset, other: [other, { us, seq }], isSure }: { offset: Offset; other: [Sender, Offset]; isSure: boolean },
  ): void {
    const seconds = Math.round((offset.us - us) / 1e5) / 10;
    const isRollover = Math.abs(Math.abs(seconds) - ROLLOVER_S) < 60;
    const difference = isRollover
      ? "19.6 years (the week number of GPS has begun again)"
      : durationText(Math.abs(seconds));
    this.#context.report({
      kind: "clocks_disagree",
      bus: sender.bus,
      ...(isSure && { sender }),
      pgn: offset.pgn,
      text: `The time of ${sender.label} is ${difference} ${
        seconds < 0 ? "behind" : "ahead of"
      } that of ${other.label}`,
      confidence: isSure ? 0.9 : 0.6,
      seqs: [offset.seq, seq],
    });
  }
}

function durationText(seconds: number): string {
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86_400)} days`;
}

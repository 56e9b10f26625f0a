import { isFastPacket } from "../../pgn/mod.ts";
import type { BusModel, Check, Context, Sender } from "../model.ts";

/** Incomplete messages are counted over this time, milliseconds. */
const WINDOW_MS = 60_000;
/** Fewer within it are usual. */
const MIN_LOST = 5;
/** A device is at fault that has this share of all losses; else it is the bus or the interface. */
const OWN_SHARE = 0.85;
/** No device is at fault until the bus has been alive for this time, milliseconds: the first messages are cut. */
const GRACE_MS = 3000;

interface Loss {
  readonly atMs: number;
  readonly pgn: number;
}

/** Messages of several frames that were not complete, by sender. */
export class IncompleteCheck implements Check {
  readonly #context: Context;
  readonly #losses = new Map<Sender, Loss[]>();

  constructor(context: Context) {
    this.#context = context;
  }

  /** Counts an incomplete message. */
  count(busIndex: number, src: number, pgn: number): void {
    const bus = this.#context.buses[busIndex];
    const sender = bus?.senders[src];
    if (!bus || !sender || !bus.isSettled(bus.lastMs, GRACE_MS)) return;
    const losses = this.#losses.get(sender) ?? [];
    this.#losses.set(sender, losses);
    losses.push({ atMs: bus.lastMs, pgn });
    if (losses.length > 1000) losses.shift();
  }

  round(): void {
    const { nowMs, buses } = this.#context;
    for (const [sender, losses] of this.#losses) {
      while ((losses[0]?.atMs ?? nowMs) < nowMs - WINDOW_MS) losses.shift();
      if (losses.length === 0) this.#losses.delete(sender);
    }
    for (const bus of buses) this.#report(bus);
  }

  #report(bus: BusModel): void {
    // What this machine has lost is nobody else's fault.
    if (!bus.isSettled(this.#context.nowMs, GRACE_MS)) return;
    const losing = [...this.#losses].filter(([sender]) => sender.bus === bus);
    const total = losing.reduce((sum, [, losses]) => sum + losses.length, 0);
    if (total < MIN_LOST) return;
    const guilty = losing.find(([, losses]) => losses.length >= MIN_LOST && losses.length >= OWN_SHARE * total);
    if (!guilty) {
      this.#context.report({
        kind: "incomplete_fast_packet",
        bus,
        text:
          `${total} messages of ${losing.length} devices on ${bus.name} were incomplete within a minute: frames are ` +
          "lost on the bus or in the interface",
        advice: "Check the load of the bus, its terminators, and the interface or gateway of this machine",
        confidence: 0.7,
        seqs: losing.map(([sender]) => sender.lastSeq),
      });
      return;
    }
    const [sender, losses] = guilty;
    // Where nobody else sends fast packets, the bus may be at fault as well.
    const { nowMs } = this.#context;
    const isCompared = [...bus.all()].some((other) =>
      other !== sender &&
      [...other.streams.values()].some(({ pgn, lastMs }) => isFastPacket(pgn) && nowMs - lastMs < WINDOW_MS)
    );
    const pgns = [...new Set(losses.map(({ pgn }) => pgn))].slice(0, 3).join(", ");
    this.#context.report({
      kind: "incomplete_fast_packet",
      bus,
      sender,
      text: `${losses.length} messages of ${sender.label} were incomplete within a minute (PGN ${pgns})`,
      confidence: isCompared ? 0.9 : 0.5,
      seqs: [sender.lastSeq],
    });
  }
}

import type { Clock } from "../../base/mod.ts";
import { type CanFrame, MAX_CAN_BYTES, pgnOfId } from "../../frame/mod.ts";
import { framingOf, PGN } from "../../pgn/mod.ts";
import type { BusCounters, BusSink } from "../bus.ts";
import type { BusStatus } from "../bus_status.ts";
import { type RecordedItem, RecordedMonotonic } from "../recordings/mod.ts";

/**
 * Hands what a gateway tells to a sink. The last item of a piece has the time at which the piece came, those before it
 * lie as far back as the gateway's clock says, though never before the piece before. So a gateway whose clock is wrong,
 * or that has none, bends no time, and a read that comes late bends the times within a piece no more than it must.
 */
export class Delivery {
  readonly #clock: Clock;
  readonly #counters: BusCounters;
  readonly #status: BusStatus;
  readonly #frame: CanFrame = { id: 0, timeUs: 0, monoMs: 0, data: new Uint8Array(0), offset: 0, length: 0 };
  #sink: BusSink | undefined;
  #recorded = new RecordedMonotonic();
  #lastMonoMs = -Infinity;

  constructor({ clock, counters, status }: { clock: Clock; counters: BusCounters; status: BusStatus }) {
    this.#clock = clock;
    this.#counters = counters;
    this.#status = status;
  }

  /** Delivers to this sink from now on, or to nobody. */
  attach(sink: BusSink | undefined): void {
    this.#sink = sink;
  }

  /** A new connection: its clock has nothing to do with the last one's, and nothing came before now. */
  begin(): void {
    this.#recorded = new RecordedMonotonic();
    this.#lastMonoMs = this.#clock.monoMs();
  }

  /** Delivers the items of one piece. */
  piece(items: readonly RecordedItem[]): void {
    const recordedMs = items.map(({ timeUs }) => this.#recorded.at(timeUs));
    const latestMs = recordedMs.at(-1) ?? 0;
    const nowMs = this.#clock.monoMs();
    this.#each(items, (index) => nowMs - (latestMs - (recordedMs[index] ?? latestMs)));
  }

  /** Delivers one item that was due at `monoMs`. */
  due(item: RecordedItem, monoMs: number): void {
    this.#each([item], () => monoMs);
  }

  /** Delivers what we have sent ourselves, where nobody else tells us. */
  echo(frames: readonly { id: number; data: Uint8Array<ArrayBuffer> }[]): void {
    const nowMs = this.#clock.monoMs();
    this.#each(frames.map(({ id, data }) => ({ kind: "frame", bus: 0, id, data, timeUs: 0 })), () => nowMs);
  }

  #each(items: readonly RecordedItem[], monoMsOf: (index: number) => number): void {
    const [nowMs, nowUs] = [this.#clock.monoMs(), this.#clock.wallUs()];
    let hasThrown = false;
    for (const [index, item] of items.entries()) {
      if (!this.#sink) return;
      const monoMs = Math.min(nowMs, Math.max(this.#lastMonoMs, monoMsOf(index)));
      this.#lastMonoMs = monoMs;
      const frame = this.#frame;
      frame.id = item.id;
      frame.monoMs = monoMs;
      frame.timeUs = nowUs - Math.round((nowMs - monoMs) * 1000);
      frame.data = item.data;
      frame.length = item.data.length;
      try {
        this.#hand(this.#sink, { frame, isFrame: item.kind === "frame" || isOneFrame(item) });
      } catch (error) {
        hasThrown = true;
        this.#status.failed(error);
      }
    }
    if (hasThrown && this.#status.state.type === "down") this.#status.up();
  }

  #hand(sink: BusSink, { frame, isFrame }: { frame: CanFrame; isFrame: boolean }): void {
    if (!isFrame && !sink.message) {
      this.#counters.ignored++;
      return;
    }
    this.#counters.received++;
    if (isFrame) sink.frame(frame);
    else sink.message?.(frame);
  }
}

/** Whether a message is the CAN frame that carried it, so that everything that looks at frames may see it. */
function isOneFrame({ id, data }: RecordedItem): boolean {
  const pgn = pgnOfId(id);
  if (data.length > MAX_CAN_BYTES || framingOf(pgn) !== "single") return false;
  return pgn !== PGN.transportControl && pgn !== PGN.transportData;
}

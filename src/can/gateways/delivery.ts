import type { Clock } from "../../base/mod.ts";
import { type CanFrame, MAX_CAN_BYTES, pgnOfId } from "../../frame/mod.ts";
import { framingOf, PGN } from "../../pgn/mod.ts";
import type { BusCounters, BusSink } from "../bus.ts";
import type { BusStatus } from "../bus_status.ts";
import { type RecordedItem, RecordedMonotonic } from "../recordings/mod.ts";

/**
 * Delivers frames and messages of a gateway to a sink. The last item of a piece gets the arrival time of the piece; those
 * before it lie back by the gateway's clock, but not before the previous piece. So a wrong or missing clock of the gateway
 * shifts no times, and a late read shifts the times within a piece no more than necessary.
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

  /** Sets the sink, or none. */
  attach(sink: BusSink | undefined): void {
    this.#sink = sink;
  }

  /** Starts a new connection, whose clock is independent of the last one's. */
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

  /** Delivers our own sent frames, for gateways that do not echo them. */
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
        this.#deliver(this.#sink, { frame, isFrame: item.kind === "frame" || isOneFrame(item) });
      } catch (error) {
        hasThrown = true;
        this.#status.failed(error);
      }
    }
    if (hasThrown && this.#status.state.type === "down") this.#status.up();
  }

  #deliver(sink: BusSink, { frame, isFrame }: { frame: CanFrame; isFrame: boolean }): void {
    if (!isFrame && !sink.message) {
      this.#counters.ignored++;
      return;
    }
    this.#counters.received++;
    if (isFrame) sink.frame(frame);
    else sink.message?.(frame);
  }
}

/** Whether a message has the same content as its CAN frame, so that it can be delivered as a frame. */
function isOneFrame({ id, data }: RecordedItem): boolean {
  const pgn = pgnOfId(id);
  if (data.length > MAX_CAN_BYTES || framingOf(pgn) !== "single") return false;
  return pgn !== PGN.transportControl && pgn !== PGN.transportData;
}

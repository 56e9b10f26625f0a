import { type Clock, systemClock } from "../base/mod.ts";
import { CAN_ID_MASK, type CanFrame, MAX_CAN_BYTES } from "../frame/mod.ts";
import { type BusCounters, BusError, type BusSink, type BusState, type CanBus, newCounters } from "./bus.ts";
import { BusStatus } from "./bus_status.ts";

/**
 * A bus in memory that echoes sent frames, as the kernel does for a CAN socket. Other nodes of the same
 * bus (a simulated boat, a test) join with {@linkcode LoopbackBus.attach}.
 */
export class LoopbackBus implements CanBus {
  readonly name: string;
  readonly counters: BusCounters = newCounters();
  readonly #clock: Clock;
  readonly #listeners = new Set<(frame: CanFrame) => void>();
  readonly #status = new BusStatus();
  #sink: BusSink | undefined;
  /** Queued frames: delivery never happens inside a sender's call. */
  #queue: { id: number; data: Uint8Array }[] = [];
  #scheduled = false;

  /**
   * @param name name of the bus, for example `can0`
   * @param options.clock clock of the time stamps, default the system's
   */
  constructor(name: string, { clock = systemClock }: { clock?: Clock } = {}) {
    this.name = name;
    this.#clock = clock;
  }

  get state(): BusState {
    return this.#status.state;
  }

  open(sink: BusSink): Promise<void> {
    this.#sink = sink;
    this.#status.attach(sink);
    this.#status.up();
    return Promise.resolve();
  }

  send(id: number, data: Uint8Array): Promise<void> {
    if (this.state.type !== "up") return this.#refuse(`it is ${this.state.type}`);
    if (data.length > MAX_CAN_BYTES) return this.#refuse(`${data.length} bytes are more than 8`);
    this.inject(id, data);
    this.counters.sent++;
    return Promise.resolve();
  }

  #refuse(reason: string): Promise<void> {
    this.counters.sendFailed++;
    return Promise.reject(new BusError(`Cannot send on bus "${this.name}": ${reason}`));
  }

  /**
   * Puts a frame on the bus, as another node would: all nodes receive it.
   *
   * @throws {RangeError} there are more than 8 bytes
   */
  inject(id: number, data: Uint8Array): void {
    if (data.length > MAX_CAN_BYTES) {
      throw new RangeError(`Cannot put a frame on bus "${this.name}": ${data.length} bytes are more than 8`);
    }
    this.#queue.push({ id: id & CAN_ID_MASK, data: data.slice() });
    if (this.#scheduled) return;
    this.#scheduled = true;
    queueMicrotask(() => this.#deliver());
  }

  /** Calls `listener`, which must not throw, for every frame on the bus. Returns a function that removes it. */
  attach(listener: (frame: CanFrame) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  close(): Promise<void> {
    this.#status.closed();
    this.#sink = undefined;
    this.#queue = [];
    return Promise.resolve();
  }

  #deliver(): void {
    this.#scheduled = false;
    const batch = this.#queue;
    this.#queue = [];
    const frame: CanFrame = { id: 0, timeUs: 0, monoMs: 0, data: new Uint8Array(0), offset: 0, length: 0 };
    for (const { id, data } of batch) {
      frame.id = id;
      frame.timeUs = this.#clock.wallUs();
      frame.monoMs = this.#clock.monoMs();
      frame.data = data;
      frame.length = data.length;
      if (this.#sink) this.counters.received++;
      try {
        this.#sink?.frame(frame);
      } catch (error) {
        this.#status.failed(error);
      }
      for (const listener of this.#listeners) this.#notify(listener, frame);
    }
    if (this.state.type === "down") this.#status.up();
  }

  /** An exception of one listener does not keep the others from receiving the frame. */
  #notify(listener: (frame: CanFrame) => void, frame: CanFrame): void {
    try {
      listener(frame);
    } catch (error) {
      this.#status.failed(error);
    }
  }
}

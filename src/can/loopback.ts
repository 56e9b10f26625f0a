import { type Clock, systemClock } from "../base/mod.ts";
import { type CanFrame, MAX_CAN_BYTES } from "../frame/mod.ts";
import { type BusCounters, BusError, type BusSink, type BusState, type CanBus, newCounters } from "./bus.ts";

/**
 * A bus in memory that echoes what is sent, as the kernel does with a CAN socket's own frames. Other parties on the same
 * bus (a simulated boat, a test) join with {@linkcode LoopbackBus.attach}.
 */
export class LoopbackBus implements CanBus {
  readonly name: string;
  readonly counters: BusCounters = newCounters();
  readonly #clock: Clock;
  readonly #listeners = new Set<(frame: CanFrame) => void>();
  #state: BusState = { type: "closed" };
  #sink: BusSink | undefined;
  /** Frames wait here so that delivery never happens inside a sender's call. */
  #queue: { id: number; data: Uint8Array }[] = [];
  #scheduled = false;

  /**
   * @param name what the bus is called, for example `can0`
   * @param options.clock stamps the frames, default the machine's
   */
  constructor(name: string, { clock = systemClock }: { clock?: Clock } = {}) {
    this.name = name;
    this.#clock = clock;
  }

  get state(): BusState {
    return this.#state;
  }

  open(sink: BusSink): Promise<void> {
    this.#sink = sink;
    this.#set({ type: "up", controller: "error-active" });
    return Promise.resolve();
  }

  send(id: number, data: Uint8Array): Promise<void> {
    if (this.#state.type !== "up") {
      this.counters.sendFailed++;
      return Promise.reject(new BusError(`Cannot send on bus "${this.name}": it is ${this.#state.type}`));
    }
    this.inject(id, data);
    this.counters.sent++;
    return Promise.resolve();
  }

  /** Puts a frame on the bus as another node would: everybody on it hears it. */
  inject(id: number, data: Uint8Array): void {
    this.#queue.push({ id: id & 0x1fffffff, data: data.slice(0, MAX_CAN_BYTES) });
    if (this.#scheduled) return;
    this.#scheduled = true;
    queueMicrotask(() => this.#deliver());
  }

  /** Hears every frame on the bus. Returns the way to stop. */
  attach(listener: (frame: CanFrame) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  close(): Promise<void> {
    this.#set({ type: "closed" });
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
      if (this.#sink) {
        this.counters.received++;
        this.#sink.frame(frame);
      }
      for (const listener of this.#listeners) listener(frame);
    }
  }

  #set(state: BusState): void {
    if (state.type === this.#state.type) return;
    this.#state = state;
    this.#sink?.state(state);
  }
}

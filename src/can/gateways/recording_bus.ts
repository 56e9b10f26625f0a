import { type Clock, pause, systemClock } from "../../base/mod.ts";
import { type BusCounters, BusError, type BusSink, type BusState, type CanBus, newCounters } from "../bus.ts";
import { BusStatus } from "../bus_status.ts";
import {
  newRecordingSummary,
  readRecording,
  type RecordedItem,
  RecordedMonotonic,
  type RecordingFormat,
} from "../recordings/mod.ts";
import { Delivery } from "./connection.ts";
import { reasonOf } from "./link.ts";

/** Longest time of reading before other work gets its turn. */
const TURN_MS = 3;

/** Options of a {@linkcode RecordingBus}. */
export interface RecordingBusOptions {
  /** Path of the recording. */
  path: string;
  /** Default: detected from the content. */
  format?: RecordingFormat | undefined;
  /** Name of the bus to use, if the lines name several; default: the first one. */
  bus?: string | undefined;
  /** Speed factor; 0 is as fast as possible. Default 1. */
  speed?: number;
  /** Default: the system's. */
  clock?: Clock;
}

/**
 * Replays a recording once as a bus: with the recorded intervals and current times. It
 * waits while the journal has no capacity. At its end the bus is down. Nothing can be sent.
 */
export class RecordingBus implements CanBus {
  readonly name: string;
  readonly canSend = false;
  readonly counters: BusCounters = newCounters();
  readonly #options: RecordingBusOptions;
  readonly #clock: Clock;
  readonly #status = new BusStatus();
  readonly #delivery: Delivery;
  #closing: AbortController | undefined;
  #running: Promise<void> = Promise.resolve();

  /**
   * @param name name of the bus
   * @param options see {@linkcode RecordingBusOptions}
   */
  constructor(name: string, options: RecordingBusOptions) {
    this.name = name;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#delivery = new Delivery({ clock: this.#clock, counters: this.counters, status: this.#status });
  }

  get state(): BusState {
    return this.#status.state;
  }

  /** @throws {BusError} the file does not exist or is not a recording */
  async open(sink: BusSink): Promise<void> {
    if (this.#closing) throw new BusError(`Cannot open bus "${this.name}": it is open`);
    const closing = this.#closing = new AbortController();
    Object.assign(this.counters, newCounters());
    const summary = newRecordingSummary();
    let items: AsyncGenerator<RecordedItem, void>;
    let first: IteratorResult<RecordedItem, void>;
    try {
      const file = await Deno.open(this.#options.path);
      items = readRecording(file.readable, { format: this.#options.format, summary });
      first = await items.next();
    } catch (error) {
      this.#closing = undefined;
      throw new BusError(`Cannot open bus "${this.name}": ${reasonOf(error)}`, { cause: error });
    }
    this.#status.attach(sink);
    this.#delivery.attach(sink);
    this.#delivery.begin();
    this.#status.up();
    const ready = () => sink.ready?.();
    this.#running = this.#play({ items, first, buses: summary.buses, ready, signal: closing.signal })
      .catch((error) => this.#status.down(reasonOf(error)))
      .finally(() => {
        this.counters.ignored += summary.bad + summary.passedOver.foreign_frame;
      });
  }

  send(): Promise<void> {
    this.counters.sendFailed++;
    return Promise.reject(new BusError(`Cannot send on bus "${this.name}": it is a recording`));
  }

  async close(): Promise<void> {
    if (this.#closing) {
      this.#closing.abort();
      this.#closing = undefined;
      this.#delivery.attach(undefined);
      this.#status.closed();
    }
    await this.#running;
  }

  async #play({ items, first, buses, ready, signal }: {
    items: AsyncGenerator<RecordedItem, void>;
    first: IteratorResult<RecordedItem, void>;
    buses: readonly string[];
    ready: () => Promise<void> | undefined;
    signal: AbortSignal;
  }): Promise<void> {
    const { bus, speed = 1 } = this.#options;
    const recorded = new RecordedMonotonic();
    const startMs = this.#clock.monoMs();
    let turnMs = startMs;
    let last = { atMs: 0, dueMs: startMs };
    // Ends the generator, which closes the file.
    for (let next = first; !next.done; next = await items.next()) {
      const item = next.value;
      const atMs = recorded.at(item.timeUs);
      const nowMs = this.#clock.monoMs();
      // At full speed no farther behind the last one than it was recorded: a process that stood still splits no message.
      const fullMs = Math.min(nowMs, last.dueMs + Math.max(atMs - last.atMs, TURN_MS));
      const dueMs = speed > 0 ? startMs + atMs / speed : fullMs;
      last = { atMs, dueMs };
      if (dueMs > nowMs || nowMs - turnMs > TURN_MS) {
        await pause(dueMs - nowMs, signal).catch(() => {});
        turnMs = this.#clock.monoMs();
      }
      for (let waiting = ready(); waiting && !signal.aborted; waiting = ready()) await whileOpen(waiting, signal);
      if (signal.aborted) return void await items.return();
      if (bus === undefined ? item.bus === 0 : buses[item.bus] === bus) this.#delivery.due(item, dueMs);
      else this.counters.ignored++;
    }
    this.#status.down("the recording has ended");
  }
}

/** Resolves when the promise does or the bus is closed. */
function whileOpen(waiting: Promise<void>, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise<void>((resolve) => {
    const done = () => {
      signal.removeEventListener("abort", done);
      resolve();
    };
    signal.addEventListener("abort", done);
    void waiting.then(done, done);
  });
}

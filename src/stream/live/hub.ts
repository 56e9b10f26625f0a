import type { Clock, StallDetector } from "../../base/mod.ts";
import type { Broker, FrameDetail, RegistryEvent } from "../../broker/mod.ts";
import type { DeviceEvent } from "../../frame/mod.ts";
import type { Filter } from "../../filter/mod.ts";
import { openFilter } from "./broker_filter.ts";
import { StreamChannel } from "./channel.ts";
import type { StreamClient } from "./client.ts";
import { StreamMemory } from "./memory.ts";
import { OpenStreams, type StreamCounter } from "./slots.ts";

/** Frames wait this long for others: one write for several frames costs a fraction of one write per frame. */
const MIN_PAUSE_MS = 3;
/** The pause grows with the time that a write to every client takes, up to this: it leaves time for other requests. */
const MAX_PAUSE_MS = 5;
/** Timers fire one to two milliseconds late: a channel that is due within this time is sent to at once. */
const TIMER_LATE_MS = 1.5;
/** Clients per channel. Channels are sent to one after the other: smaller ones spread the writes more evenly over time. */
export const CHANNEL_CLIENTS = 64;
/** How often clients are looked at for silence and for drops to tell. */
const HOUSEKEEPING_MS = 1000;
/** Frames that may wait for a tick; more than a full bus brings in eight seconds. A power of two. */
export const WAITING_FRAMES = 16_384;
/** How soon clients whose transport does not ask for more are looked at again while they take what waits for them … */
const DRAIN_MS = 1;
/** … and while they take nothing. */
const IDLE_DRAIN_MS = 32;
/** Time that streams are written to before other work has its turn. */
export const SLICE_MS = 8;

/** What a client joins with. */
export interface JoinOptions extends FrameDetail {
  filter: Filter;
}

/** Carries frames from the broker to all stream clients, a tick's worth at a time. */
export class StreamHub {
  readonly #broker: Broker;
  readonly #clock: Clock;
  readonly #stall: StallDetector;
  /** Milliseconds, for the pace of writes: it must run as timers do, whatever the clock. */
  readonly #now: () => number;
  readonly #places: StreamCounter;
  /** The budget of all streams. */
  readonly memory: StreamMemory;
  readonly #channels = new Set<StreamChannel>();
  /** By filter and detail, the channel that the next client joins. */
  readonly #shared = new Map<string, StreamChannel>();
  readonly #ready = new Set<StreamChannel>();
  readonly #housekeeping: ReturnType<typeof setInterval>;
  readonly #stopDevices: () => void;
  #tick: ReturnType<typeof setTimeout> | undefined;
  #drain: ReturnType<typeof setTimeout> | undefined;
  #dropped = 0;
  #stopped = false;

  /** @param options.places, options.memory default its own */
  constructor(
    { broker, clock, stall, places = new OpenStreams(), memory = new StreamMemory(), now = () => performance.now() }: {
      broker: Broker;
      clock: Clock;
      stall: StallDetector;
      places?: StreamCounter;
      memory?: StreamMemory;
      now?: () => number;
    },
  ) {
    this.memory = memory;
    this.#now = now;
    this.#places = places;
    this.#broker = broker;
    this.#clock = clock;
    this.#stall = stall;
    this.#stopDevices = broker.registry.listen((event) => this.#device(event));
    this.#housekeeping = setInterval(() => this.#runHousekeeping(), HOUSEKEEPING_MS);
  }

  /** Clients by kind. */
  count(kind: StreamClient["kind"]): number {
    let count = 0;
    for (const { clients } of this.#channels) for (const client of clients) if (client.kind === kind) count++;
    return count;
  }

  /** OpenStreams taken: every connection that is, was or will be a client. */
  get taken(): number {
    return this.#places.taken;
  }

  /** Frames not delivered because a client was too slow. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Clients that have not taken all that there is for them. */
  behind(): Set<StreamClient> {
    const behind = new Set<StreamClient>();
    for (const { isBehind, clients } of this.#channels) {
      for (const client of clients) if (isBehind || client.waitingBytes > 0) behind.add(client);
    }
    return behind;
  }

  /** Takes a place for a connection. Returns the way to give it back; safe to call twice. */
  take(): () => void {
    return this.#places.take();
  }

  /** Sends frames to `client` from the current head on. Returns the way to leave. After `stop` the client is ended. */
  join(client: StreamClient, { filter, decode = false, labels = false }: JoinOptions): () => void {
    if (this.#stopped) {
      client.end();
      return () => {};
    }
    const key = JSON.stringify([filter, decode, labels]);
    const shared = this.#shared.get(key);
    const hasRoom = shared !== undefined && shared.clients.size < CHANNEL_CLIENTS;
    const channel = hasRoom ? shared : this.#open({ filter, decode, labels }, key);
    channel.add(client);
    const leaveMemory = this.memory.join({
      get queuedBytes() {
        return client.queuedBytes;
      },
      get transportBytes() {
        return client.transportBytes;
      },
      shed: () => this.#dropped += client.shed(),
    });
    return () => {
      leaveMemory();
      this.#leave(channel, client);
    };
  }

  /** Ends every stream. */
  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#tick);
    clearTimeout(this.#drain);
    clearInterval(this.#housekeeping);
    this.#stopDevices();
    for (const channel of this.#channels) {
      this.#dropped += channel.flush();
      for (const client of channel.clients) client.end();
    }
  }

  #open({ filter, ...detail }: Required<JoinOptions>, key: string): StreamChannel {
    const { json } = this.#broker;
    const open = openFilter(filter, this.#broker);
    const subscription = this.#broker.subscribe({
      capacity: WAITING_FRAMES,
      accept: open.accept,
      wake: () => this.#wake(channel),
      lastCall: () => this.#dropped += channel.flush(),
      skipped: (frames) => {
        channel.skip(frames);
        this.#wake(channel);
      },
    });
    const isAll = Object.values(filter).every((values) => values === undefined || values.length === 0);
    const channel = new StreamChannel({
      key: open.shareable ? key : undefined,
      subscription,
      isAll,
      text: (seq) => json.wantedOf(seq, detail),
      close: () => {
        this.#broker.unsubscribe(subscription);
        open.close();
      },
    });
    this.#channels.add(channel);
    if (open.shareable) this.#shared.set(key, channel);
    return channel;
  }

  #leave(channel: StreamChannel, client: StreamClient): void {
    if (!channel.delete(client)) return;
    const { key, clients } = channel;
    if (clients.size > 0) {
      if (key !== undefined) this.#shared.set(key, channel);
      return;
    }
    channel.close();
    this.#channels.delete(channel);
    this.#ready.delete(channel);
    if (key !== undefined && this.#shared.get(key) === channel) this.#shared.delete(key);
  }

  #wake(channel: StreamChannel): void {
    this.#ready.add(channel);
    this.#deliverIn(MIN_PAUSE_MS);
  }

  #deliverIn(delayMs: number): void {
    this.#tick ??= setTimeout(() => this.#stall.run("streams", () => this.#deliverReady()), delayMs);
  }

  /** Sends to the channels that are due, the longest overdue first. */
  #deliverReady(): void {
    this.#tick = undefined;
    const startMs = this.#now();
    const isOver = () => this.#now() >= startMs + SLICE_MS;
    const intervalMs = this.#intervalMs();
    const dueMs = ({ turn }: StreamChannel) => turn.isUnfinished ? turn.startMs : turn.startMs + intervalMs;
    for (const channel of [...this.#ready].sort((a, b) => Number(dueMs(a) > dueMs(b)) - Number(dueMs(a) < dueMs(b)))) {
      if (dueMs(channel) > startMs + TIMER_LATE_MS || isOver()) break;
      this.#send(channel, isOver);
    }
    let nextMs = Infinity;
    for (const channel of this.#ready) nextMs = Math.min(nextMs, dueMs(channel));
    const waitMs = nextMs - this.#now();
    if (waitMs < Infinity) this.#deliverIn(Math.max(0, Math.min(waitMs - TIMER_LATE_MS, MIN_PAUSE_MS)));
    this.memory.keep();
    this.#drainSoon();
  }

  /** Time from one write to the next one to the same client. */
  #intervalMs(): number {
    let roundMs = 0;
    for (const { turn } of this.#ready) roundMs += turn.tookMs;
    return roundMs + Math.max(MIN_PAUSE_MS, Math.min(MAX_PAUSE_MS, roundMs));
  }

  #send(channel: StreamChannel, isOver: () => boolean): void {
    const { turn } = channel;
    const startMs = this.#now();
    this.#ready.delete(channel);
    this.#dropped += channel.send(isOver);
    const tookMs = this.#now() - startMs;
    turn.tookMs = turn.isUnfinished ? turn.tookMs + tookMs : tookMs;
    turn.startMs = startMs;
    turn.isUnfinished = channel.isBehind;
    if (turn.isUnfinished) this.#ready.add(channel);
  }

  /** Looks again at clients whose transport does not ask for more. */
  #drainSoon(delayMs: number = DRAIN_MS): void {
    if (this.#stopped || this.#drain !== undefined) return;
    const waiting: StreamClient[] = [];
    for (const { clients } of this.#channels) for (const client of clients) if (client.needsDrain) waiting.push(client);
    if (waiting.length === 0) return;
    this.#drain = setTimeout(() => {
      this.#drain = undefined;
      let takenAny = false;
      this.#stall.run("streams", () => waiting.forEach((client) => takenAny = client.drain() || takenAny));
      this.#drainSoon(takenAny ? DRAIN_MS : IDLE_DRAIN_MS);
    }, delayMs);
  }

  #device({ event, device }: RegistryEvent): void {
    if (this.#channels.size === 0) return;
    const told: DeviceEvent = { event, device: this.#broker.registry.describe(device) };
    for (const { clients } of this.#channels) for (const client of clients) client.device(told);
  }

  #runHousekeeping(): void {
    const now = this.#clock.monoMs();
    for (const { clients } of this.#channels) for (const client of clients) client.housekeeping(now);
    this.memory.look(now);
  }
}

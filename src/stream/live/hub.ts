import type { Clock, StallDetector } from "../../base/mod.ts";
import type { Broker, FrameDetail, RegistryEvent } from "../../broker/mod.ts";
import type { DeviceEvent } from "../../frame/mod.ts";
import type { Filter } from "../../filter/mod.ts";
import { openFilter } from "../filters.ts";
import { OpenStreams, type StreamCounter, StreamMemory } from "./budget.ts";
import { StreamChannel, type StreamClient } from "./channel.ts";
import { type SourceEvent, SourceWatch } from "./source_watch.ts";

/** Delay of frames so that several share one write, which costs a fraction of one write per frame. */
const MIN_PAUSE_MS = 3;
/** Upper limit of the pause, which grows with the time of a write to every client: it leaves time for other requests. */
const MAX_PAUSE_MS = 5;
/** Timers fire one to two milliseconds late: a channel that is due within this time is served at once. */
const TIMER_LATE_MS = 1.5;
/** Most clients per channel. Channels are served one after the other: smaller ones spread the writes more evenly. */
export const CHANNEL_CLIENTS = 64;
/** Interval of reporting drops and sending keep-alives. */
const HOUSEKEEPING_MS = 1000;
/** Frames that may wait for a tick: about eight seconds of a full bus. A power of two. */
export const WAITING_FRAMES = 16_384;
/** Polling interval of clients whose transport does not signal that it can send more, while they read … */
const DRAIN_MS = 1;
/** … and while they read nothing. */
const IDLE_DRAIN_MS = 32;
/** Longest time of writing before other work gets its turn. */
export const SLICE_MS = 8;

/** Options of a joining client. */
export interface JoinOptions extends FrameDetail {
  filter: Filter;
  /** Minimum time between two writes, milliseconds; frames that arrive within it are sent together. Default 0: as short as the load allows. */
  batchMs?: number;
}

/** Sends frames from the broker to all stream clients, in batches of one tick. */
export class StreamHub {
  readonly #broker: Broker;
  readonly #clock: Clock;
  readonly #stall: StallDetector;
  /** Milliseconds for the pacing of writes: must run at the speed of timers, unlike a simulated clock. */
  readonly #now: () => number;
  readonly #streams: StreamCounter;
  /** The memory budget of all streams. */
  readonly memory: StreamMemory;
  /** The quantities in the frames, and the preferred source of each. */
  readonly sources: SourceWatch;
  /** Clients of events alone. */
  readonly #watchers = new Set<StreamClient>();
  readonly #channels = new Set<StreamChannel>();
  /** The channel that the next client joins, by filter and detail. */
  readonly #shared = new Map<string, StreamChannel>();
  readonly #ready = new Set<StreamChannel>();
  readonly #housekeeping: ReturnType<typeof setInterval>;
  readonly #unlisten: () => void;
  #tick: ReturnType<typeof setTimeout> | undefined;
  #drain: ReturnType<typeof setTimeout> | undefined;
  #dropped = 0;
  #stopped = false;

  /** @param options `streams`, `memory`: default a new one each */
  constructor(
    { broker, clock, stall, streams = new OpenStreams(), memory = new StreamMemory(), now = () => performance.now() }: {
      broker: Broker;
      clock: Clock;
      stall: StallDetector;
      streams?: StreamCounter;
      memory?: StreamMemory;
      now?: () => number;
    },
  ) {
    this.memory = memory;
    this.#now = now;
    this.#streams = streams;
    this.#broker = broker;
    this.#clock = clock;
    this.#stall = stall;
    this.#unlisten = broker.registry.listen((event) => this.#device(event));
    this.sources = new SourceWatch({ broker, clock });
    this.sources.listen((event) => this.#source(event));
    this.#housekeeping = setInterval(() => this.#runHousekeeping(), HOUSEKEEPING_MS);
  }

  /** Number of clients of one transport. */
  count(kind: StreamClient["kind"]): number {
    let count = 0;
    for (const client of this.#clients()) if (client.kind === kind) count++;
    return count;
  }

  /** Number of open streams: see {@linkcode StreamCounter}. */
  get openStreams(): number {
    return this.#streams.count;
  }

  /** Frames dropped because a client was too slow. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Clients with unsent data. */
  behind(): Set<StreamClient> {
    const behind = new Set<StreamClient>();
    for (const { hasWaiting, clients } of this.#channels) {
      for (const client of clients) if (hasWaiting || client.waitingBytes > 0) behind.add(client);
    }
    return behind;
  }

  /** Counts a connection as an open stream. Returns a function that closes it; safe to call twice. */
  openStream(): () => void {
    return this.#streams.open();
  }

  /** Sends frames to `client` from the current head on. Returns a function that removes the client. After `stop` it ends at once. */
  join(client: StreamClient, { filter, decode = false, labels = false, batchMs = 0 }: JoinOptions): () => void {
    if (this.#stopped) {
      client.end();
      return () => {};
    }
    const key = JSON.stringify([filter, decode, labels, batchMs]);
    const shared = this.#shared.get(key);
    const hasCapacity = shared !== undefined && shared.clients.size < CHANNEL_CLIENTS;
    const channel = hasCapacity ? shared : this.#openChannel({ filter, decode, labels, batchMs }, key);
    channel.add(client);
    const leaveMemory = this.#takeMemory(client);
    return () => {
      leaveMemory();
      this.#leave(channel, client);
    };
  }

  /** Sends events without frames to `client`. Returns a function that removes it. After `stop` it ends at once. */
  watch(client: StreamClient): () => void {
    if (this.#stopped) {
      client.end();
      return () => {};
    }
    this.#watchers.add(client);
    const leaveMemory = this.#takeMemory(client);
    return () => {
      leaveMemory();
      this.#watchers.delete(client);
    };
  }

  /** Ends every stream. */
  stop(): void {
    this.#stopped = true;
    this.sources.stop();
    for (const client of this.#watchers) client.end();
    clearTimeout(this.#tick);
    clearTimeout(this.#drain);
    clearInterval(this.#housekeeping);
    this.#unlisten();
    for (const channel of this.#channels) {
      this.#dropped += channel.flush();
      for (const client of channel.clients) client.end();
    }
  }

  /** Lets a client take part in the memory budget. Returns a function that ends it. */
  #takeMemory(client: StreamClient): () => void {
    return this.memory.join({
      get queuedBytes() {
        return client.queuedBytes;
      },
      get transportBytes() {
        return client.transportBytes;
      },
      shed: () => this.#dropped += client.shed(),
    });
  }

  #openChannel({ filter, batchMs, ...detail }: Required<JoinOptions>, key: string): StreamChannel {
    const { json } = this.#broker;
    const liveFilter = openFilter(filter, this.#broker);
    const subscription = this.#broker.subscribe({
      capacity: WAITING_FRAMES,
      accept: liveFilter.accept,
      wake: () => this.#wake(channel),
      beforeClear: () => this.#dropped += channel.flush(),
      skipped: (frames) => {
        channel.skip(frames);
        this.#wake(channel);
      },
    });
    const isAll = Object.values(filter).every((values) => values === undefined || values.length === 0);
    const channel = new StreamChannel({
      key: liveFilter.shareable ? key : undefined,
      subscription,
      isAll,
      batchMs,
      text: (seq) => json.wantedOf(seq, detail),
      close: () => {
        this.#broker.unsubscribe(subscription);
        liveFilter.close();
      },
    });
    this.#channels.add(channel);
    if (liveFilter.shareable) this.#shared.set(key, channel);
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

  /** Serves the channels that are due, the longest overdue first. */
  #deliverReady(): void {
    this.#tick = undefined;
    const startMs = this.#now();
    const isOver = () => this.#now() >= startMs + SLICE_MS;
    const intervalMs = this.#intervalMs();
    const dueMs = ({ turn, batchMs }: StreamChannel) =>
      turn.isUnfinished ? turn.startMs : turn.startMs + Math.max(intervalMs, batchMs);
    for (const channel of [...this.#ready].sort((a, b) => Number(dueMs(a) > dueMs(b)) - Number(dueMs(a) < dueMs(b)))) {
      if (dueMs(channel) > startMs + TIMER_LATE_MS || isOver()) break;
      this.#send(channel, isOver);
    }
    let nextMs = Infinity;
    for (const channel of this.#ready) nextMs = Math.min(nextMs, dueMs(channel));
    const waitMs = nextMs - this.#now();
    if (waitMs < Infinity) this.#deliverIn(Math.max(0, Math.min(waitMs - TIMER_LATE_MS, MIN_PAUSE_MS)));
    this.memory.enforce();
    this.#drainSoon();
  }

  /** Interval between two writes to the same client. */
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
    turn.isUnfinished = channel.hasWaiting;
    if (turn.isUnfinished) this.#ready.add(channel);
  }

  /** Polls clients whose transport does not signal that it can send more. */
  #drainSoon(delayMs: number = DRAIN_MS): void {
    if (this.#stopped || this.#drain !== undefined) return;
    const waiting: StreamClient[] = [];
    for (const { clients } of this.#channels) for (const client of clients) if (client.needsDrain) waiting.push(client);
    if (waiting.length === 0) return;
    this.#drain = setTimeout(() => {
      this.#drain = undefined;
      let sentAny = false;
      this.#stall.run("streams", () => waiting.forEach((client) => sentAny = client.drain() || sentAny));
      this.#drainSoon(sentAny ? DRAIN_MS : IDLE_DRAIN_MS);
    }, delayMs);
  }

  #device({ event, device }: RegistryEvent): void {
    if (this.#channels.size === 0) return;
    const deviceEvent: DeviceEvent = { event, device: this.#broker.registry.describe(device) };
    for (const { clients } of this.#channels) for (const client of clients) client.device(deviceEvent);
  }

  #source(event: SourceEvent): void {
    for (const client of this.#clients()) client.source(event);
  }

  *#clients(): Generator<StreamClient> {
    for (const { clients } of this.#channels) yield* clients;
    yield* this.#watchers;
  }

  #runHousekeeping(): void {
    const now = this.#clock.monoMs();
    for (const client of this.#clients()) client.housekeeping(now);
    this.memory.measure(now);
  }
}

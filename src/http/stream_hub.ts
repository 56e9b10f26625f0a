import type { Clock, StallDetector } from "../base/mod.ts";
import type { Broker, FrameDetail, RegistryEvent, SkippedFrames, Subscription } from "../broker/mod.ts";
import type { DeviceEvent } from "../frame/mod.ts";
import type { Filter } from "../filter/mod.ts";
import { Batch, type StreamKind } from "./batch.ts";
import { openFilter } from "./broker_filter.ts";
import { StreamMemory } from "./stream_memory.ts";
import { Places, type StreamPlaces } from "./stream_places.ts";

/** Frames wait this long for company: one write a tick costs a tenth of one write a frame. */
const MIN_TICK_MS = 4;
/** With many clients a tick is longer, because its cost is a write for each of them: one millisecond for so many. */
const CLIENTS_PER_TICK_MS = 50;
const MAX_TICK_MS = 8;
/** How often clients are looked at for silence and for drops to tell. */
const HOUSEKEEPING_MS = 1000;
/** Frames that may wait for a tick; more than a full bus brings in eight seconds. A power of two. */
export const WAITING_FRAMES = 16_384;
/** How soon clients whose transport does not ask for more are looked at again while they take what waits for them … */
const DRAIN_MS = 1;
/** … and while they take nothing. */
const IDLE_DRAIN_MS = 32;
/** Most frames in one write. */
const BATCH_FRAMES = 512;
/** Most writes to one client in a row: a burst must not hold the event loop. */
const BATCHES_PER_TURN = 4;

/** One client's end of a stream. */
export interface StreamClient {
  readonly kind: StreamKind;
  /** Bytes that wait because the client has not taken them yet. */
  readonly waitingBytes: number;
  /** Those among them that wait in the client's own queue, and can still be dropped. */
  readonly queuedBytes: number;
  /** Memory that its transport holds, bytes, as far as known; 0 while the client reads. */
  readonly transportBytes: number;
  /** Whether something waits that nobody but `drain` sends. */
  readonly needsDrain: boolean;
  /** Sends a batch, or counts it as dropped when the client is too slow. Returns the number of frames dropped. */
  deliver(batch: Batch): number;
  /** Takes note of frames that were lost before they reached the client, or are not here. */
  lost(dropped: SkippedFrames): void;
  /** Tells of a device, when the client wants to know. */
  device(event: DeviceEvent): void;
  /** Sends what waits, as far as the client takes it. Returns whether that was anything. */
  drain(): boolean;
  /** Drops the queue and reports that to the client. Returns the number of frames dropped. */
  shed(): number;
  /** Called now and then: tells of drops, breaks long silence. */
  housekeeping(nowMs: number): void;
  /** Ends the stream because the server stops. */
  end(): void;
}

/** What a client joins with. */
export interface JoinOptions extends FrameDetail {
  filter: Filter;
}

/** Clients that want the same frames share one subscription and the bytes made of it. */
interface Channel {
  readonly key: string | undefined;
  readonly clients: Set<StreamClient>;
  readonly subscription: Subscription;
  /** Whether they want every frame. */
  readonly isAll: boolean;
  /** JSON of a frame as these clients want it; undefined when the ring has let it go. */
  readonly text: (seq: number) => string | undefined;
  readonly close: () => void;
}

/** Carries frames from the broker to all stream clients, a tick's worth at a time. */
export class StreamHub {
  readonly #broker: Broker;
  readonly #clock: Clock;
  readonly #stall: StallDetector;
  readonly #places: StreamPlaces;
  /** The budget of all streams. */
  readonly memory: StreamMemory;
  readonly #channels = new Set<Channel>();
  readonly #shared = new Map<string, Channel>();
  readonly #ready = new Set<Channel>();
  readonly #housekeeping: ReturnType<typeof setInterval>;
  readonly #stopDevices: () => void;
  #tick: ReturnType<typeof setTimeout> | undefined;
  #drain: ReturnType<typeof setTimeout> | undefined;
  #dropped = 0;
  #clients = 0;
  #stopped = false;

  /** @param options.places, options.memory default its own */
  constructor(
    { broker, clock, stall, places = new Places(), memory = new StreamMemory() }: {
      broker: Broker;
      clock: Clock;
      stall: StallDetector;
      places?: StreamPlaces;
      memory?: StreamMemory;
    },
  ) {
    this.memory = memory;
    this.#places = places;
    this.#broker = broker;
    this.#clock = clock;
    this.#stall = stall;
    this.#stopDevices = broker.registry.listen((event) => this.#device(event));
    this.#housekeeping = setInterval(() => this.#keepHouse(), HOUSEKEEPING_MS);
  }

  /** Clients by kind. */
  count(kind: StreamClient["kind"]): number {
    let count = 0;
    for (const { clients } of this.#channels) for (const client of clients) if (client.kind === kind) count++;
    return count;
  }

  /** Places taken: every connection that is, was or will be a client. */
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
    for (const { subscription, clients } of this.#channels) {
      for (const client of clients) if (subscription.waiting > 0 || client.waitingBytes > 0) behind.add(client);
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
    const channel = this.#shared.get(key) ?? this.#open({ filter, decode, labels }, key);
    this.#flush(channel);
    channel.clients.add(client);
    this.#clients++;
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
      this.#flush(channel);
      for (const client of channel.clients) client.end();
    }
  }

  #open({ filter, ...detail }: Required<JoinOptions>, key: string): Channel {
    const { json } = this.#broker;
    const open = openFilter(filter, this.#broker);
    const subscription = this.#broker.subscribe({
      capacity: WAITING_FRAMES,
      accept: open.accept,
      wake: () => this.#wake(channel),
      lastCall: () => this.#flush(channel),
      skipped: (frames) => this.#tellSkipped(channel, frames),
    });
    const isAll = Object.values(filter).every((values) => values === undefined || values.length === 0);
    const channel: Channel = {
      key: open.shareable ? key : undefined,
      clients: new Set(),
      subscription,
      isAll,
      text: (seq) => json.wantedOf(seq, detail),
      close: () => {
        this.#broker.unsubscribe(subscription);
        open.close();
      },
    };
    this.#channels.add(channel);
    if (open.shareable) this.#shared.set(key, channel);
    return channel;
  }

  #leave(channel: Channel, client: StreamClient): void {
    if (!channel.clients.delete(client)) return;
    this.#clients--;
    if (channel.clients.size > 0) return;
    channel.close();
    this.#channels.delete(channel);
    this.#ready.delete(channel);
    if (channel.key !== undefined) this.#shared.delete(channel.key);
  }

  #wake(channel: Channel): void {
    this.#ready.add(channel);
    const tickMs = Math.min(MAX_TICK_MS, MIN_TICK_MS + this.#clients / CLIENTS_PER_TICK_MS);
    this.#tick ??= setTimeout(() => this.#stall.run("streams", () => this.#deliverReady()), tickMs);
  }

  #deliverReady(): void {
    this.#tick = undefined;
    const ready = [...this.#ready];
    this.#ready.clear();
    for (const channel of ready) {
      // What was dropped has to be told before later frames, so then all that came before goes first.
      this.#flush(channel, channel.subscription.hasDropped ? Infinity : BATCHES_PER_TURN);
      if (channel.subscription.waiting > 0) this.#wake(channel);
    }
    this.memory.keep();
    this.#drainSoon();
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

  /** Delivers what waits in a channel, or as much of it as `batches` hold. */
  #flush(channel: Channel, batches: number = Infinity): void {
    const { subscription, clients, text: textOf } = channel;
    for (let turn = 0; turn < batches && subscription.waiting > 0; turn++) {
      const seqs: number[] = [];
      const texts: string[] = [];
      subscription.drain((seq) => {
        const text = textOf(seq);
        if (text === undefined) return subscription.drop(seq);
        seqs.push(seq);
        texts.push(text);
      }, BATCH_FRAMES);
      if (seqs.length === 0) continue;
      const batch = new Batch(seqs, texts);
      for (const client of clients) this.#dropped += client.deliver(batch);
    }
    const dropped = subscription.waiting === 0 ? subscription.takeDropped() : undefined;
    if (dropped) { for (const client of clients) client.lost(dropped); }
  }

  /** How many of the frames a filter wants is not known before they are here. */
  #tellSkipped(channel: Channel, frames: SkippedFrames): void {
    this.#flush(channel);
    const told = channel.isAll ? frames : { ...frames, count: null };
    for (const client of channel.clients) client.lost(told);
  }

  #device({ event, device }: RegistryEvent): void {
    if (this.#channels.size === 0) return;
    const told: DeviceEvent = { event, device: this.#broker.registry.describe(device) };
    for (const { clients } of this.#channels) for (const client of clients) client.device(told);
  }

  #keepHouse(): void {
    const now = this.#clock.monoMs();
    for (const { clients } of this.#channels) for (const client of clients) client.housekeeping(now);
    this.memory.look(now);
  }
}

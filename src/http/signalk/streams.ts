import type { Clock, Logger } from "../../base/mod.ts";
import { DeltaWriter, type SignalKModel, type StaleValue, type Subscriptions, type Update } from "../../signalk/mod.ts";
import type { DeltaSocket } from "./socket.ts";

/** Clients with the same subscriptions, which get the same text. */
interface Channel {
  readonly key: string;
  readonly writer: DeltaWriter;
  readonly members: Set<DeltaSocket>;
}

/** Totals since the start. */
export interface SignalKCounters {
  /** Values handed to clients. */
  sent: number;
  /** Values that slow clients did not get. They got the newest ones when they read again. */
  dropped: number;
}

/** Sends deltas to all clients. Never waits for one: see {@linkcode DeltaSocket}. */
export class DeltaStreams {
  readonly counters: SignalKCounters = { sent: 0, dropped: 0 };
  readonly #channels = new Map<string, Channel>();
  readonly #channelOf = new Map<DeltaSocket, Channel>();
  readonly #model: SignalKModel;
  readonly #clock: Clock;
  readonly #log: Logger;

  constructor({ model, clock, log }: { model: SignalKModel; clock: Clock; log: Logger }) {
    this.#model = model;
    this.#clock = clock;
    this.#log = log;
  }

  /** Connected clients. */
  get clients(): number {
    return this.#channelOf.size;
  }

  /** Clients that do not read as fast as values come. */
  get slowClients(): number {
    return [...this.#channelOf.keys()].filter(({ isBehind }) => isBehind).length;
  }

  /** Takes new values. */
  add(update: Update): void {
    const nowMs = this.#clock.monoMs();
    for (const { writer } of this.#channels.values()) writer.add(update, nowMs);
  }

  /** Takes values that have become stale. */
  addStale(values: readonly StaleValue[]): void {
    for (const { writer } of this.#channels.values()) for (const value of values) writer.addStale(value);
  }

  /** Sends what is due. Call it some times a second. */
  send(): void {
    const nowMs = this.#clock.monoMs();
    for (const { writer, members } of this.#channels.values()) {
      const { texts, values } = writer.take(nowMs);
      if (texts.length > 0) {
        for (const client of members) this.#sendTo(client, { texts, values });
      }
      for (const client of members) this.#attend(client, { writer, nowMs });
    }
  }

  /**
   * Changes what a client gets.
   *
   * @param options.cached send the newest values now
   */
  subscribe(client: DeltaSocket, subscriptions: Subscriptions, { cached }: { cached: boolean }): void {
    // What others of its old channel get now is what it gets, too.
    this.send();
    this.leave(client);
    const key = JSON.stringify(subscriptions);
    const channel = this.#channels.get(key) ??
      { key, writer: new DeltaWriter(this.#model, subscriptions), members: new Set<DeltaSocket>() };
    this.#channels.set(key, channel);
    channel.members.add(client);
    this.#channelOf.set(client, channel);
    // A client for which too much waits gets them when it has read.
    if (!client.offer([])) return;
    if (cached) this.#sendNewest(client, channel.writer);
    else if (subscriptions.metadata) { for (const text of channel.writer.metadata()) client.send(text); }
  }

  /** Removes a client. */
  leave(client: DeltaSocket): void {
    const channel = this.#channelOf.get(client);
    if (!channel) return;
    this.#channelOf.delete(client);
    channel.members.delete(client);
    if (channel.members.size === 0) this.#channels.delete(channel.key);
  }

  /** Disconnects all clients. */
  stop(): void {
    for (const client of this.#channelOf.keys()) client.end();
  }

  #sendTo(client: DeltaSocket, { texts, values }: { texts: readonly string[]; values: number }): void {
    const wasBehind = client.isBehind;
    if (client.offer(texts)) this.counters.sent += values;
    else this.counters.dropped += client.drop(values);
    if (client.isBehind && !wasBehind) this.#log.warn("Signal K client too slow", { client: client.address });
  }

  /** A client that reads again gets the newest values instead of those that it missed. */
  #attend(client: DeltaSocket, { writer, nowMs }: { writer: DeltaWriter; nowMs: number }): void {
    if (!client.isBehind) return;
    if (client.hasCaughtUp) {
      const dropped = client.recover();
      this.#log.info("Signal K client keeps up again", { client: client.address, dropped });
      this.#sendNewest(client, writer);
    } else if (client.isStalled(nowMs)) {
      this.#log.warn("Signal K client disconnected: it reads nothing", { client: client.address });
      // The connection may remain open until the client notices.
      this.leave(client);
      client.refuse("deltas are not read");
    }
  }

  #sendNewest(client: DeltaSocket, writer: DeltaWriter): void {
    for (const text of writer.snapshot(this.#clock.monoMs())) client.send(text);
  }
}

import { type Clock, type Logger, TokenBucket } from "../../base/mod.ts";
import type { Broker } from "../../broker/mod.ts";
import { fullTree, type Json, type Subscriptions, subTree } from "../../signalk/mod.ts";
import type { StreamHub } from "../../stream/mod.ts";
import type { Caller } from "../auth.ts";
import { slices } from "../reply.ts";
import { SignalKFeed, type Vessel } from "./feed.ts";
import { changedSubscriptions, type ClientMessage, MAX_SUBSCRIPTIONS, readMessage } from "./messages.ts";
import { type DeltaSocket, openDeltaSocket } from "./socket.ts";
import { DeltaStreams, type SignalKCounters } from "./streams.ts";

/** Version of Signal K whose data model, API and stream this is. */
export const SPECIFICATION_VERSION = "1.8.2";
/** Interval at which new values are read and sent while somebody listens. */
const SEND_MS = 50;
/** The same while nobody does. */
const IDLE_MS = 1000;
/**
 * Work of changed subscriptions that a client may cause at once, and a second. Each change compares all its patterns with all
 * paths and sends all newest values: it counts as the number of its patterns, at least 8.
 */
export const [CHANGE_BURST, CHANGES_PER_SECOND] = [512, 32];
const MIN_CHANGE = 8;
/** Health tells of refused values for this time. */
const FULL_MS = 60_000;
/** Rounds of sending between two looks for stale values. */
const ROUNDS_PER_LOOK = 5;

/** Dependencies of a {@linkcode SignalKServer}. */
export interface SignalKOptions {
  broker: Broker;
  hub: StreamHub;
  vessel: Vessel;
  /** Name of the server in its greeting. */
  name: string;
  clock: Clock;
  log: Logger;
}

/** What a client asks for when it opens a stream. */
export interface StreamQuery {
  subscriptions: Subscriptions;
  /** Send the newest values of what is subscribed to at once. */
  cached: boolean;
  /** Maximum bytes that wait for a slow client. */
  bufferBytes: number;
  caller: Caller;
}

/** Newest values as a tree. */
export interface SignalKTree {
  /** What is below a path; undefined: nothing. */
  read(path: readonly string[]): Json | undefined;
  /** The whole tree. */
  readAll(): ReadableStream<Uint8Array>;
}

function treeOf(feed: SignalKFeed): SignalKTree {
  const options = { version: SPECIFICATION_VERSION, sources: () => feed.sources() };
  feed.read();
  return {
    read: (path) => subTree(feed.model, path, options),
    readAll: () => slices(fullTree(feed.model, options)),
  };
}

/** Signal K of one boat: the tree of newest values, and streams of deltas. */
export class SignalKServer implements SignalKTree {
  readonly #options: SignalKOptions;
  readonly #feed: SignalKFeed;
  readonly #streams: DeltaStreams;
  readonly #clients = new Map<DeltaSocket, { subscriptions: Subscriptions; changes: TokenBucket }>();
  #isStopped = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #round = 0;

  constructor(options: SignalKOptions) {
    const { broker, hub, vessel, clock, log } = options;
    this.#options = options;
    this.#feed = new SignalKFeed({
      ...{ broker, vessel, clock, sources: hub.sources },
      updated: (update) => this.#streams?.add(update),
      stale: (entries) => this.#streams.addStale(entries),
    });
    this.#streams = new DeltaStreams({ model: this.#feed.model, clock, log });
    this.#schedule();
  }

  /** Totals since the start. */
  get counters(): Readonly<SignalKCounters> {
    return this.#streams.counters;
  }

  /** Connected clients, and how many of them are slow. */
  get clients(): { all: number; slow: number } {
    return { all: this.#streams.clients, slow: this.#streams.slowClients };
  }

  /** Values not kept because there were too many. */
  get refusedValues(): number {
    return this.#feed.model.refused;
  }

  /** Whether values were refused within the last minute. */
  get isFull(): boolean {
    return this.#options.clock.monoMs() - this.#feed.model.refusedMs < FULL_MS;
  }

  /** What is below a path; undefined: nothing. */
  read(path: readonly string[]): Json | undefined {
    return treeOf(this.#feed).read(path);
  }

  /** Paths of the own vessel with a value since the start. */
  paths(): string[] {
    this.#feed.read();
    return [...this.#feed.model.self.paths.keys()].filter((path) => path !== "").sort();
  }

  /** The whole tree. */
  readAll(): ReadableStream<Uint8Array> {
    return treeOf(this.#feed).readAll();
  }

  /** The tree of the newest values of another broker at a time, microseconds since 1970. */
  at(broker: Broker, timeUs: number): SignalKTree {
    const { vessel, hub: { sources } } = this.#options;
    const clock = { wallUs: () => timeUs, monoMs: () => timeUs / 1000 };
    const feed = new SignalKFeed({ broker, vessel, clock, sources, updated: () => {}, stale: () => {} });
    feed.stop();
    return treeOf(feed);
  }

  /** Opens a stream of deltas. */
  open(request: Request, { subscriptions, cached, bufferBytes, caller }: StreamQuery): Response {
    const { hub, clock, name } = this.#options;
    const release = hub.openStream();
    const open = (options: Parameters<typeof openDeltaSocket>[1]) => {
      try {
        return openDeltaSocket(request, options);
      } catch (error) {
        release();
        throw error;
      }
    };
    return open({
      ...{ address: caller.address, bufferBytes, memory: hub.memory, clock },
      opened: (client) => {
        if (this.#isStopped) return client.end();
        const changes = new TokenBucket({ burst: CHANGE_BURST, perSecond: CHANGES_PER_SECOND });
        this.#clients.set(client, { subscriptions, changes });
        const { id } = this.#feed.model.self;
        const timestamp = new Date(clock.wallUs() / 1000).toISOString();
        const version = SPECIFICATION_VERSION;
        client.send(JSON.stringify({ name, version, self: id, roles: ["master", "main"], timestamp }));
        this.#subscribe(client, { subscriptions, cached });
        this.#schedule();
      },
      received: (client, text) => this.#receive(client, { text, cached }),
      closed: (client) => {
        this.#clients.delete(client);
        this.#streams.leave(client);
        release();
      },
    });
  }

  /** Disconnects all clients. */
  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    this.#streams.stop();
    this.#feed.stop();
  }

  #schedule(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#round++;
      const isLook = this.#round % ROUNDS_PER_LOOK === 0 || this.#streams.clients === 0;
      if (isLook) this.#feed.read();
      else this.#feed.drain();
      this.#streams.send();
      this.#schedule();
    }, this.#streams.clients > 0 ? SEND_MS : IDLE_MS);
  }

  #subscribe(client: DeltaSocket, { subscriptions, cached }: { subscriptions: Subscriptions; cached: boolean }): void {
    this.#feed.read();
    this.#streams.subscribe(client, subscriptions, { cached });
  }

  #receive(client: DeltaSocket, { text, cached }: { text: string; cached: boolean }): void {
    if (client.isFull) return client.refuse("replies are not read");
    const message = readMessage(text);
    if (!message) return reply(client, { statusCode: 400, message: "not a message of Signal K" });
    if (message.subscribe || message.unsubscribe) this.#change(client, { message, cached });
    const { requestId } = message;
    if (message.put !== undefined || message.delete !== undefined) {
      reply(client, { requestId, statusCode: 405, message: PUT_REFUSAL });
    } else if (message.login) {
      reply(client, { requestId, statusCode: 501, message: "log in over HTTP, at /signalk/v1/auth/login" });
    }
  }

  #change(client: DeltaSocket, { message, cached }: { message: ClientMessage; cached: boolean }): void {
    const known = this.#clients.get(client);
    if (!known) return;
    const subscriptions = changedSubscriptions(known.subscriptions, message);
    const work = Math.max(MIN_CHANGE, subscriptions.rows.length);
    if (!known.changes.take(this.#options.clock.monoMs(), work)) {
      return client.refuse("too many changes of subscriptions");
    }
    if (subscriptions.rows.length > MAX_SUBSCRIPTIONS) {
      return client.refuse(`more than ${MAX_SUBSCRIPTIONS} subscriptions`);
    }
    known.subscriptions = subscriptions;
    this.#subscribe(client, { subscriptions, cached: cached && message.subscribe !== undefined });
  }
}

/** Why a PUT is refused. */
export const PUT_REFUSAL = "PUT is not supported: nothing here can be changed through Signal K";

function reply(
  client: DeltaSocket,
  { requestId, statusCode, message }: { requestId?: string | undefined; statusCode: number; message: string },
): void {
  client.send(
    JSON.stringify({ ...(requestId !== undefined && { requestId }), state: "COMPLETED", statusCode, message }),
  );
}

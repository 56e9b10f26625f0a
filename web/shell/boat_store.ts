import { type Signal, signal } from "@preact/signals";
import type {
  Client,
  CloudClient,
  PastClient,
  PgnDetails,
  StreamEvent,
  SubscribeOptions,
} from "@vessel/gateway/client";
import { type Access, access, type Server } from "./server.ts";
import { ServerClock } from "./server_clock.ts";

/** Interval at which frames arrive, milliseconds: a piece for each frame costs a browser more than what is in it. */
const BATCH_MS = 100;

/** The frames that a view wants. */
type Wanted = NonNullable<Parameters<Client["subscribe"]>[0]>;

/** State of the live stream. */
export type Live =
  | { type: "off" }
  | { type: "connecting" }
  | { type: "live" }
  | { type: "lost"; message: string };

/** A boat: the server's own one, or one of a cloud. */
export class BoatStore {
  /** Its id in the cloud; undefined: the server is the boat's own. */
  readonly id: string | undefined;
  readonly client: Client;
  readonly cloud: CloudClient | undefined;
  readonly clock: ServerClock;
  /** The server has a recording; else requests for the past would be answered with errors. */
  readonly isRecorded: boolean;
  readonly live: Signal<Live> = signal<Live>({ type: "off" });
  readonly #descriptions = new Map<number, Promise<PgnDetails | undefined>>();
  #stopLive: AbortController | undefined;

  constructor({ client, cloud, clock, info }: Server, id: string | undefined) {
    this.id = id;
    this.isRecorded = cloud !== undefined || "history" in info.links;
    this.cloud = cloud;
    this.client = cloud && id !== undefined ? cloud.boat(id) : client;
    this.clock = new ServerClock(clock);
  }

  /**
   * Passes live events to a view until the returned function is called. The page has one stream: another call ends the one
   * before. Drops and missed frames are events, too: a view shows them.
   */
  listen(wanted: Wanted, options: Omit<SubscribeOptions, "signal">, on: (event: StreamEvent) => void): () => void {
    this.#stopLive?.abort();
    const stop = this.#stopLive = new AbortController();
    this.live.value = { type: "connecting" };
    void this.#read(wanted, { ...options, batchMs: BATCH_MS, signal: stop.signal }, on);
    return () => {
      stop.abort();
      if (this.#stopLive !== stop) return;
      this.#stopLive = undefined;
      this.live.value = { type: "off" };
    };
  }

  /** The devices and values at a time, RFC 3339; undefined: now. */
  tables(at: string | undefined): Client | PastClient {
    return at === undefined ? this.client : this.client.at(at);
  }

  /** A time in milliseconds since 1970; of undefined: now, by the boat's clock. */
  msAt(at: string | undefined): number {
    return at === undefined ? this.clock.nowMs : Date.parse(at);
  }

  /** Description of a PGN, asked for once; undefined: the server cannot decode it. */
  describe(pgn: number): Promise<PgnDetails | undefined> {
    const known = this.#descriptions.get(pgn);
    if (known) return known;
    const asked = this.client.pgn(pgn).catch(() => undefined);
    this.#descriptions.set(pgn, asked);
    return asked;
  }

  async #read(
    wanted: Wanted,
    options: SubscribeOptions & { signal: AbortSignal },
    on: (event: StreamEvent) => void,
  ): Promise<void> {
    const { signal } = options;
    try {
      for await (const event of this.client.subscribe(wanted, options).events()) {
        if (signal.aborted) return;
        if (event.type === "connected") this.live.value = { type: "live" };
        else if (event.type === "disconnected") this.live.value = { type: "lost", message: event.error.message };
        else if (event.type === "frame") this.clock.received(Date.parse(event.frame.ts));
        on(event);
      }
    } catch (error) {
      if (!signal.aborted) {
        this.live.value = { type: "lost", message: error instanceof Error ? error.message : `${error}` };
      }
    }
  }
}

const stores = new Map<string | undefined, BoatStore>();
let server: Server | undefined;

/** The boat that a place names; the same object as long as the server is the same. */
export function boatOf(state: Extract<Access, { type: "ready" }>, id: string | undefined): BoatStore {
  if (server !== state.server) stores.clear();
  server = state.server;
  const store = stores.get(id) ?? new BoatStore(state.server, id);
  stores.set(id, store);
  return store;
}

/** The server, for views outside of a boat. @throws {Error} the page has no access */
export function openedServer(): Server {
  if (access.value.type !== "ready") throw new Error("the page has no access to the server");
  return access.value.server;
}

/** What every view of a boat gets. */
export interface ViewProps {
  boat: BoatStore;
  /** What the view shows, from the URL: such as a device. */
  rest: string | undefined;
  /** The time that it shows, RFC 3339; undefined: now. */
  at: string | undefined;
}

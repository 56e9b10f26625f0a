import { BackgroundTurns, type Clock, errorText, type Logger, type StallDetector } from "../../base/mod.ts";
import type { Instance, Replica, SidecarCache } from "../../cloud/mod.ts";
import { HistoryTurns } from "../history/turns.ts";
import type { ReadApi } from "../read_routes.ts";
import { overloaded } from "../reply.ts";
import { Past } from "../../past/mod.ts";
import { SeriesRollup } from "../../series/mod.ts";
import type { SeriesLimits } from "../series/series.ts";
import {
  OpenStreams,
  type SessionFigures,
  type StreamClient,
  type StreamCounter,
  StreamMemory,
} from "../../stream/mod.ts";
import { SignalK } from "../signalk/signalk.ts";
import { vesselOf } from "../signalk/vessel.ts";
import type { SessionApi } from "../sessions/routes.ts";

/** Dependencies of the endpoints of one boat. */
export type ReplicaApi = ReadApi & SessionApi;

/** Options of {@linkcode ReplicaReaders}. */
export interface ReaderOptions {
  clock: Clock;
  stall: StallDetector;
  log: Logger;
  /** Limits that may change while running; `maxStreams` is for all instances together. */
  limits: () => SeriesLimits & {
    maxStreams: number;
    streamBufferBytes: number;
    maxHistory?: number;
    maxHistoryRequests?: number;
  };
  /** PGNs whose series are kept in sidecars of a boat's journal once a client has asked for series; default none. */
  seriesPgns?: readonly number[];
  /** Sidecars of objects; default none. */
  sidecars?: SidecarCache | undefined;
  /** Memory budget of the streams of all instances; default a new one. */
  memory?: StreamMemory;
}

/** Stream hubs and limits of the replicas that clients read. All instances share the limits. */
export class ReplicaReaders {
  readonly #options: ReaderOptions;
  readonly #streams = new OpenStreams();
  /** Memory budget of all streams. */
  readonly memory: StreamMemory;
  /** Shared by all instances. */
  readonly #histories: HistoryTurns;
  /** By boat: the sidecars of its journal, or those of a stopped replica until they have ended. */
  readonly #rollups = new Map<string, { rollup: SeriesRollup; ended: Promise<void> | undefined }>();
  readonly #background = new BackgroundTurns();
  readonly #apis = new Map<Replica, ReplicaApi>();
  #droppedBefore = 0;
  /** Sums of the replicas that have stopped. */
  readonly #sessionsBefore: SessionFigures = { replaced: 0, refused: { owner: 0, total: 0 } };

  constructor(options: ReaderOptions) {
    this.#options = options;
    this.memory = options.memory ?? new StreamMemory();
    this.#histories = new HistoryTurns(() => options.limits().maxHistoryRequests);
  }

  /** Open live streams of a kind, of all instances. */
  count(kind: StreamClient["kind"]): number {
    return this.#sum(({ hub }) => hub.count(kind));
  }

  /** Sessions with a connected client. */
  get streamingSessions(): number {
    return this.#sum(({ sessions }) => sessions.streaming);
  }

  /** Replaced and refused sessions since the start. */
  get sessionFigures(): SessionFigures {
    const { replaced, refused: { owner, total } } = this.#sessionsBefore;
    return {
      replaced: replaced + this.#sum(({ sessions }) => sessions.figures.replaced),
      refused: {
        owner: owner + this.#sum(({ sessions }) => sessions.figures.refused.owner),
        total: total + this.#sum(({ sessions }) => sessions.figures.refused.total),
      },
    };
  }

  /** Frames not delivered to slow clients since the start. */
  get dropped(): { client_slow: number } {
    return { client_slow: this.#droppedBefore + this.#sum(({ hub }) => hub.dropped) };
  }

  /**
   * Answers from the replica of an instance. Starts the replica if necessary and keeps it running until the reply is
   * sent.
   *
   * @throws {ApiError} 503: the replica cannot be started
   */
  async read(instance: Instance, answer: (api: ReplicaApi) => Response | Promise<Response>): Promise<Response> {
    const replica = await this.#start(instance);
    const release = replica.hold();
    try {
      return releaseWhenSent(await answer(this.#apiOf(replica, instance)), release);
    } catch (error) {
      release();
      throw error;
    }
  }

  async #start(instance: Instance): Promise<Replica> {
    try {
      for (;;) {
        const replica = await instance.replica();
        // A handshake may have replaced it meanwhile.
        if (instance.runningReplica === replica) return replica;
      }
    } catch (error) {
      const reason = errorText(error);
      this.#options.log.warn("replica cannot be started", { instance: instance.id, error: reason });
      throw overloaded(`The frames of "${instance.id}" cannot be read now: ${reason}`);
    }
  }

  /** The sidecars of a boat's journal, built from the first request on: most boats are never asked for series. */
  #rollupOf({ index, broker: { buses, decoder } }: Replica, id: string): SeriesRollup | undefined {
    const { seriesPgns: pgns = [], sidecars: outside, log } = this.#options;
    if (pgns.length === 0) return undefined;
    const known = this.#rollups.get(id);
    if (known && known.ended === undefined) return known.rollup;
    const [after, turns] = [known?.ended, this.#background];
    const rollup = new SeriesRollup({ index, outside, pgns, buses, decoder, log, after, turns });
    this.#rollups.set(id, { rollup, ended: undefined });
    return rollup;
  }

  #endRollup(id: string): void {
    const known = this.#rollups.get(id);
    if (known === undefined || known.ended) return;
    known.ended = known.rollup.stop().finally(() => {
      if (this.#rollups.get(id) === known) this.#rollups.delete(id);
    });
  }

  /** Ends what is still being written. */
  async stop(): Promise<void> {
    for (const id of [...this.#rollups.keys()]) this.#endRollup(id);
    await Promise.all(this.#rollups.values().map(({ ended }) => ended));
  }

  #apiOf(replica: Replica, instance: Instance): ReplicaApi {
    const { id } = instance;
    const known = this.#apis.get(replica);
    if (known) return known;
    const { clock, stall, limits, log } = this.#options;
    const [memory, histories] = [this.memory, this.#histories];
    const { feed, broker, sessions, index } = replica;
    const hub = feed.openHub({ stall, streams: this.#streamsOf(replica), memory });
    const journal = { index };
    const limited = { limits, histories, maxLimit: () => limits().maxHistory, seriesLimits: limits };
    const rollup = () => this.#rollupOf(replica, id);
    let begun: Past | undefined;
    const past = () => begun ??= pastOf(replica, { turns: this.#background, log });
    const signalk = new SignalK({ broker, hub, clock, log, name: id, vessel: vesselOf({ name: id }, id) });
    const saveSessions = () => instance.storeSessions();
    const api = { broker, sessions, saveSessions, journal, rollup, past, hub, clock, signalk, ...limited };
    this.#apis.set(replica, api);
    replica.onStop(() => {
      signalk.stop();
      hub.stop();
      this.#apis.delete(replica);
      this.#endRollup(id);
      void begun?.stop();
      const { replaced, refused: { owner, total } } = sessions.figures;
      this.#sessionsBefore.replaced += replaced;
      this.#sessionsBefore.refused.owner += owner;
      this.#sessionsBefore.refused.total += total;
      this.#droppedBefore += hub.dropped;
    });
    return api;
  }

  /** Counts open streams; every open stream keeps the replica running. */
  #streamsOf(replica: Replica): StreamCounter {
    const streams = this.#streams;
    return {
      get count() {
        return streams.count;
      },
      open() {
        const giveBack = streams.open();
        const release = replica.hold();
        return () => {
          giveBack();
          release();
        };
      },
    };
  }

  #sum(read: (api: ReplicaApi) => number): number {
    let sum = 0;
    for (const api of this.#apis.values()) sum += read(api);
    return sum;
  }
}

/** What was shown at any time of a boat's journal; begun by the first request: most boats are never asked for it. */
function pastOf(
  { index, broker: { buses, decoder }, tableSettings }: Replica,
  { turns, log }: { turns: BackgroundTurns; log: Logger },
): Past {
  const { maxValues, deviceIdleTimeoutMs } = tableSettings;
  return new Past({
    ...{ index, buses, decoder, maxValues, turns, log },
    deviceIdleTimeoutMs: () => deviceIdleTimeoutMs,
    forgets: "epoch",
  });
}

/** Calls `release` when the reply has been sent or cancelled. A stream has its own hold. */
function releaseWhenSent(response: Response, release: () => void): Response {
  const isStream = response.headers.get("Content-Type")?.startsWith("text/event-stream") ?? false;
  if (!response.body || response.status === 101 || isStream) {
    release();
    return response;
  }
  const reader = response.body.getReader();
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { value, done } = await reader.read();
        if (!done) return controller.enqueue(value);
        controller.close();
        release();
      } catch (error) {
        release();
        throw error;
      }
    },
    cancel(reason) {
      release();
      return reader.cancel(reason);
    },
  }, { highWaterMark: 0 });
  return new Response(body, response);
}

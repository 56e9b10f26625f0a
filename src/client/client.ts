import { type Api, pathPart } from "./api.ts";
import { isoDuration } from "./duration.ts";
import { readHistory } from "./history_pages.ts";
import { type StreamSettings, Subscription } from "./live_stream.ts";
import { decodedValuesOf, deviceOf, healthOf, replicationOf } from "./other_forms.ts";
import { Session } from "./session.ts";
import { SessionCalls, type SessionOptions } from "./session_calls.ts";
import type { Filter } from "../filter/mod.ts";
import type { BoatReplication } from "./types_cloud.ts";
import type { KnownPgn, PgnDetails } from "./types_pgn.ts";
import type {
  BoatHealth,
  ClientFrame,
  DecodedLastValue,
  DeviceQuery,
  HistoryQuery,
  LabelledDevice,
  LastValues,
  MessageToSend,
} from "./types.ts";

/** How a call is made. */
export interface CallOptions {
  /** Ends it with its reason. */
  signal?: AbortSignal;
}

/** How a call is made whose answer has codes. */
export interface LabelOptions extends CallOptions {
  /** Adds `labels`: what the codes mean. A server that does not know them refuses it. */
  labels?: boolean;
}

/** How live frames are read. */
export interface SubscribeOptions extends CallOptions {
  /** Adds `decoded` to each frame. */
  decode?: boolean;
  /** Adds `decoded` and `labels`: what codes mean. A server that does not know them refuses it. */
  labels?: boolean;
  /** Tells of changes of the device table, too: see {@linkcode Subscription.events}. */
  devices?: boolean;
}

/** Milliseconds that a query may take when nothing else is said. */
const QUERY_MS = 2000;
const ACK_INTERVAL_MS = 5000;

/** Where the parts of a server are, and how its streams are read. */
export interface ClientParts {
  /** The boat's paths. */
  api: Api;
  /** The server's own: the same, or of a cloud the root. */
  root: Api;
  streams: StreamSettings;
}

/**
 * A boat, on its own server or in a cloud. A call that the server refuses throws an ApiError; one that does not reach it
 * throws a ConnectionError.
 */
export class Client {
  readonly #api: Api;
  readonly #root: Api;
  readonly #streams: StreamSettings;

  /** @ignore */
  constructor({ api, root, streams }: ClientParts) {
    this.#api = api;
    this.#root = root;
    this.#streams = streams;
  }

  /** Every device heard on the buses. */
  async devices({ signal, labels }: LabelOptions = {}): Promise<LabelledDevice[]> {
    const query = { ...(labels && { labels }) };
    return (await this.#api.json<LabelledDevice[]>("/devices", { query, signal })).map(deviceOf);
  }

  /** The newest frame of every (device, PGN) pair that the filter lets through. */
  async values(filter: Filter = {}, { signal }: CallOptions = {}): Promise<LastValues[]> {
    return await this.#api.json<LastValues[]>("/values", { query: { ...filter }, signal });
  }

  /** The same with names and fields. */
  async decodedValues(
    filter: Filter = {},
    { signal, labels }: LabelOptions = {},
  ): Promise<LastValues<DecodedLastValue>[]> {
    const query = { ...filter, ...(labels && { labels }) };
    return decodedValuesOf(await this.#api.json<LastValues<DecodedLastValue>[]>("/values/decoded", { query, signal }));
  }

  /**
   * Recorded frames, oldest first, read while they come: any number of them takes little memory. Without a limit it
   * reads page after page until the last one.
   *
   * @throws {ApiError} 503: nothing is recorded there, or the server has too many such requests; 400: the query cannot be
   * used
   * @throws {ConnectionError} the connection was lost before the last frame, or there is no limit and the server does not
   * say whether more frames follow
   */
  async *history(
    { from, to, ...query }: HistoryQuery,
    { signal }: CallOptions = {},
  ): AsyncGenerator<ClientFrame, void, undefined> {
    const times = { from: timeText(from), ...(to !== undefined && { to: timeText(to) }) };
    const isOnePage = query.limit !== undefined;
    yield* readHistory(this.#api, { query: { ...times, ...query }, isOnePage, signal });
  }

  /** Every PGN that the server can decode. */
  async pgns({ signal }: CallOptions = {}): Promise<KnownPgn[]> {
    return await this.#root.json<KnownPgn[]>("/pgns", { signal });
  }

  /** All that is known about a PGN. @throws {ApiError} 404: nothing is */
  async pgn(pgn: number, { signal }: CallOptions = {}): Promise<PgnDetails> {
    return await this.#root.json<PgnDetails>(`/pgns/${pathPart(pgn)}`, { signal });
  }

  /** How the boat server does. @throws {ApiError} 404: a cloud does not know that of its boats */
  async health({ signal }: CallOptions = {}): Promise<BoatHealth> {
    return healthOf(await this.#api.json<BoatHealth>("/healthz", { signal, alsoGood: 503 }));
  }

  /** How the boat's replication does. @throws {ApiError} 404: nothing is replicated; a cloud has `status()` instead */
  async replicationStatus({ signal }: CallOptions = {}): Promise<BoatReplication> {
    return replicationOf(await this.#api.json<BoatReplication>("/replication/status", { signal }));
  }

  /**
   * Live frames, from when the reading begins; after a lost connection reading goes on by itself.
   *
   * @example
   * ```ts ignore
   * for await (const frame of client.subscribe({ pgn: [127250] }, { decode: true })) console.log(frame.decoded);
   * ```
   */
  subscribe(filter: Filter = {}, { decode, labels, devices, signal }: SubscribeOptions = {}): Subscription {
    return new Subscription(this.#api, { ...this.#streams, signal, query: { ...filter, decode, labels, devices } });
  }

  /**
   * A session: frames from where this client was the last time, none left out. Nothing is asked of the server before it
   * is read.
   *
   * @param id 1 to 64 letters, digits, hyphens or underscores
   */
  session(id: string, options: SessionOptions = {}): Session {
    const defaults = { ack: "taken", ackIntervalMs: ACK_INTERVAL_MS, fallenBehind: "throw" } as const;
    const settings = { ...defaults, ...this.#streams, ...options, signal: options.signal };
    return new Session(id, { calls: new SessionCalls(this.#api, id), settings });
  }

  /**
   * Queues a message, or all of several or none, for the bus.
   *
   * @throws {ApiError} 400: what cannot be sent; 403: not allowed; 429: too many; 503: no room or no address yet
   */
  async send(messages: MessageToSend | readonly MessageToSend[], { signal }: CallOptions = {}): Promise<void> {
    await this.#api.done("/send", { method: "POST", body: messages, signal });
  }

  /**
   * Asks devices for a PGN; gives the first frame that comes.
   *
   * @throws {ApiError} 502: refused by the device; 504: nobody answered; and as for {@linkcode Client.send}
   */
  async query({ timeoutMs, ...query }: DeviceQuery, { signal }: CallOptions = {}): Promise<ClientFrame> {
    const body = { ...query, ...(timeoutMs !== undefined && { timeout: isoDuration(timeoutMs) }) };
    const patienceMs = this.#streams.timeoutMs + (timeoutMs ?? QUERY_MS);
    return await this.#api.json<ClientFrame>("/query", { method: "POST", body, signal, timeoutMs: patienceMs });
  }
}

function timeText(time: string | Date): string {
  return typeof time === "string" ? time : time.toISOString();
}

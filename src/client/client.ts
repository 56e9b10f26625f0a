import { type Api, isoDuration, pathPart } from "./api.ts";
import { type JournalClock, readHistory, readJournalFiles } from "./history_pages.ts";
import { type StreamSettings, Subscription } from "./live_stream.ts";
import { decodedValuesOf, deviceOf, healthOf, replicationOf } from "./other_forms.ts";
import { parseMetrics } from "./metrics.ts";
import { PastClient } from "./past.ts";
import { Session } from "./session.ts";
import { SessionCalls, type SessionOptions } from "./session_calls.ts";
import type { Filter } from "../filter/mod.ts";
import { readBytes } from "./body.ts";
import type { BlackBoxEntry, Marked } from "./types_black_box.ts";
import type { BoatReplication } from "./types_cloud.ts";
import type { FieldSpan, KnownPgn, PgnDetails } from "./types_pgn.ts";
import type { BoatLedger, LedgerQuery } from "./types_ledger.ts";
import type { SeriesQuery, SeriesReply } from "./types_series.ts";
import type { SourceHistoryQuery, SourceHistoryReply } from "./types_source_history.ts";
import type { VoyagesQuery, VoyagesReply } from "./types_voyages.ts";
import type {
  BoatAlert,
  BoatHealth,
  CallOptions,
  ClientFrame,
  DecodedLastValue,
  DeviceQuery,
  HistoryQuery,
  LabelledDevice,
  LabelOptions,
  LastValues,
  MessageToSend,
  Metric,
  Proof,
  QuantitySources,
  ServerInfo,
  ServerLimit,
} from "./types.ts";
import type { NetworkReport } from "./types_doctor.ts";

/** Options of {@linkcode Client.subscribe}. */
export interface SubscribeOptions extends CallOptions {
  /** Adds `decoded` to each frame. */
  decode?: boolean;
  /** Adds `decoded` and `labels`: texts for the codes. A server without labels responds with an error. */
  labels?: boolean;
  /** Adds changes of the device table to {@linkcode Subscription.events}. */
  devices?: boolean;
  /** Adds switches of preferred sources to {@linkcode Subscription.events}: see {@linkcode Client.sources}. */
  sources?: boolean;
  /** Lets the server send frames together every so many milliseconds, at most 1000. Default: as soon as possible. */
  batchMs?: number;
}

/** Default duration of a query on the server. */
const QUERY_MS = 2000;
const ACK_INTERVAL_MS = 5000;

/** Parts of a client. */
export interface ClientParts {
  /** Requests to the boat's paths. */
  api: Api;
  /** Requests to the server's own paths: the same, or the root of a cloud. */
  root: Api;
  streams: StreamSettings;
}

/**
 * A boat, on its own server or in a cloud. Calls throw an ApiError when the server responds with an error, and a
 * ConnectionError when the server cannot be reached.
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

  /** All devices on the buses. */
  async devices({ signal, labels }: LabelOptions = {}): Promise<LabelledDevice[]> {
    const query = { ...(labels && { labels }) };
    return (await this.#api.json<LabelledDevice[]>("/devices", { query, signal })).map(deviceOf);
  }

  /** The newest frame of each device and PGN that matches the filter. */
  async values(filter: Filter = {}, { signal }: CallOptions = {}): Promise<LastValues[]> {
    return await this.#api.json<LastValues[]>("/values", { query: { ...filter }, signal });
  }

  /** The newest frame of each device and PGN that matches the filter, decoded. */
  async decodedValues(
    filter: Filter = {},
    { signal, labels }: LabelOptions = {},
  ): Promise<LastValues<DecodedLastValue>[]> {
    const query = { ...filter, ...(labels && { labels }) };
    return decodedValuesOf(await this.#api.json<LastValues<DecodedLastValue>[]>("/values/decoded", { query, signal }));
  }

  /** What the server showed at a time, RFC 3339 if it is a text. */
  at(time: Date | string): PastClient {
    return new PastClient(this.#api, time);
  }

  /** What a skipper reads, such as depth: newest values by device, their ages, and the preferred device. */
  async sources({ signal }: CallOptions = {}): Promise<QuantitySources[]> {
    return await this.#api.json<QuantitySources[]>("/sources", { signal });
  }

  /**
   * Which device gave each quantity when, and which one was preferred.
   *
   * @throws {ApiError} 503: the server keeps no such history; 404: it is a cloud, or older
   */
  async sourceHistory(
    { from, to, quantities: quantity }: SourceHistoryQuery,
    { signal }: CallOptions = {},
  ): Promise<SourceHistoryReply> {
    const query = {
      from: timeText(from),
      ...(to !== undefined && { to: timeText(to) }),
      ...(quantity && { quantity }),
    };
    return await this.#api.json<SourceHistoryReply>("/sources/history", { query, signal, timeoutMs: 0 });
  }

  /**
   * Recorded frames, oldest first. Frames are read as they arrive, so that any number of them needs little memory. Without
   * a limit, all pages are read.
   *
   * @throws {ApiError} 503: the server does not record, or has too many such requests; 400: the query is invalid
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

  /**
   * Recorded frames as journal files (`.lpj`), each as a stream of bytes; an empty one has no frames. Frames before and after
   * the two times are in the files, too, and a frame may be in several. Errors are those of {@linkcode Client.history}.
   */
  async *journalFiles(
    { from, to }: Pick<HistoryQuery, "from" | "to">,
    { signal }: CallOptions = {},
  ): AsyncGenerator<AsyncIterable<Uint8Array>, void, undefined> {
    const query = { from: timeText(from), ...(to !== undefined && { to: timeText(to) }) };
    yield* readJournalFiles(this.#api, { query, signal });
  }

  /** Corrections of the times in these files. Errors are those of {@linkcode Client.history}; 404: an older server. */
  async journalClock({ signal }: CallOptions = {}): Promise<JournalClock> {
    return await this.#api.json<JournalClock>("/journal/clock", { signal });
  }

  /**
   * Values of decoded fields between two times, in buckets: one series for each field and sensor.
   *
   * @throws {ApiError} 503: the server does not record, or has too many such requests; 400: the query is invalid
   *
   * @example
   * ```ts ignore
   * const { series } = await client.series({ field: ["128267.depth"], from: new Date(Date.now() - 86_400_000) });
   * for (const { time, min } of series) console.log(time.length, min);
   * ```
   */
  async series({ from, to, ...query }: SeriesQuery, { signal }: CallOptions = {}): Promise<SeriesReply> {
    const times = { from: timeText(from), ...(to !== undefined && { to: timeText(to) }) };
    // No timeout: the server may have to read many frames.
    return await this.#api.json<SeriesReply>("/series", { query: { ...times, ...query }, signal, timeoutMs: 0 });
  }

  /**
   * What became of every frame and message between two times; default the last 24 hours.
   *
   * @throws {ApiError} 404: an older server, or one that plays recordings; 503: it has too many such requests
   */
  async ledger({ from, to }: LedgerQuery = {}, { signal }: CallOptions = {}): Promise<BoatLedger> {
    const query = {
      ...(from !== undefined && { from: timeText(from) }),
      ...(to !== undefined && { to: timeText(to) }),
    };
    // No timeout: the server may have to read many blocks.
    return await this.#api.json<BoatLedger>("/ledger", { query, signal, timeoutMs: 0 });
  }

  /**
   * When the boat was under way, at anchor and in port: the voyages that touch a time range, and the stays between them.
   *
   * @throws {ApiError} 503: the server does not record, or has too many such requests; 400: the query is invalid
   *
   * @example
   * ```ts ignore
   * const { voyages } = await client.voyages({ from: "2026-07-01T00:00:00Z" });
   * for (const { start, distance_m } of voyages) console.log(start, distance_m / 1852, "nm");
   * ```
   */
  async voyages({ from, to }: VoyagesQuery, { signal }: CallOptions = {}): Promise<VoyagesReply> {
    const query = { from: timeText(from), ...(to !== undefined && { to: timeText(to) }) };
    return await this.#api.json<VoyagesReply>("/voyages", { query, signal, timeoutMs: 0 });
  }

  /**
   * The track of a voyage as GPX 1.1.
   *
   * @param time a time in the voyage, such as its start
   * @throws {ApiError} 404: there was no voyage at this time; and as for {@linkcode Client.voyages}
   */
  async voyageTrack(time: string | Date, { signal }: CallOptions = {}): Promise<string> {
    return await this.#api.text(`/voyages/${pathPart(`${timeText(time)}.gpx`)}`, { signal, timeoutMs: 0 });
  }

  /** Every PGN that the server can decode. */
  async pgns({ signal }: CallOptions = {}): Promise<KnownPgn[]> {
    return await this.#root.json<KnownPgn[]>("/pgns", { signal });
  }

  /** Description of a PGN. @throws {ApiError} 404: the server cannot decode it */
  async pgn(pgn: number, { signal }: CallOptions = {}): Promise<PgnDetails> {
    return await this.#root.json<PgnDetails>(`/pgns/${pathPart(pgn)}`, { signal });
  }

  /**
   * Which bits of a payload its decoded fields are read from; empty if no layout of the PGN matches the payload.
   *
   * @param data the payload in hex
   * @throws {ApiError} 404: the PGN is unknown
   */
  async pgnSpans(pgn: number, data: string, { signal }: CallOptions = {}): Promise<FieldSpan[]> {
    return await this.#root.json<FieldSpan[]>(`/pgns/${pathPart(pgn)}/spans`, { query: { data }, signal });
  }

  /** Summary of the server, a boat's or a cloud. */
  async server({ signal }: CallOptions = {}): Promise<ServerInfo> {
    return await this.#root.json<ServerInfo>("/", { signal });
  }

  /** Figures of the server, as for Prometheus. */
  async metrics({ signal }: CallOptions = {}): Promise<Metric[]> {
    return parseMetrics(await this.#root.text("/metrics", { signal }));
  }

  /** Health of the boat server. @throws {ApiError} 404: the server is a cloud */
  async health({ signal }: CallOptions = {}): Promise<BoatHealth> {
    return healthOf(await this.#api.json<BoatHealth>("/healthz", { signal, acceptStatus: 503 }));
  }

  /** Alerts since the start of the boat server, newest first, at most 100. */
  async alerts({ signal }: CallOptions = {}): Promise<BoatAlert[]> {
    return await this.#api.json<BoatAlert[]>("/alerts", { signal });
  }

  /** What is wrong on the buses. @throws {ApiError} 404: the boat server does not check them, or the server is a cloud */
  async doctor({ signal }: CallOptions = {}): Promise<NetworkReport> {
    return await this.#api.json<NetworkReport>("/doctor", { signal });
  }

  /**
   * Keeps the frames around now in the black box.
   *
   * @throws {ApiError} 403: not allowed; 503: there is no black box
   */
  async mark(text = "", { signal }: CallOptions = {}): Promise<Marked> {
    return await this.#api.json<Marked>("/mark", { method: "POST", body: { text }, signal });
  }

  /** Files of the boat's black box, newest first. @throws {ApiError} 404: the server is a cloud, or older */
  async blackBox({ signal }: CallOptions = {}): Promise<BlackBoxEntry[]> {
    return await this.#api.json<BlackBoxEntry[]>("/blackbox", { signal });
  }

  /** A complete file of the black box (`.lpj`), in pieces. @throws {ApiError} 404: there is no such file */
  async *blackBoxFile(name: string, { signal }: CallOptions = {}): AsyncGenerator<Uint8Array, void, undefined> {
    const reply = await this.#api.open(`/blackbox/${pathPart(name)}`, { signal, timeoutMs: 0 });
    try {
      yield* readBytes(reply);
    } finally {
      reply.close();
    }
  }

  /** Limits of the boat server that are in force. */
  async limits({ signal }: CallOptions = {}): Promise<ServerLimit[]> {
    return await this.#api.json<ServerLimit[]>("/limits", { signal });
  }

  /** Frames seen, recorded, in the cloud and missing. */
  async proof({ signal }: CallOptions = {}): Promise<Proof> {
    return await this.#api.json<Proof>("/proof", { signal });
  }

  /**
   * State of the replication, as the boat sees it.
   *
   * @throws {ApiError} 404: the boat is not replicated, or the server is a cloud; see {@linkcode CloudClient.status}
   */
  async replicationStatus({ signal }: CallOptions = {}): Promise<BoatReplication> {
    return replicationOf(await this.#api.json<BoatReplication>("/replication/status", { signal }));
  }

  /**
   * Live frames from the start of the iteration on. Reconnects when the connection is lost.
   *
   * @example
   * ```ts ignore
   * for await (const frame of client.subscribe({ pgn: [127250] }, { decode: true })) console.log(frame.decoded);
   * ```
   */
  subscribe(
    filter: Filter = {},
    { decode, labels, devices, sources, batchMs, signal }: SubscribeOptions = {},
  ): Subscription {
    return new Subscription(this.#api, {
      ...this.#streams,
      signal,
      query: { ...filter, decode, labels, devices, sources, batch_ms: batchMs },
    });
  }

  /**
   * A session: all frames since the last acknowledged one. No request is made before the session is read.
   *
   * @param id 1 to 64 letters, digits, hyphens or underscores
   */
  session(id: string, options: SessionOptions = {}): Session {
    const { ack = "taken", ackIntervalMs = ACK_INTERVAL_MS, fallenBehind = "throw", signal } = options;
    const settings = { ...this.#streams, ...options, ack, ackIntervalMs, fallenBehind, signal };
    return new Session(id, { calls: new SessionCalls(this.#api, id), settings });
  }

  /**
   * Queues a message for the bus; of several messages all or none.
   *
   * @throws {ApiError} 400: invalid message; 403: not allowed; 429: too many; 503: the queue is full, or the boat has no
   * address yet
   */
  async send(messages: MessageToSend | readonly MessageToSend[], { signal }: CallOptions = {}): Promise<void> {
    await this.#api.done("/send", { method: "POST", body: messages, signal });
  }

  /**
   * Requests a PGN from devices and returns the first frame of it.
   *
   * @throws {ApiError} 502: refused by the device; 504: no device has answered; and as for {@linkcode Client.send}
   */
  async query({ timeoutMs, ...query }: DeviceQuery, { signal }: CallOptions = {}): Promise<ClientFrame> {
    const body = { ...query, ...(timeoutMs !== undefined && { timeout: isoDuration(timeoutMs) }) };
    const totalMs = this.#streams.timeoutMs + (timeoutMs ?? QUERY_MS);
    return await this.#api.json<ClientFrame>("/query", { method: "POST", body, signal, timeoutMs: totalMs });
  }
}

function timeText(time: string | Date): string {
  return typeof time === "string" ? time : time.toISOString();
}

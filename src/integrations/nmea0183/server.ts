import type { Clock, Logger, StallDetector } from "../../base/mod.ts";
import type { Broker } from "../../broker/mod.ts";
import type { Quantity } from "../../quantities/mod.ts";
import { type LineLimits, LineServer } from "../line_server.ts";
import type { LineCounters, LineTarget } from "../lines.ts";
import { SentenceFeed } from "./feed.ts";
import { tagBlock } from "./line.ts";
import type { SentenceInterval } from "./schedule.ts";
import { SENTENCES } from "./sentences.ts";

/** Name of the AIS sentences (AIVDM and AIVDO) where sentences are chosen. */
export const AIS_SENTENCES = "AIS";
/** Default of {@linkcode Nmea0183Settings.maxClients}. */
export const DEFAULT_MAX_CLIENTS = 32;
/** Default of {@linkcode Nmea0183Settings.bufferBytes}: some seconds, besides what the kernel holds for a connection. */
export const DEFAULT_BUFFER_BYTES = 16_384;
/** Default interval of a sentence, milliseconds. */
export const DEFAULT_INTERVAL_MS = 1000;
/** Shortest interval of a sentence, milliseconds: lines are made this often. */
export const MIN_INTERVAL_MS = 100;
const MAINTENANCE_MS = 1000;
/** A timer may fire a little before the time that a sentence is due at. */
const TICK_MS = 50;

/** Names of all sentences, and `AIS`. */
export const SENTENCE_NAMES: readonly string[] = [...SENTENCES.map(({ id }) => id), AIS_SENTENCES];
/** Names of the sentences that are sent by default. */
export const DEFAULT_SENTENCE_NAMES: readonly string[] = [
  ...SENTENCES.filter(({ isObsolete }) => !isObsolete).map(({ id }) => id),
  AIS_SENTENCES,
];

/** Settings of {@linkcode Nmea0183Server}. */
export interface Nmea0183Settings extends Partial<LineLimits> {
  /** Ports for clients, and addresses that datagrams are sent to. */
  targets: readonly LineTarget[];
  /** Names from {@linkcode SENTENCE_NAMES}; default {@linkcode DEFAULT_SENTENCE_NAMES}. */
  sentences?: readonly string[];
  /** Interval by name of a sentence, milliseconds; default {@linkcode DEFAULT_INTERVAL_MS}. */
  intervalsMs?: ReadonlyMap<string, number>;
  /** Talker of all sentences but AIS; default: `GP` for position and route, `II` for others. */
  talker?: string;
  /** Source named in a tag block before each sentence; default: no tag blocks. */
  tagSource?: string;
}

/** Dependencies of the server. */
export interface Nmea0183ServerOptions {
  settings: Nmea0183Settings;
  broker: Broker;
  /** Newest quantities with their preferred sources. */
  quantities: () => readonly Quantity[];
  clock: Clock;
  stall: StallDetector;
  log: Logger;
}

/** Sends NMEA 0183 sentences to TCP clients and UDP addresses. What clients send is ignored. */
export class Nmea0183Server {
  readonly #clock: Clock;
  readonly #stall: StallDetector;
  readonly #feed: SentenceFeed;
  readonly #lines: LineServer;
  readonly #tagSource: string | undefined;
  #maintainMs = -Infinity;
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor({ settings, broker, quantities, clock, stall, log }: Nmea0183ServerOptions) {
    const { targets, sentences = DEFAULT_SENTENCE_NAMES, talker, tagSource } = settings;
    const { maxClients = DEFAULT_MAX_CLIENTS, bufferBytes = DEFAULT_BUFFER_BYTES } = settings;
    this.#clock = clock;
    this.#stall = stall;
    this.#tagSource = tagSource;
    this.#lines = new LineServer({ name: "NMEA 0183", targets, limits: { maxClients, bufferBytes }, clock, log });
    const chosen = {
      sentences: intervalsOf(sentences, settings.intervalsMs),
      ais: sentences.includes(AIS_SENTENCES),
      talker,
    };
    this.#feed = new SentenceFeed({ broker, clock, settings: chosen, quantities });
  }

  /** Totals since the start. */
  get counters(): Readonly<LineCounters> {
    return this.#lines.counters;
  }

  /** Connected clients. */
  get clients(): number {
    return this.#lines.clients;
  }

  /** Addresses in use, in the order of the targets. */
  get addresses(): LineServer["addresses"] {
    return this.#lines.addresses;
  }

  /** Degraded while a port cannot be opened or an address cannot be reached. */
  health(): { status: "ok" | "degraded"; message: string } {
    return this.#lines.health();
  }

  /** Opens the ports. One that cannot be opened is tried again; never throws. */
  start(): void {
    this.tick();
    this.#timer = setInterval(() => this.#stall.run("nmea0183", () => this.tick()), TICK_MS);
  }

  /** Sends what is due. Called by a timer. */
  tick(): void {
    const nowMs = this.#clock.monoMs();
    if (nowMs >= this.#maintainMs) {
      this.#maintainMs = nowMs + MAINTENANCE_MS;
      this.#lines.maintain();
    }
    // Made even if nobody listens: the receiver of each AIS vessel is remembered.
    const lines = this.#feed.lines(this.#lines.hasReceivers);
    const source = this.#tagSource;
    if (source === undefined) return this.#lines.send(lines);
    const tag = tagBlock(source, Math.floor(this.#clock.wallUs() / 1e6));
    this.#lines.send(lines.map((line) => tag + line));
  }

  /** Closes ports and connections. */
  stop(): void {
    clearInterval(this.#timer);
    this.#feed.stop();
    this.#lines.stop();
  }
}

function intervalsOf(
  names: readonly string[],
  intervalsMs: ReadonlyMap<string, number> = new Map(),
): SentenceInterval[] {
  return SENTENCES.filter(({ id }) => names.includes(id))
    .map((row) => ({ row, everyMs: intervalsMs.get(row.id) ?? DEFAULT_INTERVAL_MS }));
}

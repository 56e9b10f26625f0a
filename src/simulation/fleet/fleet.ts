import { type Clock, Logger, pause } from "../../base/mod.ts";
import { BoatLink } from "../../replication/mod.ts";
import { FleetCertificates, type FleetTrust } from "./certificates.ts";
import { FleetBoat, type FleetBoatSample } from "./fleet_boat.ts";

/** Options of {@linkcode Fleet.start}. */
export interface FleetOptions {
  /** `host:port` of the cloud. */
  target: string;
  /** Instance id of each boat. */
  ids: readonly string[];
  /** Where their certificates come from. */
  trust: FleetTrust;
  /** Determines the frames, together with id and epoch. */
  seed: number;
  /** Frames per second of each boat; rounded so that a whole number of microseconds is between two frames. */
  rate: number;
  /** Time for which a boat collects frames before it sends them, milliseconds. */
  collectMs: number;
  /** Boats delete frames once the cloud's object store has them; default: never. */
  isForgetting?: boolean;
  /** Longest time between two attempts of a boat to connect, milliseconds; default that of a real boat. */
  maxReconnectMs?: number;
  /** Times of frames, and timeouts. */
  clock: Clock;
  /** Ends the start. */
  signal: AbortSignal;
}

/** State of a fleet at a time. */
export interface FleetSample {
  /** Number of boats. */
  boats: number;
  /** Boats that have been told to connect. */
  started: number;
  /** Boats that are connected. */
  connected: number;
  /** Frames that the boats have made. */
  made: number;
  /** Of these the cloud has received. */
  received: number;
  /** Of these the cloud has on its disk. */
  stored: number;
  /** Frames sent live, repetitions after a reconnect included. */
  sentLive: number;
  /** Blocks sent for holes. */
  blocks: number;
  /** Bytes of these blocks. */
  blockBytes: number;
  /** Longest age of a frame that the cloud has not received, milliseconds. */
  receivedWaitMs: number;
  /** Longest age of a frame that the cloud has not stored, milliseconds. */
  storedWaitMs: number;
  /** Longest age of a frame that the cloud's object store does not have, milliseconds; 0: there is no object store. */
  objectWaitMs: number;
  /** Connections of all boats after the first. */
  reconnects: number;
  /** Frames that boats have declared unobtainable. */
  lost: number;
}

/** A boat of a fleet. */
export interface FleetMember {
  /** Its instance id. */
  readonly id: string;
  /** 16 bytes that identify the epoch of its numbers. */
  readonly epoch: Uint8Array<ArrayBuffer>;
  /** Newest sequence number; the first is 1. */
  readonly head: number;
  /** Highest number through which the cloud has ever said that its object store has all frames; 0: none. */
  readonly objectsThrough: number;
}

/** The fleet cannot start: its first boat cannot connect. */
export class FleetError extends Error {
  /** Name of the class. */
  override readonly name = "FleetError";
}

/** Boats that connect at the same time: further ones wait, as their handshakes would take too long. */
const MAX_CONNECTING = 16;
const TICK_MS = 5;
const LOOK_MS = 20;
const MAX_ERROR_TEXTS = 32;
const US_PER_SECOND = 1_000_000;

/** Many boats in one process, each with a connection and a certificate of its own, against a real cloud. */
export class Fleet implements AsyncDisposable {
  /** Number of errors of all boats, by text. */
  readonly errors: ReadonlyMap<string, number>;
  readonly #boats: readonly FleetBoat[];
  readonly #clock: Clock;
  readonly #collectMs: number;
  readonly #certificates: FleetCertificates;
  #timer: ReturnType<typeof setInterval> | undefined;
  #position: number;
  #started = 0;

  private constructor(
    { boats, errors, certificates, clock, collectMs }: Pick<FleetOptions, "clock" | "collectMs"> & {
      boats: readonly FleetBoat[];
      errors: ReadonlyMap<string, number>;
      certificates: FleetCertificates;
    },
  ) {
    this.#boats = boats;
    this.errors = errors;
    this.#certificates = certificates;
    this.#clock = clock;
    this.#collectMs = collectMs;
    this.#position = this.#positionAt(clock.monoMs());
  }

  /**
   * Makes the certificates, and connects the first boat. The others follow with {@linkcode Fleet.connect}.
   *
   * @throws {CertificateError} no certificates can be made
   * @throws {FleetError} the first boat cannot connect
   */
  static async start(
    { target, ids, trust, seed, rate, collectMs, isForgetting, maxReconnectMs, clock, signal }: FleetOptions,
  ): Promise<Fleet> {
    const certificates = await FleetCertificates.open(trust, { ids, clock });
    const errors = new Map<string, number>();
    const log = new Logger({ level: "warn", format: "json", write: (line) => countError(errors, line) });
    const intervalUs = Math.max(1, Math.round(US_PER_SECOND / rate));
    const boats = ids.map((id) => {
      const tls = certificates.paths(id);
      return new FleetBoat({ id, seed, target, tls, intervalUs, isForgetting, maxReconnectMs, clock, log });
    });
    await using stack = new AsyncDisposableStack();
    const fleet = stack.use(new Fleet({ boats, errors, certificates, clock, collectMs }));
    await BoatLink.prepare();
    await fleet.#connectFirst(target, signal);
    stack.move();
    return fleet;
  }

  /**
   * Connects all boats, some at a time. Resolves when each of them has been connected, or when none of those that connect
   * has succeeded for `graceMs`.
   */
  async connect({ graceMs, signal }: { graceMs: number; signal: AbortSignal }): Promise<void> {
    let succeededMs = this.#clock.monoMs();
    const connecting = new Set(this.#boats.slice(0, this.#started));
    while (connecting.size > 0 || this.#started < this.#boats.length) {
      for (const boat of connecting) {
        if (!boat.sample(0).status.connected) continue;
        connecting.delete(boat);
        succeededMs = this.#clock.monoMs();
      }
      for (; this.#started < this.#boats.length && connecting.size < MAX_CONNECTING; this.#started++) {
        const boat = this.#boats[this.#started];
        boat?.start();
        if (boat) connecting.add(boat);
      }
      if (signal.aborted || this.#clock.monoMs() - succeededMs > graceMs) return;
      await pause(LOOK_MS);
    }
  }

  /** Sum of all boats. */
  sample(): FleetSample {
    const nowMs = this.#clock.monoMs();
    const samples = this.#boats.slice(0, this.#started).map((boat) => boat.sample(nowMs));
    const sum = (valueOf: (sample: FleetBoatSample) => number) =>
      samples.reduce((total, sample) => total + valueOf(sample), 0);
    const most = (valueOf: (sample: FleetBoatSample) => number) =>
      samples.reduce((max, sample) => Math.max(max, valueOf(sample)), 0);
    return {
      boats: this.#boats.length,
      started: this.#started,
      connected: sum(({ status }) => Number(status.connected)),
      made: sum(({ made }) => made),
      received: sum(({ received }) => received),
      stored: sum(({ stored }) => stored),
      sentLive: sum(({ status }) => status.live_frames_sent),
      blocks: sum(({ status }) => status.backfill_blocks_sent),
      blockBytes: sum(({ status }) => status.backfill_bytes_sent),
      receivedWaitMs: most(({ receivedWaitMs }) => receivedWaitMs),
      storedWaitMs: most(({ storedWaitMs }) => storedWaitMs),
      objectWaitMs: most(({ objectWaitMs }) => objectWaitMs),
      reconnects: sum(({ status }) => status.reconnects),
      lost: sum(({ lost }) => lost.reduce((frames, { start, end }) => frames + end - start, 0)),
    };
  }

  /** The boats, and what each has made. */
  get boats(): readonly FleetMember[] {
    return this.#boats;
  }

  /** From now on all boats that have been told to connect make frames, also while they are disconnected. */
  begin(): void {
    this.#position = this.#positionAt(this.#clock.monoMs());
    this.#timer ??= setInterval(() => this.#advance(), TICK_MS);
  }

  /** No further frames are made; those that exist are still sent. */
  silence(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Disconnects all boats, and removes the certificates that were made. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.silence();
    await Promise.all(this.#boats.map((boat) => boat.stop()));
    await this.#certificates[Symbol.asyncDispose]();
  }

  async #connectFirst(target: string, signal: AbortSignal): Promise<void> {
    const [boat] = this.#boats;
    if (!boat) return;
    this.#started = 1;
    boat.start();
    for (;;) {
      const { connected, reason } = boat.sample(0).status;
      if (connected) return;
      if (reason !== undefined) throw new FleetError(`Cannot connect boat "${boat.id}" to "${target}": ${reason}`);
      await pause(LOOK_MS, signal);
    }
  }

  /** Boats take turns, so that they do not all send at the same moment. */
  #advance(): void {
    const nowMs = this.#clock.monoMs();
    const position = this.#positionAt(nowMs);
    const count = this.#boats.length;
    const from = Math.max(this.#position, position - count);
    for (let at = from; at < position; at++) {
      const index = at % count;
      if (index < this.#started) this.#boats[index]?.advance(nowMs);
    }
    this.#position = position;
  }

  #positionAt(nowMs: number): number {
    return Math.floor(nowMs / this.#collectMs * this.#boats.length);
  }
}

/** Counts a line of the log. */
function countError(errors: Map<string, number>, line: string): void {
  const { message, reason, error } = JSON.parse(line);
  const why = reason ?? error;
  // Times and addresses differ from boat to boat.
  const text = (why === undefined ? message : `${message}: ${why}`).replace(/^(.*DEADLINE_EXCEEDED).*$/, "$1");
  const key = errors.has(text) || errors.size < MAX_ERROR_TEXTS ? text : "others";
  errors.set(key, (errors.get(key) ?? 0) + 1);
}

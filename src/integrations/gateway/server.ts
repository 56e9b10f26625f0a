import type { Clock, Logger, StallDetector } from "../../base/mod.ts";
import type { Broker, Subscription } from "../../broker/mod.ts";
import { BusError } from "../../can/mod.ts";
import { type CanFrame, newStoredFrame } from "../../frame/mod.ts";
import type { OwnAddress, SendGate } from "../../transmit/mod.ts";
import { VERSION } from "../../version.ts";
import { type LineLimits, LineServer } from "../line_server.ts";
import type { LineCounters, LineTarget } from "../lines.ts";
import { IdentityAnswers } from "./answers.ts";
import { Encoder, type Payload } from "./encoder.ts";
import { type ClientContext, GatewayClient, type WriteCounters } from "./client.ts";
import type { GatewayFormat } from "./formats.ts";
import { SentFrames } from "./sent_frames.ts";

/** Default of {@linkcode GatewayServerSettings.maxClients}. */
export const DEFAULT_MAX_CLIENTS = 32;
/** Default of {@linkcode GatewayServerSettings.bufferBytes}: about 3 s of a full bus. */
export const DEFAULT_BUFFER_BYTES = 262_144;
/** Messages that may wait; a power of two. From half of them on they are encoded at once. */
const WAITING_MESSAGES = 1024;
/** Encoded bytes that are passed on at once. */
const CHUNK_BYTES = 16_384;
/** Several frames in one datagram, which must not be fragmented. */
const DATAGRAM_BYTES = 1400;
const MAINTENANCE_MS = 1000;
/** Frames are collected for this time; longer with many clients, each of which costs a system call. */
const [MIN_FLUSH_MS, MAX_FLUSH_MS] = [5, 50];
const CLIENTS_PER_MS = 4;

/** Where frames go, and how. */
export interface GatewayTarget extends LineTarget {
  /** Format of both directions. */
  format: GatewayFormat;
  /** Name of the only bus to serve; default all. Clients' messages go to it, or to the first bus; lines of candump name theirs. */
  bus?: string;
  /** Lets clients send, if sending is enabled; default false. */
  send?: boolean;
}

/** Settings of {@linkcode GatewayServer}. */
export interface GatewayServerSettings extends Partial<LineLimits> {
  /** Ports for clients, and addresses that datagrams are sent to. `maxClients` holds for each. */
  targets: readonly GatewayTarget[];
}

/** Dependencies of the server. */
export interface GatewayServerOptions {
  settings: GatewayServerSettings;
  broker: Broker;
  gate: SendGate;
  /** Address of the virtual device on a bus. */
  ownAddress: (bus: number) => OwnAddress;
  clock: Clock;
  stall: StallDetector;
  log: Logger;
}

/** Totals since the start. */
export type GatewayCounters = Omit<LineCounters, "ignored"> & { written: WriteCounters; unsplit: number };

/** All targets with the same format and buses: their lines are encoded once. */
interface Channel {
  encoder: Encoder;
  buses: readonly number[];
  servers: LineServer[];
}

/**
 * Serves the buses to programs that can use a gateway of another maker: each frame as it came, or each complete message,
 * to TCP clients and UDP addresses. What clients write goes through the send gate.
 */
export class GatewayServer {
  readonly #broker: Broker;
  readonly #clock: Clock;
  readonly #stall: StallDetector;
  readonly #channels: Channel[] = [];
  readonly #servers: LineServer[] = [];
  readonly #clients = new Set<GatewayClient>();
  readonly #sent = new SentFrames();
  readonly #subscription: Subscription | undefined;
  readonly #stored = newStoredFrame();
  readonly #written: WriteCounters = { accepted: 0, refused: 0, answered: 0, unanswered: 0, unreadable: 0 };
  readonly #payload: Payload = { bus: 0, id: 0, timeUs: 0, data: new Uint8Array(0), offset: 0, length: 0 };
  #unsplit = 0;
  #maintenance: ReturnType<typeof setInterval> | undefined;
  #flushing: ReturnType<typeof setTimeout> | undefined;

  /** @throws {BusError} a target names an unknown bus */
  constructor({ settings, broker, gate, ownAddress, clock, stall, log }: GatewayServerOptions) {
    this.#broker = broker;
    this.#clock = clock;
    this.#stall = stall;
    const { maxClients = DEFAULT_MAX_CLIENTS, bufferBytes = DEFAULT_BUFFER_BYTES } = settings;
    const context: ClientContext = {
      gate,
      ownAddress,
      answers: new IdentityAnswers({ broker, ownAddress, version: VERSION }),
      sent: this.#sent,
      counters: this.#written,
      busNames: broker.buses,
      clock,
      log,
    };
    for (const target of settings.targets) {
      this.#addTarget(target, { limits: { maxClients, bufferBytes }, context });
    }
    if (!this.#channels.some(({ encoder }) => encoder.carriesMessages)) return;
    this.#subscription = broker.subscribe({
      capacity: WAITING_MESSAGES,
      accept: () => {
        if (!this.#areMessagesWanted()) return false;
        if (this.#subscription && this.#subscription.waiting >= WAITING_MESSAGES / 2) this.#readMessages();
        return true;
      },
      wake: () => this.#flushSoon(),
      beforeClear: () => this.#readMessages(),
    });
  }

  /** Totals since the start. */
  get counters(): Readonly<GatewayCounters> {
    const total: GatewayCounters = {
      sent: 0,
      dropped: 0,
      refused: 0,
      written: this.#written,
      unsplit: this.#unsplit,
    };
    for (const { counters } of this.#servers) {
      for (const key of ["sent", "dropped", "refused"] as const) total[key] += counters[key];
    }
    return total;
  }

  /** Connected clients. */
  get clients(): number {
    return this.#servers.reduce((sum, { clients }) => sum + clients, 0);
  }

  /** Addresses in use, in the order of the targets. */
  get addresses(): LineServer["addresses"] {
    return this.#servers.flatMap(({ addresses }) => addresses);
  }

  /** Degraded while a port cannot be opened or an address cannot be reached. */
  health(): { status: "ok" | "degraded"; message: string } {
    const problems = this.#servers.map((server) => server.health()).filter(({ status }) => status !== "ok");
    if (problems.length > 0) return { status: "degraded", message: problems.map(({ message }) => message).join("; ") };
    return { status: "ok", message: `${this.clients} clients` };
  }

  /** Opens the ports. One that cannot be opened is tried again; never throws. */
  start(): void {
    this.maintain();
    this.#maintenance = setInterval(() => this.#stall.run("gateway", () => this.maintain()), MAINTENANCE_MS);
  }

  /** Passes on a frame of a bus. */
  frame(bus: number, frame: CanFrame): void {
    const isSent = this.#sent.take(bus, frame);
    this.#each(bus, frame, (encoder, payload) => !encoder.carriesMessages && encoder.add(payload, { isSent }));
  }

  /** Passes on a message of a bus that delivers messages instead of frames. */
  message(bus: number, message: CanFrame): void {
    this.#each(bus, message, (encoder, payload) => {
      if (!encoder.carriesMessages && !encoder.addMessage(payload)) this.#unsplit++;
    });
  }

  /** Opens ports again and disconnects clients that take nothing. Called by a timer. */
  maintain(): void {
    const nowMs = this.#clock.monoMs();
    for (const server of this.#servers) server.maintain();
    for (const client of this.#clients) client.expire(nowMs);
    this.#sent.expire(nowMs);
  }

  /** Closes ports and connections. */
  stop(): void {
    clearInterval(this.#maintenance);
    clearTimeout(this.#flushing);
    if (this.#subscription) this.#broker.unsubscribe(this.#subscription);
    for (const server of this.#servers) server.stop();
    // Frames that a bus still delivers find nobody.
    this.#channels.length = 0;
  }

  #addTarget(
    target: GatewayTarget,
    { limits, context }: { limits: LineLimits; context: ClientContext },
  ): void {
    const { format, bus, send: maySend = false } = target;
    const { clock, log, busNames } = context;
    const buses = busNames.map((_, index) => index).filter((index) => bus === undefined || busNames[index] === bus);
    if (buses.length === 0) {
      const known = busNames.map((name) => `"${name}"`).join(", ");
      throw new BusError(`The gateway server cannot serve bus "${bus}": expected ${known}`);
    }
    const server = new LineServer({
      name: "gateway",
      targets: [target],
      limits,
      clock,
      log,
      datagramBytes: DATAGRAM_BYTES,
      connected: (line) => {
        const onClose = (client: GatewayClient) => this.#clients.delete(client);
        const client = new GatewayClient(line, { port: { format, buses, maySend }, context, onClose });
        this.#clients.add(client);
        return client;
      },
    });
    this.#servers.push(server);
    const same = this.#channels.find((each) => each.encoder.format === format && `${each.buses}` === `${buses}`);
    if (same) same.servers.push(server);
    else this.#channels.push({ encoder: new Encoder(format, busNames), buses, servers: [server] });
  }

  #each(bus: number, frame: CanFrame, add: (encoder: Encoder, payload: Payload) => void): void {
    const payload = this.#payload;
    payload.bus = bus;
    payload.id = frame.id;
    payload.timeUs = frame.timeUs;
    payload.data = frame.data;
    payload.offset = frame.offset;
    payload.length = frame.length;
    for (const channel of this.#channels) this.#addTo(channel, { payload, add });
  }

  #addTo(
    channel: Channel,
    { payload, add }: { payload: Payload; add: (encoder: Encoder, payload: Payload) => void },
  ): void {
    const { encoder, buses, servers } = channel;
    if (!buses.includes(payload.bus) || !servers.some(({ hasReceivers }) => hasReceivers)) return;
    add(encoder, payload);
    if (encoder.length >= CHUNK_BYTES) this.#flushChannel(channel);
    else if (encoder.length > 0) this.#flushSoon();
  }

  #flushSoon(): void {
    const delayMs = Math.min(MAX_FLUSH_MS, Math.max(MIN_FLUSH_MS, this.clients / CLIENTS_PER_MS));
    this.#flushing ??= setTimeout(() => this.#stall.run("gateway", () => this.#flush()), delayMs);
  }

  #flush(): void {
    this.#flushing = undefined;
    this.#readMessages();
    for (const channel of this.#channels) this.#flushChannel(channel);
  }

  #flushChannel({ encoder, servers }: Channel): void {
    if (encoder.length === 0) return;
    const chunk = encoder.take();
    for (const server of servers) server.sendChunk(chunk);
  }

  #areMessagesWanted(): boolean {
    return this.#channels.some(({ encoder, servers }) =>
      encoder.carriesMessages && servers.some(({ hasReceivers }) => hasReceivers)
    );
  }

  #readMessages(): void {
    this.#subscription?.drain((seq) => {
      const stored = this.#stored;
      if (!this.#broker.ring.read(seq, stored)) return;
      for (const channel of this.#channels) {
        if (!channel.encoder.carriesMessages) continue;
        this.#addTo(channel, { payload: stored, add: (encoder, payload) => encoder.add(payload) });
      }
    });
  }
}

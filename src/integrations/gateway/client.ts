import { type Clock, type Logger, TokenBucket } from "../../base/mod.ts";
import { Assembler, ProgramReader, type RecordedItem } from "../../can/mod.ts";
import { type CanFrame, destinationOfId, type Message, NULL_ADDRESS, pgnOfId, priorityOfId } from "../../frame/mod.ts";
import { PGN } from "../../pgn/mod.ts";
import { type OwnAddress, type Sender, SendError, type SendGate } from "../../transmit/mod.ts";
import type { ClientInput, LineClient } from "../line_server.ts";
import type { IdentityAnswers } from "./answers.ts";
import { Encoder } from "./encoder.ts";
import { FORMAT_TABLE, type GatewayFormat } from "./formats.ts";
import type { SentFrames } from "./sent_frames.ts";

/** Incomplete messages of one client; beyond, the oldest is given up. */
export const MAX_CLIENT_ASSEMBLIES = 32;
/** Requests of one client that are answered, a second. */
export const REQUESTS_PER_SECOND = 50;
/** Messages that answer them, a second: a request to all may be answered for every device. */
export const ANSWERS_PER_SECOND = 1000;
/** Refusals of one client for the same reason have one audit line in this time, which counts them. */
export const REFUSALS_MS = 60_000;
/** Reasons and PGNs whose refusals are counted for one client; beyond, the oldest one's line is written at once. */
const MAX_REFUSALS = 64;
/** The audit line of a refusal takes as long as this many bytes of input. */
const AUDIT_LINE_BYTES = 1024;
/** Endpoint of the audit log. */
const VIA = "gateway";
/** PGNs of NMEA 2000 have 17 bits; the bit above is set in other protocols. */
const MAX_N2K_PGN = 0x1ffff;
/** A gateway claims its address by itself, and the transport protocol is the gateway's: programs write whole messages. */
const OWN_PGNS: readonly number[] = [PGN.addressClaim, PGN.transportControl, PGN.transportData];

/** Totals of what clients wrote. */
export interface WriteCounters {
  /** Messages that were accepted for sending. */
  accepted: number;
  /** Messages that were refused: sending is off, the rules or the rate do not allow it, or the gateway sends them itself. */
  refused: number;
  /** Requests answered from the device table. */
  answered: number;
  /** Requests without an answer: nothing is known, or there were too many. */
  unanswered: number;
  /** Lines or records that could not be read. */
  unreadable: number;
}

/** What all clients share. */
export interface ClientContext {
  gate: SendGate;
  ownAddress: (bus: number) => OwnAddress;
  answers: IdentityAnswers;
  sent: SentFrames;
  counters: WriteCounters;
  busNames: readonly string[];
  clock: Clock;
  log: Logger;
}

/** Settings of the port of a client. */
export interface ClientPort {
  format: GatewayFormat;
  /** Indexes of its buses; what it writes goes to the first one, or to the one that a line of candump names. */
  buses: readonly number[];
  maySend: boolean;
}

/**
 * Reads what a client writes. Requests for the identity of devices are answered to it alone; other messages go to the
 * send gate, if the port allows it.
 */
export class GatewayClient implements ClientInput {
  readonly #client: LineClient;
  readonly #port: ClientPort;
  readonly #context: ClientContext;
  readonly #reader: ProgramReader;
  /** By the position of the bus in `port.buses`. */
  readonly #assemblers: readonly Assembler[];
  readonly #reply: Encoder;
  readonly #onClose: () => void;
  readonly #requests = new TokenBucket({ perSecond: REQUESTS_PER_SECOND, burst: REQUESTS_PER_SECOND });
  readonly #answers = new TokenBucket({ perSecond: ANSWERS_PER_SECOND, burst: ANSWERS_PER_SECOND });
  readonly #sender: Sender;
  /** Refusals since the audit line of the first one, by PGN and reason, oldest first. */
  readonly #refusals = new Map<string, { pgn: number; outcome: string; why: string; sinceMs: number; count: number }>();
  #auditLines = 0;
  readonly #frame: CanFrame = { id: 0, timeUs: 0, monoMs: 0, data: new Uint8Array(0), offset: 0, length: 0 };
  /** Why the last message was refused; undefined: it was accepted. */
  #refusal: string | undefined;
  #unreadable = 0;
  #faults = 0;

  constructor(client: LineClient, { port, context, onClose }: {
    port: ClientPort;
    context: ClientContext;
    onClose: (client: GatewayClient) => void;
  }) {
    this.#client = client;
    this.#sender = { address: client.address, via: VIA };
    this.#port = port;
    this.#context = context;
    this.#reader = new ProgramReader(FORMAT_TABLE[port.format].input, (name) => this.#busOf(name));
    this.#reply = new Encoder(port.format, context.busNames);
    const maxAssemblies = MAX_CLIENT_ASSEMBLIES;
    this.#assemblers = port.buses.map((bus) => new Assembler((each) => this.#message(each), { bus, maxAssemblies }));
    this.#onClose = () => onClose(this);
  }

  received(piece: Uint8Array): number {
    this.#auditLines = 0;
    try {
      for (const item of this.#reader.push(piece)) this.#item(item);
    } catch (error) {
      if (this.#faults++ === 0) this.#context.log.error("gateway input not processed", { error: String(error) });
    }
    this.#countUnreadable();
    return this.#auditLines * AUDIT_LINE_BYTES;
  }

  closed(): void {
    this.#auditRefusals(Infinity);
    this.#onClose();
  }

  /** Passes on frames that were held as the first of a fast packet, and reports refusals. Call it about once a second. */
  expire(nowMs: number): void {
    this.#auditRefusals(nowMs - REFUSALS_MS);
    for (const assembler of this.#assemblers) assembler.expire(nowMs);
  }

  /** Position in `port.buses`. Programs call the only bus of a port as they like. */
  #busOf(name: string): number | undefined {
    const { buses } = this.#port;
    const position = buses.length === 1 ? 0 : buses.findIndex((bus) => this.#context.busNames[bus] === name);
    return position < 0 ? undefined : position;
  }

  #countUnreadable(): void {
    const { counters, log } = this.#context;
    const more = this.#reader.unreadable - this.#unreadable;
    if (more === 0) return;
    if (this.#unreadable === 0) {
      log.warn("gateway client sends unreadable data", { client: this.#client.address, format: this.#port.format });
    }
    this.#unreadable += more;
    counters.unreadable += more;
  }

  #item({ kind, bus, id, data }: RecordedItem): void {
    const { clock } = this.#context;
    const frame = this.#frame;
    frame.id = id;
    frame.data = data;
    frame.length = data.length;
    frame.monoMs = clock.monoMs();
    frame.timeUs = clock.wallUs();
    const pgn = pgnOfId(id);
    if (kind === "message" || pgn === PGN.transportControl || pgn === PGN.transportData) {
      this.#message({ ...frame, bus: this.#port.buses[bus] ?? 0, pgn });
    } else {
      this.#assemblers[bus]?.push(frame);
    }
  }

  #message({ bus, id, pgn, data, offset, length }: Message): void {
    const dst = destinationOfId(id);
    // The assembler reuses its buffer.
    const payload = data.slice(offset, offset + length);
    if (pgn === PGN.isoRequest) return this.#request(payload, dst);
    const refusal = this.#send({ bus, pgn, dst, prio: priorityOfId(id), data: payload });
    const { counters, log } = this.#context;
    counters[refusal === undefined ? "accepted" : "refused"]++;
    if (refusal === this.#refusal) return;
    this.#refusal = refusal;
    const client = this.#client.address;
    if (refusal === undefined) log.info("gateway client sends", { client });
    else log.warn("gateway client may not send", { client, pgn, reason: refusal });
  }

  /** Answers to this client alone; nothing is put on the bus. */
  #request(payload: Uint8Array, dst: number): void {
    const { answers, counters, clock, gate } = this.#context;
    const { buses, maySend } = this.#port;
    const pgn = (payload[0] ?? 0) | ((payload[1] ?? 0) << 8) | ((payload[2] ?? 0) << 16);
    const nowMs = clock.monoMs();
    // A client that takes no answers gets none; it asks again.
    const mayAsk = this.#client.hasRoom && this.#requests.take(nowMs);
    const found = mayAsk ? answers.to({ pgn, dst, buses, maySend: maySend && gate.isOpen }) : [];
    const isAnswered = found.length > 0 && this.#answers.take(nowMs, Math.min(found.length, ANSWERS_PER_SECOND));
    counters[isAnswered ? "answered" : "unanswered"]++;
    if (!isAnswered) return;
    const timeUs = clock.wallUs();
    for (const { isOwn, ...answer } of found) {
      this.#reply.addMessage({ ...answer, timeUs, offset: 0 }, { isSent: isOwn });
    }
    if (this.#reply.length > 0) this.#client.send(this.#reply.take());
  }

  /** Returns why the message was refused. */
  #send(message: { bus: number; pgn: number; dst: number; prio: number; data: Uint8Array }): string | undefined {
    const { gate, ownAddress, sent, clock } = this.#context;
    const { maySend } = this.#port;
    const { pgn } = message;
    if (!maySend) return "the port only reads: see send=allow of -gateway-listen";
    if (OWN_PGNS.includes(pgn)) return `the gateway sends PGN ${pgn} by itself`;
    if (pgn > MAX_N2K_PGN) return `PGN ${pgn} is beyond those of NMEA 2000`;
    const own = ownAddress(message.bus);
    const src = own.kind === "claimed" ? own.src : NULL_ADDRESS;
    const forget = sent.add({ ...message, src }, clock.monoMs());
    try {
      // As every gateway does: the source is the gateway's, not the program's. The audit log has the outcome.
      const isCounted = (refusal: SendError) => this.#isCounted(pgn, refusal);
      gate.send([{ ...message, src: undefined }], this.#sender, { isCounted }).catch(forget);
      return undefined;
    } catch (error) {
      forget();
      if (error instanceof SendError) return error.message;
      throw error;
    }
  }

  /** True if an equal refusal had an audit line a short time ago: then this one is counted. */
  #isCounted(pgn: number, { reason: outcome, message: why }: SendError): boolean {
    const key = `${pgn} ${why}`;
    const known = this.#refusals.get(key);
    if (known) {
      known.count++;
      return true;
    }
    this.#auditLines++;
    if (this.#refusals.size >= MAX_REFUSALS) {
      const [oldest] = this.#refusals.values();
      this.#auditRefusals(oldest?.sinceMs ?? 0);
    }
    this.#refusals.set(key, { pgn, outcome, why, sinceMs: this.#context.clock.monoMs(), count: 0 });
    return false;
  }

  /** Writes the audit lines of refusals counted since then or longer. */
  #auditRefusals(beforeMs: number): void {
    for (const [key, { sinceMs, ...refusals }] of this.#refusals) {
      if (sinceMs > beforeMs) break;
      this.#refusals.delete(key);
      if (refusals.count > 0) this.#context.gate.auditRefusal(this.#sender, refusals);
    }
  }
}

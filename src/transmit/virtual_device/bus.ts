import { type Clock, type Logger, TokenBucket } from "../../base/mod.ts";
import { TransportReceiver } from "../../can/mod.ts";
import {
  BROADCAST_ADDRESS,
  type CanFrame,
  destinationOfId,
  formatName,
  MAX_DEVICE_ADDRESS,
  NAME_BYTES,
  nameFromBytes,
  NULL_ADDRESS,
  pgnOfId,
  sourceOfId,
} from "../../frame/mod.ts";
import { isoRequestPayload, PGN } from "../../pgn/mod.ts";
import {
  addressOf,
  type Claim,
  type Claimant,
  type ClaimEvent,
  type ClaimState,
  EchoedClaims,
  NEW_CLAIM,
  stepClaim,
} from "./claim.ts";
import { framesOf, HEARTBEAT_MS, type OwnAnswer, OwnAnswers, type OwnIdentity } from "./own_answers.ts";
import type { AddressUser, OutgoingMessage, OwnAddress, Transmit } from "../transmit.ts";

/** Addresses to claim, in this order. */
const CANDIDATES: readonly number[] = Array.from({ length: 253 }, (_, i) => 252 - i);
/** Listening time before the first claim: answers come within 200 ms (ISO 11783-3 §5.13.3) plus a random delay of up to 153 ms. */
const LISTEN_MS = 400;
/** Wait before a failed transmission is repeated. */
const RETRY_MS = 1000;
/** Rate limit of claims while an address is contested. */
const CLAIM_BURST = 20;
export const CLAIMS_PER_SECOND = 5;
/** Silence after which an address counts as free; devices send a heartbeat every minute. */
const ADDRESS_SILENT_MS = 5 * 60_000;
/** Interval of checks for silent addresses. */
const SWEEP_MS = 10_000;
const CLAIM_PRIO = 6;
const TRANSPORT_PRIO = 7;
/** Minimum burst of answers, frames: the longest fast packet. */
const MIN_ANSWER_BURST_FRAMES = 32;

/** Totals of the virtual device on one bus since the start. */
export interface VirtualDeviceCounters {
  /** Claims sent, including heartbeats and defences. */
  claims: number;
  /** Messages that could not be sent, including claims. */
  notSent: number;
  /** Addresses lost to a lower NAME. */
  addressesLost: number;
  /** Claims of other devices with the same NAME. */
  sameName: number;
  /** Requests answered, and refused with a NAK. */
  answered: number;
  refused: number;
  /** Requests and transport control frames left unanswered because of the rate limit. */
  unanswered: number;
}

/** Options of {@linkcode VirtualDeviceBus}; defaults as in `VirtualDeviceOptions`. */
export interface VirtualDeviceBusOptions {
  /** Index of the bus. */
  bus: number;
  /** Its name, for log lines. */
  busName: string;
  /** 64-bit NAME. */
  name: bigint;
  identity: OwnIdentity;
  transmit: Transmit & AddressUser;
  clock: Clock;
  log: Logger;
  claimHeartbeatMs: number;
  productInfoHeartbeatMs: number;
  answerFramesPerSecond: number;
  maxInboundSessions: number;
}

/** State of the last claim message: the initial request, or a claim. */
type Announcement =
  | { type: "nothing" }
  | { type: "sending" }
  | { type: "sent"; atMs: number }
  | { type: "failed"; retryMs: number };

/** A periodic message while an address is held. */
interface Heartbeat {
  /** 0: never. */
  readonly intervalMs: number;
  readonly send: () => void;
  dueMs: number;
}

/** The virtual device on one bus: claims an address and answers requests. Timeouts are checked in `tick`. */
export class VirtualDeviceBus {
  readonly counters: VirtualDeviceCounters = {
    ...{ claims: 0, notSent: 0, addressesLost: 0, sameName: 0, answered: 0, refused: 0, unanswered: 0 },
  };
  readonly #options: VirtualDeviceBusOptions;
  readonly #claimant: Claimant;
  readonly #answers: OwnAnswers;
  readonly #receiver: TransportReceiver;
  readonly #answerBucket: TokenBucket;
  readonly #claimBucket = new TokenBucket({ perSecond: CLAIMS_PER_SECOND, burst: CLAIM_BURST });
  readonly #echoes = new EchoedClaims();
  readonly #heartbeats: readonly Heartbeat[];
  /** Time of the last frame of each address, monotonic. */
  readonly #heardMs = new Float64Array(MAX_DEVICE_ADDRESS + 1);
  #claim: Claim = NEW_CLAIM;
  #announcement: Announcement = { type: "nothing" };
  /** Commanded address that is not claimed yet. */
  #command: number | undefined;
  #sweepMs = 0;

  /** @throws {EncodeError} a text of the identity is too long */
  constructor(options: VirtualDeviceBusOptions) {
    const { name, identity, answerFramesPerSecond, claimHeartbeatMs, productInfoHeartbeatMs } = options;
    this.#options = options;
    this.#claimant = { name, candidates: CANDIDATES };
    this.#answers = new OwnAnswers(identity);
    this.#receiver = new TransportReceiver((dst, data) => this.#answerTransport(dst, data), {
      maxSessions: options.maxInboundSessions,
    });
    this.#answerBucket = new TokenBucket({
      perSecond: answerFramesPerSecond,
      burst: Math.max(answerFramesPerSecond, MIN_ANSWER_BURST_FRAMES),
    });
    const beat = (intervalMs: number, send: () => void): Heartbeat => ({ intervalMs, send, dueMs: Infinity });
    this.#heartbeats = [
      beat(claimHeartbeatMs, () => this.#apply({ type: "asked" })),
      beat(productInfoHeartbeatMs, () => this.#sendAnswers([this.#answers.product()])),
      beat(HEARTBEAT_MS, () => this.#sendAnswers([this.#answers.heartbeat()])),
    ];
  }

  /** State of the address claim. */
  get address(): OwnAddress {
    const { state } = this.#claim;
    if (state.type === "claimed") return { kind: "claimed", src: state.address, name: this.#claimant.name };
    return { kind: state.type === "without-address" ? "cannot-claim" : "claiming" };
  }

  /** The bus has come up: requests the claims of all devices, or repeats the own claim. */
  up(): void {
    const { state } = this.#claim;
    if (state.type === "off" || state.type === "listening") {
      this.#apply({ type: "listen" });
      const data = isoRequestPayload(PGN.addressClaim);
      this.#sendClaimMessage({ pgn: PGN.isoRequest, src: NULL_ADDRESS, data }, { isNew: true });
    } else {
      this.#apply({ type: "again", nowMs: this.#options.clock.monoMs() });
    }
  }

  /** Processes a frame of the bus, including own frames. */
  heard(frame: CanFrame): void {
    const src = sourceOfId(frame.id);
    const pgn = pgnOfId(frame.id);
    const own = addressOf(this.#claim.state);
    if (src <= MAX_DEVICE_ADDRESS) this.#heardMs[src] = frame.monoMs;
    if (pgn === PGN.addressClaim) return this.#onClaim(frame, src);
    if (src <= MAX_DEVICE_ADDRESS && src !== own && !this.#claim.holders.has(src)) {
      this.#apply({ type: "spoke", address: src });
    }
    if (pgn === PGN.isoRequest) return this.#onRequest(frame, { src, own });
    if (this.#claim.state.type !== "claimed" || destinationOfId(frame.id) !== own) return;
    // A device without an address cannot be answered; a broadcast would reach all devices.
    if (src > MAX_DEVICE_ADDRESS) return;
    if (pgn === PGN.transportControl) this.#receiver.control(frame);
    else if (pgn === PGN.transportData) this.#receiver.data(frame);
  }

  /**
   * Handles a commanded address (PGN 65240) for the own NAME. The change happens at the next tick, so that the sender
   * still gets the acknowledgement from the old address.
   */
  commanded({ name, address }: { name: bigint; address: number }): void {
    if (name !== this.#claimant.name) return;
    this.#options.log.info("address commanded", { bus: this.#options.busName, src: address });
    this.#command = address;
  }

  /** Runs everything that is due. */
  tick(): void {
    const nowMs = this.#options.clock.monoMs();
    this.#receiver.expire(nowMs);
    if (this.#command !== undefined) this.#apply({ type: "commanded", nowMs, address: this.#command });
    this.#command = undefined;
    const { state } = this.#claim;
    if (this.#announcement.type === "failed" && nowMs >= this.#announcement.retryMs) this.#retry(state, nowMs);
    if (this.#announcement.type === "sent") {
      if (state.type === "listening") {
        if (nowMs >= this.#announcement.atMs + LISTEN_MS) this.#apply({ type: "power-on", nowMs });
      } else {
        this.#apply({ type: "time", nowMs });
      }
    }
    if (this.#claim.state.type === "claimed") this.#beat(nowMs);
    if (nowMs >= this.#sweepMs) this.#sweep(nowMs);
  }

  #retry(state: ClaimState, nowMs: number): void {
    if (state.type === "listening") this.up();
    // A claim delayed by the rate limit does not change a claimed address.
    else this.#apply(state.type === "claiming" ? { type: "again", nowMs } : { type: "asked" });
  }

  #beat(nowMs: number): void {
    for (const beat of this.#heartbeats) {
      if (beat.intervalMs === 0 || nowMs < beat.dueMs) continue;
      beat.dueMs = Math.max(beat.dueMs + beat.intervalMs, nowMs);
      beat.send();
    }
  }

  #sweep(nowMs: number): void {
    this.#sweepMs = nowMs + SWEEP_MS;
    for (const address of this.#claim.holders.keys()) {
      if (nowMs - (this.#heardMs[address] ?? 0) > ADDRESS_SILENT_MS) this.#apply({ type: "gone", nowMs, address });
    }
  }

  #onClaim(frame: CanFrame, address: number): void {
    if (frame.length < NAME_BYTES) return;
    const name = nameFromBytes(frame.data, frame.offset);
    if (name !== this.#claimant.name) {
      this.#apply({ type: "heard", nowMs: this.#options.clock.monoMs(), address, name });
    } else if (!this.#echoes.consume(address)) {
      this.#onDuplicateName(address);
    }
  }

  /** Equal NAMEs have no winner, so the address stays; the user must change one NAME. */
  #onDuplicateName(address: number): void {
    const { log, busName } = this.#options;
    const level = this.counters.sameName++ === 0 ? "warn" : "debug";
    log[level]("duplicate NAME on the bus", { bus: busName, src: address, name: formatName(this.#claimant.name) });
    if (address <= MAX_DEVICE_ADDRESS) this.#apply({ type: "spoke", address });
  }

  #onRequest(frame: CanFrame, { src, own }: { src: number; own: number | undefined }): void {
    const to = destinationOfId(frame.id);
    const isForUs = to === BROADCAST_ADDRESS ? src !== own : to === own;
    if (frame.length < 3 || !isForUs) return;
    const { data, offset } = frame;
    const pgn = (data[offset] ?? 0) | ((data[offset + 1] ?? 0) << 8) | ((data[offset + 2] ?? 0) << 16);
    const isClaim = pgn === PGN.addressClaim;
    const { type } = this.#claim.state;
    if (isClaim ? type === "off" || type === "listening" : type !== "claimed") return;
    const answers = isClaim ? [] : this.#answers.to({ pgn, from: src, to });
    const frames = answers.reduce((sum, answer) => sum + framesOf(answer), isClaim ? 1 : 0);
    if (frames === 0) return;
    if (!this.#mayAnswer(frames)) return;
    if (answers[0]?.pgn === PGN.isoAcknowledgement) this.counters.refused++;
    else this.counters.answered++;
    if (isClaim) this.#apply({ type: "asked" });
    else this.#sendAnswers(answers);
  }

  #mayAnswer(frames: number): boolean {
    const may = this.#answerBucket.take(this.#options.clock.monoMs(), frames);
    if (!may) this.counters.unanswered++;
    return may;
  }

  #answerTransport(dst: number, data: Uint8Array): void {
    if (!this.#mayAnswer(1)) return;
    this.#sendAnswers([{ pgn: PGN.transportControl, prio: TRANSPORT_PRIO, dst, data }], { urgent: true });
  }

  /** Sends from the own address; failures are counted. */
  #sendAnswers(answers: readonly OwnAnswer[], options?: { urgent: boolean }): void {
    const { bus, busName, log } = this.#options;
    const src = addressOf(this.#claim.state);
    if (src === undefined) return;
    this.#send(answers.map((answer) => ({ ...answer, bus, src })), options).catch((error: unknown) => {
      this.counters.notSent++;
      log.debug("virtual device answer not sent", { bus: busName, error: String(error) });
    });
  }

  /** Turns synchronous refusals into rejections. */
  async #send(messages: readonly OutgoingMessage[], options?: { urgent: boolean }): Promise<void> {
    await this.#options.transmit.send(messages, options);
  }

  #apply(event: ClaimEvent): void {
    const before = this.#claim.state;
    const { claim, announce } = stepClaim(this.#claimant, { claim: this.#claim, event });
    this.#claim = claim;
    const isNew = claim.state !== before;
    if (isNew) this.#changed(before, claim.state);
    if (isNew && event.type === "heard" && addressOf(before) !== undefined) this.counters.addressesLost++;
    if (announce === undefined) return;
    const nowMs = this.#options.clock.monoMs();
    // Requests have a rate limit of their own.
    if (event.type === "asked" || this.#claimBucket.take(nowMs)) this.#announce(announce, { isNew });
    else this.#announcement = { type: "failed", retryMs: nowMs + RETRY_MS };
  }

  #changed(before: ClaimState, state: ClaimState): void {
    const { clock, log, busName: bus } = this.#options;
    const [lost, src] = [addressOf(before), addressOf(state)];
    if (lost !== src) this.#receiver.clear();
    if (lost !== undefined && lost !== src) {
      this.#options.transmit.addressLost(this.#options.bus, lost);
      log.debug("address released", { bus, src: lost });
    }
    if (state.type === "without-address") log.warn("no free address on the bus", { bus });
    if (state.type !== "claimed") return;
    log.info("address claimed", { bus, src: state.address, name: formatName(this.#claimant.name) });
    const nowMs = clock.monoMs();
    for (const beat of this.#heartbeats) beat.dueMs = nowMs + beat.intervalMs;
  }

  #announce(src: number, { isNew }: { isNew: boolean }): void {
    const data = new Uint8Array(NAME_BYTES);
    new DataView(data.buffer).setBigUint64(0, this.#claimant.name, true);
    this.#echoes.expect(src, this.#options.clock.monoMs());
    this.#sendClaimMessage({ pgn: PGN.addressClaim, src, data }, { isNew });
  }

  /** Sends a claim message. The last new message, or a failed repetition, determines the next step. */
  #sendClaimMessage(
    { pgn, src, data }: Pick<OutgoingMessage, "pgn" | "src" | "data">,
    { isNew }: { isNew: boolean },
  ): void {
    const { bus, busName, clock, log } = this.#options;
    const sending: Announcement = { type: "sending" };
    if (isNew) this.#announcement = sending;
    const isClaim = pgn === PGN.addressClaim;
    this.#send([{ bus, pgn, prio: CLAIM_PRIO, src, dst: BROADCAST_ADDRESS, data }], { urgent: true }).then(() => {
      if (isClaim) this.counters.claims++;
      if (this.#announcement !== sending) return;
      const atMs = clock.monoMs();
      this.#announcement = { type: "sent", atMs };
      this.#apply({ type: "sent", nowMs: atMs });
    }, (error: unknown) => {
      this.counters.notSent++;
      if (isClaim) this.#echoes.consume(src);
      log.debug("address claim not sent", { bus: busName, src, error: String(error) });
      const isLast = isNew ? this.#announcement === sending : this.#announcement.type === "sent";
      if (isLast) this.#announcement = { type: "failed", retryMs: clock.monoMs() + RETRY_MS };
    });
  }
}

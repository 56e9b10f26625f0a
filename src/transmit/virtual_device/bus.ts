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
  NEW_CLAIM,
  stepClaim,
} from "./claim.ts";
import { framesOf, HEARTBEAT_MS, type OwnAnswer, OwnAnswers, type OwnIdentity } from "./own_answers.ts";
import { EchoedClaims } from "./echoes.ts";
import type { AddressUser, OutgoingMessage, OwnAddress, Transmit } from "../transmit.ts";

/** Addresses that are tried, in this order. */
const CANDIDATES: readonly number[] = Array.from({ length: 253 }, (_, i) => 252 - i);
/** Time to hear who is there: an answer comes within 200 ms (ISO 11783-3 §5.13.3), after up to 153 ms on purpose. */
const LISTEN_MS = 400;
/** Wait before what could not be sent is tried again. */
const RETRY_MS = 1000;
/** Claims in a fight over an address: so many at once and then a second, whatever the others do. */
const CLAIM_BURST = 20;
export const CLAIMS_PER_SECOND = 5;
/** An address that is silent for so long is free again; devices send a heartbeat a minute. */
const ADDRESS_SILENT_MS = 5 * 60_000;
/** How often silent addresses are looked for. */
const SWEEP_MS = 10_000;
const CLAIM_PRIO = 6;
const TRANSPORT_PRIO = 7;
/** Frames that answers may take at once, however low their rate: the longest fast packet. */
const MIN_ANSWER_BURST_FRAMES = 32;

/** Running totals of the virtual device on one bus. */
export interface VirtualDeviceCounters {
  /** Claims that were sent, each heartbeat and defence included. */
  claims: number;
  /** Messages, claims included, that could not be sent. */
  notSent: number;
  /** Times that the address was lost to a lower NAME. */
  addressesLost: number;
  /** Claims of others with our very NAME. */
  sameName: number;
  /** Requests answered, and refused with a NAK. */
  answered: number;
  refused: number;
  /** Requests, and control frames of long messages to us, left unanswered because there were too many. */
  unanswered: number;
}

/** What the virtual device needs on one bus. Defaults are those of `VirtualDeviceOptions`. */
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

/** How it stands with the last thing that the claim had to say: the request at the beginning, or a claim. */
type Said =
  | { type: "nothing" }
  | { type: "leaving" }
  | { type: "out"; atMs: number }
  | { type: "failed"; retryMs: number };

/** Something that is said again and again while an address is held. */
interface Beat {
  /** 0: never. */
  readonly intervalMs: number;
  readonly say: () => void;
  dueMs: number;
}

/** The virtual device on one bus: hears its frames, claims an address, answers. Does nothing by itself but in `tick`. */
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
  readonly #heartbeats: readonly Beat[];
  /** When each address was heard last. */
  readonly #heardMs = new Float64Array(MAX_DEVICE_ADDRESS + 1);
  #claim: Claim = NEW_CLAIM;
  #said: Said = { type: "nothing" };
  /** An address that it was told to take. */
  #command: number | undefined;
  #sweepMs = 0;

  /** @throws {EncodeError} something that it says of itself is too long */
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
    const beat = (intervalMs: number, say: () => void): Beat => ({ intervalMs, say, dueMs: Infinity });
    this.#heartbeats = [
      beat(claimHeartbeatMs, () => this.#happen({ type: "asked" })),
      beat(productInfoHeartbeatMs, () => this.#say([this.#answers.product()])),
      beat(HEARTBEAT_MS, () => this.#say([this.#answers.heartbeat()])),
    ];
  }

  /** How far it is. */
  get address(): OwnAddress {
    const { state } = this.#claim;
    if (state.type === "claimed") return { kind: "claimed", src: state.address, name: this.#claimant.name };
    return { kind: state.type === "without-address" ? "cannot-claim" : "claiming" };
  }

  /** The bus is there, or there again: asks who is on it, or claims anew. */
  up(): void {
    const { state } = this.#claim;
    if (state.type === "off" || state.type === "listening") {
      this.#happen({ type: "listen" });
      const data = isoRequestPayload(PGN.addressClaim);
      this.#leave({ pgn: PGN.isoRequest, src: NULL_ADDRESS, data }, { isNew: true });
    } else {
      this.#happen({ type: "again", nowMs: this.#options.clock.monoMs() });
    }
  }

  /** Hears a frame of the bus, our own included. */
  heard(frame: CanFrame): void {
    const src = sourceOfId(frame.id);
    const pgn = pgnOfId(frame.id);
    const own = addressOf(this.#claim.state);
    if (src <= MAX_DEVICE_ADDRESS) this.#heardMs[src] = frame.monoMs;
    if (pgn === PGN.addressClaim) return this.#hearClaim(frame, src);
    if (src <= MAX_DEVICE_ADDRESS && src !== own && !this.#claim.holders.has(src)) {
      this.#happen({ type: "spoke", address: src });
    }
    if (pgn === PGN.isoRequest) return this.#hearRequest(frame, { src, own });
    if (this.#claim.state.type !== "claimed" || destinationOfId(frame.id) !== own) return;
    // Who has no address can be answered by nobody; what we said to 255 would be for everybody.
    if (src > MAX_DEVICE_ADDRESS) return;
    if (pgn === PGN.transportControl) this.#receiver.control(frame);
    else if (pgn === PGN.transportData) this.#receiver.data(frame);
  }

  /**
   * Takes an address that it is told to take (PGN 65240), if it is meant by the NAME: when next something is due, so
   * that whoever told it still gets the confirmation from the old one.
   */
  commanded({ name, address }: { name: bigint; address: number }): void {
    if (name !== this.#claimant.name) return;
    this.#options.log.info("told to take an address", { bus: this.#options.busName, src: address });
    this.#command = address;
  }

  /** Does what is due. */
  tick(): void {
    const nowMs = this.#options.clock.monoMs();
    this.#receiver.expire(nowMs);
    if (this.#command !== undefined) this.#happen({ type: "commanded", nowMs, address: this.#command });
    this.#command = undefined;
    const { state } = this.#claim;
    if (this.#said.type === "failed" && nowMs >= this.#said.retryMs) this.#retry(state, nowMs);
    if (this.#said.type === "out") {
      if (state.type === "listening") {
        if (nowMs >= this.#said.atMs + LISTEN_MS) this.#happen({ type: "power-on", nowMs });
      } else {
        this.#happen({ type: "time", nowMs });
      }
    }
    if (this.#claim.state.type === "claimed") this.#beat(nowMs);
    if (nowMs >= this.#sweepMs) this.#sweep(nowMs);
  }

  #retry(state: ClaimState, nowMs: number): void {
    if (state.type === "listening") this.up();
    // A claim that was held back in a fight leaves an address that is ours as it is.
    else this.#happen(state.type === "claiming" ? { type: "again", nowMs } : { type: "asked" });
  }

  #beat(nowMs: number): void {
    for (const beat of this.#heartbeats) {
      if (beat.intervalMs === 0 || nowMs < beat.dueMs) continue;
      beat.dueMs = Math.max(beat.dueMs + beat.intervalMs, nowMs);
      beat.say();
    }
  }

  #sweep(nowMs: number): void {
    this.#sweepMs = nowMs + SWEEP_MS;
    for (const address of this.#claim.holders.keys()) {
      if (nowMs - (this.#heardMs[address] ?? 0) > ADDRESS_SILENT_MS) this.#happen({ type: "gone", nowMs, address });
    }
  }

  #hearClaim(frame: CanFrame, address: number): void {
    if (frame.length < NAME_BYTES) return;
    const name = nameFromBytes(frame.data, frame.offset);
    if (name !== this.#claimant.name) {
      this.#happen({ type: "heard", nowMs: this.#options.clock.monoMs(), address, name });
    } else if (!this.#echoes.take(address)) {
      this.#hearOwnName(address);
    }
  }

  /** Neither may win against the same NAME, so we stay where we are; a person must give one of them another NAME. */
  #hearOwnName(address: number): void {
    const { log, busName } = this.#options;
    const level = this.counters.sameName++ === 0 ? "warn" : "debug";
    log[level]("another device has our NAME", { bus: busName, src: address, name: formatName(this.#claimant.name) });
    if (address <= MAX_DEVICE_ADDRESS) this.#happen({ type: "spoke", address });
  }

  #hearRequest(frame: CanFrame, { src, own }: { src: number; own: number | undefined }): void {
    const to = destinationOfId(frame.id);
    const isMeant = to === BROADCAST_ADDRESS ? src !== own : to === own;
    if (frame.length < 3 || !isMeant) return;
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
    if (isClaim) this.#happen({ type: "asked" });
    else this.#say(answers);
  }

  #mayAnswer(frames: number): boolean {
    const may = this.#answerBucket.take(this.#options.clock.monoMs(), frames);
    if (!may) this.counters.unanswered++;
    return may;
  }

  #answerTransport(dst: number, data: Uint8Array): void {
    if (!this.#mayAnswer(1)) return;
    this.#say([{ pgn: PGN.transportControl, prio: TRANSPORT_PRIO, dst, data }], { urgent: true });
  }

  /** Says something from our address; what cannot be sent is counted. */
  #say(answers: readonly OwnAnswer[], options?: { urgent: boolean }): void {
    const { bus, busName, log } = this.#options;
    const src = addressOf(this.#claim.state);
    if (src === undefined) return;
    this.#send(answers.map((answer) => ({ ...answer, bus, src })), options).catch((error: unknown) => {
      this.counters.notSent++;
      log.debug("virtual device could not answer", { bus: busName, error: String(error) });
    });
  }

  /** A refusal at once is a promise like any other. */
  async #send(messages: readonly OutgoingMessage[], options?: { urgent: boolean }): Promise<void> {
    await this.#options.transmit.send(messages, options);
  }

  #happen(event: ClaimEvent): void {
    const before = this.#claim.state;
    const { claim, announce } = stepClaim(this.#claimant, { claim: this.#claim, event });
    this.#claim = claim;
    const isNew = claim.state !== before;
    if (isNew) this.#changed(before, claim.state);
    if (isNew && event.type === "heard" && addressOf(before) !== undefined) this.counters.addressesLost++;
    if (announce === undefined) return;
    const nowMs = this.#options.clock.monoMs();
    // Who asks has a limit of its own.
    if (event.type === "asked" || this.#claimBucket.take(nowMs)) this.#announce(announce, { isNew });
    else this.#said = { type: "failed", retryMs: nowMs + RETRY_MS };
  }

  #changed(before: ClaimState, state: ClaimState): void {
    const { clock, log, busName: bus } = this.#options;
    const [lost, src] = [addressOf(before), addressOf(state)];
    if (lost !== src) this.#receiver.clear();
    if (lost !== undefined && lost !== src) {
      this.#options.transmit.addressLost(this.#options.bus, lost);
      log.debug("address given up", { bus, src: lost });
    }
    if (state.type === "without-address") log.warn("no address is free on the bus", { bus });
    if (state.type !== "claimed") return;
    log.info("address claimed", { bus, src: state.address, name: formatName(this.#claimant.name) });
    const nowMs = clock.monoMs();
    for (const beat of this.#heartbeats) beat.dueMs = nowMs + beat.intervalMs;
  }

  #announce(src: number, { isNew }: { isNew: boolean }): void {
    const data = new Uint8Array(NAME_BYTES);
    new DataView(data.buffer).setBigUint64(0, this.#claimant.name, true);
    this.#echoes.expect(src, this.#options.clock.monoMs());
    this.#leave({ pgn: PGN.addressClaim, src, data }, { isNew });
  }

  /** Sends what the claim has to say. How it goes on is decided by the last new thing, or by a repeated one that fails. */
  #leave({ pgn, src, data }: Pick<OutgoingMessage, "pgn" | "src" | "data">, { isNew }: { isNew: boolean }): void {
    const { bus, busName, clock, log } = this.#options;
    const leaving: Said = { type: "leaving" };
    if (isNew) this.#said = leaving;
    const isClaim = pgn === PGN.addressClaim;
    this.#send([{ bus, pgn, prio: CLAIM_PRIO, src, dst: BROADCAST_ADDRESS, data }], { urgent: true }).then(() => {
      if (isClaim) this.counters.claims++;
      if (this.#said !== leaving) return;
      const atMs = clock.monoMs();
      this.#said = { type: "out", atMs };
      this.#happen({ type: "sent", nowMs: atMs });
    }, (error: unknown) => {
      this.counters.notSent++;
      if (isClaim) this.#echoes.take(src);
      log.debug("virtual device could not claim", { bus: busName, src, error: String(error) });
      const isLast = isNew ? this.#said === leaving : this.#said.type === "out";
      if (isLast) this.#said = { type: "failed", retryMs: clock.monoMs() + RETRY_MS };
    });
  }
}

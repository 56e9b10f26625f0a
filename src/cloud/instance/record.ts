import {
  commonFeatures,
  FEATURES,
  type HandshakeRequest,
  type HandshakeResponse,
  MAX_RANGES,
  type Range,
  Ranges,
} from "../../replication/mod.ts";
import { FormerEpochs, type FormerState } from "../state/former_epochs.ts";
import { type InstanceCounters, zeroCounters } from "./counters.ts";
import type { InstanceSettings } from "./settings.ts";
import { PEER_REPLAY_FRAMES, PeerHoles } from "../peer/holes.ts";
import {
  beginEpoch,
  countNumbers,
  type EpochHistory,
  type EpochVerdict,
  evaluateEpoch,
  isPeerEpoch,
  MAX_PREVIOUS_EPOCHS,
  Received,
  type ReceivedRecord,
} from "../state/received.ts";
import type { InstanceState } from "../state/state_file.ts";
import type { Accounted } from "../state/state_file_rebuild.ts";

/** State of recording live frames; `idle`: no live frame is being recorded. */
export type RecordingState = { kind: "idle" } | { kind: "recording" } | { kind: "failing"; reason: string };

/** State of a boat for people and metrics. */
export type InstanceSummary = ReturnType<InstanceRecord["summary"]> & { id: string; recording: RecordingState };

/** What an answer depends on besides the request. */
interface AnswerOptions {
  /** True if the boat was connected before. */
  known: boolean;
  /** Last live number in the journal: further ones must be above it. */
  lastLive: number;
  settings: InstanceSettings;
}

const NOTHING_ACCOUNTED: Accounted = { live: 0, backfill: undefined };

/** The sequence numbers and declarations of a boat. Pure. */
export class InstanceRecord {
  readonly counters: InstanceCounters = zeroCounters();
  /** The epochs before the current one. */
  readonly former: FormerEpochs;
  /** Last number that the boat has declared. */
  headSeq: number;
  /** Size of the boat's journal that it has declared, bytes. */
  journalBytes: number;
  /** Time of the boat's last message, milliseconds since 1970; undefined: unknown. */
  lastSeenMs: number | undefined;
  /** Names of the boat's buses by index; empty: it has declared none. */
  buses: readonly string[];
  /** The part of the files whose frames the record contains. */
  accounted: Accounted;
  /** Time of the last complete check of all files, milliseconds since 1970. */
  checkedMs: number | undefined;
  /** True while it is unknown what the object store has of the boat, besides its frames. */
  isUnlisted: boolean;
  /**
   * Returns the number up to and including which the store has every frame of the current epoch, 0: none yet; undefined:
   * the cloud has no store. Sent to the boat, whose retention goes by it. Set by the store; default: no store.
   */
  storedThrough: () => number | undefined = () => undefined;
  /** False while it is unknown what the store has: the boat is asked for nothing. Set by the store. */
  knowsHoles: () => boolean = () => true;
  /** Numbers of the frames of an epoch, hex, that the store has; undefined: there is no store. Set by the store. */
  storedOf: (epoch: string) => Ranges | undefined = () => undefined;
  #epochs: EpochHistory;
  #received: Received;
  /** Ranges that were on disk, have disappeared, and were not received again when last checked. */
  #vanished: Ranges;
  /** Last live number in the journal when it was opened. */
  #liveBefore = 0;
  /** First number that the last handshake requested live. */
  #liveStartFrom = 1;
  #peerHoles = new PeerHoles();

  constructor(state: InstanceState) {
    this.#epochs = state.epochs;
    this.former = new FormerEpochs(state.former);
    this.#received = new Received(state.received);
    this.headSeq = state.headSeq;
    this.journalBytes = state.journalBytes;
    this.lastSeenMs = state.lastSeenMs;
    this.buses = state.buses;
    this.accounted = state.accounted ?? NOTHING_ACCOUNTED;
    this.#vanished = new Ranges(state.vanished);
    this.isUnlisted = state.isUnlisted ?? false;
  }

  /** The boat's epoch, hex; undefined before its first handshake. */
  get epoch(): string | undefined {
    return this.#epochs.current;
  }

  /** All known epochs, hex, in the order in which they began. */
  get epochs(): string[] {
    const { current, previous } = this.#epochs;
    return [...previous.toReversed(), ...(current === undefined ? [] : [current])];
  }

  /** The 16 bytes that the boat's blocks must name; undefined: a peer's boat, whose blocks name no epoch. */
  get blockEpoch(): Uint8Array<ArrayBuffer> | undefined {
    const { epoch } = this;
    return epoch === undefined || isPeerEpoch(epoch) ? undefined : Uint8Array.fromHex(epoch);
  }

  /** Its numbers in the current epoch. */
  get received(): Received {
    return this.#received;
  }

  /** Highest number received live, as far as known. */
  get receivedThrough(): number {
    return Math.max(this.#received.liveThrough, this.#liveBefore);
  }

  /** Newest known number of the boat, from its declarations and its frames: these may be newer. 0: none. */
  get newestSeq(): number {
    return Math.max(this.headSeq, this.receivedThrough, this.#received.last);
  }

  /** Missing ranges below the live frames, which a backfill can fill. */
  get holes(): Range[] {
    return this.#received.holes(Math.max(this.#liveStartFrom, this.receivedThrough + 1));
  }

  /** The number below which missing frames are expected; see {@linkcode InstanceSessions.awaited}. */
  awaitedBelow(awaited: "asked" | "all" | "nothing"): number {
    return awaited === "nothing" ? 0 : awaited === "all" ? Infinity : this.#liveStartFrom;
  }

  /** The state to be saved. */
  get state(): InstanceState {
    const { newestSeq: headSeq, journalBytes, lastSeenMs, buses, accounted } = this;
    return {
      epochs: this.#epochs,
      ...{ headSeq, journalBytes, lastSeenMs, buses, accounted },
      received: this.#received.record(),
      vanished: this.vanished,
      ...(this.former.states.length > 0 && { former: this.former.states }),
      ...(this.isUnlisted && { isUnlisted: true }),
    };
  }

  /** Ranges that have disappeared from the disk and were not received again. */
  get vanished(): Range[] {
    const { last } = this.#vanished;
    if (last === undefined) return [];
    this.#vanished = this.#vanished.intersect(new Ranges(this.#received.holes(last + 1)));
    return [...this.#vanished];
  }

  /** Marks frames that have disappeared from the disk as missing. Returns how many there were. */
  vanish(gone: Iterable<Range>): number {
    let frames = 0;
    for (const range of gone) {
      const count = this.#received.vanish(range);
      if (count > 0) this.#vanished.add(range.start, range.end);
      frames += count;
    }
    this.counters.vanishedFrames += frames;
    return frames;
  }

  /** Evaluates the epoch of a handshake. Changes nothing. */
  evaluate({ epoch, headSeq, former = [] }: HandshakeRequest): EpochVerdict {
    const formerIds = former.map((each) => each.epoch.toHex());
    return evaluateEpoch(this.#epochs, { epoch, headSeq, last: this.#received.last, former: formerIds });
  }

  /** True if the boat has deleted frames that are missing here, or counts in another epoch: another node may have them. */
  mayBeElsewhere({ epoch, oldestSeq, void: skipped, lost }: HandshakeRequest): boolean {
    if (epoch?.toHex() !== this.epoch) return epoch !== undefined;
    const missing = new Ranges(this.#received.holes(oldestSeq));
    return missing.subtract(new Ranges([...skipped, ...lost])).count > 0;
  }

  /**
   * Adds the epochs that other nodes have stored: those after the current one begin. The frames of known ones are not added.
   *
   * @param stored in the order in which they began
   */
  adoptEpochs(stored: readonly FormerState[]): void {
    const at = stored.findIndex(({ epoch }) => epoch === this.epoch);
    const isUnknown = at < 0 && this.epoch !== undefined;
    if (this.isUnlisted && this.epoch !== undefined) this.#addBefore(isUnknown ? stored : stored.slice(0, at));
    for (const { epoch, headSeq, received } of isUnknown ? [] : stored.slice(at + 1)) {
      const request = { epoch: Uint8Array.fromHex(epoch), features: ["former"] };
      this.beginEpoch(request, (count) => new Uint8Array(count));
      this.headSeq = headSeq;
      this.#received = new Received(received);
    }
  }

  /** Adds epochs from before all known ones. */
  #addBefore(stored: readonly FormerState[]): void {
    const added = stored.filter(({ epoch }) => !this.epochs.includes(epoch)).reverse();
    const previous = [...this.#epochs.previous, ...added.map(({ epoch }) => epoch)].slice(0, MAX_PREVIOUS_EPOCHS);
    this.#epochs = { ...this.#epochs, previous };
    for (const each of added) if (!isPeerEpoch(each.epoch)) this.former.learn(each);
  }

  /** Begins a new epoch without frames. Returns the count of frames missing from the former one. */
  beginEpoch(
    { epoch, features }: Pick<HandshakeRequest, "epoch" | "features">,
    randomBytes: (count: number) => Uint8Array,
  ): number {
    const top = this.newestSeq;
    const missing = countNumbers(this.#received.holes(top + 1));
    if (!features.includes("former")) this.counters.leftFrames += missing;
    const { current } = this.#epochs;
    // Frames that are not durable yet are requested again: later writes no longer update this epoch.
    if (current !== undefined) this.former.add({ epoch: current, headSeq: top, received: this.#received.record() });
    this.#epochs = beginEpoch(this.#epochs, { epoch, randomBytes });
    if (this.#epochs.current !== undefined) this.former.remove(this.#epochs.current);
    this.#received = new Received();
    this.accounted = NOTHING_ACCOUNTED;
    this.#vanished = new Ranges();
    this.#liveBefore = 0;
    this.#liveStartFrom = 1;
    this.#peerHoles = new PeerHoles();
    return missing;
  }

  /** Replaces the received numbers by those of the opened journal, which may be newer than the saved state. */
  load(received: ReceivedRecord, { lastLive }: { lastLive: number }): void {
    this.#received = new Received(received);
    this.#liveBefore = lastLive;
  }

  /** Marks received frames that could not be written as missing. */
  forgetUnwritten(): void {
    const { count, last } = this.#received;
    this.#received.forget({ start: 1, end: last + 1 });
    this.counters.lostFrames += count - this.#received.count;
  }

  /** Accepts the boat's declarations. Returns how many of its ranges exceed the limit and are ignored. */
  declare({ headSeq, journalBytes, void: skipped, lost }: HandshakeRequest): number {
    this.updateHead({ headSeq, journalBytes });
    return this.#received.declare({ void: skipped, lost, end: headSeq + 1 });
  }

  /** Accepts the boat's status. */
  updateHead({ headSeq, journalBytes }: { headSeq: number; journalBytes: number }): void {
    this.headSeq = headSeq;
    this.journalBytes = journalBytes;
  }

  /**
   * The answer to a boat whose declarations were accepted. All missing numbers below its head are holes. The live stream
   * starts with the head; or after it, if the head is stored or can no longer be received live. A boat that has fewer frames
   * than the cloud, such as a restored old image, recognizes that by the answer.
   */
  answer(request: HandshakeRequest, options: AnswerOptions): HandshakeResponse {
    const response = this.draft(request, options);
    this.#liveStartFrom = response.liveStartFrom;
    this.#peerHoles.noteHandshake(request.headSeq);
    return response;
  }

  /** The same for a boat whose declarations are not accepted yet. Changes nothing. */
  draft(
    { features, headSeq, oldestSeq }: HandshakeRequest,
    { known, lastLive, settings }: AnswerOptions,
  ): HandshakeResponse {
    const holes = this.#received.holes(headSeq + 1);
    const last = holes.at(-1);
    const highest = Math.max(headSeq, this.#received.last);
    const isHeadLive = last?.end === headSeq + 1 && headSeq > lastLive && headSeq === highest;
    let liveStartFrom = highest + 1;
    if (isHeadLive && last) {
      liveStartFrom = this.#peerHoles.isAsking
        ? Math.max(last.start, lastLive + 1, headSeq - PEER_REPLAY_FRAMES)
        : headSeq;
      holes.pop();
      if (last.start < liveStartFrom) holes.push({ start: last.start, end: liveStartFrom });
    }
    const storedThrough = this.storedThrough();
    return {
      cursor: this.#received.cursor,
      // Later answers report the rest.
      holes: (this.knowsHoles() ? holes : this.#newest(holes, oldestSeq)).slice(-MAX_RANGES),
      liveStartFrom,
      features: commonFeatures(FEATURES, features),
      known,
      durableThrough: this.#received.ack,
      rateLimit: settings.rateLimit,
      rateBurst: settings.rateBurst,
      ...(storedThrough !== undefined && { storedThrough }),
    };
  }

  /**
   * Holes above the newest known frame that the boat can fill. A boat without digests takes what is no hole for frames that
   * are here, and begins a new epoch when it has not sent them.
   */
  #newest(holes: readonly Range[], oldestSeq: number): Range[] {
    const { last } = this.#received;
    if (last === 0) return [];
    return holes.flatMap(({ start, end }) =>
      start > last && end > oldestSeq ? [{ start: Math.max(start, oldestSeq), end }] : []
    );
  }

  /**
   * The newest hole of a peer's boat if its live stream must end now, so that the next handshake requests its holes again;
   * otherwise undefined. Must be called every second while the stream is open.
   */
  peerHoleDue(nowMs: number): Range | undefined {
    const hole = this.holes.at(-1);
    const progress = { hole, journalBytes: this.journalBytes, blocks: this.counters.backfillBlocks };
    return this.#peerHoles.isDue(progress, nowMs) ? hole : undefined;
  }

  /** The state for people and metrics. While the boat streams, frames that are on their way are no holes. */
  summary({ connected }: { connected: boolean }) {
    const { cursor, ack, lost, durableCount } = this.#received;
    const top = this.newestSeq;
    return {
      /** True while the boat streams live frames. */
      connected,
      /** Hex; undefined before the first handshake. */
      epoch: this.epoch,
      /** Every frame up to and including this number is stored, void or lost. */
      cursor,
      /** Every frame up to and including this number is synced to disk, void or lost. */
      ackSeq: ack,
      /** The same in the object store; undefined: there is none. */
      storedThrough: this.storedThrough(),
      /** Highest number received live; 0: unknown. */
      receivedThrough: this.receivedThrough,
      /** The boat's last number, from its declarations and received frames. */
      boatHeadSeq: top,
      boatJournalBytes: this.journalBytes,
      /** Missing ranges up to the boat's head; while it streams, up to the first live frame. */
      holes: connected ? this.holes : this.#received.holes(top + 1),
      /** Ranges that the boat can no longer send. */
      lost,
      /** Numbers up to `boatHeadSeq` that the boat never assigned. */
      voidCount: this.#voidsBetween(0, top),
      /** Received frames that are synced to disk. */
      durableCount,
      /** Those holes that were on disk before. */
      vanished: this.vanished,
      /** Time of the last complete check of all files, milliseconds since 1970; undefined: none since the start. */
      checkedMs: this.checkedMs,
      /** Incomplete former epochs, newest first. */
      formerEpochs: this.former.incomplete,
      /** Frames from the cursor to the boat's head. */
      lagSeqs: Math.max(0, top - cursor - this.#voidsBetween(cursor, top)),
      /** Time of the boat's last message, milliseconds since 1970; undefined: unknown. */
      lastSeenMs: this.lastSeenMs,
      counters: { ...this.counters },
    };
  }

  /** Count of void numbers above `above` and up to `through`. */
  #voidsBetween(above: number, through: number): number {
    let count = 0;
    for (const { start, end } of this.#received.void) {
      count += Math.max(0, Math.min(end, through + 1) - Math.max(start, above + 1));
    }
    return count;
  }
}

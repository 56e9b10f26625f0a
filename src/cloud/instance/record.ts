import {
  commonFeatures,
  FEATURES,
  type HandshakeRequest,
  type HandshakeResponse,
  type LostRange,
  MAX_RANGES,
  type Range,
  Ranges,
} from "../../replication/mod.ts";
import { FormerEpochs, type FormerSummary } from "../state/former_epochs.ts";
import type { InstanceSettings } from "./settings.ts";
import { PEER_REPLAY_FRAMES, PeerHoles } from "../peer/holes.ts";
import { Received, type ReceivedRecord } from "../state/received.ts";
import {
  beginEpoch,
  type EpochHistory,
  type EpochVerdict,
  evaluateEpoch,
  isPeerEpoch,
} from "../state/received_epochs.ts";
import type { InstanceState } from "../state/state_file.ts";
import type { Accounted } from "../state/state_file_rebuild.ts";

/** What is counted of a boat since the cloud was started. */
export interface InstanceCounters {
  /** Frames that came live, those that introduce devices not among them. */
  liveFrames: number;
  /** Live frames that were here before. */
  duplicateFrames: number;
  /** Live frames that were not taken: they came late, or could not be kept. */
  refusedFrames: number;
  liveStreams: number;
  /** Blocks that were stored … */
  backfillBlocks: number;
  /** … their bytes on disk … */
  backfillBytes: number;
  /** … and the frames in them that were not here before. */
  backfillFrames: number;
  /** Blocks that were not what they said. */
  verifyFailures: number;
  /** Live streams that were ended because they were too fast … */
  rateLimited: number;
  /** … and because they were too far behind. */
  lagClosed: number;
  /** Frames that were taken, and could not be written: they are holes again. */
  lostFrames: number;
  /** Frames that were on disk, and are gone from there: they are holes again. */
  vanishedFrames: number;
  /** Blocks that were found damaged when files were checked; each time they are. */
  damagedBlocks: number;
  /** Frames of epochs that have ended, which never came, and which the boat does not send any more. */
  leftFrames: number;
}

/** What is known of a boat. */
export interface InstanceSummary {
  id: string;
  /** Whether it streams live frames now. */
  connected: boolean;
  /** Its run of numbers, hex; undefined before its first handshake. */
  epoch: string | undefined;
  /** Everything up to and with this number is here, or not to be had. */
  cursor: number;
  /** The same of what is on disk. */
  ackSeq: number;
  /** Highest number that came live; 0: none is known. */
  receivedThrough: number;
  /** The last number that the boat gave out, as far as it has told, or a frame has shown. */
  boatHeadSeq: number;
  /** Size of the boat's journal, so it says. */
  boatJournalBytes: number;
  /** What is missing, up to the boat's head, or to what comes live while it streams. */
  holes: Range[];
  /** What is not to be had any more, and why. */
  lost: LostRange[];
  /** What of the holes was on disk before, and is gone from there. */
  vanished: Range[];
  /** When all its files were last read and checked, milliseconds since 1970; undefined: not since the cloud was started. */
  checkedMs: number | undefined;
  /** Epochs before the current one of which something is missing, newest first. */
  formerEpochs: FormerSummary[];
  /** Frames from the cursor to the boat's head. */
  lagSeqs: number;
  /** When it was last heard of, milliseconds since 1970; undefined: never. */
  lastSeenMs: number | undefined;
  counters: Readonly<InstanceCounters>;
  /** `idle`: no live frame is being recorded. */
  recording: { kind: "idle" } | { kind: "recording" } | { kind: "failing"; reason: string };
}

/** What an answer depends on, beside the boat's word. */
interface AnswerOptions {
  /** Whether the boat was here before. */
  known: boolean;
  /** Live numbers must be above this one. */
  lastLive: number;
  settings: InstanceSettings;
}

const NOTHING_ACCOUNTED: Accounted = { live: 0, backfill: undefined };

/** What is known of a boat's numbers and of the boat's own words. Pure. */
export class InstanceRecord {
  readonly counters: InstanceCounters = {
    liveFrames: 0,
    duplicateFrames: 0,
    refusedFrames: 0,
    liveStreams: 0,
    backfillBlocks: 0,
    backfillBytes: 0,
    backfillFrames: 0,
    verifyFailures: 0,
    rateLimited: 0,
    lagClosed: 0,
    lostFrames: 0,
    vanishedFrames: 0,
    damagedBlocks: 0,
    leftFrames: 0,
  };
  /** The epochs before the current one. */
  readonly former: FormerEpochs;
  #epochs: EpochHistory;
  #received: Received;
  #headSeq: number;
  #journalBytes: number;
  #lastSeenMs: number | undefined;
  #buses: readonly string[];
  #accounted: Accounted;
  /** What was on disk and is gone from there, as far as nothing better is known of it. */
  #vanished: Ranges;
  #checkedMs: number | undefined;
  /** The last live number that the journal had when it was opened. */
  #liveBefore = 0;
  /** The first number that the boat was asked to send live. */
  #liveStartFrom = 1;
  #peerHoles = new PeerHoles();

  /** Begins with what is known from before. */
  constructor(state: InstanceState) {
    this.#epochs = state.epochs;
    this.former = new FormerEpochs(state.former);
    this.#received = new Received(state.received);
    this.#headSeq = state.headSeq;
    this.#journalBytes = state.journalBytes;
    this.#lastSeenMs = state.lastSeenMs;
    this.#buses = state.buses;
    this.#accounted = state.accounted ?? NOTHING_ACCOUNTED;
    this.#vanished = new Ranges(state.vanished);
  }

  /** The boat's run of numbers, hex; undefined before its first handshake. */
  get epoch(): string | undefined {
    return this.#epochs.current;
  }

  /** The epoch that the boat's blocks name, 16 bytes; undefined where the boat names none. */
  get blockEpoch(): Uint8Array<ArrayBuffer> | undefined {
    const { epoch } = this;
    return epoch === undefined || isPeerEpoch(epoch) ? undefined : Uint8Array.fromHex(epoch);
  }

  /** Its numbers in this run. */
  get received(): Received {
    return this.#received;
  }

  /** The last number that the boat gave out, so it says. */
  get headSeq(): number {
    return this.#headSeq;
  }

  /** Highest number that came live, as far as it is known. */
  get receivedThrough(): number {
    return Math.max(this.#received.liveThrough, this.#liveBefore);
  }

  /** When the boat was last heard of, milliseconds since 1970; undefined: never. */
  get lastSeenMs(): number | undefined {
    return this.#lastSeenMs;
  }

  /** Names of the boat's buses, by their indexes, as far as the boat has told them. */
  get buses(): readonly string[] {
    return this.#buses;
  }

  /** What a backfill may bring: what is missing below what comes live. */
  get holes(): Range[] {
    return this.#received.holes(Math.max(this.#liveStartFrom, this.receivedThrough + 1));
  }

  /** The number below which what is missing is on its way. */
  awaitedBelow(awaited: "asked" | "all" | "nothing"): number {
    return awaited === "nothing" ? 0 : awaited === "all" ? Infinity : this.#liveStartFrom;
  }

  /** What is to be written down. */
  get state(): InstanceState {
    return {
      epochs: this.#epochs,
      headSeq: this.#headSeq,
      journalBytes: this.#journalBytes,
      lastSeenMs: this.#lastSeenMs,
      buses: this.#buses,
      accounted: this.#accounted,
      received: this.#received.record(),
      vanished: this.vanished,
      ...(this.former.states.length > 0 && { former: this.former.states }),
    };
  }

  /** What was on disk, is gone from there, and has not come again. */
  get vanished(): Range[] {
    const { last } = this.#vanished;
    if (last === undefined) return [];
    this.#vanished = this.#vanished.intersect(new Ranges(this.#received.holes(last + 1)));
    return [...this.#vanished];
  }

  /** Frames that were on disk are gone from there, and missing again. Gives how many. */
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

  /** All its files were read and checked. */
  checked(wallMs: number): void {
    this.#checkedMs = wallMs;
  }

  /** What a handshake means for what is held. Nothing is changed. */
  decide({ epoch, headSeq }: HandshakeRequest): EpochVerdict {
    return evaluateEpoch(this.#epochs, { epoch, headSeq, last: this.#received.last });
  }

  /** The boat's numbers begin again: nothing is held of the run. Gives how many of the former run's never came. */
  beginEpoch({ epoch, features }: HandshakeRequest, randomBytes: (count: number) => Uint8Array): number {
    const top = Math.max(this.#headSeq, this.receivedThrough);
    const left = this.#received.holes(top + 1).reduce((sum, { start, end }) => sum + end - start, 0);
    if (!features.includes("former")) this.counters.leftFrames += left;
    const { current } = this.#epochs;
    // What is not on disk yet is asked for again: nobody looks any more whether it was written.
    if (current !== undefined) this.former.add({ epoch: current, headSeq: top, received: this.#received.record() });
    this.#epochs = beginEpoch(this.#epochs, { epoch, randomBytes });
    if (this.#epochs.current !== undefined) this.former.remove(this.#epochs.current);
    this.#received = new Received();
    this.#accounted = NOTHING_ACCOUNTED;
    this.#vanished = new Ranges();
    this.#liveBefore = 0;
    this.#liveStartFrom = 1;
    this.#peerHoles = new PeerHoles();
    return left;
  }

  /** The journal was opened: what it has may be newer than what was written down. */
  found(received: ReceivedRecord, { lastLive }: { lastLive: number }): void {
    this.#received = new Received(received);
    this.#liveBefore = lastLive;
  }

  /** Up to where it goes along with the files. */
  get accounted(): Accounted {
    return this.#accounted;
  }

  /** It goes along with the files up to there. */
  account(accounted: Accounted): void {
    this.#accounted = accounted;
  }

  /** What was received and could not be written is missing again. */
  forgetUnwritten(): void {
    const { count, last } = this.#received;
    this.#received.forget({ start: 1, end: last + 1 });
    this.counters.lostFrames += count - this.#received.count;
  }

  /** The boat names its buses. */
  nameBuses(names: readonly string[]): void {
    this.#buses = names;
  }

  /** Takes the boat's word. Gives how many of its ranges there was no room for. */
  declare({ headSeq, journalBytes, void: never, lost }: HandshakeRequest): number {
    this.#headSeq = headSeq;
    this.#journalBytes = journalBytes;
    return this.#received.declare({ void: never, lost, end: headSeq + 1 });
  }

  /** The boat says how far it is. */
  told({ headSeq, journalBytes }: { headSeq: number; journalBytes: number }): void {
    this.#headSeq = headSeq;
    this.#journalBytes = journalBytes;
  }

  /** The boat was heard of. */
  seen(wallMs: number): void {
    this.#lastSeenMs = wallMs;
  }

  /**
   * What a boat that has just declared itself is answered: all that is missing below its head is a hole, and live begins
   * with the head, or behind it where that is here, or cannot come live any more. A boat that has less than is here, as
   * after an old image of it was restored, sees that by it.
   */
  answer(request: HandshakeRequest, options: AnswerOptions): HandshakeResponse {
    const response = this.draft(request, options);
    this.#liveStartFrom = response.liveStartFrom;
    this.#peerHoles.met(request.headSeq);
    return response;
  }

  /** The same for a boat whose word is not taken yet: nothing is changed. */
  draft({ features, headSeq }: HandshakeRequest, { known, lastLive, settings }: AnswerOptions): HandshakeResponse {
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
    return {
      cursor: this.#received.cursor,
      // Who has more is told the rest when these are filled.
      holes: holes.slice(-MAX_RANGES),
      liveStartFrom,
      features: commonFeatures(FEATURES, features),
      known,
      durableThrough: this.#received.ack,
      rateLimit: settings.rateLimit,
      rateBurst: settings.rateBurst,
    };
  }

  /**
   * The newest hole of a peer's boat whose live stream is to be ended now, so that it is asked for its holes again;
   * undefined: none. To be called every second while the stream is open.
   */
  peerHoleDue(nowMs: number): Range | undefined {
    const hole = this.holes.at(-1);
    const progress = { hole, journalBytes: this.#journalBytes, blocks: this.counters.backfillBlocks };
    return this.#peerHoles.isDue(progress, nowMs) ? hole : undefined;
  }

  /** What is known, for people and metrics. While it streams, what is on its way is no hole. */
  summary({ connected }: { connected: boolean }): Omit<InstanceSummary, "id" | "recording"> {
    const { cursor, ack, lost } = this.#received;
    const top = Math.max(this.#headSeq, this.receivedThrough);
    return {
      connected,
      epoch: this.epoch,
      cursor,
      ackSeq: ack,
      receivedThrough: this.receivedThrough,
      boatHeadSeq: top,
      boatJournalBytes: this.#journalBytes,
      holes: connected ? this.holes : this.#received.holes(top + 1),
      lost,
      vanished: this.vanished,
      checkedMs: this.#checkedMs,
      formerEpochs: this.former.incomplete,
      lagSeqs: Math.max(0, top - cursor - this.#voidsBetween(cursor, top)),
      lastSeenMs: this.#lastSeenMs,
      counters: { ...this.counters },
    };
  }

  /** Numbers that never had a frame, above one number and up to another. */
  #voidsBetween(above: number, through: number): number {
    let count = 0;
    for (const { start, end } of this.#received.void) {
      count += Math.max(0, Math.min(end, through + 1) - Math.max(start, above + 1));
    }
    return count;
  }
}

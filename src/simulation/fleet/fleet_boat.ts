import { BlockReader } from "../../journal/mod.ts";
import type { Clock, Logger } from "../../base/mod.ts";
import { BROADCAST_ADDRESS, buildCanId, NAME_BYTES, newStoredFrame, type StoredFrame } from "../../frame/mod.ts";
import { PGN } from "../../pgn/mod.ts";
import {
  type ArchiveIndex,
  BoatLink,
  LINK_LIMITS,
  type LinkTlsPaths,
  type LiveCursor,
  type LiveFrame,
  type LostRange,
  type MadeFrames,
  type ReplicationStatus,
} from "../../replication/mod.ts";
import { BLOCK_FRAMES, FrameMaker, makeEpoch, nameOfSource, SOURCES } from "./frames.ts";

/** Options of a {@linkcode FleetBoat}. */
export interface FleetBoatOptions {
  id: string;
  seed: number;
  /** `host:port` of the cloud. */
  target: string;
  /** Undefined: without encryption, to a cloud on this machine. */
  tls: LinkTlsPaths | undefined;
  /** Microseconds from one frame to the next. */
  intervalUs: number;
  /** Frames are deleted once the cloud's object store has them, as by a journal with room for no more. Default: never. */
  isForgetting?: boolean | undefined;
  /** Longest time between two attempts to connect, milliseconds; default that of a real boat. */
  maxReconnectMs?: number | undefined;
  clock: Clock;
  log: Logger;
}

/** State of a boat at a time. */
export interface FleetBoatSample {
  /** Number of frames that the boat has made. */
  made: number;
  /** Of these the cloud has received, or declared unobtainable. */
  received: number;
  /** Of these the cloud has on its disk. */
  stored: number;
  /**
   * Age of the oldest frame that the cloud has not received, of that which it has not stored, and of that which its object
   * store does not have, milliseconds; 0: none, or there is no object store.
   */
  receivedWaitMs: number;
  storedWaitMs: number;
  objectWaitMs: number;
  lost: readonly LostRange[];
  status: ReplicationStatus;
}

/** Size of its journal that a boat declares: any but 0, so that it counts as a boat with a journal. */
const JOURNAL_BYTES = 1024 * 1024;
const PRIORITY = 6;
/** The fleet's certificate files do not change: they are read at each connection only. */
const NEVER_MS = 1_000_000_000;

/** A boat whose journal is a function: any of its frames and blocks is made when it is needed. */
export class FleetBoat implements MadeFrames {
  readonly id: string;
  readonly #options: FleetBoatOptions;
  readonly #link: BoatLink;
  readonly #waiting = new Set<() => void>();
  #epoch: Uint8Array<ArrayBuffer> = new Uint8Array(0);
  #maker: FrameMaker;
  /** Since when there are frames, monotonic; undefined: there are none. */
  #startMs: number | undefined;
  #head = 0;
  #received = 0;
  #objectsThrough = 0;
  /** Frames of earlier epochs that the cloud has not acknowledged. */
  #abandoned = 0;

  constructor(options: FleetBoatOptions) {
    const { id, target, tls, maxReconnectMs = LINK_LIMITS.maxReconnectMs, clock, log } = options;
    const limits = { ...LINK_LIMITS, maxReconnectMs };
    this.id = id;
    this.#options = options;
    this.#maker = this.#beginEpoch();
    const [epoch, head, oldest] = [() => this.#epoch, () => this.#head, () => this.oldestSeq];
    this.#link = new BoatLink({
      target,
      instanceId: id,
      tls,
      source: this,
      archive: {
        index: this.#index(),
        // The cloud asks for that of the frames that it has.
        digests: [],
        digestOf: (seqs) => this.#maker.digest(seqs),
        get oldestSeq() {
          return head() > 0 ? oldest() : undefined;
        },
      },
      numbers: {
        get epoch() {
          return epoch();
        },
        skipped: undefined,
        renew: () => this.#renew(),
      },
      devices: () => claims(clock.wallUs()),
      journalBytes: () => JOURNAL_BYTES,
      busNames: ["can0"],
      limits: () => limits,
      certificateCheckMs: NEVER_MS,
      clock,
      log,
    });
  }

  /** 16 bytes. */
  get epoch(): Uint8Array<ArrayBuffer> {
    return this.#epoch;
  }

  /** Newest sequence number. */
  get head(): number {
    return this.#head;
  }

  /** Highest number through which the cloud has ever said that its object store has all frames; 0: none. */
  get objectsThrough(): number {
    const reported = this.#link.status().cloud_stored_seq ?? 0;
    return this.#objectsThrough = Math.min(this.#head, Math.max(this.#objectsThrough, reported));
  }

  /** Oldest frame that is not deleted. */
  get oldestSeq(): number {
    // The newest frame is in a file that is being written.
    return this.#options.isForgetting ? Math.max(1, Math.min(this.#head, this.objectsThrough + 1)) : 1;
  }

  /** A reader of the frames from a number on. */
  cursor({ fromSeq }: { fromSeq: number }): LiveCursor {
    return new MadeCursor(fromSeq, this);
  }

  /**
   * Connects, and stays connected. There are frames from the first call of {@linkcode FleetBoat.advance} on; their times
   * begin now, so that they are behind by the time in between.
   */
  start(): void {
    this.#maker = this.#beginEpoch();
    this.#link.start();
  }

  /** Makes the frames that are due. @param nowMs monotonic */
  advance(nowMs: number): void {
    this.#startMs ??= nowMs;
    const head = this.#maker.headAt((nowMs - this.#startMs) * 1000);
    if (head <= this.#head) return;
    this.#head = head;
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const wake of waiting) wake();
  }

  /** Writes a frame that exists. */
  write(seq: number, frame: StoredFrame): void {
    this.#maker.write(seq, frame);
  }

  /** Calls `wake` once when there are further frames. Returns a function that cancels it. */
  onFrames(wake: () => void): () => void {
    this.#waiting.add(wake);
    return () => this.#waiting.delete(wake);
  }

  /** Current state. @param nowMs monotonic */
  sample(nowMs: number): FleetBoatSample {
    const status = this.#link.status();
    const stored = Math.min(this.#head, status.cloud_durable_seq ?? 0);
    // What is missing on the cloud has not been received, whatever came after it.
    const [hole] = status.holes;
    const through = hole ? hole.start - 1 : this.#link.receivedThrough;
    this.#received = Math.min(this.#head, Math.max(this.#received, stored, status.cloud_cursor, through));
    const hasObjects = typeof status.cloud_stored_seq === "number";
    return {
      made: this.#head,
      received: this.#received,
      stored,
      receivedWaitMs: this.#waitMs(this.#received, nowMs),
      storedWaitMs: this.#waitMs(stored, nowMs),
      objectWaitMs: hasObjects ? this.#waitMs(this.objectsThrough, nowMs) : 0,
      lost: this.#abandoned > 0
        ? [...status.lost, { start: 1, end: this.#abandoned + 1, reason: "of an earlier epoch" }]
        : status.lost,
      status,
    };
  }

  /** Sends present frames and disconnects. */
  stop(): Promise<void> {
    return this.#link.stop();
  }

  #waitMs(through: number, nowMs: number): number {
    if (through >= this.#head) return 0;
    return Math.max(0, nowMs - (this.#startMs ?? nowMs) - this.#maker.dueUs(through + 1) / 1000);
  }

  #beginEpoch(): FrameMaker {
    const { id, seed, intervalUs, clock } = this.#options;
    this.#startMs = undefined;
    this.#head = 0;
    this.#received = 0;
    this.#objectsThrough = 0;
    const random = crypto.getRandomValues(new Uint32Array(1))[0] ?? 0;
    this.#epoch = makeEpoch({ startUs: clock.wallUs(), intervalUs, random });
    return new FrameMaker({ seed, boat: id, epoch: this.#epoch });
  }

  /** The cloud has frames of another machine under these numbers. */
  #renew(): void {
    const head = this.#head;
    this.#abandoned += Math.max(0, head - (this.#link.status().cloud_durable_seq ?? 0));
    this.#maker = this.#beginEpoch();
    this.#link.newEpoch(head);
  }

  /** Blocks of fixed numbers; the last one ends with the newest frame. */
  #index(): ArchiveIndex {
    return {
      isUnmounted: () => Promise.resolve(false),
      reader: () => new BlockReader(),
      locations: ({ fromSeq = 1 }) => {
        const [maker, head, oldest] = [this.#maker, this.#head, this.oldestSeq];
        const made = [];
        for (let first = fromSeq - (fromSeq - 1) % BLOCK_FRAMES; first <= head; first += BLOCK_FRAMES) {
          const [seq, last] = [Math.max(oldest, first), Math.min(head, first + BLOCK_FRAMES - 1)];
          if (seq <= last) made.push({ seq, bytes: () => maker.block(seq, last) });
        }
        return Promise.resolve({ locations: [], unwritten: [], made, isComplete: true });
      },
    };
  }
}

/** Reads the frames of a boat in order. */
class MadeCursor implements LiveCursor {
  readonly #boat: FleetBoat;
  readonly #frame = newStoredFrame();
  #next: number;
  #isClosed = false;
  #wake: (() => void) | undefined;

  constructor(fromSeq: number, boat: FleetBoat) {
    this.#next = fromSeq;
    this.#boat = boat;
  }

  get nextSeq(): number {
    return this.#next;
  }

  async read(
    onFrame: (frame: StoredFrame) => void,
    { maxFrames, maxBytes = Infinity }: { maxFrames: number; maxBytes?: number },
  ): Promise<number> {
    while (this.#next > this.#boat.head && !this.#isClosed) await this.#waitForFrames();
    if (this.#isClosed) return 0;
    let [frames, bytes] = [0, 0];
    for (; this.#next <= this.#boat.head && frames < maxFrames && bytes < maxBytes; frames++) {
      this.#boat.write(this.#next++, this.#frame);
      bytes += this.#frame.length;
      onFrame(this.#frame);
    }
    return frames;
  }

  close(): void {
    this.#isClosed = true;
    this.#wake?.();
  }

  #waitForFrames(): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#boat.onFrames(resolve);
      this.#wake = () => {
        cancel();
        resolve();
      };
    });
  }
}

/** Address claims of all devices. */
function claims(timestampUs: number): LiveFrame[] {
  return Array.from({ length: SOURCES }, (_, src) => {
    const data = new Uint8Array(NAME_BYTES);
    new DataView(data.buffer).setBigUint64(0, nameOfSource(src), true);
    const canId = buildCanId({ prio: PRIORITY, pgn: PGN.addressClaim, src, dst: BROADCAST_ADDRESS });
    return { seq: 0, timestampUs, canId, data };
  });
}

import { turn } from "../base/mod.ts";
import type { Broker } from "../broker/mod.ts";
import { newStoredFrame } from "../frame/mod.ts";
import {
  type Block,
  BlockBuilder,
  type BlockDevice,
  epochWordOf,
  type Gap,
  type JournalIndex,
  MAX_BUSES,
  NO_PRODUCT,
  readMemoryBlock,
} from "../journal/mod.ts";
import { lowestOf, MAX_WINDOW_FRAMES, type WindowRange } from "./window.ts";

/** Frames that are collected before other work gets its turn. */
const FRAMES_A_TURN = 2048;
/** Most frames that are collected before an event is written. */
const MAX_COLLECTED_FRAMES = 2 * MAX_WINDOW_FRAMES;

/** Where the frames of a window come from. */
export interface FrameStore {
  /** Keeps frames from this number on, until `release`; called for each event. */
  keep(fromSeq: number): void;
  /** Collects new frames; called once a second. */
  collect(): void;
  /** No event needs frames before this number any more; Infinity: none at all. */
  release(fromSeq: number): void;
  /** The blocks that may have frames of a window, in order. */
  blocks(range: WindowRange, epochWord: number): AsyncIterable<Block>;
}

/** Frames from the journal, also of an earlier run. */
export class JournalFrames implements FrameStore {
  readonly #index: Pick<JournalIndex, "epochBlocks">;

  constructor(index: Pick<JournalIndex, "epochBlocks">) {
    this.#index = index;
  }

  keep(): void {}
  collect(): void {}
  release(): void {}

  async *blocks(range: WindowRange, epochWord: number): AsyncIterable<Block> {
    const fromSeq = lowestOf(range);
    for await (const { block } of this.#index.epochBlocks({ fromSeq, epochWord, isCorrected: true })) yield block;
  }
}

/**
 * Frames from the ring, collected into blocks while an event needs them: the ring alone may hold less than two minutes. A file
 * has at most four buses: frames of others are missing in it.
 */
export class RingFrames implements FrameStore {
  readonly #broker: Pick<Broker, "buses" | "ring" | "registry">;
  readonly #epoch: () => Uint8Array<ArrayBuffer>;
  readonly #builder = new BlockBuilder();
  readonly #frame = newStoredFrame();
  #sealed: { bytes: Uint8Array<ArrayBuffer>; lastSeq: number }[] = [];
  /** Number of the next frame to collect; undefined: no event needs any. */
  #next: number | undefined;
  #isOpen = false;
  /** Since the first event that needs some; beyond the limit further ones are missing: the disk hangs. */
  #collected = 0;
  #collecting: Promise<void> | undefined;

  /** @param options.epoch returns the current epoch, 16 bytes */
  constructor(
    broker: Pick<Broker, "buses" | "ring" | "registry">,
    { epoch }: { epoch: () => Uint8Array<ArrayBuffer> },
  ) {
    this.#broker = broker;
    this.#epoch = epoch;
  }

  keep(fromSeq: number): void {
    this.#next ??= fromSeq;
    this.collect();
  }

  collect(): void {
    if (this.#collecting || !this.#collectSome()) return;
    this.#collecting = this.#collectRest().finally(() => this.#collecting = undefined);
  }

  async #collectRest(): Promise<void> {
    do await turn(); while (this.#collectSome());
  }

  /** Collects some frames. Returns false at the end. */
  #collectSome(): boolean {
    const { ring } = this.#broker;
    if (this.#next === undefined || this.#collected >= MAX_COLLECTED_FRAMES) return false;
    // A new epoch began.
    if (ring.head < this.#next - 1) this.#restart(ring.base + 1);
    let expected = this.#next;
    let seq = Math.max(expected, ring.oldest);
    const end = Math.min(ring.head, seq + FRAMES_A_TURN);
    for (; seq <= end; seq++) {
      if (!ring.read(seq, this.#frame) || this.#frame.bus >= MAX_BUSES) continue;
      if (!this.#isOpen || seq !== expected) {
        this.#begin(seq > expected ? { firstMissing: expected, reason: "source" } : undefined);
      }
      if (this.#builder.append(seq, this.#frame) !== "added") {
        this.#begin(undefined);
        this.#builder.append(seq, this.#frame);
      }
      expected = seq + 1;
    }
    this.#collected += Math.max(0, seq - this.#next);
    this.#next = seq;
    return seq <= ring.head;
  }

  release(fromSeq: number): void {
    this.#sealed = this.#sealed.filter(({ lastSeq }) => lastSeq >= fromSeq);
    if (!Number.isFinite(fromSeq)) this.#restart(undefined);
  }

  async *blocks(_range: WindowRange, epochWord: number): AsyncIterable<Block> {
    if (epochWord !== epochWordOf(this.#epoch())) return;
    this.collect();
    await this.#collecting;
    const open = this.#isOpen && this.#builder.frames > 0 ? [this.#builder.copy()] : [];
    for (const bytes of [...this.#sealed.map(({ bytes }) => bytes), ...open]) yield readMemoryBlock(bytes);
  }

  #restart(next: number | undefined): void {
    this.#sealed = [];
    this.#isOpen = false;
    this.#collected = 0;
    this.#next = next;
  }

  #begin(gap: Gap | undefined): void {
    const { registry, buses } = this.#broker;
    if (this.#isOpen && this.#builder.frames > 0) {
      const { lastSeq } = this.#builder;
      this.#sealed.push({ bytes: this.#builder.finish(), lastSeq });
    }
    const devices = Array.from(
      registry,
      ({ bus, src, name = 0n, product = NO_PRODUCT }): BlockDevice => ({ bus, src, name, activeFrom: 0, ...product }),
    ).filter(({ name }) => name !== 0n);
    this.#builder.begin({
      devices,
      metadata: { epoch: this.#epoch(), buses: buses.slice(0, MAX_BUSES), ...(gap && { gap }) },
    });
    this.#isOpen = true;
  }
}

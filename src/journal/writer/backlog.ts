import type { SealedBlock } from "../types.ts";
import type { WalFile } from "../wal/wal_files.ts";

/** Why a block was ended. */
export type EndedBy = "full" | "clock step" | "missing numbers" | "rotation";

/** A sealed block that is not in a file yet. */
export interface WaitingBlock extends SealedBlock {
  /** Last block of its file. */
  endsFile?: boolean;
  /** WAL file that holds its frames, or will at the next flush; undefined for recovered blocks. */
  wal?: WalFile;
  /** Undefined for recovered blocks. */
  endedBy?: EndedBy;
}

/** Blocks that wait to be written, oldest first, in bounded memory. */
export class Backlog {
  readonly #blocks: WaitingBlock[];
  readonly #blockBytes: number;
  readonly #maxBytes: number;
  #waiting: (() => void)[] = [];
  #isHeld = false;

  /** @param blocks initial content */
  constructor(blocks: readonly WaitingBlock[], { blockBytes, maxBytes }: { blockBytes: number; maxBytes: number }) {
    this.#blocks = [...blocks];
    this.#blockBytes = blockBytes;
    this.#maxBytes = maxBytes;
  }

  /** The blocks, oldest first. */
  get blocks(): readonly WaitingBlock[] {
    return this.#blocks;
  }

  get length(): number {
    return this.#blocks.length;
  }

  get first(): WaitingBlock | undefined {
    return this.#blocks[0];
  }

  get last(): WaitingBlock | undefined {
    return this.#blocks.at(-1);
  }

  /** Frames of all blocks. */
  get frames(): number {
    return this.#blocks.reduce((sum, { firstSeq, lastSeq }) => sum + lastSeq - firstSeq + 1, 0);
  }

  /** Whether no block may be added. */
  get isFull(): boolean {
    return this.#bytes >= this.#maxBytes;
  }

  /** Reason for a full backlog, as text for logs. */
  get reason(): string {
    const early = new Map<EndedBy, number>();
    for (const { endedBy } of this.#blocks) {
      if (endedBy !== undefined && endedBy !== "full") early.set(endedBy, (early.get(endedBy) ?? 0) + 1);
    }
    const [most] = [...early].sort(([, a], [, b]) => b - a);
    const cause = most && 2 * most[1] >= this.length
      ? `${most[1]} of them ended early: ${most[0]}`
      : "the disk is slower than the frames";
    return `the journal backlog is full: ${this.length} blocks wait to be written, ${cause}`;
  }

  get #bytes(): number {
    return this.#blocks.length * this.#blockBytes;
  }

  push(block: WaitingBlock): void {
    this.#blocks.push(block);
  }

  /** Removes the oldest block after it was written. */
  shift(): void {
    this.#blocks.shift();
    this.#resolveReady();
  }

  /** While the backlog is held, {@linkcode Backlog.ready} does not resolve. */
  hold(isHeld: boolean): void {
    this.#isHeld = isHeld;
    this.#resolveReady();
  }

  /** Resolves when at most half of the capacity is in use; undefined while that is the case. */
  ready(): Promise<void> | undefined {
    if (this.#hasCapacity) return undefined;
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  get #hasCapacity(): boolean {
    return !this.#isHeld && 2 * this.#bytes < this.#maxBytes;
  }

  #resolveReady(): void {
    if (!this.#hasCapacity) return;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

/** Change of the difference between wall-clock and monotonic time that counts as a step. */
const MAX_DRIFT_US = 1_000_000;

/**
 * Detects steps of the wall clock: each frame has both times, and their difference changes only when the wall clock is set.
 * So frames of several buses may arrive in any order of time.
 */
export class ClockSteps {
  #offsetUs: number | undefined;

  /** True if the clock was set by more than a second, in either direction, between the previous frame and this one. */
  isStep({ timeUs, monoMs }: { timeUs: number; monoMs: number }): boolean {
    const offsetUs = timeUs - monoMs * 1000;
    const previous = this.#offsetUs ?? offsetUs;
    this.#offsetUs = offsetUs;
    return Math.abs(offsetUs - previous) > MAX_DRIFT_US;
  }
}

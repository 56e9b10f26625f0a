import { type Block, BlockReader, type EpochBlock, MAX_DISORDER_US } from "../../journal/mod.ts";
import type { FrameArchive } from "../../stream/mod.ts";
import type { PlaylistBlock } from "./playlist.ts";

/** A playback of a block. */
interface Played {
  location: PlaylistBlock;
  /** Number of the first played frame. */
  firstSeq: number;
  /** Frames of the block before that one. */
  skipped: number;
  /** Times of the first and the last played frame; `toUs` is Infinity during playback. */
  fromUs: number;
  toUs: number;
}

/** Maximum number of remembered playbacks, as a loop is endless: more than 10 million frames. */
const MAX_PLAYS = 65_536;
/** Epoch of files that name none. */
const NO_EPOCH = 0;
/** Playbacks forgotten at once. */
const FORGET = 1024;

/** The played blocks with their assigned numbers: the archive of frames that have left the ring. */
export class PlayedBlocks implements FrameArchive {
  readonly isComplete = true;
  readonly #head: () => number;
  #plays: Played[] = [];
  /** The block of the last playback, until that ends. */
  #current: Block | undefined;

  /** @param head newest number */
  constructor(head: () => number) {
    this.#head = head;
  }

  get oldestSeq(): number | undefined {
    return this.#plays[0]?.firstSeq;
  }

  /** Starts the playback of a block. `timeUs` is the time of its first played frame, which gets the next number. */
  begin(
    block: Block,
    { location, skipped, timeUs }: { location: PlaylistBlock; skipped: number; timeUs: number },
  ): void {
    if (this.#plays.length >= MAX_PLAYS) this.#plays = this.#plays.slice(FORGET);
    this.#plays.push({ location, firstSeq: this.#head() + 1, skipped, fromUs: timeUs, toUs: Infinity });
    this.#current = block;
  }

  /** Ends the playback of the block. `timeUs` is the time of its last played frame. */
  end(timeUs: number): void {
    const last = this.#plays.at(-1);
    if (last) last.toUs = timeUs;
    this.#current = undefined;
  }

  /** A reader of the blocks. */
  reader(): BlockReader {
    return new BlockReader();
  }

  /**
   * Reads the blocks that may hold frames of a range. By number: every playback, including those that start meanwhile. By
   * time: the newest playback of each block at this moment, so that a loop shows each frame once.
   *
   * @throws {BlockError} a block has become unreadable
   */
  async *blocks({ fromSeq, fromUs = -Infinity, toUs = Infinity }: {
    fromSeq?: number | undefined;
    fromUs?: number | undefined;
    toUs?: number | undefined;
  }): AsyncGenerator<Block> {
    using reader = this.reader();
    if (fromSeq === undefined) {
      const through = this.#head();
      for (const { play, from } of this.#newest()) {
        const mayHold = play.toUs >= fromUs - MAX_DISORDER_US && play.fromUs <= toUs + MAX_DISORDER_US;
        if (mayHold) yield await this.#read(play, { reader, from, through });
      }
      return;
    }
    let seq = fromSeq;
    for (let play = this.#playOf(seq); play; play = this.#playOf(seq)) {
      const block = await this.#read(play, { reader });
      seq = play.firstSeq + block.frameCount;
      yield block;
    }
  }

  /**
   * The same blocks for readers of positions. In a loop numbers do not ascend with times; so positions are those of files
   * without an epoch: a block, and a frame in it.
   */
  async *epochBlocks(range: Parameters<PlayedBlocks["blocks"]>[0]): AsyncGenerator<EpochBlock> {
    for await (const block of this.blocks(range)) yield { block, epochWord: NO_EPOCH };
  }

  epochOrder(): number[] {
    return [NO_EPOCH];
  }

  /** Unknown in advance. */
  framesAtMost(): Promise<number> {
    return Promise.resolve(Infinity);
  }

  /** Ignored: the player has reported the damage. */
  noteDamaged(): void {}

  /** The playback that contains a number, or the first one after it. */
  #playOf(seq: number): Played | undefined {
    return seq > this.#head() ? undefined : this.#plays[this.#indexOf(seq)];
  }

  #indexOf(seq: number): number {
    let [low, high] = [0, this.#plays.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#plays[middle]?.firstSeq ?? Infinity) <= seq) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** The newest playback of each block; of the current block also the part of the previous playback not replayed yet. */
  #newest(): { play: Played; from: number }[] {
    const newest = new Map<string, { play: Played; from: number }>();
    const last = this.#plays.at(-1);
    for (const play of this.#plays) {
      const key = `${play.location.path}:${play.location.offset}`;
      const previous = newest.get(key);
      newest.set(key, { play, from: 0 });
      if (!previous || play !== last || !this.#current) continue;
      newest.set(`${key} previous`, { play: previous.play, from: this.#head() + 1 - play.firstSeq });
    }
    return [...newest.values()].sort((a, b) => a.play.fromUs - b.play.fromUs || a.from - b.from);
  }

  /** Reads a playback without its first `from` frames and without numbers above `through`. */
  async #read(
    play: Played,
    { reader, from = 0, through = Infinity }: { reader: BlockReader; from?: number; through?: number },
  ): Promise<Block> {
    const { location, firstSeq, skipped } = play;
    const current = this.#plays.at(-1) === play ? this.#current : undefined;
    const block = current ?? await reader.read(location.path, location);
    const next = Math.min(this.#plays[this.#indexOf(firstSeq) + 1]?.firstSeq ?? this.#head() + 1, through + 1);
    return block.slice(skipped + from, skipped + next - firstSeq).renumbered(firstSeq + from);
  }
}

import { type Block, BlockReader, type EpochBlock, MAX_DISORDER_US } from "../../journal/mod.ts";
import type { FrameArchive } from "../../stream/mod.ts";
import type { PlaylistBlock } from "./playlist.ts";

/** A block that was played, or is. */
interface Played {
  place: PlaylistBlock;
  /** Number of its first frame that was played. */
  firstSeq: number;
  /** Frames in front of that one. */
  skipped: number;
  /** Times of its first and its last frame that were played; Infinity while it is played. */
  fromUs: number;
  toUs: number;
}

/** Plays that are remembered: with a loop there is no end of them. 10 million frames and more. */
const MAX_PLAYS = 65_536;
/** Epoch of files that name none. */
const NO_EPOCH = 0;
/** Plays forgotten at once. */
const FORGET = 1024;

/** What was played, under the numbers that it got: the place of frames that have left the ring. */
export class PlayedBlocks implements FrameArchive {
  readonly isComplete = true;
  readonly #head: () => number;
  #plays: Played[] = [];
  #now: Block | undefined;

  /** @param head newest number */
  constructor(head: () => number) {
    this.#head = head;
  }

  get oldestSeq(): number | undefined {
    return this.#plays[0]?.firstSeq;
  }

  /** From now on the frames of this block are played. `timeUs` is that of the first one, which gets the next number. */
  begin(block: Block, { place, skipped, timeUs }: { place: PlaylistBlock; skipped: number; timeUs: number }): void {
    if (this.#plays.length >= MAX_PLAYS) this.#plays = this.#plays.slice(FORGET);
    this.#plays.push({ place, firstSeq: this.#head() + 1, skipped, fromUs: timeUs, toUs: Infinity });
    this.#now = block;
  }

  /** The last frame of the block was played. */
  end(timeUs: number): void {
    const last = this.#plays.at(-1);
    if (last) last.toUs = timeUs;
    this.#now = undefined;
  }

  /**
   * Blocks with frames of a range. By numbers: each play, with what is played meanwhile. By times: the newest play of
   * each block as it stands now, so that a loop shows each frame once.
   *
   * @throws {BlockError} a block cannot be read any more
   */
  async *blocks({ fromSeq, fromUs = -Infinity, toUs = Infinity }: {
    fromSeq?: number | undefined;
    fromUs?: number | undefined;
    toUs?: number | undefined;
  }): AsyncGenerator<Block> {
    using reader = new BlockReader();
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
   * The same blocks, for readers that go by places: in a loop numbers do not ascend with times, and so a place is, as in
   * files without an epoch, that of a frame in its block.
   */
  async *epochBlocks(range: Parameters<PlayedBlocks["blocks"]>[0]): AsyncGenerator<EpochBlock> {
    for await (const block of this.blocks(range)) yield { block, epochWord: NO_EPOCH };
  }

  /** There is but one. */
  epochOrder(): number[] {
    return [NO_EPOCH];
  }

  /** Nobody knows before it is played. */
  framesAtMost(): Promise<number> {
    return Promise.resolve(Infinity);
  }

  /** A reader found what the player has found, and told, already. */
  noteDamaged(): void {}

  /** The play that has a number, or the first one after it. */
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

  /** Of a block that is played again, what has not come yet is still there from the last time. */
  #newest(): { play: Played; from: number }[] {
    const newest = new Map<string, { play: Played; from: number }>();
    const last = this.#plays.at(-1);
    for (const play of this.#plays) {
      const key = `${play.place.path}:${play.place.offset}`;
      const before = newest.get(key);
      newest.set(key, { play, from: 0 });
      if (!before || play !== last || !this.#now) continue;
      newest.set(`${key} before`, { play: before.play, from: this.#head() + 1 - play.firstSeq });
    }
    return [...newest.values()].sort((a, b) => a.play.fromUs - b.play.fromUs || a.from - b.from);
  }

  /** Reads a play without its first `from` frames, and without what has a number above `through`. */
  async #read(
    play: Played,
    { reader, from = 0, through = Infinity }: { reader: BlockReader; from?: number; through?: number },
  ): Promise<Block> {
    const { place, firstSeq, skipped } = play;
    const playing = this.#plays.at(-1) === play ? this.#now : undefined;
    const block = playing ?? await reader.read(place.path, place);
    const next = Math.min(this.#plays[this.#indexOf(firstSeq) + 1]?.firstSeq ?? this.#head() + 1, through + 1);
    return block.slice(skipped + from, skipped + next - firstSeq).renumbered(firstSeq + from);
  }
}

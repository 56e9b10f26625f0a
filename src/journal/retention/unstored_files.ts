import { basename } from "node:path";
import { type Range, Ranges, turn } from "../../base/mod.ts";
import { BlockReader } from "../block/reader.ts";
import type { JournalFileInfo, JournalIndex } from "../index/journal_index.ts";

/** Numbers of an epoch. */
export interface EpochRanges {
  /** First four bytes of the epoch. */
  epochWord: number;
  /** Lowest first. */
  ranges: readonly Range[];
}

/** What is known of the frames that a cloud has stored. */
export interface StoredFrames {
  /** True: files with frames that are not stored are kept past their age. */
  readonly isKept: boolean;
  /**
   * Everything up to and including this number is stored, in an epoch given by its first four bytes; 0: nothing, or it is
   * not known; Infinity: the whole epoch.
   */
  storedThrough(epochWord: number): number;
  /** Called after frames were deleted that were not stored. */
  noteDeleted(deleted: EpochRanges): void;
}

/** Finds the files of a journal that have frames which the cloud has not stored. */
export class UnstoredFiles {
  readonly #directory: string;
  readonly #index: JournalIndex;
  readonly #stored: StoredFrames;
  /** Last numbers of files, by name: complete files do not change. */
  #lastSeqs = new Map<string, number>();

  constructor(directory: string, { index, stored }: { index: JournalIndex; stored: StoredFrames }) {
    this.#directory = directory;
    this.#index = index;
    this.#stored = stored;
  }

  /** True if files with such frames are kept. */
  get isKept(): boolean {
    return this.#stored.isKept;
  }

  /**
   * Those of some complete files, given by name, that have such frames. A file without an epoch, of older software, is never
   * replicated and not among them; an unreadable file may have such frames, and is.
   */
  async among(names: readonly string[]): Promise<Set<string>> {
    const ends = endsOf(this.#index.files);
    const unstored = new Set<string>();
    const lastSeqs = new Map<string, number>();
    for (const name of names) {
      const info = this.#index.infoOf(name);
      if (info?.epochWord === 0) continue;
      const through = info === undefined ? 0 : this.#stored.storedThrough(info.epochWord);
      if ((ends.get(name) ?? Infinity) <= through || through === Infinity) continue;
      const isBegun = info?.firstSeq !== undefined && info.firstSeq <= through;
      const lastSeq = isBegun ? this.#lastSeqs.get(name) ?? await this.#lastSeqOf(name) : Infinity;
      if (isBegun) lastSeqs.set(name, lastSeq);
      if (lastSeq > through) unstored.add(name);
    }
    this.#lastSeqs = lastSeqs;
    return unstored;
  }

  /** Numbers of the frames in a file that are not stored; frames in damaged blocks are left out. */
  async framesOf(name: string): Promise<EpochRanges> {
    const epochWord = this.#index.infoOf(name)?.epochWord ?? 0;
    const frames = await this.#read(name);
    frames.remove(0, this.#stored.storedThrough(epochWord) + 1);
    return { epochWord, ranges: [...frames] };
  }

  /** Reports frames that were deleted with their file. */
  noteDeleted(deleted: EpochRanges): void {
    this.#stored.noteDeleted(deleted);
  }

  /** Infinity if its last block is damaged. */
  async #lastSeqOf(name: string): Promise<number> {
    const path = `${this.#directory}/${name}`;
    const blocks = await this.#index.blocksOf(path);
    const last = blocks.reduce((end, each) => each.seq > (end?.seq ?? -1) ? each : end, blocks[0]);
    using reader = new BlockReader();
    const { baseSeq = Infinity, frameCount = 0 } = last && await reader.tryRead(path, last) || {};
    return baseSeq + frameCount - 1;
  }

  async #read(name: string): Promise<Ranges> {
    const path = `${this.#directory}/${name}`;
    const frames = new Ranges();
    using reader = new BlockReader();
    for (const location of await this.#index.blocksOf(path)) {
      const { baseSeq, frameCount = 0 } = await reader.tryRead(path, location) ?? {};
      if (baseSeq !== undefined) frames.add(baseSeq, baseSeq + frameCount);
      await turn();
    }
    return frames;
  }
}

/** Upper bounds for the numbers of files, by name, from the files after them; Infinity if unknown. */
function endsOf(files: readonly JournalFileInfo[]): Map<string, number> {
  const ends = new Map<string, number>();
  for (const run of Map.groupBy(files, ({ epochWord }) => epochWord).values()) {
    const ordered = run.map(({ path, firstSeq = NaN }) => ({ name: basename(path), firstSeq }))
      .sort((a, b) => a.firstSeq - b.firstSeq);
    for (const [i, { name, firstSeq }] of ordered.entries()) {
      // After a crash, consecutive files may share numbers: so the bound comes from the next but one.
      const [next = NaN, second = NaN] = [ordered[i + 1]?.firstSeq, ordered[i + 2]?.firstSeq];
      ends.set(name, next > firstSeq && second > next ? second - 1 : Infinity);
    }
  }
  return ends;
}

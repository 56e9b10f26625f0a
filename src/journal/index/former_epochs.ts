import { turn } from "../../base/mod.ts";
import { readBlock } from "../block/block.ts";
import { BlockReader } from "../block/reader.ts";
import { BlockError } from "../errors.ts";
import { epochWordOf } from "../file/layout.ts";
import { nameOf, parseFileName } from "../file/name.ts";
import type { JournalIndex } from "./journal_index.ts";

/** Maximum number of former epochs; the newest are kept. */
export const MAX_FORMER_RECORDINGS = 16;

/** What a journal has of an epoch that has ended. */
export interface FormerRecording {
  /** 16 bytes that name it. */
  epoch: Uint8Array<ArrayBuffer>;
  /** The last number that was recorded. */
  head: number;
  /** The oldest number that is kept. */
  oldest: number;
}

/** Finds the epochs that a journal has frames of, beside the current one. Where one ends is looked up once. */
export class FormerEpochs {
  readonly #index: JournalIndex;
  readonly #prefix: string;
  /** By the first four bytes of the epoch; undefined: no block of it says which one it is. */
  readonly #found = new Map<number, { epoch: Uint8Array<ArrayBuffer>; head: number } | undefined>();

  /** @param options.prefix first part of the names of the journal's own files */
  constructor(index: JournalIndex, { prefix }: { prefix: string }) {
    this.#index = index;
    this.#prefix = prefix;
  }

  /** Those that are there now, newest first. */
  async list({ current }: { current: Uint8Array }): Promise<FormerRecording[]> {
    const recordings: FormerRecording[] = [];
    for (const epochWord of this.#words(epochWordOf(current))) {
      if (recordings.length >= MAX_FORMER_RECORDINGS) break;
      const end = this.#found.has(epochWord) ? this.#found.get(epochWord) : await this.#lookUp(epochWord);
      const oldest = this.#index.oldestSeqOf(epochWord);
      if (end && oldest !== undefined) recordings.push({ ...end, oldest });
    }
    return recordings;
  }

  /** The newest first. Files of others, and those of software that names no epoch, are none of ours. */
  #words(current: number): Set<number> {
    const words = new Set<number>();
    for (const { path, epochWord } of this.#index.files.toReversed()) {
      if (epochWord === 0 || epochWord === current) continue;
      if (parseFileName(nameOf(path))?.prefix === this.#prefix) words.add(epochWord);
    }
    return words;
  }

  /** Reads the block with the highest number. */
  async #lookUp(epochWord: number): Promise<{ epoch: Uint8Array<ArrayBuffer>; head: number } | undefined> {
    const { places, unwritten, isComplete } = await this.#index.places({ fromSeq: 1, epochWord });
    using reader = new BlockReader();
    let found: { epoch: Uint8Array<ArrayBuffer>; head: number } | undefined;
    for (const place of places.sort((a, b) => b.seq - a.seq)) {
      try {
        const { baseSeq, frameCount, notes: { epoch } } = await reader.read(place.path, place);
        if (epoch && baseSeq !== undefined) found = { epoch, head: baseSeq + frameCount - 1 };
      } catch (error) {
        if (!(error instanceof BlockError || error instanceof Deno.errors.NotFound)) throw error;
      }
      if (found) break;
    }
    let isAllWritten = true;
    for (const bytes of unwritten) {
      await turn();
      const { baseSeq = 0, frameCount, notes: { epoch } } = readBlock(bytes, { version: 2, blockBytes: bytes.length });
      if (!epoch || epochWordOf(epoch) !== epochWord) continue;
      isAllWritten = false;
      found = { epoch, head: Math.max(found?.head ?? 0, baseSeq + frameCount - 1) };
    }
    if (isAllWritten && isComplete) this.#found.set(epochWord, found);
    return found;
  }
}

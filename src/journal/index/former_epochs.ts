import { basename } from "node:path";
import { readUnwritten } from "../block/reader.ts";
import { epochWordOf } from "../file/layout.ts";
import { parseFileName } from "../file/name.ts";
import type { JournalIndex } from "./journal_index.ts";

/** Maximum number of former epochs; the newest count. */
export const MAX_FORMER_RECORDINGS = 16;

/** Frames of a former epoch in a journal. */
export interface FormerRecording {
  /** 16 bytes that identify the epoch. */
  epoch: Uint8Array<ArrayBuffer>;
  /** Last recorded number. */
  head: number;
  /** Oldest stored number. */
  oldest: number;
}

/** Finds the epochs of a journal's frames, except the current one. Reads the end of each epoch once. */
export class FormerEpochs {
  readonly #index: JournalIndex;
  readonly #prefix: string;
  /** By the first four bytes of the epoch; undefined: none of its blocks contains the whole epoch. */
  readonly #ends = new Map<number, Omit<FormerRecording, "oldest"> | undefined>();

  /** @param options.prefix prefix of the journal's own files */
  constructor(index: JournalIndex, { prefix }: { prefix: string }) {
    this.#index = index;
    this.#prefix = prefix;
  }

  /** Former epochs with stored frames, newest first. */
  async list({ current }: { current: Uint8Array }): Promise<FormerRecording[]> {
    const recordings: FormerRecording[] = [];
    for (const epochWord of this.#words(epochWordOf(current))) {
      if (recordings.length >= MAX_FORMER_RECORDINGS) break;
      const end = this.#ends.has(epochWord) ? this.#ends.get(epochWord) : await this.#readEnd(epochWord);
      const oldest = this.#index.oldestSeqOf(epochWord);
      if (end && oldest !== undefined) recordings.push({ ...end, oldest });
    }
    return recordings;
  }

  /** Newest first. Excludes files with another prefix, and files without an epoch. */
  #words(current: number): Set<number> {
    const words = new Set<number>();
    for (const { path, epochWord } of this.#index.files.toReversed()) {
      if (epochWord === 0 || epochWord === current) continue;
      if (parseFileName(basename(path))?.prefix === this.#prefix) words.add(epochWord);
    }
    return words;
  }

  /** Reads the block with the highest number. */
  async #readEnd(epochWord: number): Promise<Omit<FormerRecording, "oldest"> | undefined> {
    const { locations, unwritten, isComplete } = await this.#index.locations({ fromSeq: 1, epochWord });
    using reader = this.#index.reader();
    let end: Omit<FormerRecording, "oldest"> | undefined;
    for (const location of locations.sort((a, b) => b.seq - a.seq)) {
      const { baseSeq, frameCount = 0, metadata: { epoch } = {} } = await reader.tryRead(location.path, location) ?? {};
      if (!epoch || baseSeq === undefined) continue;
      end = { epoch, head: baseSeq + frameCount - 1 };
      break;
    }
    let isAllWritten = true;
    for await (const { block: { baseSeq = 0, frameCount, metadata: { epoch } } } of readUnwritten(unwritten)) {
      if (!epoch || epochWordOf(epoch) !== epochWord) continue;
      isAllWritten = false;
      end = { epoch, head: Math.max(end?.head ?? 0, baseSeq + frameCount - 1) };
    }
    if (isAllWritten && isComplete) this.#ends.set(epochWord, end);
    return end;
  }
}

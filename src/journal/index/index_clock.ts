import type { Block } from "../block/block.ts";
import { ClockSpans, trueTimeOf } from "../clock/clock_spans.ts";
import type { FileEntry } from "../file/order.ts";
import { type BlockRange, isWanted } from "./block_table.ts";
import type { BlockTables } from "./block_tables.ts";

/** Corrections of the times of an index. */
export class IndexClock {
  readonly spans: ClockSpans;
  readonly #listeners = new Set<(paths: string[]) => void>();
  /** Corrections of the frames of each file, by its path. */
  readonly #applied = new Map<string, string>();

  constructor(spans: ClockSpans = new ClockSpans()) {
    this.spans = spans;
  }

  /** Calls `listener` with the paths of files whose frames have other times now. Returns a function that ends this. */
  onChange(listener: (paths: string[]) => void): () => void {
    const listeners = this.#listeners.add(listener);
    return () => void listeners.delete(listener);
  }

  /** The true time now, microseconds since 1970, if the wall clock is known to be wrong. */
  now(wallUs: number): number {
    const { open } = this.spans;
    return open ? trueTimeOf(wallUs, open) : wallUs;
  }

  /** Corrects the time of a file's first block. */
  correct(file: FileEntry): void {
    const { recordedUs: timeUs, firstSeq: seq, header: { epochWord } } = file;
    file.firstTimeUs = this.spans.correct({ epochWord, seq, timeUs });
  }

  /** The block with its times as wanted; undefined: it is not in the range. */
  timed(block: Block, { epochWord, range }: { epochWord: number; range: BlockRange }): Block | undefined {
    const corrected = this.spans.timed(block, epochWord);
    if (!isWanted(corrected, { epochWord, range })) return undefined;
    return range.isCorrected ? corrected : block;
  }

  /** Corrects files, because the corrections have changed. */
  changed(files: Iterable<FileEntry>, tables: BlockTables): void {
    const all = [...files].sort((a, b) => a.header.epochWord - b.header.epochWord || a.firstSeq - b.firstSeq);
    const paths: string[] = [];
    for (const [at, file] of all.entries()) {
      const { path, firstSeq, header: { epochWord } } = file;
      const next = all[at + 1];
      const endSeq = next?.header.epochWord === epochWord ? next.firstSeq : Infinity;
      const applied = JSON.stringify(this.spans.within({ epochWord, firstSeq, endSeq }));
      if (applied === (this.#applied.get(path) ?? "[]")) continue;
      this.#applied.set(path, applied);
      paths.push(path);
      this.correct(file);
      file.bounds = undefined;
      tables.outdate(file);
    }
    if (paths.length > 0) { for (const listener of this.#listeners) listener(paths); }
  }
}

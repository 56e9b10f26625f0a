import type { Block } from "../block/block.ts";

/** Numbers from `first` to `last`, both among them. */
interface SeqRange {
  first: number;
  last: number;
}

/**
 * What a reader has seen, so that nothing is given twice: a block that was mended after a crash may be in two files, and
 * one that is being written may be in memory, too. Numbers tell where the file names its epoch; software that names none
 * begins at 1 in every run, and there only the same block again is a duplicate.
 */
export class SeenBlocks {
  readonly #byEpoch = new Map<number, SeqRange[]>();
  #last = { seq: NaN, timeUs: NaN, count: NaN };

  /** Whether a higher number of the epoch was seen than the first of a block, and not the block itself. */
  isPassed(epochWord: number, firstSeq: number): boolean {
    const ranges = epochWord === 0 ? [] : this.#byEpoch.get(epochWord) ?? [];
    return ranges.some(({ first }) => first > firstSeq) && !ranges.some((each) => holds(each, firstSeq));
  }

  /** The parts of a block that were not seen before. */
  fresh(block: Block, epochWord: number): Block[] {
    const { baseSeq, baseTimeUs, frameCount } = block;
    if (baseSeq === undefined || frameCount === 0) return frameCount === 0 ? [] : [block];
    if (epochWord === 0) {
      const { seq, timeUs, count } = this.#last;
      this.#last = { seq: baseSeq, timeUs: baseTimeUs, count: frameCount };
      return seq === baseSeq && timeUs === baseTimeUs && count === frameCount ? [] : [block];
    }
    const ranges = this.#byEpoch.get(epochWord) ?? [];
    const whole = { first: baseSeq, last: baseSeq + frameCount - 1 };
    const fresh = without(whole, ranges);
    this.#byEpoch.set(epochWord, joined(ranges, whole));
    const [only] = fresh;
    if (fresh.length === 1 && only?.first === whole.first && only.last === whole.last) return [block];
    return fresh.map(({ first, last }) => block.slice(first - baseSeq, last - baseSeq + 1));
  }
}

function holds({ first, last }: SeqRange, seq: number): boolean {
  return first <= seq && seq <= last;
}

/** The parts of a range that none of the others (ordered, apart) covers. */
function without(range: SeqRange, others: readonly SeqRange[]): SeqRange[] {
  const parts: SeqRange[] = [];
  let first = range.first;
  for (const other of others) {
    if (other.last < first) continue;
    if (other.first > range.last) break;
    if (other.first > first) parts.push({ first, last: other.first - 1 });
    first = other.last + 1;
  }
  if (first <= range.last) parts.push({ first, last: range.last });
  return parts;
}

/** The ranges with one more, ordered and apart: neighbours become one. */
function joined(ranges: readonly SeqRange[], range: SeqRange): SeqRange[] {
  const before = ranges.filter(({ last }) => last < range.first - 1);
  const after = ranges.filter(({ first }) => first > range.last + 1);
  const touching = ranges.slice(before.length, ranges.length - after.length);
  const first = Math.min(range.first, touching[0]?.first ?? Infinity);
  const last = Math.max(range.last, touching.at(-1)?.last ?? -Infinity);
  return [...before, { first, last }, ...after];
}

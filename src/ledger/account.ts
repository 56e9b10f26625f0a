import { newStoredFrame } from "../frame/mod.ts";
import type { Block, BlockEnd, BusCounts, Gap } from "../journal/mod.ts";

/** One run of a program that records. */
export interface Run {
  /** Different for each run. */
  id: string;
  /** Its start, microseconds since 1970. */
  startUs: number;
  /** Its first number in the epoch of the block. */
  firstSeq: number;
}

/** Counters at a moment. */
export interface Cut {
  run: Run;
  timeUs: number;
  /** By the index of the bus; each has `fates`. */
  counts: readonly BusCounts[];
}

/** A block of the journal, as the ledger counts it. */
export interface Account {
  /** First four bytes of its epoch. */
  epochWord: number;
  firstSeq: number;
  /** Messages in it. */
  messages: number;
  /** Bus index of each message; undefined: all are of the first bus. */
  busOf: Uint8Array | undefined;
  /** Names of the buses by index. */
  buses: readonly string[];
  /** Times of its first message and of its beginning, microseconds since 1970. */
  firstUs: number;
  /** Counters at its beginning; undefined: none are stored. */
  begin: Cut | undefined;
  /** Counters after some of its messages; undefined: none are stored. */
  end: Cut & { messages: number } | undefined;
  /** Numbers missing before it, as stored. */
  gap: Gap | undefined;
}

/** A block that cannot be read: its file was deleted, or it is damaged. */
export interface Unreadable {
  unreadable: "pruned" | "damaged";
}

/** What the ledger counts of a block. */
export function accountOf(block: Block, epochWord: number): Account {
  const { buses = [], boot, counts, end, gap } = block.metadata;
  const { baseSeq: firstSeq = 0, frameCount: messages, baseTimeUs: firstUs } = block;
  const run = boot?.start && {
    id: boot.bootId.toHex(),
    startUs: block.timeOf(Math.round(boot.timeUs - (boot.monoMs - boot.start.monoMs) * 1000)),
    firstSeq: boot.start.firstSeq,
  };
  const cut = (timeUs: number, at: readonly BusCounts[] | undefined): Cut | undefined =>
    run && at?.every(({ fates }) => fates) ? { run, timeUs: block.timeOf(timeUs), counts: at } : undefined;
  return {
    ...{ epochWord, firstSeq, messages, buses, firstUs, gap },
    busOf: buses.length > 1 ? busesIn(block) : undefined,
    begin: cut(boot?.timeUs ?? firstUs, counts),
    end: endOf(end, { messages, cut }),
  };
}

function endOf(
  end: BlockEnd | undefined,
  { messages, cut }: { messages: number; cut: (timeUs: number, at: readonly BusCounts[]) => Cut | undefined },
): Account["end"] {
  if (!end || end.frames > messages) return undefined;
  const found = cut(end.timeUs, end.counts);
  return found && { ...found, messages: end.frames };
}

function busesIn(block: Block): Uint8Array {
  const buses = new Uint8Array(block.frameCount);
  const frame = newStoredFrame();
  const cursor = block.frames();
  for (let i = 0; cursor.next(frame); i++) buses[i] = frame.bus;
  return buses;
}

import { type Range, type Ranges, turn } from "../../base/mod.ts";
import {
  type Block,
  BlockError,
  type BlockLocations,
  BlockReader,
  compress,
  epochWordOf,
  type FormerRecording,
  type JournalIndex,
  type PlacedBlock,
  readBlock,
  type WindowDigest,
} from "../../journal/mod.ts";
import { LOST_PRUNED, LOST_UNRECORDED } from "./backfill_plan.ts";
import { type BlockIndex, BlockList, type BlockSpan } from "./backfill_plan_index.ts";
import { NEVER_USED } from "./missing.ts";
import { type BackfillBlock, type LostRange, MAX_MESSAGE_BYTES } from "../wire/messages.ts";

/** Why frames are lost whose block cannot be read. */
export const LOST_DAMAGED = "damaged on the boat";
/** Why frames are lost whose block no message has room for. */
export const LOST_TOO_LARGE = "in a block too large to send";

/** What of a journal is needed to send its blocks. */
export interface ArchivePort {
  readonly index: Pick<JournalIndex, "places" | "isAway">;
  /** Oldest frame of this epoch that is kept. */
  readonly oldestSeq: number | undefined;
  /** Digests of the newest frames of this epoch, oldest first; left out: none are kept. */
  readonly digests?: readonly WindowDigest[];
  /** Epochs before this one of which there are frames, newest first; left out: none are looked for. */
  former?(): Promise<readonly FormerRecording[]>;
}

/** Where the bytes of a block are: in a file, or in memory until they are in one. */
type Copy = PlacedBlock | Uint8Array<ArrayBuffer>;

/** A block that was not read yet: `frameCount` is what it has at most, as it ends where the next one begins. */
export interface ArchivedBlock extends BlockSpan {
  /** The same block; after a crash it may be there twice. */
  readonly copies: readonly Copy[];
  /** The block behind it. */
  readonly next: readonly Copy[] | undefined;
}

/** What came of reading a block. */
export type ArchivedRead =
  /** `missing`: numbers between its end and the next block. */
  | { kind: "block"; message: BackfillBlock; missing: readonly LostRange[] }
  | { kind: "gone"; reason: string };

/** How an archive is opened. */
export interface BoatArchiveOptions {
  /** Undefined: nothing is recorded. */
  journal: Pick<ArchivePort, "index" | "oldestSeq"> | undefined;
  /** 16 bytes that name the run of numbers. */
  epoch: Uint8Array<ArrayBuffer>;
  /** Newest frame that was given to the journal. */
  head: number;
  /** What the cloud misses: blocks without any of it are left out. */
  holes: Ranges;
}

/** What was read of one copy. */
interface Found {
  block: Block;
  message: Pick<BackfillBlock, "data" | "blockSize" | "fileOffset" | "length">;
}

/** The blocks of a boat's journal that a cloud misses, by number. Nothing is unpacked before it is read. */
export class BoatArchive implements BlockIndex<ArchivedBlock>, Disposable {
  readonly oldestSeq: number | undefined;
  /** False where the disk did not give a file: what is not found may be in it. */
  readonly isComplete: boolean;
  readonly #blocks: BlockList<ArchivedBlock>;
  readonly #epoch: string;
  readonly #isAway: () => Promise<boolean>;
  readonly #reader = new BlockReader();

  private constructor(
    blocks: BlockList<ArchivedBlock>,
    { oldestSeq, isComplete, epoch, isAway }:
      & Pick<BoatArchive, "oldestSeq" | "isComplete">
      & { epoch: string; isAway: () => Promise<boolean> },
  ) {
    this.#isAway = isAway;
    this.#blocks = blocks;
    this.oldestSeq = oldestSeq;
    this.isComplete = isComplete;
    this.#epoch = epoch;
  }

  /** Looks where the blocks are. What comes later is not in it. */
  static async open({ journal, epoch, head, holes }: BoatArchiveOptions): Promise<BoatArchive> {
    const [first] = holes;
    const spans: ArchivedBlock[] = [];
    let isComplete = true;
    if (journal && first) {
      const found = await journal.index.places({ fromSeq: first.start, epochWord: epochWordOf(epoch) });
      ({ isComplete } = found);
      const blocks = await bySeq(found, epoch.toHex());
      for (const [i, { seq, copies }] of blocks.entries()) {
        const next = blocks[i + 1];
        const end = next?.seq ?? head + 1;
        if (!holes.touches(seq, end)) continue;
        spans.push({ baseSeq: seq, frameCount: end - seq, copies, next: next?.copies });
      }
    }
    const list = new BlockList(spans, { recordedThrough: head });
    const isAway = () => journal?.index.isAway() ?? Promise.resolve(false);
    return new BoatArchive(list, { oldestSeq: journal?.oldestSeq, isComplete, epoch: epoch.toHex(), isAway });
  }

  get recordedThrough(): number {
    return this.#blocks.recordedThrough;
  }

  find(range: Range): ArchivedBlock | undefined {
    return this.#blocks.find(range);
  }

  /**
   * Reads a block, and checks it.
   *
   * @throws {Error} the disk fails
   */
  async read({ baseSeq, frameCount, copies, next }: ArchivedBlock): Promise<ArchivedRead> {
    const found = await this.#readFirst(copies);
    if (typeof found === "string") return { kind: "gone", reason: found };
    const { block } = found;
    if (block.notes.epoch?.toHex() !== this.#epoch || block.baseSeq !== baseSeq) {
      return { kind: "gone", reason: LOST_DAMAGED };
    }
    const { baseTimeUs } = block;
    const head = { baseSeq, baseTimeUs, frameCount: block.frameCount, compressed: true };
    const between = { start: baseSeq + block.frameCount, end: baseSeq + frameCount };
    const missing = between.start < between.end ? await this.#whyMissing(between, next) : [];
    return { kind: "block", message: { ...head, ...found.message }, missing };
  }

  [Symbol.dispose](): void {
    this.#reader[Symbol.dispose]();
  }

  /** The first copy that can be read; or why there is none. */
  async #readFirst(copies: readonly Copy[]): Promise<Found | string> {
    let reason = LOST_DAMAGED;
    for (const copy of copies) {
      try {
        const found = copy instanceof Uint8Array ? await readMemory(copy) : await this.#readFile(copy);
        if (found.message.data.length + MESSAGE_ROOM_BYTES <= MAX_MESSAGE_BYTES) return found;
        reason = LOST_TOO_LARGE;
      } catch (error) {
        if (error instanceof Deno.errors.NotFound && !await this.#isAway()) reason = LOST_PRUNED;
        else if (!(error instanceof BlockError)) throw error;
      }
    }
    return reason;
  }

  async #readFile(place: PlacedBlock): Promise<Found> {
    const { block, bytes, packed, storedBytes } = await this.#reader.readStored(place.path, place);
    const data = packed ?? compress(new Uint8Array(bytes), "zstd");
    return { block, message: { data, blockSize: bytes.length, fileOffset: place.offset, length: storedBytes } };
  }

  /** The block behind a gap tells where it comes from. */
  async #whyMissing({ start, end }: Range, next: readonly Copy[] | undefined): Promise<LostRange[]> {
    if (next === undefined) return [{ start, end, reason: LOST_UNRECORDED }];
    const found = await this.#readFirst(next);
    const gap = typeof found === "string" ? undefined : found.block.notes.gap;
    // What no gap tells was there once.
    const told = Math.min(end, Math.max(start, gap?.firstMissing ?? end));
    const reason = gap?.reason === "restart" ? NEVER_USED : LOST_UNRECORDED;
    return [{ start, end: told, reason: LOST_DAMAGED }, { start: told, end, reason }].filter((each) =>
      each.start < each.end
    );
  }
}

/** What a message needs beside the bytes of its block. */
const MESSAGE_ROOM_BYTES = 256;

/** Packing holds the event loop for some milliseconds. */
async function readMemory(bytes: Uint8Array<ArrayBuffer>): Promise<Found> {
  await turn();
  const block = readBlock(bytes, { version: 2, blockBytes: bytes.length });
  return { block, message: { data: compress(bytes, "zstd"), blockSize: bytes.length, fileOffset: 0, length: 0 } };
}

/** Blocks by their first number, lowest first; those that are in no file behind those that are. */
async function bySeq(
  { places, unwritten }: Pick<BlockLocations, "places" | "unwritten">,
  epoch: string,
): Promise<{ seq: number; copies: Copy[] }[]> {
  const copies = new Map<number, Copy[]>();
  const add = (seq: number, copy: Copy) => {
    const others = copies.get(seq);
    if (others) others.push(copy);
    else copies.set(seq, [copy]);
  };
  for (const place of places) if (place.seq >= 1) add(place.seq, place);
  for (const bytes of unwritten) {
    await turn();
    const { notes, baseSeq = 0 } = readBlock(bytes, { version: 2, blockBytes: bytes.length });
    if (notes.epoch?.toHex() === epoch) add(baseSeq, bytes);
  }
  return Array.from(copies, ([seq, all]) => ({ seq, copies: all })).sort((a, b) => a.seq - b.seq);
}

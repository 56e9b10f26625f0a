import { type Range, type Ranges, turn } from "../../base/mod.ts";
import {
  type Block,
  BlockError,
  type BlockLocations,
  BlockReader,
  type ClockSpans,
  compress,
  epochWordOf,
  type FileBlockLocation,
  type FormerRecording,
  type JournalIndex,
  readBlock,
  type WindowDigest,
} from "../../journal/mod.ts";
import { type BlockIndex, BlockList, type BlockSpan, LOST_PRUNED, LOST_UNRECORDED } from "./backfill_plan.ts";
import { NEVER_USED } from "./missing.ts";
import { type BackfillBlock, type LostRange, MAX_MESSAGE_BYTES } from "../wire/messages.ts";

/** Reason of lost frames in an unreadable block. */
export const LOST_DAMAGED = "damaged on the boat";
/** Reason of lost frames in a block that exceeds the maximum message. */
export const LOST_TOO_LARGE = "in a block too large to send";

/** A block that is made when it is needed. */
export interface MadeBlock {
  /** Its first sequence number. */
  seq: number;
  /** Makes the same bytes each time. */
  bytes: () => Uint8Array<ArrayBuffer>;
}

/** Where the blocks of an archive are. */
export interface ArchiveIndex extends Pick<JournalIndex, "isUnmounted" | "reader"> {
  /** Corrections of the times of its frames; absent: there are none. */
  readonly clock?: { readonly spans: Pick<ClockSpans, "all" | "version"> };
  locations(
    range: Parameters<JournalIndex["locations"]>[0],
  ): Promise<BlockLocations & { readonly made?: readonly MadeBlock[] }>;
}

/** The parts of a journal that a backfill needs. */
export interface ArchivePort {
  readonly index: ArchiveIndex;
  /** Oldest sequence number of the current epoch; undefined without frames. */
  readonly oldestSeq: number | undefined;
  /** Digests of the newest frames of the current epoch, oldest first; absent: not supported. */
  readonly digests?: readonly WindowDigest[];
  /** Digest of frames that exist, for archives that make them; absent: they are read. */
  digestOf?(seqs: Pick<WindowDigest, "firstSeq" | "lastSeq">): WindowDigest;
  /** Earlier epochs with frames in the journal, newest first; absent: not supported. */
  former?(): Promise<readonly FormerRecording[]>;
}

/** Location of a block: in a file, or in memory until it is written, or nowhere until it is made. */
type Copy = FileBlockLocation | Uint8Array<ArrayBuffer> | MadeBlock["bytes"];

/**
 * A block that is not read yet. `frameCount` is an upper limit: the block ends at the latest where the next one begins.
 */
export interface ArchivedBlock extends BlockSpan {
  /** Copies of the block; after a crash there may be two. */
  readonly copies: readonly Copy[];
  /** Copies of the next block. */
  readonly next: readonly Copy[] | undefined;
}

/** Result of reading a block. */
export type ArchivedRead =
  /** `missing`: sequence numbers between its end and the next block. */
  | { kind: "block"; message: BackfillBlock; missing: readonly LostRange[] }
  | { kind: "gone"; reason: string };

/** Options of {@linkcode BoatArchive.open}. */
export interface BoatArchiveOptions {
  /** Undefined without recording. */
  journal: Pick<ArchivePort, "index" | "oldestSeq"> | undefined;
  /** 16 bytes that identify the epoch. */
  epoch: Uint8Array<ArrayBuffer>;
  /** Newest sequence number in the journal. */
  head: number;
  /** Ranges that the cloud is missing; other blocks are left out. */
  holes: Ranges;
}

/** A block read from one copy. */
interface Found {
  block: Block;
  message: Pick<BackfillBlock, "data" | "blockSize" | "fileOffset" | "length">;
}

/**
 * The blocks of the journal that the cloud is missing, by sequence number. Blocks are decompressed only when they are
 * read.
 */
export class BoatArchive implements BlockIndex<ArchivedBlock>, Disposable {
  readonly oldestSeq: number | undefined;
  /** False if a file could not be read: frames that are not found may be in it. */
  readonly isComplete: boolean;
  readonly #blocks: BlockList<ArchivedBlock>;
  readonly #epoch: string;
  readonly #isUnmounted: () => Promise<boolean>;
  readonly #reader = new BlockReader();

  private constructor(
    blocks: BlockList<ArchivedBlock>,
    { oldestSeq, isComplete, epoch, isUnmounted }:
      & Pick<BoatArchive, "oldestSeq" | "isComplete">
      & { epoch: string; isUnmounted: () => Promise<boolean> },
  ) {
    this.#isUnmounted = isUnmounted;
    this.#blocks = blocks;
    this.oldestSeq = oldestSeq;
    this.isComplete = isComplete;
    this.#epoch = epoch;
  }

  /** Locates the blocks. Blocks recorded later are not included. */
  static async open({ journal, epoch, head, holes }: BoatArchiveOptions): Promise<BoatArchive> {
    const [first] = holes;
    const spans: ArchivedBlock[] = [];
    let isComplete = true;
    if (journal && first) {
      const found = await journal.index.locations({ fromSeq: first.start, epochWord: epochWordOf(epoch) });
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
    const isUnmounted = () => journal?.index.isUnmounted() ?? Promise.resolve(false);
    return new BoatArchive(list, { oldestSeq: journal?.oldestSeq, isComplete, epoch: epoch.toHex(), isUnmounted });
  }

  get recordedThrough(): number {
    return this.#blocks.recordedThrough;
  }

  find(range: Range): ArchivedBlock | undefined {
    return this.#blocks.find(range);
  }

  /**
   * Reads and checks a block.
   *
   * @throws {Error} read error of the disk
   */
  async read({ baseSeq, frameCount, copies, next }: ArchivedBlock): Promise<ArchivedRead> {
    const found = await this.#readFirst(copies);
    if (typeof found === "string") return { kind: "gone", reason: found };
    const { block } = found;
    if (block.metadata.epoch?.toHex() !== this.#epoch || block.baseSeq !== baseSeq) {
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

  /** The first readable copy, or the reason why there is none. */
  async #readFirst(copies: readonly Copy[]): Promise<Found | string> {
    let reason = LOST_DAMAGED;
    for (const copy of copies) {
      try {
        const found = await this.#readCopy(copy);
        if (found.message.data.length + MESSAGE_OVERHEAD_BYTES <= MAX_MESSAGE_BYTES) return found;
        reason = LOST_TOO_LARGE;
      } catch (error) {
        if (error instanceof Deno.errors.NotFound && !await this.#isUnmounted()) reason = LOST_PRUNED;
        else if (!(error instanceof BlockError)) throw error;
      }
    }
    return reason;
  }

  #readCopy(copy: Copy): Promise<Found> {
    if (typeof copy === "function") return readMemory(copy());
    return copy instanceof Uint8Array ? readMemory(copy) : this.#readFile(copy);
  }

  async #readFile(place: FileBlockLocation): Promise<Found> {
    const { block, bytes, packed, storedBytes } = await this.#reader.readStored(place.path, place);
    const data = packed ?? compress(new Uint8Array(bytes), "zstd");
    return { block, message: { data, blockSize: bytes.length, fileOffset: place.offset, length: storedBytes } };
  }

  /** Reasons of a gap, according to the gap record in the next block. */
  async #whyMissing({ start, end }: Range, next: readonly Copy[] | undefined): Promise<LostRange[]> {
    if (next === undefined) return [{ start, end, reason: LOST_UNRECORDED }];
    const found = await this.#readFirst(next);
    const gap = typeof found === "string" ? undefined : found.block.metadata.gap;
    // Frames before the recorded gap existed once.
    const gapStart = Math.min(end, Math.max(start, gap?.firstMissing ?? end));
    const reason = gap?.reason === "restart" ? NEVER_USED : LOST_UNRECORDED;
    return [{ start, end: gapStart, reason: LOST_DAMAGED }, { start: gapStart, end, reason }].filter((each) =>
      each.start < each.end
    );
  }
}

/** Maximum overhead of a message beside the bytes of its block. */
const MESSAGE_OVERHEAD_BYTES = 256;

/** Compression blocks the event loop for some milliseconds, hence `turn`. */
async function readMemory(bytes: Uint8Array<ArrayBuffer>): Promise<Found> {
  await turn();
  const block = readBlock(bytes, { version: 2, blockBytes: bytes.length });
  return { block, message: { data: compress(bytes, "zstd"), blockSize: bytes.length, fileOffset: 0, length: 0 } };
}

/** Blocks by first sequence number, lowest first; copies in files before copies in memory. */
async function bySeq(
  { locations, unwritten, made = [] }: Awaited<ReturnType<ArchiveIndex["locations"]>>,
  epoch: string,
): Promise<{ seq: number; copies: Copy[] }[]> {
  const copies = new Map<number, Copy[]>();
  const add = (seq: number, copy: Copy) => {
    const others = copies.get(seq);
    if (others) others.push(copy);
    else copies.set(seq, [copy]);
  };
  for (const place of locations) if (place.seq >= 1) add(place.seq, place);
  for (const { seq, bytes } of made) add(seq, bytes);
  for (const bytes of unwritten) {
    await turn();
    const { metadata, baseSeq = 0 } = readBlock(bytes, { version: 2, blockBytes: bytes.length });
    if (metadata.epoch?.toHex() === epoch) add(baseSeq, bytes);
  }
  return Array.from(copies, ([seq, all]) => ({ seq, copies: all })).sort((a, b) => a.seq - b.seq);
}

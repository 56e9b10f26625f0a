import type { Decoder } from "../../broker/mod.ts";
import {
  BlockError,
  type BlockLocation,
  type BlockReader,
  JOURNAL_FILE_MODE,
  type JournalFileInfo,
  type JournalIndex,
  MAX_DISORDER_US,
  sidecarOf,
} from "../../journal/mod.ts";
import { Bucket } from "../bucket.ts";
import { SeriesCountError } from "../budget.ts";
import type { SeriesField } from "../fields.ts";
import { SeriesFold } from "../fold.ts";
import { scanBlock } from "../scan.ts";
import type { Slices } from "../slices.ts";
import { ROLLUP_BUCKET_MS, ROLLUP_BUCKET_US } from "./base.ts";
import {
  type Chunk,
  type ChunkBlock,
  encodeChunk,
  encodeHeader,
  loadChunks,
  readSections,
  RollupError,
  writeAt,
} from "./rollup_file.ts";
import type { StoredSeries } from "./section.ts";

/** Maximum number of blocks in a chunk: some hours of a typical bus. */
const MAX_CHUNK_BLOCKS = 64;
/** Duration of a chunk from which on no block is added, microseconds. On a quiet bus a single block lasts hours. */
const MAX_CHUNK_US = 12 * 3_600_000_000;
/** Maximum number of series in a chunk. */
export const MAX_CHUNK_SERIES = 20_000;
/** Maximum number of buckets in a chunk of several blocks. Until it is written, each needs some 200 bytes of memory. */
export const MAX_CHUNK_BUCKETS = 50_000;

/** Sidecars of files outside the directory of a journal. */
export interface OutsideSidecars {
  /** Smaller files have none, bytes: their frames are read. */
  readonly minFileBytes: number;
  /** Path of the sidecar of a file. */
  pathOf(path: string): string;
  /** The sidecar of a file has this size now, bytes: others may be deleted for it. */
  written(path: string, bytes: number): Promise<void>;
}

/** What the sidecars of a journal have in common. */
export interface RolledFileContext {
  index: JournalIndex;
  /** Undefined: only files in the directory of the journal have sidecars, beside them. */
  outside: OutsideSidecars | undefined;
  fields: readonly SeriesField[];
  /** Identifies the settings and definitions that sidecars are built with. */
  signature: number;
  /** Names of buses by index, for blocks that do not name theirs. */
  buses: readonly string[];
  decoder: Pick<Decoder, "decode">;
  /** Shares the event loop. */
  slices: Slices;
}

/** Wanted series. */
export interface WantedSeries {
  fields: readonly SeriesField[];
  /** Source addresses; undefined: all. */
  sources?: ReadonlySet<number> | undefined;
}

/** Buckets of some blocks of a file. */
export interface RolledPart {
  blocks: readonly ChunkBlock[];
  /** Reads the wanted series. @throws {RollupError} the sidecar is damaged @throws {Error} reading failed */
  read: () => Promise<Iterable<StoredSeries>>;
}

/** Blocks whose buckets are in memory only. */
interface Pending {
  fold: SeriesFold;
  blocks: ChunkBlock[];
}

/** The sidecar of one journal file: chunks on disk, and the buckets of the newest blocks in memory. */
export class RolledFile {
  readonly path: string;
  readonly epochWord: number;
  readonly #context: RolledFileContext;
  readonly #info: JournalFileInfo;
  #chunks: Chunk[] = [];
  /** End of the readable chunks; 0: the sidecar has no valid header. */
  #end = 0;
  #pending: Pending | undefined;
  /** Offset of the last block that has too many series: readers scan it. */
  #leftOut = -1;
  /** True once the blocks were compared with those of the journal file. */
  #isVerified = false;
  #isComplete = false;

  private constructor(info: JournalFileInfo, context: RolledFileContext) {
    this.path = info.path;
    this.epochWord = info.epochWord;
    this.#info = info;
    this.#context = context;
  }

  /**
   * Reads the directories of a sidecar. One that is missing, damaged or of other settings is empty.
   *
   * @throws {Error} it cannot be read
   */
  static async load(info: JournalFileInfo, context: RolledFileContext): Promise<RolledFile> {
    const file = new RolledFile(info, context);
    try {
      const { chunks, end } = await loadChunks(file.#sidecar, context.signature);
      file.#chunks = chunks;
      file.#end = end;
      const size = await file.#size();
      const [first] = file.#blocks();
      if (first && Math.abs(first.fromUs - info.firstTimeUs) > MAX_DISORDER_US) {
        throw new RollupError("its times were corrected since");
      }
      const isSame = chunks.at(-1)?.fileBytes === size && first?.seq === info.firstSeq;
      file.#isVerified = file.#isComplete = isSame;
    } catch (error) {
      const isMissing = error instanceof Deno.errors.NotFound && !await context.index.isUnmounted();
      if (!(isMissing || error instanceof RollupError)) throw error;
      file.forget();
    }
    return file;
  }

  /** True if the journal file is not in the directory of the journal. */
  get isOutside(): boolean {
    return this.#info.isOutside;
  }

  get #sidecar(): string {
    return sidecarPathOf(this.#info, this.#context);
  }

  /** Size of the journal file, bytes: one that is written has grown since it was listed. */
  async #size(): Promise<number> {
    return this.#info.isOutside ? this.#info.bytes : (await Deno.stat(this.path)).size;
  }

  /** True if every block of the journal file is in a chunk on disk, and no more blocks are expected. */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  /** The wanted series at present. None before the blocks were compared with those of the journal file. */
  parts({ fields, sources }: WantedSeries): RolledPart[] {
    if (!this.#isVerified) return [];
    const path = this.#sidecar;
    const parts = this.#chunks.map((chunk): RolledPart => ({
      blocks: chunk.blocks,
      read: () => readSections(path, { chunk, fields, sources, bucketUs: ROLLUP_BUCKET_US }),
    }));
    if (this.#pending) {
      const { fold, blocks } = this.#pending;
      const series = copyOf(fold, { fields, sources });
      parts.push({ blocks: [...blocks], read: () => Promise.resolve(series) });
    }
    return parts;
  }

  /** Drops all buckets, so that the next {@linkcode RolledFile.extend} rebuilds them. */
  forget(): void {
    this.#chunks = [];
    this.#end = 0;
    this.#isVerified = this.#isComplete = false;
    this.forgetUnwritten();
  }

  /** Drops the buckets that are in memory only. */
  forgetUnwritten(): void {
    this.#pending = undefined;
    this.#leftOut = -1;
  }

  /**
   * Adds the blocks of the journal file that are not in it yet.
   *
   * @param options.isEnded no more blocks will follow: all buckets are written to disk
   * @throws {Error} reading or writing failed
   */
  async extend({ isEnded, signal }: { isEnded: boolean; signal: AbortSignal }): Promise<void> {
    this.#isComplete = false;
    const locations = await this.#context.index.blocksOf(this.path);
    if (locations.length === 0) throw new Error("no block of the journal file can be read");
    this.#verify(locations);
    const through = Math.max([...this.#blocks()].at(-1)?.offset ?? -1, this.#leftOut);
    using reader = this.#context.index.reader();
    for (const location of locations) {
      if (signal.aborted) return;
      if (location.offset <= through) continue;
      // Before the block is added: while the disk is full, no further blocks are kept in memory.
      if (this.#isFull) await this.write();
      await this.#add(location, reader);
    }
    if (isEnded) await this.#complete(locations);
  }

  /** Writes the buckets in memory to disk. @throws {Error} writing failed */
  async write(slices: Slices = this.#context.slices): Promise<void> {
    if (this.#pending) await this.#append(this.#pending, { fileBytes: 0, slices });
  }

  get #isFull(): boolean {
    if (this.#pending === undefined) return false;
    const { blocks } = this.#pending;
    const [first, last] = [blocks[0], blocks.at(-1)];
    return blocks.length >= MAX_CHUNK_BLOCKS || (last?.toUs ?? 0) - (first?.fromUs ?? 0) >= MAX_CHUNK_US;
  }

  *#blocks(): Generator<ChunkBlock> {
    for (const { blocks } of this.#chunks) yield* blocks;
    if (this.#pending) yield* this.#pending.blocks;
  }

  /** Drops the buckets if the journal file does not have the blocks that they were built from. */
  #verify(locations: readonly BlockLocation[]): void {
    if (this.#isVerified) return;
    const seqs = new Map(locations.map(({ offset, seq }) => [offset, seq]));
    if ([...this.#blocks()].some(({ offset, seq }) => seqs.get(offset) !== seq)) this.forget();
    this.#isVerified = true;
  }

  async #add(location: BlockLocation, reader: BlockReader): Promise<void> {
    const { index, fields, buses, decoder, slices } = this.#context;
    const options = { fields, buses, decoder, bucketMs: ROLLUP_BUCKET_MS, maxSeries: MAX_CHUNK_SERIES };
    const { offset, seq } = location;
    const fold = new SeriesFold(options);
    let entry: ChunkBlock = { offset, seq, frames: 0, fromUs: Infinity, toUs: -Infinity };
    try {
      const recorded = await reader.read(this.path, location);
      const block = index.clock.spans.timed(recorded, this.epochWord);
      const ranges = [{ fromUs: -Infinity, toUs: Infinity }];
      const times = await scanBlock(block, { fold, index, slices, ranges });
      entry = { ...entry, frames: block.frameCount, ...times };
    } catch (error) {
      if (error instanceof SeriesCountError) {
        this.#leftOut = offset;
        return;
      }
      // Other readers skip a damaged block, too.
      if (!(error instanceof BlockError)) throw error;
    }
    if (this.#pending && !hasRoom(this.#pending.fold, fold)) await this.write();
    // Without `await`, so that readers see all of a block or nothing.
    if (this.#pending === undefined) this.#pending = { fold, blocks: [entry] };
    else {
      this.#pending.fold.merge(fold);
      this.#pending.blocks.push(entry);
    }
  }

  /** Writes the last chunk. A file with blocks that were left out remains incomplete. */
  async #complete(locations: readonly BlockLocation[]): Promise<void> {
    if ([...this.#blocks()].length < locations.length) return await this.write();
    const fileBytes = await this.#size();
    const pending = this.#pending;
    if (pending || this.#chunks.at(-1)?.fileBytes !== fileBytes) {
      await this.#append(pending ?? { fold: undefined, blocks: [] }, { fileBytes, slices: this.#context.slices });
    }
    this.#isComplete = this.#isVerified;
  }

  /**
   * Appends a chunk to the sidecar, unless the journal file has been deleted.
   *
   * @param options.fileBytes size of the journal file if the chunk completes the sidecar, else 0
   */
  async #append(
    { fold, blocks }: Pick<Pending, "blocks"> & { fold: SeriesFold | undefined },
    { fileBytes, slices }: { fileBytes: number; slices: Slices },
  ): Promise<void> {
    const { signature, index } = this.#context;
    const header = this.#end === 0 ? encodeHeader(signature) : new Uint8Array(0);
    const at = this.#end + header.length;
    const pause = () => slices.pause();
    const groups = [...fold?.groups ?? []];
    const { bytes, chunk } = await encodeChunk({ blocks, groups, fileBytes }, {
      at,
      bucketUs: ROLLUP_BUCKET_US,
      pause,
    });
    const whole = new Uint8Array(header.length + bytes.length);
    whole.set(header);
    whole.set(bytes, header.length);
    if (await index.isUnmounted()) throw new Error("the journal directory is not mounted");
    if (index.infoOf(this.path) === undefined) return this.forget();
    await writeAt(this.#sidecar, { at: this.#end, bytes: whole, mode: JOURNAL_FILE_MODE });
    this.#end = at + bytes.length;
    this.#chunks.push(chunk);
    this.#pending = undefined;
    if (this.#info.isOutside) await this.#context.outside?.written(this.path, this.#end);
  }
}

/** Path of the sidecar of a file. */
export function sidecarPathOf(
  { path, isOutside }: Pick<JournalFileInfo, "path" | "isOutside">,
  { outside }: Pick<RolledFileContext, "outside">,
): string {
  return isOutside && outside ? outside.pathOf(path) : sidecarOf(path);
}

/** True if the buckets of another block may be merged. This also bounds the time that merging takes. */
function hasRoom(fold: SeriesFold, added: SeriesFold): boolean {
  return fold.hasRoomFor(added) && fold.bucketCount + added.bucketCount <= MAX_CHUNK_BUCKETS;
}

function copyOf(fold: SeriesFold, { fields, sources }: WantedSeries): StoredSeries[] {
  const names = new Set(fields.map(({ text }) => text));
  const copies: StoredSeries[] = [];
  for (const { field, origin, buckets } of fold.series()) {
    if (!names.has(field.text) || sources?.has(origin.src) === false) continue;
    copies.push({
      ...{ field, origin },
      buckets: Array.from(buckets, ([start, bucket]) => {
        const copy = new Bucket();
        copy.merge(bucket);
        return [start, copy] as const;
      }),
    });
  }
  return copies;
}

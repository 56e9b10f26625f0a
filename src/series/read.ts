import type { Decoder } from "../broker/mod.ts";
import { BlockError, type SeenRange } from "../journal/mod.ts";
import { Ranges } from "../base/mod.ts";
import { BucketBudget } from "./budget.ts";
import type { SeriesField } from "./fields.ts";
import { SeriesFold } from "./fold.ts";
import type { SeriesRange } from "./range.ts";
import { ROLLUP_BUCKET_MS, ROLLUP_BUCKET_US } from "./rollup/base.ts";
import type { RolledPart } from "./rollup/rolled_file.ts";
import type { ChunkBlock } from "./rollup/rollup_file.ts";
import type { RolledBlocks, SeriesRollup } from "./rollup/rollup.ts";
import { scanBlock, scanRange, type SeriesIndex, type TimeRange } from "./scan.ts";
import { joinSeries, type Series } from "./series.ts";
import { Slices, type Turns } from "./slices.ts";
import { StoredFold } from "./stored_fold.ts";

/** A request for series, and its sources. */
export interface SeriesRequest {
  index: SeriesIndex;
  /** The sidecars; if left out, all frames are read. */
  rollup?: SeriesRollup | undefined;
  fields: readonly SeriesField[];
  range: SeriesRange;
  /** Wanted source addresses; default all. */
  sources?: ReadonlySet<number> | undefined;
  /** Names of the buses by index. */
  buses: readonly string[];
  decoder: Pick<Decoder, "decode">;
  /** Maximum number of buckets of all series together. */
  maxBuckets: number;
  /** Maximum number of frames that may be read. */
  maxScan: number;
  /** Gets an upper bound for the frames that are read, once or several times. */
  onScan?: ((frames: number) => void) | undefined;
  turns: Turns;
  signal: AbortSignal;
}

/** A request would have to read too many frames. */
export class SeriesScanError extends Error {
  override name = "SeriesScanError";
  /** Upper bound of these frames. */
  readonly frames: number;
  /** True if there will be less to read once the sidecars are built, or can be read again. */
  readonly isTemporary: boolean;

  constructor(frames: number, { isTemporary }: { isTemporary: boolean }) {
    super(`About ${Math.round(frames)} frames would have to be read`);
    this.frames = frames;
    this.isTemporary = isTemporary;
  }
}

/** Maximum number of attempts while sidecars are found to be unreadable. */
const MAX_ATTEMPTS = 3;
/** Parts of sidecars that are read at once. */
const READS_AT_ONCE = 16;

/**
 * Reads series, one for each field and sensor. Wide buckets come from the sidecars of the journal's files. Frames are read for
 * the rest: the ends of the range, blocks that are in no sidecar yet, narrower buckets, and other fields.
 *
 * @throws {SeriesScanError} too many frames would have to be read
 * @throws {SeriesCountError} there are too many series or buckets
 * @throws the reason of the signal
 */
export async function readSeries(request: SeriesRequest): Promise<Series[]> {
  return await joinSeries(await collectSeries(request), { fields: request.fields, slices: new Slices(request) });
}

/** The series of all sources; those of the same sensor are not joined yet. */
async function collectSeries(request: SeriesRequest): Promise<Series[]> {
  const { rollup, fields, range } = request;
  const whole = wholeBuckets(range);
  const isCoarse = range.bucketMs % ROLLUP_BUCKET_MS === 0 && whole.fromUs < whole.toUs;
  const rolled = rollup && isCoarse ? fields.filter((field) => rollup.has(field)) : [];
  const unreadable = new Set<string>();
  for (let attempt = 0; rollup && rolled.length > 0 && attempt < MAX_ATTEMPTS; attempt++) {
    const reading = new RolledReading({ ...request, rollup, fields: rolled }, { whole, unreadable });
    const list = await reading.read();
    if (list === undefined) continue;
    const others = fields.filter((field) => !rolled.includes(field));
    if (others.length === 0) return list;
    const { budget } = reading;
    const maxScan = request.maxScan - reading.frames;
    return [...list, ...await scanSeries({ ...request, fields: others, maxScan }, { budget, isTemporary: false })];
  }
  const budget = new BucketBudget(request.maxBuckets);
  return await scanSeries(request, { budget, isTemporary: unreadable.size > 0 });
}

/** The part of a range that consists of whole buckets of sidecars; empty if it ends before it begins. */
function wholeBuckets({ fromUs, toUs }: TimeRange): TimeRange {
  return {
    fromUs: Math.ceil(fromUs / ROLLUP_BUCKET_US) * ROLLUP_BUCKET_US,
    toUs: Math.floor((toUs + 1) / ROLLUP_BUCKET_US) * ROLLUP_BUCKET_US - 1,
  };
}

/** @param options.isTemporary whether there will be less to read later */
async function scanSeries(
  request: SeriesRequest,
  { budget, isTemporary }: { budget: BucketBudget; isTemporary: boolean },
): Promise<Series[]> {
  const { index, range, maxScan } = request;
  const frames = await index.framesAtMost(range);
  // The number is unknown for a recording that is played.
  if (frames > maxScan && frames !== Infinity) throw new SeriesScanError(frames, { isTemporary });
  request.onScan?.(frames);
  const fold = foldOf(request, budget);
  await scanRange(index, range, { ...request, fold });
  return [...fold.series()];
}

function foldOf(
  { fields, range: { bucketMs }, buses, decoder, sources }: SeriesRequest,
  budget: BucketBudget,
): SeriesFold {
  return new SeriesFold({ fields, bucketMs, buses, decoder, sources, budget });
}

/** A used part of a sidecar. */
interface UsedPart extends RolledPart {
  epochWord: number;
  path: string;
}

/** A block of a used part of which some frames are scanned. */
interface EdgeBlock {
  path: string;
  epochWord: number;
  block: ChunkBlock;
  ranges: readonly TimeRange[];
}

/** One attempt to answer a request from sidecars. */
class RolledReading {
  readonly budget: BucketBudget;
  readonly #request: SeriesRequest & { rollup: SeriesRollup };
  readonly #whole: TimeRange;
  /** Paths of files whose sidecar could not be read by this or a previous attempt. */
  readonly #unreadable: Set<string>;
  readonly #slices: Slices;
  readonly #used: UsedPart[] = [];
  /** Numbers of the blocks in used parts. */
  readonly #seen = new Map<number, Ranges>();
  /** Offsets of blocks that need not be scanned, by file. */
  readonly #covered = new Map<string, Set<number>>();
  readonly #complete = new Set<string>();
  #frames = 0;

  constructor(
    request: SeriesRequest & { rollup: SeriesRollup },
    { whole, unreadable }: { whole: TimeRange; unreadable: Set<string> },
  ) {
    this.budget = new BucketBudget(request.maxBuckets);
    this.#request = request;
    this.#whole = whole;
    this.#unreadable = unreadable;
    this.#slices = new Slices(request);
  }

  /** Upper bound for the frames that were read. */
  get frames(): number {
    return this.#frames;
  }

  /** Undefined if a sidecar could not be read; the next attempt does not use it. */
  async read(): Promise<Series[] | undefined> {
    const { rollup, range, index, maxScan } = this.#request;
    for (const file of await rollup.lookUp(range, this.#request)) {
      if (!this.#unreadable.has(file.path)) this.#choose(file);
    }
    const seen = [...this.#seen].flatMap(([epochWord, ranges]) =>
      Array.from(ranges, (each): SeenRange => ({ epochWord, ...each }))
    );
    const rest = {
      ...{ fromUs: range.fromUs, toUs: range.toUs, seen },
      skips: (path: string, offset: number) => this.#covered.get(path)?.has(offset) ?? false,
      skipsFile: (path: string) => this.#complete.has(path),
    };
    const edges = this.#edges();
    const frames = this.#frames = await index.framesAtMost(rest) +
      edges.reduce((sum, { block }) => sum + block.frames, 0);
    const isTemporary = rollup.isBehind || this.#unreadable.size > 0;
    if (frames > maxScan) throw new SeriesScanError(frames, { isTemporary });
    this.#request.onScan?.(frames);
    const stored = new StoredFold({ bucketMs: range.bucketMs, budget: this.budget });
    if (!await this.#readStored(stored)) return undefined;
    const fold = foldOf(this.#request, this.budget);
    await this.#scan(edges, fold);
    await scanRange(index, rest, { ...this.#request, fold });
    return [...stored.series(), ...fold.series()];
  }

  /** Uses the parts of a file whose frames are in no other part. The others are scanned, which drops duplicates. */
  #choose({ path, epochWord, parts, isComplete }: RolledBlocks): void {
    const { range } = this.#request;
    const seen = this.#seen.get(epochWord) ?? new Ranges();
    this.#seen.set(epochWord, seen);
    const covered = new Set<number>();
    let isWhole = isComplete;
    for (const part of parts) {
      const blocks = part.blocks.filter(({ frames }) => frames > 0);
      const isWanted = blocks.some((block) => overlaps(block, range));
      if (isWanted && blocks.some(({ seq, frames }) => seen.touches(seq, seq + frames))) {
        isWhole = false;
        continue;
      }
      for (const { offset } of part.blocks) covered.add(offset);
      if (!isWanted) continue;
      for (const { seq, frames } of blocks) seen.add(seq, seq + frames);
      this.#used.push({ ...part, path, epochWord });
    }
    if (isWhole) this.#complete.add(path);
    else this.#covered.set(path, covered);
  }

  /** Adds the buckets of used parts. Returns false if a sidecar could not be read. */
  async #readStored(stored: StoredFold): Promise<boolean> {
    const { sources } = this.#request;
    const parts = this.#used.filter(({ blocks }) => blocks.some((block) => overlaps(block, this.#whole)));
    for (let at = 0; at < parts.length; at += READS_AT_ONCE) {
      await this.#slices.pause();
      const batch = await Promise.all(
        parts.slice(at, at + READS_AT_ONCE).map(async ({ path, read }) => ({
          path,
          rest: (await this.#try(path, read))?.[Symbol.iterator](),
        })),
      );
      if (batch.some(({ rest }) => rest === undefined)) return false;
      for (const { path, rest } of batch) {
        for (;;) {
          const next = await this.#try(path, () => rest?.next());
          if (next === undefined) return false;
          if (next.done) break;
          if (sources?.has(next.value.origin.src) ?? true) stored.add(next.value, this.#whole);
          await this.#slices.pause();
        }
      }
    }
    return true;
  }

  /** Reads a sidecar. Returns undefined, and reports it, if that fails. */
  async #try<T>(path: string, read: () => T | Promise<T>): Promise<T | undefined> {
    try {
      return await read();
    } catch (error) {
      this.#unreadable.add(path);
      this.#request.rollup.noteUnreadable(path, error);
      return undefined;
    }
  }

  /** Used blocks with frames at the ends of the range, which no whole bucket covers. */
  #edges(): EdgeBlock[] {
    const { fromUs, toUs } = this.#request.range;
    const ends = [{ fromUs, toUs: this.#whole.fromUs - 1 }, { fromUs: this.#whole.toUs + 1, toUs }]
      .filter((end) => end.fromUs <= end.toUs);
    return this.#used.flatMap(({ path, epochWord, blocks }) =>
      blocks.flatMap((block) => {
        const ranges = ends.filter((end) => overlaps(block, end));
        return ranges.length === 0 ? [] : [{ path, epochWord, block, ranges }];
      })
    );
  }

  async #scan(edges: readonly EdgeBlock[], fold: SeriesFold): Promise<void> {
    const { index } = this.#request;
    using reader = index.reader();
    for (const { path, epochWord, block: { offset }, ranges } of edges) {
      try {
        const recorded = await reader.read(path, { offset, bytes: 0 });
        const block = index.clock?.spans.timed(recorded, epochWord) ?? recorded;
        await scanBlock(block, { fold, index, slices: this.#slices, ranges });
      } catch (error) {
        // Deleted or damaged since: other readers skip it, too.
        if (!(error instanceof BlockError || error instanceof Deno.errors.NotFound)) throw error;
      }
    }
  }
}

function overlaps(a: TimeRange, b: TimeRange): boolean {
  return a.fromUs <= b.toUs && a.toUs >= b.fromUs;
}

import { newStoredFrame, sourceOfId, type StoredFrame } from "../../frame/mod.ts";
import { type Block, BlockError, type JournalIndex } from "../../journal/mod.ts";
import { type HistoryPosition, type HistoryRange, passedThrough, positionAt } from "./query.ts";
import type { HistoryTurns } from "./turns.ts";
import { busText } from "../../broker/mod.ts";
import type { Filter } from "../../filter/mod.ts";
import { FirstOfInterval, RecordedFilter } from "../../stream/mod.ts";

const ADDRESSES = 256;

/** Selects the frames of a history request, block by block. */
export class WantedFrames {
  readonly range: HistoryRange;
  readonly #filter: RecordedFilter;
  /** Bus names of the server, for blocks without bus names of their own. */
  readonly #buses: readonly string[];
  readonly #sources: Uint8Array | undefined;
  readonly #interval: FirstOfInterval | undefined;
  #busTexts: readonly string[] = [];
  #taken = 0;

  constructor(
    filter: Filter,
    options: HistoryRange & { buses: readonly string[]; src?: number[] | undefined; interval?: number | undefined },
  ) {
    this.range = options;
    this.#filter = new RecordedFilter(filter, { separateBlocks: true });
    this.#buses = options.buses;
    if (options.interval !== undefined) this.#interval = new FirstOfInterval(options.interval);
    if (!options.src) return;
    this.#sources = new Uint8Array(ADDRESSES);
    for (const src of options.src) this.#sources[src] = 1;
  }

  /** True when the limit is reached. */
  get isFull(): boolean {
    return this.#taken >= this.range.limit;
  }

  /** Begins a block: sets up its buses and its device addresses. */
  enter(block: Block): void {
    const names = block.metadata.buses ?? this.#buses;
    this.#filter.enter(names, block.devices);
    this.#busTexts = names.map((name) => busText(name, { buses: this.#buses.length }));
    this.#interval?.enter(names);
  }

  /** The bus member of a frame's JSON in this block. */
  busText(bus: number): string {
    return this.#busTexts[bus] ?? "";
  }

  /** True if only the first frame of each interval is wanted, which depends on the frames before. */
  get hasInterval(): boolean {
    return this.#interval !== undefined;
  }

  /** Accepts or rejects a frame, and counts it. `at` is its index in the block. */
  takes(frame: StoredFrame, at: number): boolean {
    if (!this.matches(frame, at)) return false;
    this.#taken++;
    return true;
  }

  /** True if a frame is wanted, regardless of the limit. Call it at most once a frame, in order. */
  matches(frame: StoredFrame, at: number): boolean {
    if (!this.#filter.accepts(frame, at)) return false;
    const { fromUs, toUs } = this.range;
    if (frame.timeUs < fromUs || frame.timeUs > toUs) return false;
    return this.#sources?.[sourceOfId(frame.id)] !== 0 && (this.#interval?.accepts(frame) ?? true);
  }
}

/** The part of the journal index that a history needs. */
export type HistoryIndex =
  & Pick<
    JournalIndex,
    "epochBlocks" | "epochOrder" | "framesAtMost" | "noteDamaged" | "reader"
  >
  & Partial<Pick<JournalIndex, "clock">>;

/** Frames that are read before the time is checked. */
const FRAMES_PER_TIME_CHECK = 256;

/** Which frames of a journal are read. */
export interface HistoryScan {
  wanted: WantedFrames;
  histories: HistoryTurns;
  /** The last frame that is read; undefined: the last there is. */
  through?: HistoryPosition | undefined;
  /**
   * Gets each wanted frame and its position; both objects are reused. Returns true when the reader has enough to send.
   */
  take: (frame: StoredFrame, position: Readonly<HistoryPosition>) => boolean | void;
}

/** Reads the wanted frames in order. Yields after each block, and when `take` returns true, so that the reader can send or stop. */
export async function* scanHistory(
  index: HistoryIndex,
  { wanted, histories, through, take }: HistoryScan,
): AsyncGenerator<void, void> {
  const frame = newStoredFrame();
  const { fromUs, toUs, after } = wanted.range;
  const order = index.epochOrder();
  let sliceEndMs = await histories.slice();
  const skipped = wanted.hasInterval || !after ? undefined : { epochWord: after.epochWord, seq: after.at };
  for await (const located of index.epochBlocks({ fromUs, toUs, after: skipped, isCorrected: true })) {
    const { block } = located;
    wanted.enter(block);
    const first = after ? passedThrough(located, { position: after, order }) : -Infinity;
    const last = through ? passedThrough(located, { position: through, order }) : Infinity;
    const cursor = block.frames();
    const position = { epochWord: located.epochWord, at: 0, blockUs: block.baseTimeUs };
    while (!wanted.isFull && nextFrame(cursor, { frame, index, block })) {
      const i = cursor.index - 1;
      position.at = positionAt(located, { seq: frame.seq, index: i });
      if (position.at > last) return;
      let isTaken = false;
      // Frames before the start only determine which later frames are the first of their interval.
      if (position.at > first) isTaken = wanted.takes(frame, i);
      else if (wanted.hasInterval) wanted.matches(frame, i);
      const isFilled = isTaken && take(frame, position) === true;
      if (!isTaken && cursor.index % FRAMES_PER_TIME_CHECK !== 0) continue;
      // The reader compresses and writes within this slice.
      if (isFilled) yield;
      if (performance.now() >= sliceEndMs) sliceEndMs = await histories.slice();
    }
    yield;
    if (wanted.isFull) return;
  }
}

/** Reads the next frame. A block whose checksum is right but whose frames cannot be parsed ends at the first bad one. */
function nextFrame(
  cursor: ReturnType<Block["frames"]>,
  { frame, index, block }: { frame: StoredFrame; index: HistoryIndex; block: Block },
): boolean {
  try {
    return cursor.next(frame);
  } catch (error) {
    if (!(error instanceof BlockError)) throw error;
    index.noteDamaged(block, error);
    return false;
  }
}

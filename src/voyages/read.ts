import {
  readSeries,
  type Series,
  type SeriesField,
  type SeriesRange,
  type SeriesRequest,
  SeriesScanError,
} from "../series/mod.ts";
import { type Period, VoyageDetector } from "./detector.ts";
import { inRange } from "./range.ts";
import { type Slot, slotsOf, slowPositionFields, useFields, wayFields } from "./slots.ts";
import { SLOT_MS, STAY_MS } from "./thresholds.ts";
import { useOf, type Voyage, type VoyageUse } from "./voyage.ts";

/** A request for voyages, and its sources. */
export interface VoyageRequest
  extends Pick<SeriesRequest, "index" | "rollup" | "buses" | "decoder" | "maxScan" | "turns" | "signal"> {
  /** Times of the request, milliseconds since 1970, inclusive. */
  fromMs: number;
  toMs: number;
  /** Now: nothing later is read. */
  nowMs: number;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Time that is read at once, with at most {@linkcode MAX_BUCKETS} buckets. */
const PIECE_MS = DAY_MS;
const MAX_BUCKETS = 250_000;
/** Time that is read before the range: as far as a voyage that began earlier has its start. */
const BEFORE_MS = [HOUR_MS, DAY_MS, 7 * DAY_MS] as const;
/** Time that is read after the range while a voyage has not ended. */
const AFTER_MS = 7 * DAY_MS;
const AFTER_PIECE_MS = 6 * HOUR_MS;

/**
 * The voyages that touch a range, whole, and the stays in it. Reads the sidecars of series, and frames where the positions
 * are in none. A value that is not in the sidecars although the positions are, is left out.
 *
 * @throws {SeriesScanError} too many frames would have to be read
 * @throws {SeriesCountError} there are too many sensors
 * @throws the reason of the signal
 */
export async function readVoyages(request: VoyageRequest): Promise<Period[]> {
  const reading = new VoyageReading(request);
  const periods = inRange(await reading.find(), request);
  for (const [i, period] of periods.entries()) {
    if (period.state === "under_way") periods[i] = { ...period, ...await reading.useOf(period) };
  }
  return periods;
}

/** Reads slots, piece by piece. */
class VoyageReading {
  readonly #request: VoyageRequest;
  /** True if positions are read from sidecars: nothing is read from frames then, but for blocks that are in none yet. */
  readonly #isStored: boolean;
  /** Upper bound for the frames that were read. */
  #scanned = 0;
  #sliceEndMs = 0;

  constructor(request: VoyageRequest) {
    this.#request = request;
    const positions = [wayFields().slice(0, 2), slowPositionFields()];
    this.#isStored = positions.some((fields) => fields.every((field) => request.rollup?.has(field)));
  }

  /** The periods of the range, and others before and after it. What is measured besides the way is not read. */
  async find(): Promise<Period[]> {
    const { fromMs } = this.#request;
    let periods: Period[] = [];
    for (const beforeMs of BEFORE_MS) {
      const startMs = fromMs - beforeMs;
      periods = await this.#findFrom(startMs);
      const [first] = periods;
      // A voyage was under way where reading began.
      if (first?.state !== "under_way" || first.startMs >= startMs + STAY_MS) break;
    }
    return periods;
  }

  /** What is measured besides the way of a voyage. */
  async useOf({ startMs, endMs }: Voyage): Promise<VoyageUse> {
    const slots: Slot[] = [];
    const range = { startMs, endMs: endMs + SLOT_MS };
    for await (const slot of this.#slots(range, { fields: useFields() })) slots.push(slot);
    return useOf(slots, { startMs, endMs });
  }

  async #findFrom(startMs: number): Promise<Period[]> {
    const { toMs, nowMs } = this.#request;
    const detector = new VoyageDetector();
    const periods: Period[] = [];
    const read = async (range: { startMs: number; endMs: number }) => {
      const fields = { fields: wayFields(), instead: slowPositionFields() };
      for await (const slot of this.#slots(range, fields)) periods.push(...detector.push(slot));
    };
    let endMs = Math.min(nowMs, toMs + STAY_MS);
    await read({ startMs, endMs });
    const mostMs = Math.min(nowMs, toMs + AFTER_MS);
    while ((detector.movingSinceMs ?? Infinity) <= toMs && endMs < mostMs) {
      // From the beginning of the slot in which reading ended: it is ignored.
      const nextMs = Math.min(mostMs, endMs + AFTER_PIECE_MS);
      await read({ startMs: endMs, endMs: nextMs });
      endMs = nextMs;
    }
    return [...periods, ...detector.end()];
  }

  /**
   * The slots of a range, piece by piece.
   *
   * @param options.instead positions that are read for pieces without others
   */
  async *#slots(
    { startMs, endMs }: { startMs: number; endMs: number },
    { fields, instead = [] }: { fields: readonly SeriesField[]; instead?: readonly SeriesField[] },
  ): AsyncGenerator<Slot, void> {
    const { rollup } = this.#request;
    const wanted = this.#isStored ? fields.filter((field) => rollup?.has(field)) : [...fields, ...instead];
    const others = this.#isStored ? instead.filter((field) => rollup?.has(field)) : [];
    for (let atMs = Math.floor(startMs / SLOT_MS) * SLOT_MS; atMs < endMs; atMs += PIECE_MS) {
      const lastMs = Math.ceil(Math.min(endMs, atMs + PIECE_MS) / SLOT_MS) * SLOT_MS;
      const range = { fromUs: atMs * 1000, toUs: lastMs * 1000 - 1, bucketMs: SLOT_MS };
      const list = await this.#series(wanted, range);
      const hasPositions = list.some(({ field }) => field.text === fields[0]?.text);
      if (!hasPositions && others.length > 0) list.push(...await this.#series(others, range));
      for (const slot of slotsOf(list)) {
        await this.#pause();
        yield slot;
      }
    }
  }

  async #series(fields: readonly SeriesField[], range: SeriesRange): Promise<Series[]> {
    const { index, rollup, buses, decoder, turns, signal, maxScan } = this.#request;
    try {
      return await readSeries({
        ...{ index, rollup, buses, decoder, turns, signal, fields, range, maxBuckets: MAX_BUCKETS },
        maxScan: maxScan - this.#scanned,
        onScan: (frames) => this.#scanned += frames,
      });
    } catch (error) {
      if (!(error instanceof SeriesScanError)) throw error;
      throw new SeriesScanError(this.#scanned + error.frames, error);
    }
  }

  async #pause(): Promise<void> {
    if (performance.now() < this.#sliceEndMs) return;
    const { turns, signal } = this.#request;
    signal.throwIfAborted();
    this.#sliceEndMs = await turns.slice();
  }
}

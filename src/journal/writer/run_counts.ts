import type { Clock } from "../../base/mod.ts";
import type { BlockEnd, BlockMetadata, BusCounts, RunStart } from "../types.ts";
import type { WindowDigests } from "../digest/window_digest.ts";
import type { JournalWriterOptions } from "./journal_writer_types.ts";

/** Block bytes for each stored digest: a block of the default size holds all digests, a smaller one fewer. */
const BLOCK_BYTES_PER_DIGEST = 4096;

/** What blocks store of a run: its buses, clocks and counters, among them the frames that the writer has lost. */
export class RunCounts {
  readonly #counts: (() => readonly BusCounts[]) | undefined;
  readonly #clock: Clock;
  readonly #buses: readonly string[];
  readonly #bootId: Uint8Array<ArrayBuffer> | undefined;
  readonly #startMs: number;
  readonly #digests: WindowDigests | undefined;
  #firstSeq: number | undefined;
  #lost = 0;
  /** By the index of the bus. */
  readonly #lostOf: number[] = [];

  /**
   * @param options `counts` returns the counters of the buses; without them none are stored
   */
  constructor(
    { buses, bootId, counts, firstSeq, digests, clock }: Pick<
      JournalWriterOptions,
      "buses" | "bootId" | "counts" | "firstSeq" | "digests" | "clock"
    >,
  ) {
    this.#buses = buses;
    this.#bootId = bootId;
    this.#digests = digests;
    this.#counts = counts;
    this.#firstSeq = firstSeq;
    this.#clock = clock;
    this.#startMs = clock.monoMs();
  }

  /** Frames lost since the start. */
  get lost(): number {
    return this.#lost;
  }

  /** Metadata of a block of this size that begins now. */
  opening(blockBytes: number): BlockMetadata {
    const digests = this.#digests?.note(Math.floor(blockBytes / BLOCK_BYTES_PER_DIGEST));
    const [clock, bootId, counts] = [this.#clock, this.#bootId, this.now()];
    const { monoMs, firstSeq } = this.run ?? {};
    const start = monoMs !== undefined && firstSeq !== undefined && { monoMs, firstSeq };
    const times = { monoMs: clock.monoMs(), timeUs: clock.wallUs(), clock: "unknown" } as const;
    return {
      buses: this.#buses,
      ...(bootId && { boot: { bootId, ...times, ...(start && { start }) } }),
      ...(digests && { digests }),
      ...(counts && { counts }),
    };
  }

  /** This run; undefined if blocks do not say it. */
  get run(): (RunStart & { bootId: Uint8Array<ArrayBuffer> }) | undefined {
    const [bootId, firstSeq, monoMs] = [this.#bootId, this.#firstSeq, this.#startMs];
    return bootId && firstSeq !== undefined ? { bootId, monoMs, firstSeq } : undefined;
  }

  /** An epoch begins, at 1. */
  beginEpoch(): void {
    if (this.#firstSeq !== undefined) this.#firstSeq = 1;
  }

  /** Counts a frame of a bus that is not recorded. */
  lose(bus: number): void {
    this.#lost++;
    this.#lostOf[bus] = (this.#lostOf[bus] ?? 0) + 1;
  }

  /** Counts frames that could not be written when the journal was closed. */
  loseAtEnd(frames: number): void {
    this.#lost += frames;
  }

  /** The counters now; undefined if none are stored. */
  now(): BusCounts[] | undefined {
    return this.#counts?.().map(({ fates, ...counts }, bus) =>
      fates ? { ...counts, fates: { ...fates, unrecorded: this.#lostOf[bus] ?? 0 } } : counts
    );
  }

  /** The counters now, after so many frames of a block. */
  end(frames: number): BlockEnd | undefined {
    const counts = this.now();
    return counts && { frames, timeUs: this.#clock.wallUs(), counts };
  }
}

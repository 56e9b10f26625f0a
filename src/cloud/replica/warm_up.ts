import { turn } from "../../base/mod.ts";
import type { Broker } from "../../broker/mod.ts";
import { newStoredFrame } from "../../frame/mod.ts";
import {
  ActiveDevices,
  type Block,
  type BlockDevice,
  BlockError,
  type JournalIndex,
  SourceUnavailableError,
} from "../../journal/mod.ts";

/** Maximum numbers read when a replica starts: 20 minutes of 200 frames a second, which takes a third of a second. */
export const MAX_WARM_UP_FRAMES = 262_144;
/** Maximum time that reading blocks the event loop. */
const SLICE_MS = 4;
/** Frames between two checks of the time; a power of two. */
const CHECK_EVERY = 64;
/** A time that is earlier by no more than this belongs to a late frame; a larger step back means that the clock was set. */
const LATE_MS = 10_000;

/**
 * Measures how long a boat has been sending, by the times of its frames. A silence or a clock set forward counts for at most
 * `maxStepMs`, a clock set back for nothing.
 */
export class BoatClock {
  readonly #maxStepMs: number;
  #newestMs: number | undefined;
  #ms = 0;

  /** @param options.newestMs the boat's time when measuring begins; default that of the first frame */
  constructor({ maxStepMs, newestMs }: { maxStepMs: number; newestMs?: number | undefined }) {
    this.#maxStepMs = maxStepMs;
    this.#newestMs = newestMs;
  }

  /** Milliseconds measured so far. */
  get ms(): number {
    return this.#ms;
  }

  /** Time of the newest frame, milliseconds since 1970; undefined before the first. */
  get newestMs(): number | undefined {
    return this.#newestMs;
  }

  /** Adds the time of a frame; returns {@linkcode BoatClock.ms}. */
  advance(timeMs: number): number {
    const newest = this.#newestMs ?? timeMs;
    const step = timeMs - newest;
    if (step > 0) this.#ms += Math.min(step, this.#maxStepMs);
    if (step > 0 || step < -LATE_MS || this.#newestMs === undefined) this.#newestMs = timeMs;
    return this.#ms;
  }
}

/** Options of {@linkcode warmUpFromJournal}. */
export interface WarmUpOptions {
  index: JournalIndex;
  /** First four bytes of the epoch. */
  epochWord: number;
  /** The broker knows the frames up to this number already. */
  knownThrough: number;
  /** Last number to read. */
  head: number;
  time: BoatClock;
}

/**
 * Fills the broker's device table and last values from the newest {@linkcode MAX_WARM_UP_FRAMES} numbers of the journal, in
 * time slices. Damaged blocks are skipped. What cannot be read now is left out: the boat sends its values again.
 *
 * @returns number of frames read
 */
export async function warmUpFromJournal(broker: Broker, options: WarmUpOptions): Promise<number> {
  const { index, epochWord, knownThrough, head } = options;
  const fromSeq = Math.max(knownThrough, head - MAX_WARM_UP_FRAMES) + 1;
  let count = 0;
  if (fromSeq > head) return count;
  const progress = { throughSeq: knownThrough };
  try {
    for await (const block of index.blocks({ fromSeq, epochWord })) {
      if ((block.baseSeq ?? 0) > head) break;
      let sliceEndMs = performance.now() + SLICE_MS;
      for (const _ of readBlock(block, { broker, progress, ...options })) {
        if ((++count & (CHECK_EVERY - 1)) !== 0 || performance.now() < sliceEndMs) continue;
        await turn();
        sliceEndMs = performance.now() + SLICE_MS;
      }
    }
  } catch (error) {
    if (!(error instanceof SourceUnavailableError)) throw error;
  }
  return count;
}

/** Applies a block, a frame at a time. After missing frames, the devices come from the block's table. */
function* readBlock(
  block: Block,
  { broker, progress, index, head, time }: WarmUpOptions & { broker: Broker; progress: { throughSeq: number } },
): Generator<void> {
  // Frames of buses with other names are left out.
  const buses = block.metadata.buses?.map((name) => broker.buses.indexOf(name)) ?? [...broker.buses.keys()];
  const frame = newStoredFrame();
  const frames = block.frames();
  try {
    while (frames.next(frame) && frame.seq <= head) {
      if (frame.seq <= progress.throughSeq) continue;
      const { seq, id, pgn, timeUs, data, offset, length } = frame;
      const monoMs = time.advance(timeUs / 1000);
      if (seq > progress.throughSeq + 1) {
        const at = { timeUs, monoMs };
        new ActiveDevices(block.devices).advance(
          frames.index - 1,
          (device) => addDevice(broker, { device, buses, at }),
        );
      }
      const bus = buses[frame.bus] ?? -1;
      if (bus >= 0) broker.updateTables(seq, { bus, pgn, id, timeUs, monoMs, data, offset, length });
      progress.throughSeq = seq;
      yield;
    }
  } catch (error) {
    if (!(error instanceof BlockError)) throw error;
    index.noteDamaged(block, error);
  }
}

function addDevice({ registry }: Broker, { device, buses, at }: {
  device: BlockDevice;
  buses: readonly number[];
  at: { timeUs: number; monoMs: number };
}): void {
  const { bus: index, src, name, activeFrom: _, ...product } = device;
  const bus = buses[index] ?? -1;
  const isKnown = product.productCode !== 0 || product.modelId !== "";
  if (bus >= 0) registry.learn({ bus, src, name, product: isKnown ? product : undefined }, at);
}

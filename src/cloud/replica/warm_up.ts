import { turn } from "../../base/mod.ts";
import type { Broker } from "../../broker/mod.ts";
import { newStoredFrame } from "../../frame/mod.ts";
import { ActiveDevices, type Block, type BlockDevice, BlockError, type JournalIndex } from "../../journal/mod.ts";
import type { BoatClock } from "./time.ts";

/** Most numbers that are read again when a replica starts: 20 minutes of 200 frames a second, in a third of a second. */
export const MAX_WARM_UP_FRAMES = 262_144;
/** Longest time that one slice of reading holds the event loop. */
const SLICE_MS = 4;
/** Frames between two looks at the time; a power of two. */
const LOOK_EVERY = 64;

/** Which frames are read again, and who learns from them. */
export interface WarmUpOptions {
  index: JournalIndex;
  /** First four bytes of the epoch. */
  epochWord: number;
  /** What the broker knows already: nothing up to this number is read. */
  knownThrough: number;
  /** The last number that is read. */
  head: number;
  time: BoatClock;
}

/**
 * Devices and values learn from what the journal has, the newest {@linkcode MAX_WARM_UP_FRAMES} numbers at most, in
 * slices that leave time for others. What is damaged is passed over.
 *
 * @returns how many frames were read
 */
export async function warmUpFromJournal(broker: Broker, options: WarmUpOptions): Promise<number> {
  const { index, epochWord, knownThrough, head } = options;
  const fromSeq = Math.max(knownThrough, head - MAX_WARM_UP_FRAMES) + 1;
  let count = 0;
  if (fromSeq > head) return count;
  const progress = { throughSeq: knownThrough };
  for await (const block of index.blocks({ fromSeq, epochWord })) {
    if ((block.baseSeq ?? 0) > head) break;
    let sliceEndMs = performance.now() + SLICE_MS;
    for (const _ of recallBlock(block, { broker, progress, ...options })) {
      if ((++count & (LOOK_EVERY - 1)) !== 0 || performance.now() < sliceEndMs) continue;
      await turn();
      sliceEndMs = performance.now() + SLICE_MS;
    }
  }
  return count;
}

/** Learns from a block, a frame at a time. Where frames before it are missing, its table tells who was there. */
function* recallBlock(
  block: Block,
  { broker, progress, index, head, time }: WarmUpOptions & { broker: Broker; progress: { throughSeq: number } },
): Generator<void> {
  // What was heard on buses of other names is left out.
  const buses = block.notes.buses?.map((name) => broker.buses.indexOf(name)) ?? [...broker.buses.keys()];
  const frame = newStoredFrame();
  const frames = block.frames();
  try {
    while (frames.next(frame) && frame.seq <= head) {
      if (frame.seq <= progress.throughSeq) continue;
      const { seq, id, pgn, timeUs, data, offset, length } = frame;
      const monoMs = time.heard(timeUs / 1000);
      if (seq > progress.throughSeq + 1) {
        const at = { timeUs, monoMs };
        new ActiveDevices(block.devices).advance(frames.index - 1, (device) => learn(broker, { device, buses, at }));
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

function learn({ registry }: Broker, { device, buses, at }: {
  device: BlockDevice;
  buses: readonly number[];
  at: { timeUs: number; monoMs: number };
}): void {
  const { bus: index, src, name, activeFrom: _, ...product } = device;
  const bus = buses[index] ?? -1;
  const isKnown = product.productCode !== 0 || product.modelId !== "";
  if (bus >= 0) registry.learn({ bus, src, name, product: isKnown ? product : undefined }, at);
}

import type { Broker } from "../broker/mod.ts";
import { newStoredFrame } from "../frame/mod.ts";
import { ActiveDevices, type Block, type BlockDevice, BlockError } from "../journal/mod.ts";

/** How far the tables of a broker are. */
export interface ReplayProgress {
  /** Number of the newest frame that they contain, or that was left out because of its time. */
  throughSeq: number;
  /** False if frames are missing: counters of devices are too low, and values may be too old. */
  isWhole: boolean;
}

/** Options of {@linkcode replayBlock}. */
export interface ReplayOptions {
  progress: ReplayProgress;
  /** Called before each frame: its monotonic time, milliseconds, from its time, microseconds since 1970. */
  monoMsOf: (timeUs: number) => number;
  /** Last number, inclusive; default all. */
  throughSeq?: number;
  /** Latest time, inclusive, microseconds since 1970: later frames are left out. Default all. */
  toUs?: number;
  /** Called for a frame that cannot be read; the rest of the block is left out. */
  damaged: (error: BlockError) => void;
}

/**
 * Applies the frames of a block to the tables of a broker, as if they were received. Yields after each. After missing frames,
 * the devices come from the block's table. Frames of buses that the broker does not have are left out.
 */
export function* replayBlock(broker: Broker, block: Block, options: ReplayOptions): Generator<void> {
  const { progress, monoMsOf, throughSeq = Infinity, toUs = Infinity, damaged } = options;
  const buses = block.metadata.buses?.map((name) => broker.buses.indexOf(name)) ?? [...broker.buses.keys()];
  const frame = newStoredFrame();
  const frames = block.frames();
  try {
    while (frames.next(frame) && frame.seq <= throughSeq) {
      const { seq, id, pgn, timeUs, data, offset, length } = frame;
      if (seq <= progress.throughSeq) continue;
      const isNext = seq === progress.throughSeq + 1;
      progress.throughSeq = seq;
      progress.isWhole &&= isNext;
      if (timeUs > toUs) continue;
      const monoMs = monoMsOf(timeUs);
      if (!isNext) {
        const learn = (device: BlockDevice) => addDevice(broker, { device, buses, at: { timeUs, monoMs } });
        new ActiveDevices(block.devices).advance(frames.index - 1, learn);
      }
      const bus = buses[frame.bus] ?? -1;
      if (bus >= 0) broker.updateTables(seq, { bus, pgn, id, timeUs, monoMs, data, offset, length });
      yield;
    }
  } catch (error) {
    if (!(error instanceof BlockError)) throw error;
    damaged(error);
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

import { addressKey, formatTimeUs, type StoredFrame } from "../frame/mod.ts";
import {
  ActiveDevices,
  type Block,
  BlockBuilder,
  type BlockDevice,
  DEFAULT_BLOCK_BYTES,
  epochWordOf,
  type Gap,
  MAX_DISORDER_US,
  type SealedBlock,
} from "../journal/mod.ts";
import type { StoredWindow } from "./record.ts";

/** Frames of a window. */
export interface WindowRange {
  /** First and last number, both inclusive. */
  fromSeq: number;
  throughSeq: number;
  /** Frames before the first number that are not older than this belong to it, too, microseconds since 1970; default none. */
  fromUs?: number | undefined;
  /** Later frames do not belong to it, microseconds since 1970; default: the numbers say. */
  toUs?: number | undefined;
}

/** Most frames of a window before its first number: the time of these is that of a clock that may have been wrong. */
const MAX_EARLIER_FRAMES = 240_000;
/** Most frames of a window: two minutes of four buses with 2000 frames/s each. */
export const MAX_WINDOW_FRAMES = 960_000;

/** The lowest number that may belong to a window. */
export function lowestOf({ fromSeq, fromUs }: WindowRange): number {
  return fromUs === undefined ? fromSeq : Math.max(1, fromSeq - MAX_EARLIER_FRAMES);
}

/** Collects the frames of a window into blocks, and counts those that are missing. Pure. */
export class WindowBlocks {
  readonly #builder = new BlockBuilder({ blockBytes: DEFAULT_BLOCK_BYTES });
  readonly #range: WindowRange;
  readonly #epoch: Uint8Array<ArrayBuffer>;
  readonly #sealed: SealedBlock[] = [];
  #source: Block | undefined;
  /** Devices of the source's addresses, up to the newest frame. */
  #devices = new ActiveDevices([]);
  readonly #active = new Map<number, BlockDevice>();
  readonly #activate = (device: BlockDevice) => void this.#active.set(addressKey(device.bus, device.src), device);
  #isOpen = false;
  /** Next number that should come; undefined: unknown before the first frame. */
  #expected: number | undefined;
  #count = 0;
  #missing = 0;
  #firstUs = Infinity;
  #lastUs = -Infinity;

  /** @param options.epoch 16 bytes */
  constructor(range: WindowRange, { epoch }: { epoch: Uint8Array<ArrayBuffer> }) {
    this.#range = range;
    this.#epoch = epoch;
    if (range.fromUs === undefined) this.#expected = range.fromSeq;
  }

  /** Begins a block of the journal, from which the next frames come. */
  enter(block: Block): void {
    this.#seal();
    this.#source = block;
    this.#devices = new ActiveDevices(block.devices);
    this.#active.clear();
  }

  /** Adds a frame if it belongs to the window; `index` is its index in the block. Returns false after the last one. */
  add(frame: StoredFrame, index: number): boolean {
    const { fromSeq, throughSeq, fromUs = Infinity, toUs = Infinity } = this.#range;
    const { seq, timeUs } = frame;
    if (seq > throughSeq) return false;
    if (timeUs > toUs) return timeUs <= toUs + MAX_DISORDER_US;
    if (seq < fromSeq && (timeUs < fromUs || seq < lowestOf(this.#range))) return true;
    if (this.#count >= MAX_WINDOW_FRAMES) return false;
    this.#devices.advance(index, this.#activate);
    const gap = seq > (this.#expected ?? seq) ? this.#noteGap(seq) : undefined;
    if (gap || !this.#isOpen) this.#begin(gap);
    if (this.#builder.append(seq, frame) !== "added") {
      this.#begin(undefined);
      this.#builder.append(seq, frame);
    }
    this.#count++;
    this.#expected = seq + 1;
    this.#firstUs = Math.min(this.#firstUs, timeUs);
    this.#lastUs = Math.max(this.#lastUs, timeUs);
    return true;
  }

  /** The blocks, and what they have; undefined: no frame belongs to the window. */
  end(): { blocks: SealedBlock[]; window: Omit<StoredWindow, "is_interrupted"> } | undefined {
    this.#seal();
    if (this.#count === 0) return undefined;
    const { throughSeq } = this.#range;
    const rest = Number.isFinite(throughSeq) ? Math.max(0, throughSeq + 1 - (this.#expected ?? throughSeq + 1)) : 0;
    return {
      blocks: this.#sealed,
      window: {
        from: formatTimeUs(this.#firstUs),
        to: formatTimeUs(this.#lastUs),
        count: this.#count,
        missing: this.#missing + rest,
      },
    };
  }

  /** Counts the numbers before a frame that have none. Returns the gap, for the next block. */
  #noteGap(seq: number): Gap {
    const { gap } = this.#source?.metadata ?? {};
    const expected = this.#expected ?? seq;
    // Numbers that a start skipped never had a frame, or one that the crash lost: how many is not known.
    const isRestart = gap?.reason === "restart" && seq === this.#source?.baseSeq;
    this.#missing += (isRestart ? Math.max(expected, gap.firstMissing) : seq) - expected;
    return { firstMissing: expected, reason: gap?.reason ?? "source" };
  }

  #begin(gap: Gap | undefined): void {
    this.#seal();
    const { buses, boot } = this.#source?.metadata ?? {};
    const devices = Array.from(this.#active.values(), (device) => ({ ...device, activeFrom: 0 }));
    this.#builder.begin({
      devices,
      metadata: { epoch: this.#epoch, ...(buses && { buses }), ...(boot && { boot }), ...(gap && { gap }) },
    });
    this.#isOpen = true;
  }

  #seal(): void {
    if (this.#isOpen && this.#builder.frames > 0) this.#sealed.push(this.#builder.seal(epochWordOf(this.#epoch)));
    this.#isOpen = false;
  }
}

import { buildCanId, buildName, newStoredFrame, pgnOfId, type StoredFrame } from "../../frame/mod.ts";
import { BlockBuilder, type BlockDevice, FrameSum, NO_PRODUCT, type WindowDigest } from "../../journal/mod.ts";

/** What determines the frames of a boat. */
export interface FrameOrigin {
  /** Seed of the whole fleet. */
  seed: number;
  /** Instance id of the boat. */
  boat: string;
  /** 16 bytes, as {@linkcode makeEpoch} makes them. */
  epoch: Uint8Array<ArrayBuffer>;
}

/** A frame that a boat of the fleet has sent or will send. */
export interface ExpectedFrame {
  seq: number;
  /** Microseconds since 1970. */
  timeUs: number;
  /** 29-bit identifier. */
  canId: number;
  data: Uint8Array;
}

/** Frames of a full block. As many always fit into the default size of a block. */
export const BLOCK_FRAMES = 8192;
/** Devices of a boat. */
export const SOURCES = 30;

const BUSES = ["can0"];
const PGNS = [129025, 129026, 127250, 127251, 127257, 130306, 128259, 128267, 127488, 127245];
const PRIORITY = 2;
/** One message in so many is a fast packet: GNSS position data. */
const FAST_EVERY = 16;
const FAST_PGN = 129029;
const FAST_BYTES = 43;
const SHORT_BYTES = 8;
/** Payload bytes that differ from message to message; the others are the same in all of a device, as those of real values. */
const NOISY_BYTES = 4;
const BROADCAST = 255;
const EPOCH_BYTES = 16;
const START_AT = 4;
const INTERVAL_AT = 12;
const INDUSTRY_MARINE = 4;

/**
 * An epoch that states when its frames begin and how far they are apart.
 *
 * @param init.startUs microseconds since 1970
 * @param init.intervalUs microseconds from one frame to the next
 * @param init.random 32 random bits
 */
export function makeEpoch(
  { startUs, intervalUs, random }: { startUs: number; intervalUs: number; random: number },
): Uint8Array<ArrayBuffer> {
  const epoch = new Uint8Array(EPOCH_BYTES);
  const view = new DataView(epoch.buffer);
  // Files are told apart by these bits; 0 means that a file names no epoch.
  view.setUint32(0, random >>> 0 || 1);
  view.setBigUint64(START_AT, BigInt(startUs));
  view.setUint32(INTERVAL_AT, intervalUs);
  return epoch;
}

/** The frame of a number: a pure function. Allocates; {@linkcode FrameMaker} does not. */
export function expectedFrame(seq: number, origin: FrameOrigin): ExpectedFrame {
  const frame = newStoredFrame();
  new FrameMaker(origin).write(seq, frame);
  return { seq, timeUs: frame.timeUs, canId: frame.id, data: frame.data.slice(0, frame.length) };
}

/** Makes the frames and blocks of one epoch of a boat, each from its number alone. */
export class FrameMaker {
  readonly #epoch: Uint8Array<ArrayBuffer>;
  readonly #key: number;
  readonly #startUs: number;
  readonly #intervalUs: number;
  readonly #data = new Uint8Array(FAST_BYTES);
  readonly #view = new DataView(this.#data.buffer);

  constructor({ seed, boat, epoch }: FrameOrigin) {
    const view = new DataView(epoch.buffer, epoch.byteOffset);
    this.#epoch = epoch;
    this.#startUs = Number(view.getBigUint64(START_AT));
    this.#intervalUs = view.getUint32(INTERVAL_AT);
    let key = mix(seed | 0);
    for (const byte of [...new TextEncoder().encode(boat), ...epoch]) key = mix(key ^ byte);
    this.#key = key;
  }

  /** Newest number at a time. @param elapsedUs microseconds since the epoch's start */
  headAt(elapsedUs: number): number {
    return Math.max(0, Math.floor(elapsedUs / this.#intervalUs));
  }

  /** Time from the epoch's start until a frame exists, microseconds. */
  dueUs(seq: number): number {
    return seq * this.#intervalUs;
  }

  /** Writes a frame; its payload is valid until the next call. */
  write(seq: number, frame: StoredFrame): void {
    const noise = mix(this.#key ^ mix(seq | 0) ^ Math.floor(seq / 2 ** 32));
    const isFast = seq % FAST_EVERY === 0;
    const src = seq % SOURCES;
    const pgn = isFast ? FAST_PGN : PGNS[seq % PGNS.length] ?? FAST_PGN;
    const length = isFast ? FAST_BYTES : SHORT_BYTES;
    const own = mix(this.#key ^ pgn ^ src << 20);
    for (let i = 0; i < length - NOISY_BYTES; i++) this.#data[i] = own >>> (i & 3) * 8;
    this.#view.setUint32(length - NOISY_BYTES, noise);
    frame.seq = seq;
    frame.timeUs = this.#startUs + (seq - 1) * this.#intervalUs + (noise >>> 0) % ((this.#intervalUs >> 1) + 1);
    frame.id = buildCanId({ prio: PRIORITY, pgn, src, dst: BROADCAST });
    frame.pgn = pgnOfId(frame.id);
    frame.bus = 0;
    frame.data = this.#data;
    frame.offset = 0;
    frame.length = length;
  }

  /** The digest of the numbers from `firstSeq` through `lastSeq`, within one window. */
  digest({ firstSeq, lastSeq }: Pick<WindowDigest, "firstSeq" | "lastSeq">): WindowDigest {
    const [sum, frame] = [new FrameSum(), newStoredFrame()];
    for (let seq = firstSeq; seq <= lastSeq; seq++) {
      this.write(seq, frame);
      sum.add(seq, frame);
    }
    return { firstSeq, lastSeq, hash: sum.hash };
  }

  /** The block of the numbers from `fromSeq` to `toSeq`, at most {@linkcode BLOCK_FRAMES}. */
  block(fromSeq: number, toSeq: number): Uint8Array<ArrayBuffer> {
    const builder = new BlockBuilder();
    builder.begin({ devices: DEVICES, metadata: { buses: BUSES, epoch: this.#epoch } });
    const frame = newStoredFrame();
    for (let seq = fromSeq; seq <= toSeq; seq++) {
      this.write(seq, frame);
      const result = builder.append(seq, frame);
      if (result !== "added") throw new Error(`Cannot make a block from ${fromSeq} to ${toSeq}: ${result} at ${seq}`);
    }
    return builder.finish();
  }
}

/** NAME of a device of the fleet's boats. */
export function nameOfSource(src: number): bigint {
  return buildName({
    uniqueNumber: src + 1,
    manufacturerCode: 2046,
    deviceInstance: src,
    deviceFunction: 130,
    deviceClass: 75,
    systemInstance: 0,
    industryGroup: INDUSTRY_MARINE,
    arbitraryAddressCapable: true,
  });
}

const DEVICES: readonly BlockDevice[] = Array.from({ length: SOURCES }, (_, src) => ({
  ...NO_PRODUCT,
  bus: 0,
  src,
  name: nameOfSource(src),
  activeFrom: 0,
}));

/** Mixes 32 bits, so that neighbours have nothing in common (the finalizer of MurmurHash3). */
function mix(value: number): number {
  let bits = value | 0;
  bits = Math.imul(bits ^ bits >>> 16, 0x85ebca6b);
  bits = Math.imul(bits ^ bits >>> 13, 0xc2b2ae35);
  return bits ^ bits >>> 16;
}

import { crc32c } from "../../src/journal/mod.ts";

/** A frame as the boat sends it. */
export interface PeerLive {
  seq: number;
  id: number;
  timeUs: number;
  data: Uint8Array;
}

/** A block in memory. */
interface OpenBlock {
  baseSeq: number;
  baseTimeUs: number;
  lastTimeUs: number;
  frames: number;
  bytes: number[];
}

/**
 * Writes live frames as a peer's cloud does, with its faults: only a block's first frame has its number, missed frames
 * and the copies of address claims with number 0 are not told, and a time that goes back moves those after it.
 */
export class PeerLiveFiles {
  readonly #directory: string;
  readonly #blockBytes: number;
  #block: OpenBlock | undefined;
  #file: { path: string; blocks: Uint8Array[] } | undefined;

  constructor(directory: string, { blockBytes = 4096 }: { blockBytes?: number } = {}) {
    this.#directory = directory;
    this.#blockBytes = blockBytes;
  }

  /** A frame comes; number 0: a copy of an address claim. */
  take({ seq, id, timeUs, data }: PeerLive): void {
    const room = this.#blockBytes - 16 - 12;
    if (this.#block && this.#block.bytes.length + 15 + data.length > room) this.#seal();
    this.#file ??= { path: `${this.#directory}/nmea2k-${nameOf(timeUs)}.lpj`, blocks: [] };
    const block = this.#block ??= { baseSeq: seq, baseTimeUs: timeUs, lastTimeUs: timeUs, frames: 0, bytes: [] };
    block.bytes.push(...varint(Math.max(0, timeUs - block.lastTimeUs)));
    const stored = new Uint8Array(4);
    new DataView(stored.buffer).setUint32(0, data.length === 8 ? id + 2 ** 31 : id, true);
    block.bytes.push(...stored, ...(data.length === 8 ? [] : varint(data.length)), ...data);
    block.lastTimeUs = timeUs;
    block.frames++;
  }

  /** Ends the file. */
  rotate(): void {
    this.#seal();
    if (!this.#file) return;
    const header = new Uint8Array(16);
    header.set([0x4c, 0x50, 0x4a, 2]);
    new DataView(header.buffer).setUint32(4, this.#blockBytes, true);
    Deno.writeFileSync(this.#file.path, joined([header, ...this.#file.blocks]));
    this.#file = undefined;
  }

  #seal(): void {
    const block = this.#block;
    if (!block || !this.#file) return;
    const bytes = new Uint8Array(this.#blockBytes);
    const view = new DataView(bytes.buffer);
    view.setBigInt64(0, BigInt(block.baseTimeUs), true);
    view.setBigUint64(8, BigInt(block.baseSeq), true);
    bytes.set(block.bytes, 16);
    view.setUint16(bytes.length - 10, 2, true);
    view.setUint32(bytes.length - 8, block.frames, true);
    view.setUint32(bytes.length - 4, crc32c(bytes.subarray(0, bytes.length - 4)), true);
    this.#file.blocks.push(bytes);
    this.#block = undefined;
  }
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  return Uint8Array.from(parts.flatMap((part) => [...part]));
}

function varint(value: number): number[] {
  const bytes: number[] = [];
  for (; value >= 0x80; value = Math.floor(value / 0x80)) bytes.push(value % 0x80 + 0x80);
  return [...bytes, value];
}

function nameOf(timeUs: number): string {
  return new Date(timeUs / 1000).toISOString().replaceAll(/[-:]/g, "");
}

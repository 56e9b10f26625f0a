import { BlockBuilder, compress } from "../../src/journal/mod.ts";
import type { BackfillBlock } from "../../src/replication/mod.ts";
import { message, START_US } from "../support/messages.ts";

/** The run of numbers that blocks of tests belong to. */
export const EPOCH: Uint8Array<ArrayBuffer> = new Uint8Array(16).fill(0xa1);

/** What a test wants to say of a block; the rest has defaults. */
export interface BlockInit {
  firstSeq?: number;
  frames?: number;
  /** Time of number 0, microseconds since 1970; default {@linkcode START_US}. */
  startUs?: number;
  blockBytes?: number;
  compressed?: boolean;
  epoch?: Uint8Array<ArrayBuffer> | undefined;
}

/** A block as the journal seals it, unpacked; frame `n` comes `n` ms after the first frame of all. */
export function blockBytes(init: BlockInit = {}): Uint8Array<ArrayBuffer> {
  const { firstSeq = 1, frames = 100, blockBytes = 16_384, startUs = START_US } = init;
  const epoch = "epoch" in init ? init.epoch : EPOCH;
  const builder = new BlockBuilder({ blockBytes });
  builder.begin({ metadata: { buses: ["can0"], ...(epoch && { epoch }) } });
  for (let seq = firstSeq; seq < firstSeq + frames; seq++) {
    const data = [seq & 0xff, seq >> 8 & 0xff, 3, 4, 5, 6, 7, 8, 9].slice(0, 5 + seq % 5);
    if (builder.append(seq, message({ monoMs: seq, timeUs: startUs + seq * 1000, data })) !== "added") {
      throw new Error("No room");
    }
  }
  return builder.finish();
}

/** A block as an honest boat sends it. */
export function wireBlock(init: BlockInit = {}): BackfillBlock {
  const { firstSeq = 1, frames = 100, compressed = true, startUs = START_US } = init;
  const bytes = blockBytes(init);
  const data = compressed ? compress(bytes, "zstd") : bytes;
  const place = { fileOffset: 16, length: data.length + 20 };
  const baseTimeUs = startUs + firstSeq * 1000;
  return { baseSeq: firstSeq, baseTimeUs, frameCount: frames, data, compressed, blockSize: bytes.length, ...place };
}

import { BlockBuilder, BlockReader, compress } from "../../src/journal/mod.ts";
import { newStoredFrame } from "../../src/frame/mod.ts";
import type { BackfillBlock, BackfillStatus, BackfillUpstream, MessageStream } from "../../src/replication/mod.ts";
import { findParts, type Part } from "../../cli/commands/audit/parts.ts";

/** The blocks that lie in a boat's files, as the boat would send them, lowest numbers first. */
export async function blocksOf(journal: string): Promise<BackfillBlock[]> {
  using reader = new BlockReader();
  const blocks: BackfillBlock[] = [];
  for (const part of (await findParts(journal)).parts.filter(isInFile)) {
    const { block, bytes, packed, storedBytes } = await reader.readStored(part.path, part);
    blocks.push({
      ...{ baseSeq: part.seq, baseTimeUs: block.baseTimeUs, frameCount: block.frameCount, compressed: true },
      data: packed?.slice() ?? compress(new Uint8Array(bytes), "zstd"),
      ...{ blockSize: bytes.length, fileOffset: part.offset, length: storedBytes },
    });
  }
  return blocks;
}

function isInFile({ unsealed }: Part): boolean {
  return unsealed === undefined;
}

/**
 * Frames `from` up to but without `to` of a boat's files in one block, wherever the boat's own blocks begin; fewer where the
 * boat's clock went back, over which no block goes.
 */
export async function reblocked(
  journal: string,
  { from, to, epoch }: { from: number; to: number; epoch: Uint8Array<ArrayBuffer> },
): Promise<BackfillBlock> {
  using reader = new BlockReader();
  const builder = new BlockBuilder({ blockBytes: 65_536 });
  builder.begin({ metadata: { buses: ["can0"], epoch } });
  const frame = newStoredFrame();
  let baseTimeUs = 0;
  let end = from;
  for (const part of (await findParts(journal)).parts.filter(isInFile)) {
    for (const frames = (await reader.read(part.path, part)).frames(); frames.next(frame);) {
      if (frame.seq !== end || frame.seq >= to) continue;
      if (frame.seq === from) baseTimeUs = frame.timeUs;
      if (builder.append(frame.seq, frame) !== "added") continue;
      end++;
    }
  }
  const bytes = builder.finish();
  const place = { blockSize: bytes.length, fileOffset: 0, length: 0 };
  return {
    baseSeq: from,
    baseTimeUs,
    frameCount: end - from,
    data: compress(bytes, "zstd"),
    compressed: true,
    ...place,
  };
}

/** Sends blocks one by one, and gives the cloud's answer to each. */
export class BlockTalk {
  readonly #stream: MessageStream<BackfillStatus, BackfillUpstream>;
  readonly #answers: AsyncIterator<BackfillStatus>;

  constructor(stream: MessageStream<BackfillStatus, BackfillUpstream>) {
    this.#stream = stream;
    this.#answers = stream[Symbol.asyncIterator]();
  }

  /** Why the cloud does not take a block; undefined when it has all of it now. */
  async refusalOf(block: BackfillBlock): Promise<string | undefined> {
    await this.#stream.send({ block });
    const { value, done } = await this.#answers.next();
    if (done) throw new Error("the cloud has ended the stream");
    return value.rejected[0]?.reason;
  }

  /** Ends the stream in good order. */
  async end(): Promise<void> {
    this.#stream.end();
    while (!(await this.#answers.next()).done);
  }
}

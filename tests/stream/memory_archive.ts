import { type Block, BlockBuilder, type BlockFrame, type BlockMetadata, readBlock } from "../../src/journal/mod.ts";
import type { FrameArchive } from "../../src/stream/mod.ts";

const BLOCK_BYTES = 4096;

/** A journal in memory, in small blocks; the open one is shown as a copy, as a journal does. */
export class MemoryArchive implements FrameArchive {
  isRecording = true;
  readonly #builder = new BlockBuilder({ blockBytes: BLOCK_BYTES });
  #sealed: Uint8Array<ArrayBuffer>[] = [];
  #isOpen = false;
  #damaged: Uint8Array | undefined;
  /** Blocks handed out, and generators that were let go or ended. */
  readonly counts = { opened: 0, closed: 0 };

  get oldestSeq(): number | undefined {
    const first = this.#all()[0];
    return first && Number(new DataView(first.buffer).getBigUint64(8, true));
  }

  /** Records a frame; a number that is not the next one begins a block. */
  append(seq: number, frame: BlockFrame, metadata: BlockMetadata = {}): void {
    if (!this.#isOpen) this.#begin(metadata);
    if (this.#builder.append(seq, frame) === "added") return;
    this.seal();
    this.#begin(metadata);
    this.#builder.append(seq, frame);
  }

  /** Ends the open block. */
  seal(): void {
    if (this.#isOpen && this.#builder.frames > 0) this.#sealed.push(this.#builder.finish());
    this.#isOpen = false;
  }

  /** Forgets the oldest sealed block. */
  evict(): void {
    this.#sealed = this.#sealed.slice(1);
  }

  /** Takes a sealed block away, as if the disk did not give it. */
  lose(at: number): void {
    this.#sealed.splice(at, 1);
  }

  /** Makes the frames of the newest sealed block unreadable once the block has been checked. */
  damage(): void {
    this.#damaged = this.#sealed.at(-1);
  }

  async *blocks({ fromSeq }: { fromSeq: number }): AsyncGenerator<Block> {
    this.counts.opened++;
    try {
      for (const bytes of this.#all()) {
        await Promise.resolve();
        const block = blockOf(bytes);
        if (bytes === this.#damaged) bytes.fill(0xff, 200, 3000);
        if ((block.baseSeq ?? 0) + block.frameCount > fromSeq) yield block;
      }
    } finally {
      this.counts.closed++;
    }
  }

  #begin(metadata: BlockMetadata): void {
    this.#builder.begin({ metadata });
    this.#isOpen = true;
  }

  #all(): Uint8Array<ArrayBuffer>[] {
    return this.#isOpen && this.#builder.frames > 0 ? [...this.#sealed, this.#builder.copy()] : this.#sealed;
  }
}

function blockOf(bytes: Uint8Array): Block {
  return readBlock(bytes, { version: 2, blockBytes: BLOCK_BYTES });
}

import type { Logger } from "../../base/mod.ts";
import { BlockPacker, type PackThread, PackWorker } from "../block/packer.ts";
import type { WaitingBlock } from "./backlog.ts";
import type { PlaceBlock, WrittenBlock } from "./journal_writer_types.ts";

/** What to do with a block. */
export type NextStep =
  /** It is being packed or placed: its frames must be in the WAL until then. */
  | { kind: "wait" }
  /** It goes into a file. */
  | { kind: "write"; packed: Uint8Array<ArrayBuffer> }
  /** It is durable elsewhere. */
  | { kind: "placed"; written: WrittenBlock };

interface Placement {
  readonly block: WaitingBlock;
  readonly packed: Uint8Array<ArrayBuffer>;
  result: "pending" | WrittenBlock | undefined;
  settled: Promise<void>;
}

/** Compresses the oldest block that waits, and offers it to {@linkcode PlaceBlock} before it goes into a file. */
export class PackedBlocks {
  readonly #options: {
    compression: "none" | "zstd";
    slowBlockMs: number;
    place: PlaceBlock | undefined;
    onDone: () => unknown;
  };
  readonly #packer: BlockPacker;
  #placement: Placement | undefined;
  #isEnded = false;

  /** @param options.onDone called when a block need not wait any longer */
  constructor(
    { packThread: thread = new PackWorker(), log, ...options }: {
      compression: "none" | "zstd";
      slowBlockMs: number;
      place: PlaceBlock | undefined;
      packThread: PackThread | undefined;
      log: Logger;
      onDone: () => unknown;
    },
  ) {
    this.#options = options;
    this.#packer = new BlockPacker({ thread, log, onDone: () => void options.onDone() });
  }

  /**
   * The next step for the oldest block.
   *
   * @param options.mayWait nothing depends on it, and its WAL has its frames
   */
  next(block: WaitingBlock, { mayWait }: { mayWait: boolean }): NextStep {
    const placement = this.#placement?.block === block ? this.#placement : undefined;
    const packed = placement?.packed ?? this.#pack(block, mayWait);
    if (packed === undefined) return { kind: "wait" };
    const { result } = placement ?? this.#begin(block, { packed, mayWait });
    if (result === "pending" && mayWait && !this.#isEnded) return { kind: "wait" };
    // A late answer is ignored: then the block is there twice.
    this.#placement = undefined;
    return result === undefined || result === "pending"
      ? { kind: "write", packed }
      : { kind: "placed", written: result };
  }

  /** Resolves when no block is being placed. */
  settled(): Promise<void> {
    return this.#placement?.settled ?? Promise.resolve();
  }

  /** From now on all blocks go into files. */
  end(): void {
    this.#isEnded = true;
  }

  /** Ends the thread. */
  close(): void {
    this.#packer.close();
  }

  #pack({ bytes, firstTimeUs, latestTimeUs, endsFile = false }: WaitingBlock, mayWait: boolean) {
    const { compression, slowBlockMs } = this.#options;
    if (compression === "none") return bytes;
    const isSlow = latestTimeUs - firstTimeUs >= slowBlockMs * 1000;
    return this.#packer.pack(bytes, { mayWait: mayWait && isSlow && !endsFile });
  }

  #begin(
    block: WaitingBlock,
    { packed, mayWait }: { packed: Uint8Array<ArrayBuffer>; mayWait: boolean },
  ): Pick<Placement, "result"> {
    const { place } = this.#options;
    if (!place || !mayWait || this.#isEnded) return { result: undefined };
    const placement: Placement = { block, packed, result: "pending", settled: Promise.resolve() };
    placement.settled = place(block, packed).then((written) => {
      placement.result = written;
      if (this.#placement === placement) this.#options.onDone();
    });
    return this.#placement = placement;
  }
}

import { errorText, type Logger } from "../../base/mod.ts";
import { compress } from "./compression.ts";
import type { PackThread } from "./pack_thread.ts";

type State =
  | { kind: "idle" }
  | { kind: "packing"; block: Uint8Array }
  | { kind: "packed"; block: Uint8Array; packed: Uint8Array<ArrayBuffer> }
  | { kind: "broken" };

const IDLE: State = { kind: "idle" };

/**
 * Packs blocks: small in a thread of its own when there is time, fast at once when there is none. A thread that fails
 * is not used again; one that hangs costs nothing but size.
 */
export class BlockPacker {
  readonly #thread: PackThread;
  readonly #log: Logger;
  readonly #onDone: () => void;
  #state: State = IDLE;

  /** @param options.onDone told when a block that was waited for can be asked for again */
  constructor({ thread, log, onDone }: { thread: PackThread; log: Logger; onDone: () => void }) {
    this.#thread = thread;
    this.#log = log;
    this.#onDone = onDone;
  }

  /**
   * Packs a block, or gives what the thread has made of it.
   *
   * @returns undefined while the thread is at it, which happens only when the block `mayWait`
   */
  pack(block: Uint8Array<ArrayBuffer>, { mayWait }: { mayWait: boolean }): Uint8Array<ArrayBuffer> | undefined {
    const state = this.#state;
    if (state.kind === "packed" && state.block === block) {
      this.#state = IDLE;
      return state.packed;
    }
    const isAtIt = state.kind === "packing" && state.block === block;
    const isFree = state.kind === "idle" || state.kind === "packed";
    if (!mayWait || !(isAtIt || isFree)) return compress(block, "zstd");
    if (isFree) void this.#start(block);
    return undefined;
  }

  /** Ends the thread. */
  close(): void {
    this.#thread.close();
  }

  async #start(block: Uint8Array<ArrayBuffer>): Promise<void> {
    this.#state = { kind: "packing", block };
    try {
      this.#state = { kind: "packed", block, packed: await this.#thread.pack(block) };
    } catch (error) {
      const reason = errorText(error);
      this.#log.warn("no thread packs blocks: they will be a tenth larger", { reason });
      this.#state = { kind: "broken" };
    }
    this.#onDone();
  }
}

import { compressSmall } from "../../src/journal/mod.ts";
import type { PackThread } from "../../src/journal/block/packer.ts";
import { pause } from "./eventually.ts";

/** Packs blocks as the worker does, but only when a test says so. */
export class HeldThread implements PackThread {
  readonly #held: { pack: () => void; fail: (error: Error) => void }[] = [];
  /** Blocks that it was given so far. */
  taken = 0;

  /** Blocks that it is at. */
  get waiting(): number {
    return this.#held.length;
  }

  pack(block: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
    this.taken++;
    return new Promise((resolve, reject) => {
      this.#held.push({ pack: () => resolve(compressSmall(block)), fail: reject });
    });
  }

  /** Lets the oldest block be done, or fail, and those who wait for it know. */
  async release(error?: Error): Promise<void> {
    const { pack, fail } = this.#held.shift() ?? {};
    if (error) fail?.(error);
    else pack?.();
    await pause();
  }

  close(): void {
    this.#held.length = 0;
  }
}

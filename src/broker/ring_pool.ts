/** Default limit of free memory in a pool. */
export const DEFAULT_POOL_BYTES: number = 16 * 1024 * 1024;

/**
 * Reuses the memory of released rings. Where brokers start and stop often, this saves allocation and garbage collection.
 * The memory is not cleared.
 */
export class RingPool {
  readonly #maxBytes: number;
  readonly #free = new Map<number, ArrayBuffer[]>();
  #bytes = 0;

  /** @param options.maxBytes most free bytes kept, default {@linkcode DEFAULT_POOL_BYTES} */
  constructor({ maxBytes = DEFAULT_POOL_BYTES }: { maxBytes?: number } = {}) {
    this.#maxBytes = maxBytes;
  }

  /** Free bytes in the pool. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Returns memory of exactly this size, not cleared.
   *
   * @throws {RangeError} the machine is out of memory
   */
  allocate(bytes: number): ArrayBuffer {
    const memory = this.#free.get(bytes)?.pop();
    if (!memory) return new ArrayBuffer(bytes);
    this.#bytes -= bytes;
    return memory;
  }

  /** Returns memory to the pool, or drops it when the pool is full. */
  free(memory: ArrayBuffer): void {
    const bytes = memory.byteLength;
    if (bytes === 0 || this.#bytes + bytes > this.#maxBytes) return;
    const sameSize = this.#free.get(bytes);
    if (sameSize) sameSize.push(memory);
    else this.#free.set(bytes, [memory]);
    this.#bytes += bytes;
  }
}

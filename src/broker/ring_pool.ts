/** Bytes that wait for another ring when nothing else is said. */
export const DEFAULT_POOL_BYTES: number = 16 * 1024 * 1024;

/**
 * Memory of rings that are gone, for rings that come: where brokers start and stop all the time, it is neither allocated
 * nor collected each time. What is in it is old; whoever takes it sees to that.
 */
export class RingPool {
  readonly #maxBytes: number;
  readonly #free = new Map<number, ArrayBuffer[]>();
  #bytes = 0;

  /** @param options.maxBytes most bytes that wait here, default {@linkcode DEFAULT_POOL_BYTES} */
  constructor({ maxBytes = DEFAULT_POOL_BYTES }: { maxBytes?: number } = {}) {
    this.#maxBytes = maxBytes;
  }

  /** Bytes that wait here. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Memory of exactly so many bytes, not cleared.
   *
   * @throws {RangeError} the machine has no more
   */
  take(bytes: number): ArrayBuffer {
    const waiting = this.#free.get(bytes)?.pop();
    if (!waiting) return new ArrayBuffer(bytes);
    this.#bytes -= bytes;
    return waiting;
  }

  /** Takes memory back that nobody uses any more; what is too much is let go. */
  give(memory: ArrayBuffer): void {
    const bytes = memory.byteLength;
    if (bytes === 0 || this.#bytes + bytes > this.#maxBytes) return;
    const waiting = this.#free.get(bytes);
    if (waiting) waiting.push(memory);
    else this.#free.set(bytes, [memory]);
    this.#bytes += bytes;
  }
}

/** Numbers that look random and are the same in every run with the same seed (mulberry32). */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** A number from 0 up to but without 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number from 0 up to but without `below`. */
  int(below: number): number {
    return Math.floor(this.next() * below);
  }

  /** A whole number from `from` to `to`, both included. */
  between(from: number, to: number): number {
    return from + this.int(to - from + 1);
  }

  /** True in `probability` of the cases. */
  chance(probability: number): boolean {
    return this.next() < probability;
  }

  bytes(length: number): Uint8Array<ArrayBuffer> {
    return Uint8Array.from({ length }, () => this.int(256));
  }

  pick<T>(values: readonly T[]): T {
    return values[this.int(values.length)]!;
  }

  /** Some of the values, in their order; perhaps none. */
  some<T>(values: readonly T[], probability = 0.5): T[] {
    return values.filter(() => this.chance(probability));
  }

  shuffle<T>(values: readonly T[]): T[] {
    const result = [...values];
    for (let i = result.length - 1; i > 0; i--) {
      const j = this.int(i + 1);
      [result[i], result[j]] = [result[j]!, result[i]!];
    }
    return result;
  }

  /** A whole number of 64 bits. */
  bits64(): bigint {
    return (BigInt(this.int(2 ** 32)) << 32n) | BigInt(this.int(2 ** 32));
  }
}

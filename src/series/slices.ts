/** Shares the event loop. */
export interface Turns {
  /** Waits until other work has run. Returns the end of the new slice in `performance.now()` time. */
  slice(): Promise<number>;
}

/** Divides work into slices, between which other work runs. */
export class Slices {
  readonly #turns: Turns;
  readonly #signal: AbortSignal | undefined;
  #endMs = 0;

  constructor({ turns, signal }: { turns: Turns; signal?: AbortSignal }) {
    this.#turns = turns;
    this.#signal = signal;
  }

  /** Waits for the next slice if this one is over. @throws the reason of the signal */
  async pause(): Promise<void> {
    if (performance.now() < this.#endMs) return;
    this.#signal?.throwIfAborted();
    this.#endMs = await this.#turns.slice();
    this.#signal?.throwIfAborted();
  }
}

/**
 * Lets one of the journals of a server work in the background at a time, first come, first served. This bounds memory, and the
 * time for which the event loop is busy.
 */
export class BackgroundTurns {
  readonly #waiting = new Set<() => void>();
  #isTaken = false;

  /**
   * Waits for the turn. Returns a function that gives it back, to be called once.
   *
   * @throws the reason of the signal
   */
  async take(signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (this.#isTaken) await this.#wait(signal);
    this.#isTaken = true;
    return () => this.#giveOn();
  }

  async #wait(signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const leave = () => {
      this.#waiting.delete(resolve);
      reject(signal.reason);
    };
    this.#waiting.add(resolve);
    signal.addEventListener("abort", leave);
    try {
      await promise;
    } finally {
      signal.removeEventListener("abort", leave);
    }
  }

  /** Passes the turn on. It stays taken, so that no other takes it in between. */
  #giveOn(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#isTaken = false;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}

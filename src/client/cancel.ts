/** Longest delay of a timer, 25 days; one with a longer delay, such as Infinity, expires at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** A delay that a timer can have. */
export function timerMs(ms: number): number {
  return Math.min(ms, MAX_TIMER_MS);
}

/** An AbortController that also follows other signals and has a timeout. */
export class Cancel {
  readonly #controller = new AbortController();
  readonly #followed: AbortSignal[];
  readonly #follow = ({ target }: { target: EventTarget | null }): void => {
    if (target instanceof AbortSignal) this.abort(target.reason);
  };
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** Aborted when one of these signals is. {@linkcode Cancel.release} must be called at the end. */
  constructor(signals: readonly (AbortSignal | undefined)[]) {
    this.#followed = signals.filter((signal) => signal !== undefined);
    for (const signal of this.#followed) {
      if (signal.aborted) this.abort(signal.reason);
      signal.addEventListener("abort", this.#follow);
    }
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Aborts with this reason; later calls have no effect. */
  abort(reason: unknown): void {
    this.#controller.abort(reason);
  }

  /** Aborts with `reason` after `ms`, unless {@linkcode Cancel.clearTimeout} is called before. */
  setTimeout(ms: number, reason: () => Error): void {
    this.clearTimeout();
    this.#timer = setTimeout(() => this.abort(reason()), timerMs(ms));
  }

  clearTimeout(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** Clears the timeout, and stops following the signals. */
  release(): void {
    this.clearTimeout();
    for (const signal of this.#followed) signal.removeEventListener("abort", this.#follow);
  }
}

/** Waits. @throws the reason of the signal when it is aborted before the time is over */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const aborted = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", aborted);
      resolve();
    }, timerMs(ms));
    signal.addEventListener("abort", aborted, { once: true });
  });
}

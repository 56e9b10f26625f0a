/** A way to end one piece of work: by somebody's signals, by a timer, or by who does it. */
export class Cancel {
  readonly #controller = new AbortController();
  readonly #followed: AbortSignal[];
  readonly #follow = ({ target }: { target: EventTarget | null }): void => {
    if (target instanceof AbortSignal) this.abort(target.reason);
  };
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** Ends when one of these does. {@linkcode Cancel.release} must be called in the end. */
  constructor(signals: readonly (AbortSignal | undefined)[]) {
    this.#followed = signals.filter((signal) => signal !== undefined);
    for (const signal of this.#followed) {
      if (signal.aborted) this.abort(signal.reason);
      signal.addEventListener("abort", this.#follow);
    }
  }

  /** What the work is given. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Ends the work; the first reason stays. */
  abort(reason: unknown): void {
    this.#controller.abort(reason);
  }

  /** Ends it with `reason` when nobody calls {@linkcode Cancel.inTime} within `ms`. */
  within(ms: number, reason: () => Error): void {
    this.inTime();
    this.#timer = setTimeout(() => this.abort(reason()), ms);
  }

  /** What was waited for is here. */
  inTime(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** Follows nothing any more. */
  release(): void {
    this.inTime();
    for (const signal of this.#followed) signal.removeEventListener("abort", this.#follow);
  }
}

/** Waits so long. @throws the signal's reason when that comes first */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const give = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", give);
      resolve();
    }, ms);
    signal.addEventListener("abort", give, { once: true });
  });
}

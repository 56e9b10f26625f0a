import { overloaded } from "../reply.ts";

/** Maximum number of requests in the queue. */
export const MAX_WAITING_HISTORIES = 32;
const DEFAULT_MAX_RUNNING = 4;
export const DEFAULT_IDLE_MS = 30_000;
/** Maximum time for counting, milliseconds; after that the page is sent without Frame-Count and Link. */
export const MEASURE_MS = 5000;
/** Bytes of a page buffered while its frames are counted; the rest is read a second time. A file of blocks ends there. */
export const MAX_HELD_BYTES = 4 * 2 ** 20;
/** Milliseconds that one history runs before other work and the next history run. */
export const SLICE_MS = 8;

/** Limits concurrent history requests; further ones wait in FIFO order. */
export class HistoryTurns {
  /** A reply is aborted when its client reads nothing for this long, milliseconds. */
  readonly idleMs: number;
  /** See {@linkcode MEASURE_MS}. */
  readonly measureMs: number;
  /** See {@linkcode MAX_HELD_BYTES}. */
  readonly heldBytes: number;
  readonly #maxRunning: () => number | undefined;
  readonly #waiting = new Set<() => void>();
  #running = 0;
  /** Running histories that wait for their next slice, FIFO. */
  readonly #paused: ((endMs: number) => void)[] = [];

  /**
   * @param maxRunning may change while running; default 4
   * @param options.idleMs default 30 s
   * @param options.measureMs default 5 s
   * @param options.heldBytes default 4 MiB
   */
  constructor(
    maxRunning: () => number | undefined = () => undefined,
    { idleMs = DEFAULT_IDLE_MS, measureMs = MEASURE_MS, heldBytes = MAX_HELD_BYTES }: {
      idleMs?: number;
      measureMs?: number;
      heldBytes?: number;
    } = {},
  ) {
    this.#maxRunning = maxRunning;
    this.idleMs = idleMs;
    this.measureMs = measureMs;
    this.heldBytes = heldBytes;
  }

  /** Requests in the queue. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** Requests being answered. */
  get running(): number {
    return this.#running;
  }

  /**
   * Waits for a turn. Returns its release function, which may be called twice.
   *
   * @param request leaves the queue when its client disconnects
   * @throws {ApiError} 503: the queue is full
   */
  async take(request: Pick<Request, "signal">): Promise<() => void> {
    if (this.#running < this.#most && this.#waiting.size === 0) this.#running++;
    else await this.#wait(request.signal);
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      this.#running--;
      this.#next();
    };
  }

  /**
   * Waits until other work and the other histories have run. Returns the end of the new slice in `performance.now()` time.
   */
  slice(): Promise<number> {
    const { promise, resolve } = Promise.withResolvers<number>();
    if (this.#paused.push(resolve) === 1) this.#resumeNext();
    return promise;
  }

  #resumeNext(): void {
    // A timer and not setImmediate: while an immediate is due, the runtime polls its sockets only every 61st turn.
    setTimeout(() => {
      this.#paused.shift()?.(performance.now() + SLICE_MS);
      if (this.#paused.length > 0) this.#resumeNext();
    });
  }

  get #most(): number {
    return this.#maxRunning() ?? DEFAULT_MAX_RUNNING;
  }

  async #wait(signal: AbortSignal): Promise<void> {
    if (this.#waiting.size >= MAX_WAITING_HISTORIES) {
      const why = `${this.#most} history requests are running and ${MAX_WAITING_HISTORIES} wait`;
      throw overloaded(`${why}: see -max-history-requests`);
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const leave = () => {
      this.#waiting.delete(resolve);
      reject(overloaded("The request was cancelled while it waited"));
    };
    this.#waiting.add(resolve);
    if (signal.aborted) leave();
    signal.addEventListener("abort", leave);
    try {
      await promise;
    } finally {
      signal.removeEventListener("abort", leave);
    }
  }

  #next(): void {
    for (const begin of this.#waiting) {
      if (this.#running >= this.#most) return;
      this.#waiting.delete(begin);
      // Counted here: another request could arrive before the waiting one resumes.
      this.#running++;
      begin();
    }
  }
}

import { overloaded } from "../reply.ts";
import { RETRY_AFTER_S } from "../capacity.ts";

/** Requests that wait for their turn. */
export const MAX_WAITING_HISTORIES = 32;
const DEFAULT_MAX_RUNNING = 4;
export const DEFAULT_IDLE_MS = 30_000;
/** Longest time that frames are counted, milliseconds; then the page is sent without Frame-Count and Link. */
export const MEASURE_MS = 5000;
/** Text of a page that is kept while its frames are counted; what comes after it is read once more. */
export const MAX_HELD_BYTES = 4 * 2 ** 20;
/** Time that one history is read before other work, and then the next history, has its turn. */
export const SLICE_MS = 8;

/** Answers so many histories at once; others wait, first come, first served. */
export class HistoryTurns {
  /** A reply whose client takes nothing for so long is given up, milliseconds. */
  readonly idleMs: number;
  /** Longest time that the frames of a reply are counted before it is sent, milliseconds. */
  readonly measureMs: number;
  /** Text of a reply that is kept meanwhile. */
  readonly heldBytes: number;
  readonly #maxRunning: () => number | undefined;
  readonly #waiting = new Set<() => void>();
  #running = 0;
  /** Histories that wait for the event loop, longest first. */
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

  /** Requests that wait. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** Requests that are answered. */
  get running(): number {
    return this.#running;
  }

  /**
   * Waits for a turn. Returns the way to end it; safe to call twice.
   *
   * @param request leaves the queue when its client goes
   * @throws {ApiError} 503: too many wait
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
   * Lets other work have its turn, and the other histories theirs: one of them goes on. Returns when it is to call again,
   * by `performance.now()`.
   */
  slice(): Promise<number> {
    const { promise, resolve } = Promise.withResolvers<number>();
    if (this.#paused.push(resolve) === 1) this.#resumeNext();
    return promise;
  }

  #resumeNext(): void {
    // A timer and not setImmediate: while one of those is due the runtime looks at its sockets only every 61st turn.
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
      const why = `${this.#most} requests for history are answered and ${MAX_WAITING_HISTORIES} wait`;
      throw overloaded(`${why}: see -max-history-requests`, RETRY_AFTER_S);
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const leave = () => {
      this.#waiting.delete(resolve);
      reject(overloaded("The request was cancelled while it waited", RETRY_AFTER_S));
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
      // Counted here: until whoever waited goes on, somebody else could come.
      this.#running++;
      begin();
    }
  }
}

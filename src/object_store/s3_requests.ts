import { backoffMs, type BackoffOptions, pause } from "../base/mod.ts";
import { describeFailure } from "./s3_errors.ts";
import { isStoreError } from "./store_error.ts";

/** Limits of the requests to a store. */
export interface S3RequestsOptions {
  /** The store, for messages. */
  url: string;
  /** Longest time of one attempt, milliseconds; also from each call of `progress` on. */
  timeoutMs: number;
  /** Most attempts for one request; those after the first only if the store was `away`. */
  attempts: number;
  /** Pauses between attempts; each is varied by half, so that many clients do not return at the same time. */
  retry: BackoffOptions;
}

/** Starts the time-out again, `extraMs` longer than usual. */
export type Progress = (extraMs?: number) => void;

/** A request that may take several attempts. */
export interface S3Request<T> {
  /** For messages, such as `store "a/b" in`. */
  action: string;
  signal?: AbortSignal | undefined;
  /** Makes one attempt. Its signal is aborted when the attempt is over, whether it succeeded or not. */
  send: (signal: AbortSignal, progress: Progress) => Promise<T>;
}

/** Reason of signals of attempts that are over. */
const OVER = new Error("the attempt is over");

/** Sends requests with a time-out, and again after a pause while the store is `away`. */
export class S3Requests {
  readonly #options: S3RequestsOptions;

  /** Sends nothing yet. */
  constructor(options: S3RequestsOptions) {
    this.#options = options;
  }

  /** @throws {StoreError} the last attempt failed, or the first for a reason that stays */
  async send<T>(request: S3Request<T>): Promise<T> {
    const { attempts, retry } = this.#options;
    const { signal } = request;
    for (let attempt = 1;; attempt++) {
      signal?.throwIfAborted();
      try {
        return await this.#attempt(request);
      } catch (error) {
        if (signal?.aborted) throw signal.reason;
        if (!isStoreError(error, "away") || attempt >= attempts) throw error;
      }
      await pause(backoffMs(attempt, retry) * (0.5 + Math.random()), signal);
    }
  }

  async #attempt<T>({ action, signal, send }: S3Request<T>): Promise<T> {
    const { timeoutMs, url } = this.#options;
    const ending = new AbortController();
    const abort = () => ending.abort(signal?.reason);
    signal?.addEventListener("abort", abort, { once: true });
    let late: Error | undefined;
    const endAfter = (ms: number, why: string) =>
      setTimeout(() => {
        late = new Error(`${why} ${ms / 1000} s`);
        ending.abort(late);
      }, ms);
    let timer = endAfter(timeoutMs, "it took longer than");
    const progress: Progress = (extraMs = 0) => {
      clearTimeout(timer);
      timer = endAfter(timeoutMs + extraMs, "nothing moved for");
    };
    try {
      return await send(ending.signal, progress);
    } catch (error) {
      throw describeFailure(late ?? error, { action, url });
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
      // Without a reason each would make an exception with a stack.
      ending.abort(OVER);
    }
  }
}

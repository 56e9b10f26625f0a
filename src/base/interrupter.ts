/**
 * Ends waits early, any number of them. A `Promise.race` with one promise that outlives it keeps the result of each race in
 * memory until that promise settles; this keeps nothing of waits that are over.
 */
export class Interrupter {
  readonly #waiting = new Set<(reason: unknown) => void>();
  #interrupted: { reason: unknown } | undefined;

  /** Settles as `promise` does. @throws the reason of the interruption, when that comes first or came before */
  wait<T>(promise: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#waiting.add(reject);
      const end = () => this.#waiting.delete(reject);
      promise.then((value) => (end(), resolve(value)), (error) => (end(), reject(error)));
      if (this.#interrupted) reject(this.#interrupted.reason);
    });
  }

  /** Ends all waits, those that begin later as well; only the first reason counts. */
  interrupt(reason: unknown): void {
    this.#interrupted ??= { reason };
    for (const reject of this.#waiting) reject(this.#interrupted.reason);
    this.#waiting.clear();
  }
}

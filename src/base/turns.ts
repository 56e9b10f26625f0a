/** Runs asynchronous work one after the other, in the order of the calls. */
export class Turns {
  #last: Promise<unknown> = Promise.resolve();

  /** Runs `work` after all earlier work has ended, failed or not. Rejects as `work` does. */
  run<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => {});
    return done;
  }
}

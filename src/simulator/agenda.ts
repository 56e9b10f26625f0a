interface Item {
  readonly dueMs: number;
  /** Order of entry: what is due at the same time runs in it. */
  readonly order: number;
  readonly run: (nowMs: number) => number | void;
}

/** Things to do at given times, in order of time. Knows no clock: {@linkcode Agenda.runNext} is told how far time has come. */
export class Agenda {
  /** Binary heap, earliest first. */
  readonly #heap: Item[] = [];
  #order = 0;

  /** Adds something to do at `dueMs`; when it returns a time, it is done again then. */
  add(dueMs: number, run: (nowMs: number) => number | void): void {
    this.#push({ dueMs, order: this.#order++, run });
  }

  /**
   * Does the next thing that is due up to `toMs`.
   *
   * @param beforeRun told the time at which it is due, right before it is done
   * @returns false when nothing is due
   */
  runNext(toMs: number, beforeRun: (dueMs: number) => void): boolean {
    const item = this.#heap[0];
    if (item === undefined || item.dueMs > toMs) return false;
    this.#pop();
    beforeRun(item.dueMs);
    const again = item.run(item.dueMs);
    if (typeof again === "number") this.add(again, item.run);
    return true;
  }

  #push(item: Item): void {
    const heap = this.#heap;
    let at = heap.length;
    heap.push(item);
    while (at > 0) {
      const up = (at - 1) >> 1;
      const parent = heap[up];
      if (parent === undefined || !isBefore(item, parent)) break;
      heap[at] = parent;
      at = up;
    }
    heap[at] = item;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let at = 0;
    for (;;) {
      let down = 2 * at + 1;
      let child = heap[down];
      if (child === undefined) break;
      const right = heap[down + 1];
      if (right !== undefined && isBefore(right, child)) {
        down++;
        child = right;
      }
      if (!isBefore(child, last)) break;
      heap[at] = child;
      at = down;
    }
    heap[at] = last;
  }
}

function isBefore(a: Item, b: Item): boolean {
  return a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.order < b.order);
}

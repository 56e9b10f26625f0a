interface Entry<T> {
  atMs: number;
  value: T;
}

/** Priority queue of values by due time: a binary heap. */
export class DeadlineQueue<T> {
  /** Heap order: no entry is due before the one at half its index. */
  readonly #heap: Entry<T>[] = [];

  push(value: T, atMs: number): void {
    const heap = this.#heap;
    let at = heap.length;
    for (let parent = heap[(at - 1) >> 1]; at > 0 && parent && parent.atMs > atMs; parent = heap[(at - 1) >> 1]) {
      heap[at] = parent;
      at = (at - 1) >> 1;
    }
    heap[at] = { atMs, value };
  }

  /** Removes and returns the earliest value due by `nowMs`. The order of equal times is undefined. */
  popDue(nowMs: number): T | undefined {
    const [first] = this.#heap;
    if (first === undefined || first.atMs > nowMs) return undefined;
    const last = this.#heap.pop();
    if (last && last !== first) this.#sink(last);
    return first.value;
  }

  clear(): void {
    this.#heap.length = 0;
  }

  #sink(entry: Entry<T>): void {
    const heap = this.#heap;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      let [left, right] = [heap[child], heap[child + 1]];
      if (left && right && right.atMs < left.atMs) [left, right, child] = [right, left, child + 1];
      if (left === undefined || left.atMs >= entry.atMs) break;
      heap[at] = left;
      at = child;
    }
    heap[at] = entry;
  }
}

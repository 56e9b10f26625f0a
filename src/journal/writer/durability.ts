/** A frame: its run of numbers, told by its epoch's first four bytes, and its number. */
export interface FramePlace {
  epochWord: number;
  seq: number;
}

/** Frames taken one after the other that are not synced yet; `seq` is the last of them. */
interface UnsyncedSpan extends FramePlace {
  /** When the first of them was taken, monotonic milliseconds. */
  sinceMs: number;
}

/** Beyond it the newest span grows instead, and its age with it. */
const MAX_SPANS = 256;

/** Somebody who waits until a frame is safe. */
interface Waiter extends FramePlace {
  resolve: () => void;
  reject: (error: Error) => void;
}

/** How far each run of numbers is safe from a power cut, since when the rest is not, and who waits for it. */
export class Durability {
  readonly #seqs = new Map<number, number>();
  readonly #nowMs: () => number;
  /** Oldest first. */
  readonly #unsynced: UnsyncedSpan[] = [];
  #startsSpan = true;
  #waiters: Waiter[] = [];

  /** @param nowMs monotonic milliseconds */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** When the oldest frame that is not synced was taken, monotonic milliseconds; undefined while all are synced. */
  get unsyncedSinceMs(): number | undefined {
    return this.#unsynced[0]?.sinceMs;
  }

  /** A frame was taken that only memory holds. */
  take(epochWord: number, seq: number): void {
    const newest = this.#startsSpan ? undefined : this.#unsynced.at(-1);
    if (newest?.epochWord === epochWord) newest.seq = seq;
    else {
      this.#startsSpan = false;
      this.#unsynced.push({ epochWord, seq, sinceMs: this.#nowMs() });
    }
  }

  /** A sync begins: frames that are taken from now on wait for the next one. */
  startSpan(): void {
    this.#startsSpan = this.#unsynced.length < MAX_SPANS;
  }

  /** Newest frame of a run that is safe; 0 before there is one. */
  seqOf(epochWord: number): number {
    return this.#seqs.get(epochWord) ?? 0;
  }

  /** Everything up to a frame is safe. Whoever waits is told by {@linkcode Durability.tell}. */
  note({ epochWord, seq }: FramePlace): void {
    this.#seqs.set(epochWord, Math.max(this.seqOf(epochWord), seq));
    while (this.#unsynced[0] && this.has(this.#unsynced[0])) this.#unsynced.shift();
  }

  /** True when a frame is safe. */
  has({ epochWord, seq }: FramePlace): boolean {
    return this.seqOf(epochWord) >= seq;
  }

  /** Resolves when a frame is safe. */
  wait(place: FramePlace): Promise<void> {
    return new Promise((resolve, reject) => this.#waiters.push({ ...place, resolve, reject }));
  }

  /** Tells those whose frame is safe. */
  tell(): void {
    const waiters = this.#waiters;
    this.#waiters = waiters.filter((waiter) => !this.has(waiter));
    for (const waiter of waiters) if (this.has(waiter)) waiter.resolve();
  }

  /** Nothing more will be safe. */
  end(): void {
    for (const { reject } of this.#waiters.splice(0)) reject(notDurable());
  }
}

/** What whoever waits in vain is told. */
export function notDurable(): Error {
  return new Error("The journal was closed before the frames were on disk");
}

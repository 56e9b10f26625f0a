/** A frame: its run of numbers, told by its epoch's first four bytes, and its number. */
export interface FramePlace {
  epochWord: number;
  seq: number;
}

/** Somebody who waits until a frame is safe. */
interface Waiter extends FramePlace {
  resolve: () => void;
  reject: (error: Error) => void;
}

/** How far each run of numbers is safe from a power cut, and who waits for it. */
export class Durability {
  readonly #seqs = new Map<number, number>();
  #waiters: Waiter[] = [];

  /** Newest frame of a run that is safe; 0 before there is one. */
  seqOf(epochWord: number): number {
    return this.#seqs.get(epochWord) ?? 0;
  }

  /** Everything up to a frame is safe. Whoever waits is told by {@linkcode Durability.tell}. */
  note({ epochWord, seq }: FramePlace): void {
    this.#seqs.set(epochWord, Math.max(this.seqOf(epochWord), seq));
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

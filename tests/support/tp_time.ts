import { FakeClock } from "./fake_clock.ts";

interface Timer {
  dueMs: number;
  run: () => void;
}

/** Rounds of microtasks that let what was begun come to rest. */
const SETTLE_ROUNDS = 200;

/** A clock with timers that fire in order as time is let pass. */
export class FakeTime {
  readonly clock: FakeClock = new FakeClock();
  readonly #timers = new Set<Timer>();

  /** For parts that take a way to start timers. */
  readonly startTimer = (run: () => void, delayMs: number): () => void => {
    const timer = { dueMs: this.clock.monoMs() + delayMs, run };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  };

  /** Timers that have not fired. */
  get pending(): number {
    return this.#timers.size;
  }

  /** Lets time pass, from one timer to the next; what they begin comes to rest in between. */
  async pass(ms: number): Promise<void> {
    const endMs = this.clock.monoMs() + ms;
    await settle();
    for (let timer = this.#next(); timer && timer.dueMs <= endMs; timer = this.#next()) {
      this.clock.advance(Math.max(0, timer.dueMs - this.clock.monoMs()));
      this.#timers.delete(timer);
      timer.run();
      await settle();
    }
    this.clock.advance(endMs - this.clock.monoMs());
  }

  #next(): Timer | undefined {
    return [...this.#timers].sort((a, b) => a.dueMs - b.dueMs)[0];
  }
}

/** Lets promises that are settled already be heard of. */
export async function settle(): Promise<void> {
  for (let i = 0; i < SETTLE_ROUNDS; i++) await Promise.resolve();
}

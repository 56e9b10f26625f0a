import type { Clock } from "../../src/base/mod.ts";
import { START_US } from "./messages.ts";

/** A clock that stands still until it is told to move. Begins at {@linkcode START_US}. */
export class FakeClock implements Clock {
  #elapsedMs = 0;
  #jumpedMs = 0;

  wallUs(): number {
    return START_US + (this.#elapsedMs + this.#jumpedMs) * 1000;
  }

  monoMs(): number {
    return this.#elapsedMs;
  }

  /** Lets time pass. */
  advance(ms: number): void {
    this.#elapsedMs += ms;
  }

  /** Sets the wall clock, forwards or back; no time passes. */
  jump(ms: number): void {
    this.#jumpedMs += ms;
  }
}

import type { Clock } from "../base/mod.ts";
import { MAX_CAN_BYTES } from "../frame/mod.ts";
import { type BusCounters, BusError } from "./bus.ts";

/** Result of passing a frame to the kernel. */
export type SendOutcome =
  | { type: "sent" }
  /** The kernel's queue is full; try again. */
  | { type: "busy" }
  | { type: "failed"; message: string };

/** Shared result, so that sending creates no garbage. */
export const SENT: SendOutcome = { type: "sent" };
/** The kernel's queue is full. */
export const BUSY: SendOutcome = { type: "busy" };

/** Limits of a send queue. */
export interface SendLimits {
  /** Most frames that wait, default 256: a quarter second of a full NMEA 2000 bus. */
  queueFrames?: number;
  /** How long a frame waits for the kernel's queue before it is given up, milliseconds; default 1000. */
  patienceMs?: number;
}

/** Starts a timer; returns a function that stops it. */
export type StartTimer = (run: () => void, delayMs: number) => () => void;

const DEFAULT_QUEUE_FRAMES = 256;
const DEFAULT_PATIENCE_MS = 1000;
/** Interval of retries. A frame of 8 bytes takes 0.5 ms at 250 kbit/s, so the kernel has sent some by then. */
const RETRY_MS = 3;

interface Waiting {
  id: number;
  data: Uint8Array;
  deadlineMs: number;
  resolve: () => void;
  reject: (error: BusError) => void;
}

/** Queue of frames to the kernel, in order. Frames that the kernel cannot accept wait and are tried again. */
export class SendQueue {
  readonly #bus: string;
  readonly #trySend: (id: number, data: Uint8Array) => SendOutcome;
  readonly #counters: BusCounters;
  readonly #clock: Clock;
  readonly #queueFrames: number;
  readonly #patienceMs: number;
  readonly #startTimer: StartTimer;
  readonly #waiting: Waiting[] = [];
  #stopTimer: (() => void) | undefined;

  /**
   * @param bus name of the bus, for messages
   * @param options.trySend passes one frame to the kernel without waiting
   * @param options.counters `sent` and `sendFailed` are updated
   * @param options.clock measures the wait
   * @param options.startTimer default setTimeout
   */
  constructor(
    bus: string,
    { trySend, counters, clock, queueFrames, patienceMs, startTimer }: SendLimits & {
      trySend: (id: number, data: Uint8Array) => SendOutcome;
      counters: BusCounters;
      clock: Clock;
      startTimer?: StartTimer;
    },
  ) {
    this.#bus = bus;
    this.#trySend = trySend;
    this.#counters = counters;
    this.#clock = clock;
    this.#queueFrames = queueFrames ?? DEFAULT_QUEUE_FRAMES;
    this.#patienceMs = patienceMs ?? DEFAULT_PATIENCE_MS;
    this.#startTimer = startTimer ?? startTimeout;
  }

  /** Number of waiting frames. */
  get size(): number {
    return this.#waiting.length;
  }

  /**
   * Sends a frame now or as soon as the kernel accepts it, never before a waiting frame.
   *
   * @throws {BusError} more than 8 bytes, the kernel refuses the frame, its queue stayed full for too long, or too many
   * frames wait
   */
  push(id: number, data: Uint8Array): Promise<void> {
    if (data.length > MAX_CAN_BYTES) return Promise.reject(this.#failure(`${data.length} bytes are more than 8`));
    if (this.#waiting.length === 0) {
      const outcome = this.#trySend(id, data);
      if (outcome.type === "sent") {
        this.#counters.sent++;
        return Promise.resolve();
      }
      if (outcome.type === "failed") return Promise.reject(this.#failure(outcome.message));
    }
    if (this.#waiting.length >= this.#queueFrames) {
      return Promise.reject(this.#failure(`${this.#queueFrames} frames wait already`));
    }
    return new Promise((resolve, reject) => {
      const deadlineMs = this.#clock.monoMs() + this.#patienceMs;
      this.#waiting.push({ id, data: data.slice(), deadlineMs, resolve, reject });
      this.#stopTimer ??= this.#startTimer(() => this.#drain(), RETRY_MS);
    });
  }

  /** Gives up all waiting frames. */
  clear(message: string): void {
    this.#stopTimer?.();
    this.#stopTimer = undefined;
    for (const frame of this.#waiting.splice(0)) frame.reject(this.#failure(message));
  }

  #drain(): void {
    this.#stopTimer = undefined;
    for (let frame = this.#waiting[0]; frame; frame = this.#waiting[0]) {
      const outcome = this.#trySend(frame.id, frame.data);
      if (outcome.type === "busy" && this.#clock.monoMs() < frame.deadlineMs) break;
      this.#waiting.shift();
      if (outcome.type === "sent") {
        this.#counters.sent++;
        frame.resolve();
      } else {
        const message = outcome.type === "failed"
          ? outcome.message
          : `its queue stayed full for ${this.#patienceMs} ms`;
        frame.reject(this.#failure(message));
      }
    }
    if (this.#waiting.length > 0) this.#stopTimer = this.#startTimer(() => this.#drain(), RETRY_MS);
  }

  #failure(reason: string): BusError {
    this.#counters.sendFailed++;
    return new BusError(`Cannot send on bus "${this.#bus}": ${reason}`);
  }
}

function startTimeout(run: () => void, delayMs: number): () => void {
  const timer = setTimeout(run, delayMs);
  return () => clearTimeout(timer);
}

import { type Clock, systemClock } from "../base/mod.ts";
import type { LoopbackBus } from "../can/mod.ts";
import { type CanFrame, NAME_BYTES, nameFromBytes, parseCanId, pgnOfId } from "../frame/mod.ts";
import type { ClaimState } from "../transmit/mod.ts";
import { PGN } from "../pgn/mod.ts";
import type { DeviceSpec, View } from "./devices/device.ts";
import { standardBoat } from "./devices/devices.ts";
import { Node, type NodePort, type SendFrame } from "./node.ts";
import { createPassage, type PassageState, stepPassage } from "./passage.ts";

/** Options of a simulated boat. */
export interface SimulatedBoatOptions {
  /** The same seed and start give the same frames; default 1. */
  seed?: number;
  /** Wall clock at the start, microseconds since 1970; default the current time of `clock`. */
  startUs?: number;
  clock: Clock;
  /** Receives the boat's frames. `data` is not changed afterwards. */
  send: SendFrame;
  /** The devices on board; default {@linkcode standardBoat}. */
  devices?: readonly DeviceSpec[];
}

/** Current state of a device of the simulated boat. */
export interface SimulatedDevice {
  /** 64-bit NAME. */
  readonly name: bigint;
  /** The claimed address, or the one being claimed. */
  readonly address: number | undefined;
  readonly claim: ClaimState;
  readonly spec: DeviceSpec;
}

/** Step of the boat's model. */
const MODEL_STEP_MS = 50;
/** Interval of the timer. */
const TICK_MS = 5;
/** After a longer stall, the messages of the remaining time are skipped instead of being sent in one burst. */
const MAX_CATCH_UP_MS = 100;
/** Interval at which the sequence id changes; it goes from 0 to 252. */
const SID_MS = 100;
const SIDS = 253;
/** Every message is sent for the first time within this time, however long its interval is. */
const MAX_PHASE_MS = 15_000;
/** Spreads phases evenly for any number of messages: the fractional part of the golden ratio. */
const GOLDEN_STEP = 0.6180339887498949;

interface Task {
  readonly dueMs: number;
  /** Returns the time at which the task is repeated. */
  readonly run: (nowMs: number) => number | void;
}

/**
 * The simulated boat. {@linkcode SimulatedBoat.start} runs it in real time, {@linkcode SimulatedBoat.advance} as fast as
 * possible.
 *
 * @example
 * ```ts
 * let frames = 0;
 * const clock = { wallUs: () => 0, monoMs: () => 0 };
 * const boat = new SimulatedBoat({ seed: 7, startUs: 1.75e15, clock, send: () => frames++ });
 * boat.advance(60_000);
 * ```
 */
export class SimulatedBoat {
  readonly devices: readonly SimulatedDevice[];
  readonly #nodes: readonly Node[];
  /** Sorted by time; tasks of the same time in the order in which they were added. */
  readonly #tasks: Task[] = [];
  readonly #clock: Clock;
  readonly #startUs: number;
  readonly #send: SendFrame;
  /** Network messages that the nodes have not processed yet. */
  readonly #received: { id: number; data: Uint8Array }[] = [];
  #isProcessing = false;
  #timer: ReturnType<typeof setInterval> | undefined;
  #passage: PassageState;
  #view: View | undefined;
  #nowMs = 0;
  /** Total time skipped after stalls of the process. */
  #skippedMs = 0;

  constructor({ seed = 1, clock, startUs = clock.wallUs(), send, devices = standardBoat() }: SimulatedBoatOptions) {
    this.#clock = clock;
    this.#startUs = startUs;
    this.#send = send;
    this.#passage = createPassage(seed);
    const port: NodePort = {
      send: (id, data) => this.#sendFrame(id, data),
      at: (dueMs, run) => this.#addTask({ dueMs, run }),
      view: () => this.#currentView(),
    };
    this.#nodes = devices.map((spec, order) => new Node(spec, { order, port }));
    this.devices = this.#nodes;
    let fraction = 0;
    const phaseOf = (intervalMs: number) => {
      fraction = (fraction + GOLDEN_STEP) % 1;
      return Math.floor(fraction * Math.min(intervalMs, MAX_PHASE_MS));
    };
    for (const node of this.#nodes) node.schedule(phaseOf);
  }

  /** Simulated time since the start, milliseconds. While `send` is called: the time of that frame. */
  get nowMs(): number {
    return this.#nowMs;
  }

  /** Wall clock of the simulated time, microseconds since 1970. */
  get wallUs(): number {
    return this.#startUs + Math.round((this.#nowMs + this.#skippedMs) * 1000);
  }

  /** Whether the boat runs in real time. */
  get running(): boolean {
    return this.#timer !== undefined;
  }

  /** Current state of the boat. */
  get passage(): PassageState {
    return this.#passage;
  }

  /** Continues in real time. */
  start(): void {
    if (this.running) return;
    let originMs = this.#clock.monoMs() - this.#nowMs;
    const tick = () => {
      const behindMs = this.#clock.monoMs() - originMs - this.#nowMs;
      const skipMs = Math.max(0, behindMs - MAX_CATCH_UP_MS);
      originMs += skipMs;
      this.#skippedMs += skipMs;
      this.advance(this.#nowMs + behindMs - skipMs);
    };
    this.#timer = setInterval(tick, TICK_MS);
  }

  /** Pauses the boat. */
  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Runs the boat to this simulated time, milliseconds since the start, and sends all its frames. */
  advance(toMs: number): void {
    for (let task = this.#tasks[0]; task !== undefined && task.dueMs <= toMs; task = this.#tasks[0]) {
      this.#tasks.shift();
      this.#moveTo(task.dueMs);
      const againMs = task.run(task.dueMs);
      if (typeof againMs === "number") this.#addTask({ dueMs: againMs, run: task.run });
    }
    this.#moveTo(toMs);
  }

  /** Processes a frame of another node on the bus. Echoes of the boat's own frames are ignored. */
  receive(frame: CanFrame): void {
    const pgn = pgnOfId(frame.id);
    if (pgn !== PGN.addressClaim && pgn !== PGN.isoRequest) return;
    const data = frame.data.slice(frame.offset, frame.offset + frame.length);
    // Our own claims were processed when they were sent; a late echo would repeat the conflict.
    if (pgn === PGN.addressClaim && this.#nodes.some(({ name }) => name === nameOf(data))) return;
    this.#process({ id: frame.id, data });
  }

  #addTask(task: Task): void {
    let index = this.#tasks.length;
    while (index > 0 && (this.#tasks[index - 1]?.dueMs ?? 0) > task.dueMs) index--;
    this.#tasks.splice(index, 0, task);
  }

  #moveTo(nowMs: number): void {
    if (nowMs <= this.#nowMs) return;
    this.#nowMs = nowMs;
    this.#view = undefined;
    while (this.#passage.timeMs + MODEL_STEP_MS <= nowMs) this.#passage = stepPassage(this.#passage, MODEL_STEP_MS);
  }

  #currentView(): View {
    this.#view ??= { passage: this.#passage, wallUs: this.wallUs, sid: Math.floor(this.#nowMs / SID_MS) % SIDS };
    return this.#view;
  }

  #sendFrame(id: number, data: Uint8Array): void {
    this.#send(id, data);
    if (pgnOfId(id) === PGN.addressClaim) this.#process({ id, data });
  }

  /** Passes a network message to all nodes, and then the answers to it, as on a real bus. */
  #process(message: { id: number; data: Uint8Array }): void {
    this.#received.push(message);
    if (this.#isProcessing) return;
    this.#isProcessing = true;
    try {
      for (let next = this.#received.shift(); next !== undefined; next = this.#received.shift()) this.#deliver(next);
    } finally {
      this.#isProcessing = false;
    }
  }

  #deliver({ id, data }: { id: number; data: Uint8Array }): void {
    const { pgn, src, dst } = parseCanId(id);
    const name = pgn === PGN.addressClaim ? nameOf(data) : undefined;
    if (name !== undefined) {
      for (const node of this.#nodes) node.receiveClaim({ nowMs: this.#nowMs, address: src, name });
    } else if (pgn === PGN.isoRequest && data.length >= 3) {
      const requested = (data[0] ?? 0) | ((data[1] ?? 0) << 8) | ((data[2] ?? 0) << 16);
      for (const node of this.#nodes) node.receiveRequest({ nowMs: this.#nowMs, pgn: requested, from: src, to: dst });
    }
  }
}

/** The NAME in an address claim. */
function nameOf(data: Uint8Array): bigint | undefined {
  return data.length < NAME_BYTES ? undefined : nameFromBytes(data);
}

/** Connects a simulated boat to a loopback bus. It sends and receives nothing until {@linkcode SimulatedBoat.start}. */
export function attachSimulatedBoat(
  bus: LoopbackBus,
  { clock = systemClock, ...options }: Partial<Omit<SimulatedBoatOptions, "send">> = {},
): SimulatedBoat {
  const boat = new SimulatedBoat({ ...options, clock, send: (id, data) => bus.inject(id, data) });
  bus.attach((frame) => {
    if (boat.running) boat.receive(frame);
  });
  return boat;
}

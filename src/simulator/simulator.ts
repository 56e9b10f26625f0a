import { type Clock, systemClock } from "../base/mod.ts";
import type { LoopbackBus } from "../can/mod.ts";
import { type CanFrame, NAME_BYTES, nameFromBytes, parseCanId, pgnOfId } from "../frame/mod.ts";
import type { ClaimState } from "../transmit/mod.ts";
import { PGN } from "../pgn/mod.ts";
import { Agenda } from "./agenda.ts";
import type { DeviceSpec, View } from "./devices/device.ts";
import { standardBoat } from "./devices/devices.ts";
import { Node } from "./node.ts";
import { createPassage, type PassageState, stepPassage } from "./passage.ts";
import type { SendFrame } from "./send.ts";

/** How a simulated boat is made. */
export interface SimulatedBoatOptions {
  /** Same seed and start, same frames; default 1. */
  seed?: number;
  /** Wall clock at the start, microseconds since 1970; default what `clock` says when the boat is made. */
  startUs?: number;
  clock: Clock;
  /** Takes the boat's frames. `data` is not changed afterwards. */
  send: SendFrame;
  /** The devices on board, default {@linkcode standardBoat}. */
  devices?: readonly DeviceSpec[];
}

/** A device of the simulated boat, as it is now. */
export interface SimulatedDevice {
  /** 64-bit NAME. */
  readonly name: bigint;
  /** Address that it holds or claims. */
  readonly address: number | undefined;
  readonly claim: ClaimState;
  readonly spec: DeviceSpec;
}

/** Step of the boat's model. */
const MODEL_STEP_MS = 50;
/** How often the timer looks what is due. */
const TICK_MS = 5;
/** After a stall, time further back than this is left out instead of being sent in one burst. */
const MAX_CATCH_UP_MS = 100;
/** Sequence ids go from 0 to 252 and change this often. */
const SID_MS = 100;
const SIDS = 253;
/** First messages all come within this time, however rare they are later. */
const MAX_PHASE_MS = 15_000;
/** Spreads phases evenly for any number of messages: the fractional part of the golden ratio. */
const GOLDEN_STEP = 0.6180339887498949;

type Running = { readonly type: "idle" } | { readonly type: "running"; readonly timer: ReturnType<typeof setInterval> };

/**
 * The simulated boat. Driven by {@linkcode SimulatedBoat.start} in real time, or by {@linkcode SimulatedBoat.advance} as fast as it goes.
 *
 * @example
 * ```ts
 * let frames = 0;
 * const clock = { wallUs: () => 0, monoMs: () => 0 };
 * const twin = new SimulatedBoat({ seed: 7, startUs: 1.75e15, clock, send: () => frames++ });
 * twin.advance(60_000);
 * ```
 */
export class SimulatedBoat {
  readonly devices: readonly SimulatedDevice[];
  readonly #nodes: readonly Node[];
  readonly #agenda = new Agenda();
  readonly #clock: Clock;
  readonly #startUs: number;
  readonly #send: SendFrame;
  /** Network messages of our own nodes that the other nodes still have to hear. */
  readonly #heard: { id: number; data: Uint8Array }[] = [];
  #hearing = false;
  #running: Running = { type: "idle" };
  #passage: PassageState;
  #view: View | undefined;
  #nowMs = 0;
  /** Wall time that the boat has not sailed because the process stood still. */
  #skippedMs = 0;

  constructor({ seed = 1, clock, startUs = clock.wallUs(), send, devices = standardBoat() }: SimulatedBoatOptions) {
    this.#clock = clock;
    this.#startUs = startUs;
    this.#send = send;
    this.#passage = createPassage(seed);
    this.#nodes = devices.map((spec, turn) => new Node(spec, { turn, port: this.#portOf() }));
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

  /** Whether the boat goes on in real time. */
  get running(): boolean {
    return this.#running.type === "running";
  }

  /** What is true about the boat now. */
  get passage(): PassageState {
    return this.#passage;
  }

  /** Goes on in real time, from where the boat is. */
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
    this.#running = { type: "running", timer: setInterval(tick, TICK_MS) };
  }

  /** Stands still. */
  stop(): void {
    if (this.#running.type === "running") clearInterval(this.#running.timer);
    this.#running = { type: "idle" };
  }

  /** Sends everything that is due up to this simulated time, milliseconds since the start. */
  advance(toMs: number): void {
    const moveTo = (dueMs: number) => this.#moveTo(dueMs);
    while (this.#agenda.runNext(toMs, moveTo));
    this.#moveTo(toMs);
  }

  /** Hears a frame of another party on the bus. Echoes of the boat's own frames do no harm. */
  receive(frame: CanFrame): void {
    const pgn = pgnOfId(frame.id);
    if (pgn !== PGN.addressClaim && pgn !== PGN.isoRequest) return;
    const data = frame.data.slice(frame.offset, frame.offset + frame.length);
    // Our own claims were heard when they were sent; their late echo would start the fight again.
    if (pgn === PGN.addressClaim && this.#nodes.some(({ name }) => name === nameOf(data))) return;
    this.#hear({ id: frame.id, data });
  }

  #portOf(): ConstructorParameters<typeof Node>[1]["port"] {
    return {
      send: (id, data) => this.#sendFrame(id, data),
      at: (dueMs, run) => this.#agenda.add(dueMs, run),
      view: () => this.#lookAround(),
    };
  }

  #moveTo(nowMs: number): void {
    if (nowMs <= this.#nowMs) return;
    this.#nowMs = nowMs;
    this.#view = undefined;
    while (this.#passage.timeMs + MODEL_STEP_MS <= nowMs) this.#passage = stepPassage(this.#passage, MODEL_STEP_MS);
  }

  #lookAround(): View {
    this.#view ??= { passage: this.#passage, wallUs: this.wallUs, sid: Math.floor(this.#nowMs / SID_MS) % SIDS };
    return this.#view;
  }

  #sendFrame(id: number, data: Uint8Array): void {
    this.#send(id, data);
    if (pgnOfId(id) === PGN.addressClaim) this.#hear({ id, data });
  }

  /** Lets every node hear a network message. Answers queue up behind it, as they would on a real bus. */
  #hear(message: { id: number; data: Uint8Array }): void {
    this.#heard.push(message);
    if (this.#hearing) return;
    this.#hearing = true;
    try {
      for (let next = this.#heard.shift(); next !== undefined; next = this.#heard.shift()) this.#tell(next);
    } finally {
      this.#hearing = false;
    }
  }

  #tell({ id, data }: { id: number; data: Uint8Array }): void {
    const { pgn, src, dst } = parseCanId(id);
    const name = pgn === PGN.addressClaim ? nameOf(data) : undefined;
    if (name !== undefined) {
      for (const node of this.#nodes) node.hearClaim({ nowMs: this.#nowMs, address: src, name });
    } else if (pgn === PGN.isoRequest && data.length >= 3) {
      const wanted = (data[0] ?? 0) | ((data[1] ?? 0) << 8) | ((data[2] ?? 0) << 16);
      for (const node of this.#nodes) node.hearRequest({ nowMs: this.#nowMs, pgn: wanted, from: src, to: dst });
    }
  }
}

/** The NAME in an address claim. */
function nameOf(data: Uint8Array): bigint | undefined {
  return data.length < NAME_BYTES ? undefined : nameFromBytes(data);
}

/** Puts a simulated boat on a loopback bus. It is silent and deaf until {@linkcode SimulatedBoat.start}. */
export function attachSimulatedBoat(
  bus: LoopbackBus,
  { clock = systemClock, ...options }: Partial<Omit<SimulatedBoatOptions, "send">> = {},
): SimulatedBoat {
  const twin = new SimulatedBoat({ ...options, clock, send: (id, data) => bus.inject(id, data) });
  bus.attach((frame) => {
    if (twin.running) twin.receive(frame);
  });
  return twin;
}

import { Assembler, splitFastPacket } from "../../src/can/mod.ts";
import { type BusReading, Doctor, type DoctorState, type Finding } from "../../src/doctor/mod.ts";
import { buildCanId, parseCanId, pgnOfId } from "../../src/frame/mod.ts";
import { isFastPacket } from "../../src/pgn/mod.ts";
import { SimulatedBoat } from "../../src/simulator/mod.ts";

/** Start of the simulated time, microseconds since 1970. */
export const START_US = Date.UTC(2026, 5, 1, 10) * 1000;
export const BUS = "can0";

/** A frame on the simulated bus. */
export interface LabFrame {
  atMs: number;
  id: number;
  data: Uint8Array;
}

/** Frames of the healthy simulated boat for a time. */
export function healthyFrames(ms: number, { seed = 1 }: { seed?: number } = {}): LabFrame[] {
  const frames: LabFrame[] = [];
  const boat = simulate((frame) => frames.push(frame), seed);
  boat.advance(ms);
  return frames;
}

/** A simulated boat that gives its frames to `send`. */
export function simulate(send: (frame: LabFrame) => void, seed = 1): SimulatedBoat {
  const clock = { wallUs: () => START_US, monoMs: () => 0 };
  const boat: SimulatedBoat = new SimulatedBoat({
    seed,
    startUs: START_US,
    clock,
    send: (id, data) => send({ atMs: boat.nowMs, id, data }),
  });
  return boat;
}

/** A doctor that is given frames. */
export class Lab {
  readonly doctor: Doctor;
  /** Every finding that there was, by key, as it was found. */
  readonly found: Finding[] = [];
  readonly ended: Finding[] = [];
  reading: BusReading | undefined;
  #seq = 0;
  #nextRoundMs: number | undefined;
  readonly #assembler: Assembler;

  constructor(state?: DoctorState) {
    this.doctor = new Doctor({ buses: [BUS], state, epoch: () => "00".repeat(16) });
    this.doctor.listen(({ event, finding }) => (event === "found" ? this.found : this.ended).push(finding));
    this.#assembler = new Assembler((message) => this.doctor.message(message, ++this.#seq), {
      onIncomplete: (id) => this.doctor.incomplete({ bus: 0, src: id & 0xff, pgn: pgnOfId(id) }),
    });
  }

  /** Number of the newest message. */
  get seq(): number {
    return this.#seq;
  }

  /** Gives a frame, after the rounds that are due before it. */
  push({ atMs, id, data }: LabFrame): void {
    this.advance(atMs);
    this.#assembler.push({
      id,
      timeUs: START_US + atMs * 1000,
      monoMs: atMs,
      data,
      offset: 0,
      length: data.length,
    });
  }

  /** Runs the rounds until a time. */
  advance(toMs: number): void {
    this.#nextRoundMs ??= toMs;
    for (; this.#nextRoundMs <= toMs; this.#nextRoundMs += 1000) {
      this.#assembler.expire(this.#nextRoundMs);
      const time = { monoMs: this.#nextRoundMs, timeUs: START_US + this.#nextRoundMs * 1000 };
      this.doctor.round(time, this.reading ? [this.reading] : []);
    }
  }

  /** The process sleeps until a time. */
  sleep(toMs: number): void {
    this.#nextRoundMs = toMs;
  }
}

/** A message as frames. */
export function framesOf(
  { atMs, pgn, src, dst = 255, prio = 6, data, sequence = 0 }: {
    atMs: number;
    pgn: number;
    src: number;
    dst?: number;
    prio?: number;
    data: Uint8Array;
    sequence?: number;
  },
): LabFrame[] {
  const id = buildCanId({ pgn, src, dst, prio });
  const parts = isFastPacket(pgn) ? splitFastPacket(data, sequence) : [data];
  return parts.map((part) => ({ atMs, id, data: part }));
}

/** The same frame from another source address. */
export function withSource(frame: LabFrame, src: number): LabFrame {
  return { ...frame, id: buildCanId({ ...parseCanId(frame.id), src }) };
}

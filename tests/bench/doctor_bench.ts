import { Assembler } from "../../src/can/mod.ts";
import { Doctor } from "../../src/doctor/mod.ts";
import type { Message } from "../../src/frame/mod.ts";
import { SimulatedBoat } from "../../src/simulator/mod.ts";
import { report } from "./figure.ts";

const BOAT_MS = 10 * 60_000;
/** Frames a second of the bench: a bus that is full. */
const RATE = 2000;
const ROUNDS = 5;

/** Messages of the simulated boat, at the rate of a full bus, and the number of their frames. */
function fullBus(): { messages: Message[]; frames: number; seconds: number } {
  const messages: Message[] = [];
  const assembler = new Assembler((message) => {
    const { data, offset, length } = message;
    messages.push({ ...message, data: data.slice(offset, offset + length), offset: 0 });
  });
  let frames = 0;
  const boat: SimulatedBoat = new SimulatedBoat({
    startUs: 1.75e15,
    clock: { wallUs: () => 0, monoMs: () => 0 },
    send: (id, data) => {
      frames++;
      assembler.push({ id, data, offset: 0, length: data.length, monoMs: boat.nowMs, timeUs: 0 });
    },
  });
  boat.advance(BOAT_MS);
  const faster = RATE / (frames * 1000 / BOAT_MS);
  for (const message of messages) {
    message.monoMs /= faster;
    message.timeUs = 1.75e15 + message.monoMs * 1000;
  }
  return { messages, frames, seconds: frames / RATE };
}

/** Seconds of CPU for all messages, rounds included. */
function run(messages: readonly Message[]): number {
  const doctor = new Doctor({ buses: ["can0"] });
  let [seq, nextMs] = [0, 0];
  const start = performance.now();
  for (const message of messages) {
    if (message.monoMs >= nextMs) {
      doctor.round(message);
      nextMs = message.monoMs + 1000;
    }
    doctor.message(message, ++seq);
  }
  const seconds = (performance.now() - start) / 1000;
  if (doctor.loads()[0]?.load_percent === 0) throw new Error("Nothing was measured");
  return seconds;
}

/** What the network doctor takes of a core while a bus is full. */
export function doctorBench(): void {
  const { messages, frames, seconds } = fullBus();
  const best = Math.min(...Array.from({ length: ROUNDS }, () => run(messages)));
  report({ name: "doctor, each frame", value: best * 1e6 / frames, unit: "µs", bar: "< 10" });
  report({ name: `doctor at ${RATE} frames/s`, value: 100 * best / seconds, unit: "% of a core", bar: "<= 2" });
}

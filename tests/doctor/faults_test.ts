import assert from "node:assert/strict";
import { Assembler } from "../../src/can/mod.ts";
import type { DoctorState, Finding } from "../../src/doctor/mod.ts";
import { nameFromBytes, parseCanId } from "../../src/frame/mod.ts";
import type { Fault } from "./fault.ts";
import { faultsOf } from "./faults.ts";
import { framesOf, Lab, type LabFrame, simulate } from "./lab.ts";
import type { PairFault } from "./value_faults.ts";

/** The healthy boat runs for this time, from which the doctor learns its habits, milliseconds. */
const LEARN_MS = 6 * 60_000;
/** Then it is asked who is there, and a fault begins after this time. */
const BEFORE_MS = 20_000;
/** A fault must be named within this time. */
const NAMED_MS = 60_000;

/** The healthy boat: what the doctor has learned of it, and the frames that follow. */
interface Healthy {
  state: DoctorState;
  frames: LabFrame[];
  names: Map<number, bigint>;
  products: Map<number, Uint8Array>;
}

let known: Healthy | undefined;

/** Simulated once for all tests of this file. */
function healthy(): Healthy {
  if (known) return known;
  const lab = new Lab();
  const [names, products] = [new Map<number, bigint>(), new Map<number, Uint8Array>()];
  const assembler = new Assembler(({ id, pgn, data, offset, length }) => {
    if (pgn === 126996) products.set(id & 0xff, data.slice(offset, offset + length));
  });
  const frames: LabFrame[] = [];
  let isLearning = true;
  const send = (frame: LabFrame) => {
    if (isLearning) return lab.push(frame);
    frames.push(frame);
    const { pgn, src } = parseCanId(frame.id);
    if (pgn === 60928) names.set(src, nameFromBytes(frame.data));
    assembler.push({ ...frame, timeUs: 0, monoMs: frame.atMs, offset: 0, length: frame.data.length });
  };
  const boat = simulate(send);
  const ask = (pgn: number) => {
    const data = Uint8Array.of(pgn & 0xff, (pgn >> 8) & 0xff, pgn >> 16);
    for (const frame of framesOf({ atMs: boat.nowMs, pgn: 59904, src: 254, data })) {
      send(frame);
      boat.receive({ ...frame, timeUs: 0, monoMs: 0, offset: 0, length: 3 });
    }
  };
  boat.advance(2000);
  ask(60928);
  boat.advance(4000);
  ask(126996);
  boat.advance(LEARN_MS);
  assert.deepEqual(lab.found, [], "the healthy boat");
  isLearning = false;
  ask(60928);
  boat.advance(LEARN_MS + 2000);
  ask(126996);
  boat.advance(LEARN_MS + BEFORE_MS + NAMED_MS + 5000);
  return known = { state: lab.doctor.state(), frames, names, products };
}

/** The frames of a boat with a fault. */
function framesWith(fault: Fault | PairFault, { frames }: Healthy): LabFrame[] {
  const beginMs = LEARN_MS + BEFORE_MS;
  const { change = (frame) => [frame], more = [] } = fault;
  const second = "second" in fault ? fault.second : () => [];
  const all: LabFrame[] = frames.flatMap((frame) => [frame, ...second(frame)]).flatMap((frame) =>
    frame.atMs < beginMs ? [frame] : change(frame, frame.atMs - beginMs)
  );
  for (const { everyMs, frames: make } of more) {
    for (let round = 0; round * everyMs < NAMED_MS; round++) {
      for (const frame of make(beginMs + round * everyMs, round)) all.push(frame);
    }
  }
  return all.sort((a, b) => a.atMs - b.atMs);
}

/** What the doctor finds within the time after a fault. */
function diagnose(fault: Fault | PairFault): Finding[] {
  const boat = healthy();
  const lab = new Lab(boat.state);
  const beginMs = LEARN_MS + BEFORE_MS;
  for (const frame of framesWith(fault, boat)) {
    lab.reading = frame.atMs < beginMs ? undefined : fault.reading?.(frame.atMs - beginMs);
    if (frame.atMs < beginMs) assert.deepEqual(lab.found, [], "before the fault");
    if (frame.atMs > beginMs + NAMED_MS) break;
    lab.push(frame);
  }
  lab.advance(beginMs + NAMED_MS);
  return lab.found;
}

Deno.test("doctor: at least 25 faults, each named within a minute with the right device, and nothing else", async (t) => {
  const all = faultsOf(healthy());
  assert.ok(all.length >= 25, `${all.length} faults`);
  for (const fault of all) {
    await t.step(fault.claim, () => {
      const found = diagnose(fault);
      const { kind, src, also = [] } = fault;
      const right = found.filter((each) => each.kind === kind && each.src === src);
      const texts = found.map(({ kind, src, text }) => `${kind} ${src}: ${text}`);
      assert.equal(right.length > 0, true, `not found: ${kind} ${src}; found: ${texts.join("; ")}`);
      // A healthy device is never a subject.
      const wrong = found.filter((each) => each.src !== src || ![kind, ...also].includes(each.kind));
      assert.deepEqual(wrong.map(({ kind, src, text }) => ({ kind, src, text })), []);
    });
  }
});

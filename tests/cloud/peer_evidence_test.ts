import assert from "node:assert/strict";
import { knownStretches, type NumberedFrame, type PeerFrame, type Stretch } from "../../src/cloud/peer/evidence.ts";
import { Random } from "../support/random.ts";

/** Frames of a boat, each with another content, 5 ms apart. */
function boatFrames(from: number, count: number): NumberedFrame[] {
  return Array.from({ length: count }, (_, i) => {
    const data = new Uint8Array(8);
    new DataView(data.buffer).setUint32(0, from + i);
    return { seq: from + i, id: 0x09f80101, pgn: 129025, timeUs: (from + i) * 5000, data };
  });
}

/** The same frames in a peer's block, so much later. */
function shifted(frames: readonly PeerFrame[], shiftUs: number): PeerFrame[] {
  return frames.map((frame) => ({ ...frame, timeUs: frame.timeUs + shiftUs }));
}

const CLAIM: PeerFrame = { id: 0x18eeff05, pgn: 60928, timeUs: 0, data: new Uint8Array(8) };
const nothing = () => undefined;

function stretch(from: number, to: number, firstSeq: number, shiftUs = 0): Stretch {
  return { from, to, firstSeq, shiftUs };
}

Deno.test("a block's numbers count when the next one begins where it ends, and not before its last frame", () => {
  const frames = boatFrames(100, 50);
  const next = (timeUs: number) => (seq: number) => seq === 150 ? timeUs : undefined;
  const found = (beginsAt: (seq: number) => number | undefined) =>
    knownStretches(frames, { baseSeq: 100, numbered: [], beginsAt });
  assert.deepEqual(found(next(150 * 5000)), [stretch(0, 50, 100)]);
  assert.deepEqual(found(nothing), []);
  // So a frame is missing in the block, and number 150 is another frame of it.
  assert.deepEqual(found(next(149 * 5000 - 1)), []);
  assert.deepEqual(knownStretches(frames, { baseSeq: 0, numbered: [], beginsAt: next(750_000) }), []);
});

Deno.test("an address claim, and product information behind it, may be copies and do not count", () => {
  const frames: PeerFrame[] = boatFrames(100, 10);
  frames[3] = CLAIM;
  frames[4] = { ...CLAIM, id: 0x19f01405, pgn: 126996 };
  frames[7] = { ...CLAIM, id: 0x19f01406, pgn: 126996 };
  const found = knownStretches(frames, { baseSeq: 100, numbered: [], beginsAt: () => Infinity });
  assert.deepEqual(found, [stretch(0, 3, 100), stretch(5, 10, 105)]);
});

Deno.test("frames between two places that the boat's blocks have count, where numbers and times agree", () => {
  const boat = boatFrames(1, 300);
  const numbered = [...boat.slice(0, 50), ...boat.slice(200, 260), ...boat.slice(220, 240)];
  const evidence = { baseSeq: 0, numbered, beginsAt: nothing };
  const block = shifted(boat.slice(0, 280), 7000);
  assert.deepEqual(knownStretches([CLAIM, ...block], evidence), [
    stretch(1, 51, 1, 7000),
    stretch(51, 201, 51, 7000),
    stretch(201, 261, 201, 7000),
  ]);
  // One was missed in between, or a clock went back.
  const missed = block.toSpliced(100, 1);
  assert.deepEqual(knownStretches(missed, evidence).map(({ from, to }) => [from, to]), [[0, 50], [199, 259]]);
  const late = [...block.slice(0, 100), ...shifted(block.slice(100), 1000)];
  assert.deepEqual(knownStretches(late, evidence).map(({ from, to }) => [from, to]), [[0, 50], [200, 260]]);
});

Deno.test("frames that look the same in two places, or are too few, are no evidence", () => {
  const boat = boatFrames(1, 200).map((frame) => ({ ...frame, data: new Uint8Array(8) }));
  assert.deepEqual(knownStretches(boat.slice(0, 100), { baseSeq: 0, numbered: boat, beginsAt: nothing }), []);
  const few = boatFrames(1, 31);
  assert.deepEqual(knownStretches(few, { baseSeq: 0, numbered: few, beginsAt: nothing }), []);
});

Deno.test("whatever frames are given, what is found lies in order within them", () => {
  for (let seed = 0; seed < 200; seed++) {
    const random = new Random(seed);
    const boat = boatFrames(1, 200);
    const frames = boat.filter(() => random.chance(0.98));
    const numbered = boat.slice(random.int(100), 100 + random.int(100));
    const found = knownStretches(frames, { baseSeq: random.int(3), numbered, beginsAt: () => 1e12 });
    let end = 0;
    for (const { from, to, firstSeq } of found) {
      assert.ok(from >= end && to > from && to <= frames.length && firstSeq > 0, `seed ${seed}`);
      end = to;
    }
  }
});

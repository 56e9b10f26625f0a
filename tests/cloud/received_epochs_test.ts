import assert from "node:assert/strict";
import { beginEpoch, type EpochHistory, evaluateEpoch, isPeerEpoch, MAX_PREVIOUS_EPOCHS } from "../../src/cloud/mod.ts";
import { Random } from "../support/random.ts";

const NOTHING: EpochHistory = { current: undefined, previous: [] };
const random = new Random(5);
const randomBytes = (count: number) => random.bytes(count);

function epoch(byte: number): Uint8Array {
  return new Uint8Array(16).fill(byte);
}

/** The history after the boat had these runs of numbers. */
function after(...epochs: (Uint8Array | undefined)[]): EpochHistory {
  return epochs.reduce((history: EpochHistory, epoch) => beginEpoch(history, { epoch, randomBytes }), NOTHING);
}

function judged(history: EpochHistory, epoch: Uint8Array | undefined, { headSeq = 100, last = 100 } = {}): string {
  return evaluateEpoch(history, { epoch, headSeq, last }).kind;
}

Deno.test("a boat that goes on counting is the same, also when it has less than the cloud", () => {
  assert.equal(judged(after(epoch(1)), epoch(1)), "same");
  assert.equal(judged(after(epoch(1)), epoch(1), { headSeq: 5 }), "same");
});

Deno.test("a run of numbers that was never seen starts afresh", () => {
  assert.equal(judged(NOTHING, epoch(1)), "new");
  assert.equal(judged(NOTHING, undefined), "new");
  assert.equal(judged(after(epoch(1)), epoch(2)), "new");
  assert.equal(judged(after(epoch(1)), undefined), "new");
  assert.equal(judged(after(undefined), epoch(1)), "new");
});

Deno.test("two runs of numbers that alternate are a clone, whoever comes back", () => {
  const history = after(epoch(1), epoch(2));
  assert.equal(judged(history, epoch(1)), "clone");
  assert.equal(judged(history, epoch(2)), "same");
  assert.equal(judged(after(epoch(1), undefined, epoch(2)), epoch(1)), "clone");
});

Deno.test("a peer's boat whose head is below what was received of it starts afresh", () => {
  const history = after(undefined);
  assert.equal(judged(history, undefined), "same");
  assert.equal(judged(history, undefined, { headSeq: 99 }), "new");
  const again = beginEpoch(history, { epoch: undefined, randomBytes });
  assert.notEqual(again.current, history.current);
  assert.deepEqual(again.previous, []);
  assert.ok(isPeerEpoch(again.current!) && again.current!.length === 32);
});

Deno.test("former runs are remembered up to a limit, the oldest forgotten first", () => {
  const history = after(...Array.from({ length: MAX_PREVIOUS_EPOCHS + 2 }, (_, i) => epoch(i)));
  assert.equal(history.previous.length, MAX_PREVIOUS_EPOCHS);
  assert.equal(judged(history, epoch(1)), "clone");
  assert.equal(judged(history, epoch(0)), "new");
});

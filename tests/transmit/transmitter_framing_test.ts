import assert from "node:assert/strict";
import { FrameSplitter, framingFor } from "../../src/transmit/transmitter/framing.ts";

const FAST = 129029;

/** Sequence counter of the next fast packet. */
function next(cutter: FrameSplitter, { pgn = FAST, src = 5 }: { pgn?: number; src?: number } = {}): number {
  return cutter.split("fast", { pgn, src, data: Uint8Array.of(1) })[0]![0]! >> 5;
}

Deno.test("how a message travels is decided by its PGN and its length", () => {
  const cases = [[127250, 8, "single"], [127250, 9, "transport"], [FAST, 1, "fast"], [FAST, 223, "fast"]] as const;
  for (const [pgn, length, carriage] of [...cases, [FAST, 224, "transport"], [127510, 8, "single"]] as const) {
    assert.equal(framingFor(pgn, length), carriage, `${length} bytes of ${pgn}`);
  }
});

Deno.test("counters are kept for 4096 kinds of messages; the kind that was sent least lately begins anew", () => {
  const cutter = new FrameSplitter();
  assert.deepEqual([next(cutter), next(cutter, { src: 6 })], [0, 0]);
  for (let i = 0; i < 4094; i++) next(cutter, { pgn: 130816 + (i >> 4), src: 10 + (i & 15) });
  assert.equal(next(cutter), 1);
  next(cutter, { pgn: 126208 });
  assert.deepEqual([next(cutter), next(cutter, { src: 6 })], [2, 0]);
});

import assert from "node:assert/strict";
import { Assembler, FrameSplitter, framingFor, splitTransport } from "../../src/can/mod.ts";
import { buildCanId, formatHex, parseCanId } from "../../src/frame/mod.ts";
import { Random } from "../support/random.ts";

const FAST = 129029;
const CLAIM = 60928;
const random = new Random(60416);

/** Sequence counter of the next fast packet. */
function next(splitter: FrameSplitter, { pgn = FAST, src = 5 }: { pgn?: number; src?: number } = {}): number {
  return splitter.split("fast", { pgn, src, data: Uint8Array.of(1) })[0]![0]! >> 5;
}

Deno.test("how a message travels is decided by its PGN and its length", () => {
  const cases = [[127250, 8, "single"], [127250, 9, "transport"], [FAST, 1, "fast"], [FAST, 223, "fast"]] as const;
  for (const [pgn, length, framing] of [...cases, [FAST, 224, "transport"], [127510, 8, "single"]] as const) {
    assert.equal(framingFor(pgn, length), framing, `${length} bytes of ${pgn}`);
  }
});

Deno.test("counters are kept for 4096 kinds of messages; the one not sent for longest starts again", () => {
  const splitter = new FrameSplitter();
  assert.deepEqual([next(splitter), next(splitter, { src: 6 })], [0, 0]);
  for (let i = 0; i < 4094; i++) next(splitter, { pgn: 130816 + (i >> 4), src: 10 + (i & 15) });
  assert.equal(next(splitter), 1);
  next(splitter, { pgn: 126208 });
  assert.deepEqual([next(splitter), next(splitter, { src: 6 })], [2, 0]);
});

Deno.test("a transport session is its announcement and its packets, byte for byte", () => {
  const text = (header: { pgn: number; dst: number }) =>
    splitTransport(buildCanId({ prio: 6, src: 7, ...header }), Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8, 9))
      .map(({ id, data }) => {
        const { prio, pgn, src, dst } = parseCanId(id);
        return `${prio} ${pgn} ${src} ${dst} ${formatHex(data)}`;
      });
  assert.deepEqual(text({ pgn: CLAIM, dst: 9 }), [
    "6 60416 7 9 10090002ff00ee00",
    "6 60160 7 9 0101020304050607",
    "6 60160 7 9 020809ffffffffff",
  ]);
  // A PGN without a destination goes to all.
  assert.deepEqual(text({ pgn: FAST, dst: 9 })[0], "6 60416 7 255 20090002ff05f801");
});

Deno.test("an assembler gives the message of a session again, of any length", () => {
  for (const length of [1, 7, 8, 14, 223, 224, 1785]) {
    for (const header of [{ pgn: CLAIM, dst: 9 }, { pgn: CLAIM, dst: 255 }, { pgn: FAST, dst: 255 }]) {
      const [id, data] = [buildCanId({ prio: random.int(8), src: 33, ...header }), random.bytes(length)];
      const messages: string[] = [];
      const assembler = new Assembler((each) =>
        messages.push(`${each.id} ${formatHex(each.data.subarray(each.offset, each.offset + each.length))}`)
      );
      for (const frame of splitTransport(id, data)) {
        assembler.push({ ...frame, offset: 0, length: frame.data.length, timeUs: 0, monoMs: 0 });
      }
      assert.deepEqual(messages, [`${id} ${formatHex(data)}`], `${length} bytes`);
    }
  }
});

Deno.test("a message that is empty or longer than 1785 bytes has no session", () => {
  const id = buildCanId({ prio: 6, pgn: FAST, src: 1, dst: 255 });
  for (const length of [0, 1786]) assert.throws(() => splitTransport(id, new Uint8Array(length)), RangeError);
});

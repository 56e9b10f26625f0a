import assert from "node:assert/strict";
import { type CanFrame, formatHex, pgnOfId } from "../../src/frame/mod.ts";
import oldForm from "../data/candump_sample1_head.txt" with { type: "text" };
import logForm from "../data/candump_sample3.txt" with { type: "text" };
import { parseCandump } from "../support/candump.ts";
import { collector } from "../support/fragments.ts";
import { NaiveAssembler } from "../support/naive_assembler.ts";
import { Random } from "../support/random.ts";

/** The PGNs of both recordings that NMEA 2000 sends as fast packets, written down from the standard's tables. */
const FAST = new Set([
  126208,
  126720,
  126996,
  127237,
  128275,
  129029,
  129038,
  129039,
  129540,
  129793,
  129794,
  130916,
  130919,
  130944,
]);

/** What one reader makes of frames: `id data`, in order. */
function byNaive(frames: CanFrame[]): { out: string[]; naive: NaiveAssembler } {
  const naive = new NaiveAssembler();
  const out: string[] = [];
  for (const frame of frames) {
    naive.expire(frame.monoMs);
    if (FAST.has(pgnOfId(frame.id))) {
      const whole = naive.push(frame);
      if (whole) out.push(`${whole.id} ${formatHex(Uint8Array.from(whole.data))}`);
    } else {
      out.push(`${frame.id} ${formatHex(frame.data.subarray(frame.offset, frame.offset + frame.length))}`);
    }
  }
  return { out, naive };
}

function byAssembler(frames: CanFrame[]) {
  const { assembler, out } = collector();
  for (const frame of frames) assembler.push(frame);
  return { out: out.map(({ id, data }) => `${id} ${data}`), assembler };
}

/** The frames of a recording, at times that are whole milliseconds. */
function framesOf(text: string): CanFrame[] {
  const frames = parseCandump(text);
  const startUs = frames[0]?.timeUs ?? 0;
  return frames.map(({ timeUs = 0, id, data }, i) => {
    const monoMs = timeUs === 0 ? i : Math.floor((timeUs - startUs) / 1000);
    return { id, timeUs, monoMs, data, offset: 0, length: data.length };
  });
}

function expectSame(frames: CanFrame[]): { messages: number; completed: number } {
  const { out: expected, naive } = byNaive(frames);
  const { out, assembler } = byAssembler(frames);
  assert.deepEqual(out, expected);
  const { timeout, replaced, overflow, malformed, unexpected } = naive.counts;
  const { tp_aborted: _, tp_timeout: __, tp_unexpected: ___, ...drops } = assembler.drops;
  assert.deepEqual(drops, { timeout, replaced, overflow, malformed, unexpected });
  assert.equal(assembler.pending, naive.pending);
  return { messages: out.length, completed: naive.counts.completed };
}

Deno.test("candump recordings are read in both forms", () => {
  const frames = parseCandump(logForm);
  assert.equal(frames.length, 2368);
  assert.deepEqual(frames[0], {
    timeUs: 1502984866421964,
    id: 0x09f112cc,
    data: Uint8Array.of(0xff, 0x72, 0x5a, 0xff, 0x7f, 0xff, 0x7f, 0xfd),
  });
  const old = parseCandump(oldForm);
  assert.equal(old.length, 600 - 9);
  assert.deepEqual(old[0], {
    timeUs: undefined,
    id: 0x18eeff01,
    data: Uint8Array.of(0x05, 0xa0, 0xbe, 0x1c, 0x00, 0xa0, 0xa0, 0xc0),
  });
});

Deno.test("a line that is no candump is refused with its text", () => {
  for (const line of ["hello", "(1.000001) can0 123#00", "<0x18eeff01> [8] 05 a0"]) {
    assert.throws(() => parseCandump(line), (error: unknown) => error instanceof Error && error.message.includes(line));
  }
});

Deno.test("the assembler makes of real recordings what the naive one makes, message for message", () => {
  const raymarine = expectSame(framesOf(logForm));
  assert.ok(raymarine.completed > 250, `${raymarine.completed} fast packets`);
  const garmin = expectSame(framesOf(oldForm));
  assert.ok(garmin.completed > 40, `${garmin.completed} fast packets`);
});

Deno.test("the assembler agrees with the naive one when frames of a recording are lost, doubled and swapped", () => {
  const frames = framesOf(logForm);
  for (let seed = 0; seed < 20; seed++) {
    const random = new Random(seed);
    const harmed = frames.flatMap((frame) => {
      const at = { ...frame, monoMs: Math.floor(frame.monoMs / 50) * 50 };
      return random.chance(0.1) ? [] : random.chance(0.05) ? [at, at] : [at];
    });
    for (let i = 1; i < harmed.length; i++) {
      if (!random.chance(0.1)) continue;
      const [a, b] = [harmed[i - 1]!, harmed[i]!];
      harmed[i - 1] = { ...b, monoMs: a.monoMs };
      harmed[i] = { ...a, monoMs: b.monoMs };
    }
    const { completed } = expectSame(harmed);
    assert.ok(completed > 100, `${completed} fast packets with seed ${seed}`);
  }
});

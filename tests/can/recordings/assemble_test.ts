import assert from "node:assert/strict";
import { Assembler, assembleRecording, newDrops, type RecordedItem, splitFastPacket } from "../../../src/can/mod.ts";
import { formatHex, type Message } from "../../../src/frame/mod.ts";
import logForm from "../../data/candump_sample3.txt" with { type: "text" };
import { parseCandump } from "../../support/candump.ts";
import { needs } from "../../support/needs.ts";
import { readAll, sampleBytes } from "../../support/recordings.ts";

const READ = needs({ permissions: ["read"] });
const FAST_ID = 0x0df80510;
const SINGLE_ID = 0x09f11210;

async function* stream<T>(items: Iterable<T>): AsyncGenerator<T> {
  for (const item of items) yield await Promise.resolve(item);
}
const assemble = (items: Iterable<RecordedItem>, drops = newDrops()) =>
  Array.fromAsync(assembleRecording(stream(items), { drops }));
const frame = (
  timeMs: number,
  { id = SINGLE_ID, bus = 0, data = [1] }: { id?: number; bus?: number; data?: Iterable<number> } = {},
) => (
  { kind: "frame" as const, bus, id, timeUs: timeMs * 1000, data: Uint8Array.from(data) }
);
const shown = ({ bus, pgn, id, timeUs, monoMs, data, offset, length }: Message) =>
  `${bus} ${pgn} ${id} ${timeUs} ${monoMs} ${formatHex(data, { start: offset, length })}`;

Deno.test("a recording becomes the messages that its frames make on a live bus, at the recorded times", async () => {
  const expected: string[] = [];
  const assembler = new Assembler((message) => expected.push(shown(message)));
  const frames = parseCandump(logForm);
  for (const { timeUs = 0, id, data } of frames) {
    const monoMs = (timeUs - frames[0]!.timeUs!) / 1000;
    assembler.push({ id, timeUs, monoMs, data, offset: 0, length: data.length });
  }
  const { items } = await readAll(logForm);
  const drops = newDrops();
  const messages = await assemble(items, drops);
  assert.deepEqual(messages.map(shown), expected);
  assert.deepEqual(drops, assembler.drops);
  assert.equal(messages.length, 1874);
});

Deno.test("messages that were recorded whole stay as they are, between frames in their order", async () => {
  const whole = { ...frame(2, { id: FAST_ID, data: new Uint8Array(300).keys() }), kind: "message" as const };
  const messages = await assemble([frame(1), whole, frame(3)]);
  assert.deepEqual(messages.map(({ pgn, length, monoMs }) => [pgn, length, monoMs]), [
    [127250, 1, 0],
    [129029, 300, 1],
    [127250, 1, 2],
  ]);
  assert.deepEqual(messages[1]?.data, whole.data);
});

Deno.test("buses do not mix, and messages are kept apart from what comes later", async () => {
  // 223 bytes fill the buffer of the assembler.
  for (const length of [20, 223]) {
    const payloads = [0, 1, 2, 3].map((n) => Uint8Array.from({ length }, (_, i) => 100 * n + i));
    const parts = payloads.map((payload, n) => splitFastPacket(payload, n >> 1));
    const fragments = (n: number, i: number) =>
      [n, n + 1].map((n) => frame(i, { bus: n & 1, id: FAST_ID, data: parts[n]![i]! }));
    const messages = await assemble([0, 2].flatMap((n) => parts[n]!.flatMap((_, i) => fragments(n, i))));
    assert.deepEqual(messages.map(({ bus }) => bus), [0, 1, 0, 1]);
    assert.deepEqual(messages.map(({ data }) => data), payloads);
  }
});

Deno.test("a gap in the recording is a gap for timeouts, and what stays unfinished is counted", async () => {
  const [first, second, third] = splitFastPacket(Uint8Array.from({ length: 20 }, (_, i) => i), 3);
  const fragment = (timeMs: number, data?: Uint8Array) => frame(timeMs, { id: FAST_ID, data: data! });
  const drops = newDrops();
  const messages = await assemble([fragment(0, first), fragment(10, second), fragment(2000, third)], drops);
  assert.deepEqual([messages.length, drops.timeout], [0, 2]);
});

Deno.test("a frame that waited for more comes at the end of the recording", async () => {
  const plain = frame(5, { id: 0x1df21611, data: [0xa0, 0x08, 0x31, 0, 0x14, 0x52, 0x10, 0xf1] });
  const messages = await assemble([plain]);
  assert.deepEqual(messages.map(({ data, timeUs }) => [data, timeUs]), [[plain.data, 5000]]);
});

Deno.test("monotonic time stands while times are out of order and goes on when the clock was set", async () => {
  const timesMs = [1000, 1010, 990, 1005, 1020, 1020 - 3600_000, 1030 - 3600_000, 5000];
  const messages = await assemble(timesMs.map((time) => frame(time + 1e7)));
  assert.deepEqual(messages.map(({ timeUs }) => timeUs / 1000 - 1e7), timesMs);
  assert.deepEqual(messages.map(({ monoMs }) => monoMs), [0, 10, 10, 10, 20, 20, 30, 30 + 3600_000 + 3970]);
});

Deno.test("fragments in CSV become the message that they are", READ, async () => {
  const { items } = await readAll([sampleBytes("csv_plain_fragments.txt")]);
  const messages = await assemble(items);
  assert.deepEqual(messages.map(({ pgn, length }) => [pgn, length]), [[130817, 113]]);
  assert.match(new TextDecoder().decode(messages[0]!.data), /Temperature/);
});

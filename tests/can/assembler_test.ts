import assert from "node:assert/strict";
import { newDrops, splitFastPacket } from "../../src/can/mod.ts";
import { formatHex, parseCanId, pgnOfId } from "../../src/frame/mod.ts";
import { collector, fast, pushAll } from "../support/fragments.ts";
import { canFrame, START_US } from "../support/messages.ts";
import { Random } from "../support/random.ts";

/** All orders of `values`. */
function permutations<T>(values: T[]): T[][] {
  if (values.length <= 1) return [values];
  return values.flatMap((value, i) => permutations(values.toSpliced(i, 1)).map((rest) => [value, ...rest]));
}

Deno.test("a single frame passes through with its times, bytes and bus, whatever its length", () => {
  const { assembler, out } = collector({ bus: 2 });
  for (let length = 0; length <= 8; length++) {
    const data = Uint8Array.from({ length }, (_, i) => i);
    assembler.push(canFrame({ pgn: 127250, src: 7, prio: 2, data, monoMs: 5, timeUs: 77 }));
    assert.deepEqual(out.pop(), { pgn: 127250, id: 0x09f11207, bus: 2, timeUs: 77, data: formatHex(data) });
  }
  assert.deepEqual(assembler.drops, newDrops());
});

Deno.test("fragments make one message in any order", () => {
  const payload = new Random(1).bytes(31);
  const orders = permutations(fast(payload, { src: 9 }));
  assert.equal(orders.length, 120);
  for (const frames of orders) {
    const { assembler, out } = collector();
    pushAll(assembler, frames);
    assert.deepEqual(out.map(({ data }) => data), [formatHex(payload)]);
    assert.deepEqual(assembler.drops, newDrops());
    assert.equal(assembler.pending, 0);
  }
});

Deno.test("a message takes its identifier from the first fragment and its time from the one that completes it", () => {
  for (const order of [[0, 1, 2], [2, 0, 1], [1, 2, 0]]) {
    const payload = new Random(2).bytes(20);
    const parts = splitFastPacket(payload, 0).map((data, i) => ({ data, prio: i === 0 ? 3 : 6 }));
    const { assembler, out } = collector();
    order.forEach((part, i) => assembler.push(canFrame({ pgn: 129029, src: 4, ...parts[part]!, monoMs: i * 10 })));
    assert.equal(out.length, 1);
    assert.deepEqual(parseCanId(out[0]!.id), { prio: 3, pgn: 129029, src: 4, dst: 255 });
    assert.equal(out[0]!.timeUs, START_US + 20_000);
  }
});

Deno.test("a number that comes twice begins anew and the unfinished message is counted as replaced", () => {
  const frames = fast(new Random(3).bytes(20));
  const { assembler, out } = collector();
  pushAll(assembler, [frames[0]!, frames[1]!, frames[0]!]);
  assert.deepEqual({ ...assembler.drops }, { ...newDrops(), replaced: 1 });
  pushAll(assembler, [frames[1]!, frames[2]!]);
  assert.equal(out.length, 1);
  assert.equal(assembler.pending, 0);
});

Deno.test("what is left of a message whose middle was lost never gets into the next one with the same counter", () => {
  const [first, next] = [new Uint8Array(20).fill(1), new Uint8Array(20).fill(2)];
  const { assembler, out } = collector();
  pushAll(assembler, fast(first).toSpliced(1, 1));
  pushAll(assembler, fast(next, { monoMs: 100 }));
  assert.deepEqual(out.map(({ data }) => data), [formatHex(next)]);
  assert.equal(assembler.drops.replaced, 1);
});

Deno.test("interleaved sources, PGNs and sequence counters are kept apart", () => {
  const random = new Random(4);
  const streams = [{ src: 1 }, { src: 2 }, { src: 253 }].flatMap((each) =>
    [{ pgn: 129029 }, { pgn: 129540 }].flatMap((more) => [0, 1, 7].map((sequence) => ({ ...each, ...more, sequence })))
  ).map((init) => ({ init, payload: random.bytes(random.between(1, 223)) }));
  const queues = streams.map(({ init, payload }) => fast(payload, init));
  const { assembler, out } = collector();
  for (let open = queues; open.length > 0; open = open.filter((queue) => queue.length > 0)) {
    assembler.push(random.pick(open).shift()!);
  }
  const expected = streams.map(({ init, payload }) => `${init.pgn} ${init.src} ${formatHex(payload)}`);
  assert.deepEqual(out.map(({ pgn, id, data }) => `${pgn} ${id & 0xff} ${data}`).sort(), expected.sort());
  assert.deepEqual(assembler.drops, newDrops());
});

Deno.test("messages of one source to two destinations with the same counter are kept apart", () => {
  const [one, two] = [new Uint8Array(15).fill(1), new Uint8Array(15).fill(2)];
  const [a, b] = [fast(one, { pgn: 126208, src: 5, dst: 10 }), fast(two, { pgn: 126208, src: 5, dst: 11 })];
  const { assembler, out } = collector();
  pushAll(assembler, [a[0]!, b[0]!, a[1]!, b[1]!, a[2]!, b[2]!]);
  assert.deepEqual(out.map(({ pgn, id, data }) => [pgn, parseCanId(id).dst, data]), [
    [126208, 10, formatHex(one)],
    [126208, 11, formatHex(two)],
  ]);
  assert.deepEqual(assembler.drops, newDrops());
});

Deno.test("a fragment that waited more than 750 ms is dropped and its message counted as timed out", () => {
  const frames = fast(new Random(5).bytes(13));
  const { assembler, out } = collector();
  assembler.push(frames[0]!);
  assembler.expire(750);
  assert.equal(assembler.pending, 1);
  assembler.expire(751);
  assert.equal(assembler.pending, 0);
  assert.deepEqual({ ...assembler.drops }, { ...newDrops(), timeout: 1 });
  assembler.push({ ...frames[1]!, monoMs: 800 });
  assert.equal(out.length, 0);
  assert.equal(assembler.pending, 1);
});

Deno.test("each fragment gives its message another 750 ms", () => {
  const frames = fast(new Random(6).bytes(31));
  const { assembler, out } = collector();
  frames.forEach((frame, i) => assembler.push({ ...frame, monoMs: i * 700 }));
  assert.equal(out.length, 1);
  assert.equal(assembler.drops.timeout, 0);
});

Deno.test("any frame of the bus makes stale messages go", () => {
  const { assembler } = collector();
  assembler.push(fast(new Random(7).bytes(13))[0]!);
  assembler.push(canFrame({ pgn: 127250, monoMs: 900 }));
  assert.equal(assembler.drops.timeout, 1);
  assert.equal(assembler.pending, 0);
});

Deno.test("a first fragment with length 0 or over 223 is malformed and begins nothing", () => {
  for (let length = 0; length <= 255; length++) {
    const { assembler, out } = collector();
    assembler.push(canFrame({ pgn: 129029, data: [0x20, length, 1, 2, 3, 4, 5, 6] }));
    const possible = length >= 1 && length <= 223;
    assert.equal(assembler.drops.malformed, possible ? 0 : 1, `length ${length}`);
    assert.equal(assembler.pending, possible && length > 6 ? 1 : 0, `length ${length}`);
    assert.equal(out.length, possible && length <= 6 ? 1 : 0, `length ${length}`);
  }
});

Deno.test("a frame too short to be a fragment is malformed", () => {
  const { assembler, out } = collector();
  for (const data of [[], [0x20], [0x21]]) assembler.push(canFrame({ pgn: 129029, data }));
  assert.deepEqual({ ...assembler.drops }, { ...newDrops(), malformed: 3 });
  assert.equal(out.length + assembler.pending, 0);
});

Deno.test("a fragment with fewer data bytes than it should have is filled up with 0xFF", () => {
  const { assembler, out } = collector();
  assembler.push(canFrame({ pgn: 129029, data: [0x00, 12, 1, 2] }));
  assembler.push(canFrame({ pgn: 129029, data: [0x01, 7, 8] }));
  assert.deepEqual(out.map(({ data }) => data), ["0102ffffffff0708ffffffff"]);
});

Deno.test("a reused buffer shows nothing of the message that had it before", () => {
  const { assembler, out } = collector();
  pushAll(assembler, fast(new Uint8Array(223).fill(0xaa)));
  assembler.push(canFrame({ pgn: 129029, data: [0x00, 12, 1] }));
  assembler.push(canFrame({ pgn: 129029, data: [0x01, 2] }));
  assert.equal(out[1]!.data, "01ffffffffff02ffffffffff");
});

Deno.test("a fragment with a number beyond the end is counted as unexpected and changes nothing", () => {
  const payload = new Random(8).bytes(13);
  const frames = fast(payload, { sequence: 3 });
  const { assembler, out } = collector();
  pushAll(assembler, [frames[0]!, canFrame({ pgn: 129029, data: [0x62, 9, 9, 9, 9, 9, 9, 9] }), frames[1]!]);
  assert.deepEqual(out.map(({ data }) => data), [formatHex(payload)]);
  assert.deepEqual({ ...assembler.drops }, { ...newDrops(), unexpected: 1 });
});

Deno.test("fragments that turn out to lie beyond the end when the first one comes are counted one by one", () => {
  const payload = new Random(9).bytes(13);
  const frames = fast(payload);
  const { assembler, out } = collector();
  for (const number of [31, 5, 2]) assembler.push(canFrame({ pgn: 129029, data: [number, 9, 9, 9, 9, 9, 9, 9] }));
  pushAll(assembler, frames);
  assert.deepEqual(out.map(({ data }) => data), [formatHex(payload)]);
  assert.deepEqual({ ...assembler.drops }, { ...newDrops(), unexpected: 3 });
});

Deno.test("when too many messages are unfinished the oldest makes room and is counted", () => {
  const { assembler, out } = collector({ maxAssemblies: 3 });
  const begun = [1, 2, 3, 4].map((src) => fast(new Uint8Array(10).fill(src), { src }));
  for (const frames of begun) assembler.push(frames[0]!);
  assert.equal(assembler.pending, 3);
  assert.deepEqual({ ...assembler.drops }, { ...newDrops(), overflow: 1 });
  for (const frames of begun.slice(1)) assembler.push(frames[1]!);
  assert.deepEqual(out.map(({ id }) => id & 0xff), [2, 3, 4]);
  assert.equal(assembler.pending, 0);
});

Deno.test("RV-C PGNs inside the fast range pass as single frames even when they look like fragments", () => {
  const { assembler, out } = collector();
  for (const pgn of [130723, 130762, 130969, 131015]) {
    assembler.push(canFrame({ pgn, data: [0, 20, 3, 4, 5, 6, 7, 8] }));
  }
  assert.deepEqual(out.map(({ pgn }) => pgn), [130723, 130762, 130969, 131015]);
  assert.equal(assembler.pending, 0);
});

Deno.test("the PGN of a message is always the one in its identifier", () => {
  const random = new Random(12);
  const { assembler, out } = collector();
  for (let i = 0; i < 20_000; i++) {
    const data = random.bytes(8);
    if (random.chance(0.5)) data[1] = random.between(1, 6);
    if (random.chance(0.5)) data[0] = random.int(8) << 5;
    assembler.push({ ...canFrame({ data }), id: random.int(2 ** 29) });
  }
  assert.ok(out.length > 10_000);
  for (const { pgn, id } of out) assert.equal(pgn, pgnOfId(id));
});

import assert from "node:assert/strict";
import { newDrops } from "../../src/can/mod.ts";
import { formatHex, parseCanId, pgnOfId } from "../../src/frame/mod.ts";
import { bam, collector, control, packets, pushAll, rts, type TransportInit } from "../support/fragments.ts";
import { canFrame, START_US } from "../support/messages.ts";
import { Random } from "../support/random.ts";

const random = new Random(60416);
const LENGTHS = [1, 7, 8, 9, 14, 15, 223, 224, 1000, 1784, 1785];

Deno.test("a broadcast session becomes one message, up to 1785 bytes", () => {
  for (const length of LENGTHS) {
    const init: TransportInit = { inner: 126998, payload: random.bytes(length), src: 7, prio: 6 };
    const { assembler, out } = collector({ bus: 1 });
    pushAll(assembler, [bam(init), ...packets(init)]);
    assert.equal(out.length, 1, `${length} bytes`);
    const { data, id, pgn, bus } = out[0]!;
    assert.deepEqual([data, pgn, bus], [formatHex(init.payload), 126998, 1]);
    assert.deepEqual(parseCanId(id), { prio: 6, pgn: 126998, src: 7, dst: 255 });
    assert.equal(assembler.pending, 0);
    assert.deepEqual(assembler.drops, newDrops());
  }
});

Deno.test("an addressed session becomes one message to its destination, up to 1785 bytes", () => {
  for (const length of LENGTHS) {
    const init: TransportInit = { inner: 126208, payload: random.bytes(length), src: 7, dst: 20 };
    const { assembler, out } = collector();
    const back = { src: 20, dst: 7, inner: 126208 };
    pushAll(assembler, [rts(init), control("cts", back), ...packets(init), control("end", back)]);
    assert.deepEqual(out.map(({ data }) => data), [formatHex(init.payload)]);
    assert.deepEqual(parseCanId(out[0]!.id), { prio: 7, pgn: 126208, src: 7, dst: 20 });
    assert.deepEqual(assembler.drops, newDrops());
  }
});

Deno.test("a message of a session has the time of its last packet", () => {
  const init: TransportInit = { payload: random.bytes(10) };
  const { assembler, out } = collector();
  const [first, last] = packets(init);
  pushAll(assembler, [bam(init), { ...first!, timeUs: START_US + 5 }, { ...last!, timeUs: START_US + 9 }]);
  assert.equal(out[0]!.timeUs, START_US + 9);
});

Deno.test("interleaved sessions of several sources and destinations are kept apart", () => {
  const inits: TransportInit[] = [
    { src: 1, dst: 255, payload: random.bytes(300) },
    { src: 2, dst: 255, payload: random.bytes(90) },
    { src: 1, dst: 2, payload: random.bytes(200) },
    { src: 2, dst: 1, payload: random.bytes(200) },
    { src: 1, dst: 3, payload: random.bytes(77) },
  ];
  const queues = inits.map((init) => [init.dst === 255 ? bam(init) : rts(init), ...packets(init)]);
  const { assembler, out } = collector();
  for (let open = queues; open.length > 0; open = open.filter((queue) => queue.length > 0)) {
    assembler.push(random.pick(open).shift()!);
  }
  assert.deepEqual(out.map(({ data }) => data).sort(), inits.map(({ payload }) => formatHex(payload)).sort());
  assert.deepEqual(assembler.drops, newDrops());
});

Deno.test("sessions on one bus know nothing of fast packets with the same addresses", () => {
  const init: TransportInit = { src: 1, payload: random.bytes(20) };
  const { assembler, out } = collector();
  const [a, b, c] = packets(init);
  pushAll(assembler, [bam(init), a!, canFrame({ pgn: 129029, src: 1, data: [0, 7, 1, 2, 3, 4, 5, 6] }), b!, c!]);
  assert.equal(out.length, 1);
  assert.equal(assembler.pending, 1);
});

Deno.test("an abort by either side ends the session and is counted", () => {
  for (const [src, dst] of [[7, 20], [20, 7]] as const) {
    const init: TransportInit = { src: 7, dst: 20, payload: random.bytes(30) };
    const { assembler, out } = collector();
    const [first, ...rest] = packets(init);
    pushAll(assembler, [rts(init), first!, control("abort", { src, dst })]);
    assert.equal(assembler.pending, 0);
    assert.deepEqual({ ...assembler.drops }, { ...newDrops(), tp_aborted: 1 });
    pushAll(assembler, rest);
    assert.equal(out.length, 0);
    assert.equal(assembler.drops.tp_unexpected, rest.length);
  }
});

Deno.test("an abort ends the session of its PGN and not the one that runs the other way", () => {
  const there: TransportInit = { src: 7, dst: 20, inner: 126208, payload: random.bytes(30) };
  const back: TransportInit = { src: 20, dst: 7, inner: 126998, payload: random.bytes(30) };
  const { assembler, out } = collector();
  pushAll(assembler, [rts(there), rts(back), control("abort", { src: 20, dst: 7, inner: 126208 })]);
  assert.equal(assembler.pending, 1);
  pushAll(assembler, packets(back));
  assert.deepEqual(out.map(({ pgn }) => pgn), [126998]);
  assert.deepEqual({ ...assembler.drops }, { ...newDrops(), tp_aborted: 1 });
});

Deno.test("a session that is announced again is counted as aborted and begins anew", () => {
  const init: TransportInit = { payload: random.bytes(30) };
  const next: TransportInit = { payload: random.bytes(20) };
  const { assembler, out } = collector();
  pushAll(assembler, [bam(init), packets(init)[0]!, bam(next), ...packets(next)]);
  assert.deepEqual(out.map(({ data }) => data), [formatHex(next.payload)]);
  assert.deepEqual({ ...assembler.drops }, { ...newDrops(), tp_aborted: 1 });
});

Deno.test("a broadcast waits 750 ms for its next packet, an addressed session 1250 ms", () => {
  for (const [announce, dst, waitMs] of [[bam, 255, 750], [rts, 20, 1250]] as const) {
    const init: TransportInit = { dst, payload: random.bytes(30) };
    const { assembler } = collector();
    assembler.push(announce(init));
    assembler.push({ ...packets(init)[0]!, monoMs: 100 });
    assembler.expire(100 + waitMs);
    assert.equal(assembler.pending, 1);
    assembler.expire(101 + waitMs);
    assert.equal(assembler.pending, 0);
    assert.deepEqual({ ...assembler.drops }, { ...newDrops(), tp_timeout: 1 });
  }
});

Deno.test("a receiver that holds the sender with CTS keeps the session alive", () => {
  const init: TransportInit = { src: 7, dst: 20, payload: random.bytes(14) };
  const { assembler, out } = collector();
  const [first, last] = packets(init);
  pushAll(assembler, [rts(init), first!]);
  for (let monoMs = 1000; monoMs <= 5000; monoMs += 1000) assembler.push(control("cts", { src: 20, dst: 7, monoMs }));
  assembler.push({ ...last!, monoMs: 6000 });
  assert.equal(out.length, 1);
  assert.deepEqual(assembler.drops, newDrops());
});

Deno.test("packets that the receiver asks for again are taken as they come by", () => {
  const init: TransportInit = { src: 7, dst: 20, payload: random.bytes(35) };
  const { assembler, out } = collector();
  const [a, b, c, d, e] = packets(init);
  const cts = control("cts", { src: 20, dst: 7 });
  pushAll(assembler, [rts(init), a!, b!, c!, cts, b!, c!, d!, e!]);
  pushAll(assembler, [rts(init), a!, b!, c!, cts, b!, cts, d!, e!]);
  assert.deepEqual(out.map(({ data }) => data), [formatHex(init.payload), formatHex(init.payload)]);
  assert.deepEqual(assembler.drops, newDrops());
});

Deno.test("a lost packet is never papered over: what follows is counted and the session times out", () => {
  const init: TransportInit = { payload: random.bytes(35) };
  const { assembler, out } = collector();
  pushAll(assembler, [bam(init), ...packets(init).toSpliced(2, 1)]);
  assembler.expire(5000);
  assert.equal(out.length, 0);
  assert.deepEqual({ ...assembler.drops }, { ...newDrops(), tp_unexpected: 2, tp_timeout: 1 });
});

Deno.test("data packets without an announcement, with number 0, beyond the end or empty are counted", () => {
  const init: TransportInit = { payload: random.bytes(7) };
  const { assembler, out } = collector();
  assembler.push(packets(init)[0]!);
  assembler.push(bam(init));
  const data = (...bytes: number[]) => canFrame({ pgn: 60160, data: bytes });
  pushAll(assembler, [data(0, 1, 2, 3, 4, 5, 6, 7), data(2, 1, 2, 3, 4, 5, 6, 7), data(1), data()]);
  assert.equal(out.length, 0);
  assert.deepEqual({ ...assembler.drops }, { ...newDrops(), tp_unexpected: 5 });
});

Deno.test("an announcement that cannot be true is malformed and begins nothing", () => {
  const { assembler } = collector();
  const announcements: [number, number, number[]][] = [
    [255, 32, [0, 0, 0]],
    [255, 32, [0xfa, 0x06, 255]],
    [255, 32, [9, 0, 1]],
    [255, 32, [9, 0, 3]],
    [20, 32, [9, 0, 2]],
    [255, 16, [9, 0, 2]],
    [255, 99, [9, 0, 2]],
  ];
  for (const [dst, kind, numbers] of announcements) {
    assembler.push(canFrame({ pgn: 60416, dst, data: [kind, ...numbers, 0xff, 0xd8, 0xfe, 0] }));
  }
  assembler.push(canFrame({ pgn: 60416, data: [32, 9, 0, 2, 0xff, 0xd8, 0xfe] }));
  assert.equal(assembler.pending, 0);
  assert.deepEqual({ ...assembler.drops }, { ...newDrops(), malformed: announcements.length + 1 });
});

Deno.test("when too many sessions are open the oldest makes room and is counted", () => {
  const { assembler, out } = collector({ maxAssemblies: 2 });
  const inits = [1, 2, 3].map((src): TransportInit => ({ src, payload: random.bytes(9) }));
  pushAll(assembler, inits.map(bam));
  assert.equal(assembler.pending, 2);
  assert.equal(assembler.drops.overflow, 1);
  pushAll(assembler, inits.flatMap(packets));
  assert.deepEqual(out.map(({ id }) => id & 0xff), [2, 3]);
});

Deno.test("an announced PGN that holds an address where none belongs agrees with the message's identifier", () => {
  const init: TransportInit = { inner: 126720 + 5, src: 7, dst: 20, payload: random.bytes(9) };
  const { assembler, out } = collector();
  pushAll(assembler, [rts(init), ...packets(init)]);
  assert.equal(out[0]!.pgn, pgnOfId(out[0]!.id));
  assert.deepEqual(parseCanId(out[0]!.id), { prio: 7, pgn: 126720, src: 7, dst: 20 });
});

Deno.test("a last packet with fewer bytes than announced is filled up with 0xFF", () => {
  const init: TransportInit = { payload: Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8, 9) };
  const { assembler, out } = collector();
  pushAll(assembler, [bam(init), packets(init)[0]!, canFrame({ pgn: 60160, data: [2, 8] })]);
  assert.equal(out[0]!.data, "0102030405060708ff");
});

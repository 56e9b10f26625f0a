import assert from "node:assert/strict";
import { newDrops } from "../../src/can/mod.ts";
import { formatHex } from "../../src/frame/mod.ts";
import { collector, fast, pushAll } from "../support/fragments.ts";
import { canFrame, type FrameInit, START_US } from "../support/messages.ts";
import { Random } from "../support/random.ts";

/** Travels both ways on real boats. */
const PGN = 127510;
/** Sent by a WS500 regulator; looks like the first fragment of 8 bytes with counter 5. */
const WS500 = "a00831000145210f";
/** Bytes of canboat's 127510. */
const PAYLOAD = new Random(10).bytes(13);

function plain(hex: string, init: FrameInit = {}) {
  return canFrame({ pgn: PGN, ...init, data: Uint8Array.from(hex.match(/../g) ?? [], (byte) => parseInt(byte, 16)) });
}

function packet(init: FrameInit & { sequence?: number } = {}) {
  return fast(PAYLOAD, { pgn: PGN, ...init });
}

Deno.test("a WS500's plain frames all come out, the first when the second shows what it was, later ones at once", () => {
  const { assembler, out } = collector();
  const counts = [0, 1000, 2000, 3000].map((monoMs) => {
    assembler.push(plain(WS500, { monoMs, src: 3 }));
    return out.length;
  });
  assert.deepEqual(counts, [0, 2, 3, 4]);
  assert.deepEqual(out.map(({ data, timeUs, pgn, id }) => [data, (timeUs - START_US) / 1000, pgn, id & 0xff]), [
    [WS500, 0, PGN, 3],
    [WS500, 1000, PGN, 3],
    [WS500, 2000, PGN, 3],
    [WS500, 3000, PGN, 3],
  ]);
  assert.deepEqual(assembler.drops, newDrops());
  assert.equal(assembler.pending, 0);
});

Deno.test("a held plain frame comes out when it has waited long enough, with its own time and identifier", () => {
  const { assembler, out } = collector({ bus: 1 });
  const frame = plain(WS500, { monoMs: 100, src: 9, prio: 6 });
  assembler.push(frame);
  assembler.expire(90);
  assembler.expire(850);
  assert.deepEqual([out.length, assembler.pending], [0, 1]);
  assembler.expire(851);
  assert.deepEqual(out, [{ pgn: PGN, id: frame.id, bus: 1, timeUs: START_US + 100_000, data: WS500 }]);
  assembler.push(plain(WS500, { monoMs: 1100, src: 9 }));
  assert.equal(out.length, 2);
  assert.deepEqual(assembler.drops, newDrops());
});

Deno.test("plain frames that differ in the byte that looks like a counter show one another to be plain", () => {
  const { assembler, out } = collector();
  const frames = ["a00831000145210f", "200831000145210f", "400931000145210f"];
  frames.forEach((hex, i) => assembler.push(plain(hex, { monoMs: i * 100 })));
  assert.deepEqual(out.map(({ data }) => data), frames);
  assert.deepEqual(assembler.drops, newDrops());
});

Deno.test("a frame that cannot begin a fast packet passes at once, and what was held before it goes first", () => {
  const impossible = [
    "0001ff10ffffffff",
    "0006ff10ffffffff",
    "00e0010203040506",
    "00ff010203040506",
    "a008310001",
    "20",
  ];
  for (const hex of impossible) {
    const { assembler, out } = collector();
    assembler.push(plain(hex));
    assert.deepEqual(out.map(({ data }) => data), [hex]);
    const other = collector();
    pushAll(other.assembler, [plain(WS500), plain(hex), plain(WS500)]);
    assert.deepEqual(other.out.map(({ data }) => data), [WS500, hex, WS500]);
    assert.deepEqual(other.assembler.drops, newDrops());
  }
});

Deno.test("a frame with another number passes at once, as nothing was begun that it could continue", () => {
  const { assembler, out } = collector();
  for (const hex of ["010831000145210f", "a10831000145210f", "1f0831000145210f"]) assembler.push(plain(hex));
  assert.equal(out.length, 3);
  pushAll(assembler, [plain(WS500), plain("a20831000145210f"), plain("a10831000145210f", { src: 77 })]);
  assert.equal(out.length, 5);
  assert.equal(assembler.pending, 1);
});

Deno.test("fast packets come out whole from the first one on, in any order once the source is known", () => {
  const { assembler, out } = collector();
  for (let i = 0; i < 20; i++) {
    const frames = packet({ sequence: i % 8, monoMs: i * 100 });
    pushAll(assembler, i > 0 && i % 3 === 0 ? frames.toReversed() : frames);
  }
  assert.deepEqual(out.map(({ data }) => data), Array.from({ length: 20 }, () => formatHex(PAYLOAD)));
  assert.deepEqual(assembler.drops, newDrops());
});

Deno.test("a longer fast packet comes out whole whatever the order after its first two fragments", () => {
  const payload = new Random(2).bytes(30);
  const frames = fast(payload, { pgn: PGN, sequence: 4 });
  const { assembler, out } = collector();
  pushAll(assembler, [0, 1, 4, 2, 3].map((i) => frames[i]!));
  assert.deepEqual(out.map(({ data }) => data), [formatHex(payload)]);
});

Deno.test("a source known for fast packets loses a message that lost a fragment, and nothing of it comes out", () => {
  for (const lost of [0, 1]) {
    const { assembler, out } = collector();
    pushAll(assembler, packet({ sequence: 1 }));
    pushAll(assembler, packet({ sequence: 2, monoMs: 1000 }).toSpliced(lost, 1));
    pushAll(assembler, packet({ sequence: 3, monoMs: 2000 }));
    pushAll(assembler, packet({ sequence: 4, monoMs: 3000 }));
    assert.deepEqual(out.map(({ data }) => data), Array.from({ length: 3 }, () => formatHex(PAYLOAD)));
    assert.deepEqual({ ...assembler.drops }, { ...newDrops(), timeout: 1 });
  }
});

Deno.test("a source that changes from fast packets to plain frames loses one frame, which is counted", () => {
  const { assembler, out } = collector();
  pushAll(assembler, packet());
  for (let i = 1; i <= 5; i++) assembler.push(plain(WS500, { monoMs: i * 1000 }));
  assembler.expire(10_000);
  assert.deepEqual(out.map(({ data }) => data), [formatHex(PAYLOAD), WS500, WS500, WS500, WS500]);
  assert.deepEqual({ ...assembler.drops }, { ...newDrops(), timeout: 1 });
});

Deno.test("a source that changes from fast packets to plain frames with a number loses one frame, too", () => {
  const { assembler, out } = collector();
  pushAll(assembler, packet());
  for (let i = 1; i <= 5; i++) assembler.push(plain("010831000145210f", { monoMs: i * 100 }));
  assembler.expire(10_000);
  assert.equal(out.length, 5);
  assert.deepEqual({ ...assembler.drops }, { ...newDrops(), timeout: 1 });
});

Deno.test("a source known for fast packets that has changed loses one frame also when many were held at once", () => {
  const { assembler, out } = collector();
  pushAll(assembler, packet());
  const frames = ["a00831000145210f", "200831000145210f", "400831000145210f", "600831000145210f"];
  frames.forEach((hex, i) => assembler.push(plain(hex, { monoMs: 100 + i })));
  assembler.expire(1000);
  assert.deepEqual(out.slice(1).map(({ data }) => data), frames.slice(1));
  assert.deepEqual({ ...assembler.drops }, { ...newDrops(), timeout: 1 });
});

Deno.test("a source that changes from plain frames to fast packets loses the form of one message", () => {
  const { assembler, out } = collector();
  for (let i = 0; i < 3; i++) assembler.push(plain(WS500, { monoMs: i * 1000 }));
  const [head, tail] = packet({ sequence: 2, monoMs: 3000 });
  pushAll(assembler, [head!, { ...tail!, monoMs: 3020 }]);
  pushAll(assembler, packet({ sequence: 3, monoMs: 4000 }));
  pushAll(assembler, packet({ sequence: 4, monoMs: 5000 }));
  const { data, offset, length } = head!;
  const passed = formatHex(data, { start: offset, length });
  const whole = formatHex(PAYLOAD);
  assert.deepEqual(out.map(({ data }) => data), [WS500, WS500, WS500, passed, whole, whole]);
  assert.deepEqual({ ...assembler.drops }, { ...newDrops(), timeout: 1 });
});

Deno.test("a plain source stays plain when the next number comes more than 20 ms later", () => {
  const { assembler, out } = collector();
  for (let i = 0; i < 3; i++) assembler.push(plain(WS500, { monoMs: i * 1000 }));
  for (let i = 3; i < 10; i++) {
    assembler.push(plain(WS500, { monoMs: i * 1000 }));
    assembler.push(plain("a10831000145210f", { monoMs: i * 1000 + 21 }));
  }
  assert.equal(out.length, 3 + 14);
  assert.deepEqual(assembler.drops, newDrops());
});

Deno.test("each source has its own habit", () => {
  const { assembler, out } = collector();
  for (let i = 0; i < 5; i++) {
    const [head, tail] = packet({ src: 1, sequence: i, monoMs: i * 1000 });
    pushAll(assembler, [head!, plain(WS500, { src: 2, monoMs: i * 1000 }), tail!]);
  }
  const of = (source: number) => out.filter(({ id }) => (id & 0xff) === source).map(({ data }) => data);
  assert.deepEqual(of(1), Array.from({ length: 5 }, () => formatHex(PAYLOAD)));
  assert.deepEqual(of(2), Array.from({ length: 5 }, () => WS500));
  assert.deepEqual(assembler.drops, newDrops());
});

Deno.test("a held frame that must make room comes out and is not counted as dropped", () => {
  const { assembler, out } = collector({ maxAssemblies: 2 });
  for (const src of [1, 2, 3]) assembler.push(plain(WS500, { src }));
  assert.deepEqual(out.map(({ id, data }) => [id & 0xff, data]), [[1, WS500]]);
  assert.deepEqual(assembler.drops, newDrops());
});

Deno.test("whatever a source sends, each frame comes out, is in a whole message, is held or is in a drop", () => {
  for (let seed = 0; seed < 100; seed++) {
    const random = new Random(seed);
    const { assembler, out } = collector();
    let pushed = 0;
    let nowMs = 0;
    const push = (frames: ReturnType<typeof packet>) => {
      for (const frame of frames) assembler.push({ ...frame, monoMs: nowMs += random.int(3) });
      pushed += frames.length;
    };
    for (let i = 0; i < 200; i++) {
      nowMs += random.pick([5, 50, 500, 1000]);
      const packets = random.some(packet({ sequence: random.int(8) }), 0.9);
      push(random.pick([[plain(WS500)], [canFrame({ pgn: PGN, data: random.bytes(8) })], packets, packets]));
    }
    assembler.expire(nowMs + 5000);
    const { replaced, timeout, unexpected, ...others } = assembler.drops;
    const inMessages = out.reduce((sum, { data }) => sum + (data === formatHex(PAYLOAD) ? 2 : 1), 0);
    const unexplained = pushed - inMessages - unexpected;
    assert.ok(unexplained >= replaced + timeout, `${unexplained} frames, ${replaced + timeout} drops`);
    if (replaced + timeout === 0) assert.equal(unexplained, 0);
    assert.ok(Object.values(others).every((count) => count === 0));
    assert.equal(assembler.pending, 0);
  }
});

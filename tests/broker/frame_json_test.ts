import assert from "node:assert/strict";
import { type Decode, Decoder, FrameJson, Ring } from "../../src/broker/mod.ts";
import { formatHex, formatTimeUs, type Frame, newStoredFrame, parseCanId } from "../../src/frame/mod.ts";
import { message, START_US } from "../support/messages.ts";
import { Random } from "../support/random.ts";

Deno.test("the JSON of a frame has the contract's keys in the contract's order", () => {
  const ring = new Ring(16);
  ring.push(7, message({ pgn: 129029, src: 3, prio: 3, bus: 1, data: [0xde, 0xad], timeUs: START_US + 12_999 }));
  assert.equal(
    new FrameJson(ring, ["can0", "can1"]).of(7),
    `{"seq":7,"ts":"2026-01-02T03:04:05.012Z","prio":3,"pgn":129029,"src":3,"dst":255,"bus":"can1","data":"dead"}`,
  );
});

Deno.test("a server with one bus leaves the bus out", () => {
  const ring = new Ring(16);
  ring.push(1, message({ pgn: 59904, src: 3, dst: 0, prio: 6, data: [] }));
  assert.equal(
    new FrameJson(ring, ["can0"]).of(1),
    `{"seq":1,"ts":"2026-01-02T03:04:05.000Z","prio":6,"pgn":59904,"src":3,"dst":0,"data":""}`,
  );
});

Deno.test("the JSON of any frame is what JSON.parse reads back as its fields", () => {
  const random = new Random(41);
  const ring = new Ring(4096);
  const buses = ['ca"n\\0', "ö"];
  const json = new FrameJson(ring, buses);
  for (let seq = 1; seq <= 2000; seq++) {
    const data = random.bytes(random.pick([0, 8, 223, 1785]));
    const bus = random.int(2);
    const sent = { ...message({ bus, data, timeUs: START_US + random.int(1e9) }), id: random.int(2 ** 29) };
    ring.push(seq, sent);
    const { prio, pgn, src, dst } = parseCanId(sent.id);
    const ts = formatTimeUs(sent.timeUs);
    const frame: Frame = { seq, ts, prio, pgn, src, dst, bus: buses[bus]!, data: formatHex(data) };
    const text = json.of(seq)!;
    assert.equal(text, JSON.stringify(frame));
    assert.deepEqual(JSON.parse(text), frame);
  }
});

Deno.test("numbers beyond 32 bits are written in full", () => {
  const ring = new Ring(4);
  const seq = 2 ** 53 - 1;
  ring.push(seq, message());
  assert.ok(new FrameJson(ring, ["can0"]).of(seq)?.startsWith(`{"seq":9007199254740991,`));
});

Deno.test("the text of a frame is made once and shared by all who ask", () => {
  let reads = 0;
  class CountingRing extends Ring {
    override read(...args: Parameters<Ring["read"]>): boolean {
      reads++;
      return super.read(...args);
    }
  }
  const ring = new CountingRing(16);
  ring.push(1, message());
  const json = new FrameJson(ring, ["can0"]);
  assert.equal(json.of(1), json.of(1));
  assert.equal(reads, 1);
});

Deno.test("a frame that is not in the ring has no JSON", () => {
  const ring = new Ring(4);
  for (let seq = 1; seq <= 10; seq++) ring.push(seq, message());
  const json = new FrameJson(ring, ["can0"]);
  for (const seq of [0, -1, 1, 6, 11]) assert.equal(json.of(seq), undefined, `frame ${seq}`);
});

Deno.test("frames that share a place in the cache never show each other's text", () => {
  const ring = new Ring(32_768);
  const json = new FrameJson(ring, ["can0"]);
  for (let seq = 1; seq <= 20_000; seq++) ring.push(seq, message());
  for (const seq of [1, 8193, 1, 16_385, 8193]) assert.equal(JSON.parse(json.of(seq)!).seq, seq);
});

/** JSON of frames in a ring, with payloads decoded as told; `asked` has the PGN of every payload that was decoded. */
function jsonOf(ring: Ring, decode: Decode): { json: FrameJson; asked: number[] } {
  const asked: number[] = [];
  const decoder = new Decoder({
    decode: (pgn, payload) => {
      asked.push(pgn);
      return decode(pgn, payload);
    },
  });
  return { json: new FrameJson(ring, ["can0"], { decoder }), asked };
}

Deno.test("decoded is the last key, made of the frame's own bytes and no others", () => {
  const ring = new Ring(16);
  ring.push(1, message({ data: [9, 9, 9] }));
  ring.push(2, message({ pgn: 129029, data: [0xde, 0xad] }));
  ring.push(3, message({ data: [8, 8, 8] }));
  const { json } = jsonOf(ring, (pgn, payload) => ({ pgn, bytes: [...payload] }));
  const plain = json.of(2)!;
  assert.equal(json.decodedOf(2), plain.slice(0, -1) + `,"decoded":{"pgn":129029,"bytes":[222,173]}}`);
  assert.equal(json.of(2), plain, "the plain text stays plain");
});

Deno.test("a payload that nothing describes leaves the key out", () => {
  const ring = new Ring(16);
  ring.push(1, message());
  const { json, asked } = jsonOf(ring, () => undefined);
  assert.equal(json.decodedOf(1), json.of(1));
  assert.equal(json.decodedOf(1), json.of(1));
  assert.deepEqual(asked, [127250], "and is not tried again");
});

Deno.test("a frame is decoded once, on first demand, and never when nobody asks", () => {
  const ring = new Ring(16);
  ring.push(1, message({ pgn: 127245 }));
  ring.push(2, message({ pgn: 127250 }));
  const { json, asked } = jsonOf(ring, () => ({ a: 1 }));
  assert.ok(json.of(1) && json.of(2));
  assert.deepEqual(asked, []);
  for (let client = 0; client < 10; client++) assert.match(json.decodedOf(2)!, /"decoded":\{"a":1\}\}$/);
  assert.deepEqual(asked, [127250]);
});

Deno.test("a frame that is not in the ring has no decoded JSON, even when its plain text is still there", () => {
  const ring = new Ring(4);
  const { json, asked } = jsonOf(ring, () => ({ a: 1 }));
  ring.push(1, message());
  assert.ok(json.of(1));
  for (let seq = 2; seq <= 10; seq++) ring.push(seq, message());
  for (const seq of [0, 1, 6, 11]) assert.equal(json.decodedOf(seq), undefined, `frame ${seq}`);
  assert.deepEqual(asked, []);
});

Deno.test("decoded texts that share a place in the cache never show each other's fields", () => {
  const ring = new Ring(32_768);
  const { json } = jsonOf(ring, (_, payload) => ({ first: payload[0]! }));
  for (let seq = 1; seq <= 20_000; seq++) ring.push(seq, message({ data: [seq & 0xff] }));
  for (const seq of [1, 8193, 1, 16_385, 8193]) {
    const { seq: told, decoded } = JSON.parse(json.decodedOf(seq)!);
    assert.deepEqual([told, decoded], [seq, { first: seq & 0xff }]);
  }
});

Deno.test("a frame that is kept elsewhere has the same JSON as one of the ring, and the ring's stays what it is", () => {
  const ring = new Ring(16);
  const { json } = jsonOf(ring, (_, payload) => ({ first: payload[0]! }));
  const stored = newStoredFrame();
  ring.push(1, message({ data: [7, 8] }));
  assert.ok(ring.read(1, stored));
  assert.equal(json.ofStored(stored), json.of(1));
  assert.equal(json.ofStored(stored, { decode: true }), json.decodedOf(1));
  stored.timeUs++;
  json.ofStored({ ...stored, id: stored.id + 1 });
  assert.equal(json.ofStored(stored, { decode: true }), json.decodedOf(1));
});

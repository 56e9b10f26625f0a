import assert from "node:assert/strict";
import type { ClientFrame, FieldSpan } from "../../src/client/mod.ts";
import { splitFastPacket } from "../../src/can/mod.ts";
import { bytesOf, fieldsAt, isSplit, litBits, maskOf } from "../../web/views/bus/bits.ts";
import { busBits, canFrames, LoadMeter } from "../../web/views/bus/load.ts";
import { BusLog, KEPT_MESSAGES, MAX_ROWS, Rate } from "../../web/views/bus/log.ts";
import { fieldRows } from "../../web/views/bus/field_rows.ts";
import { layoutKey } from "../../web/views/bus/spans.ts";
import { recordedPayloads, vectorPayloads } from "../support/payloads.ts";
import { needs } from "../support/needs.ts";
import { decode, describePgn, spansOfPayload } from "../../src/pgn/mod.ts";

function frame(seq: number, given: Partial<ClientFrame> = {}): ClientFrame {
  return { seq, ts: "2026-01-02T03:04:05.000Z", prio: 2, pgn: 127250, src: 35, dst: 255, data: "00", ...given };
}

Deno.test("a rate is the mean of five whole seconds, and 0 after silence", () => {
  const rate = new Rate();
  for (let ms = 0; ms < 6000; ms += 100) rate.add(ms);
  assert.equal(rate.perSecond(6000), 10);
  assert.equal(rate.perSecond(8500), 6);
  assert.equal(rate.perSecond(60_000), 0);
  rate.add(60_100, 50);
  assert.equal(rate.perSecond(61_000), 10);
});

Deno.test("rates and load are right from the second second on, although their window is longer", () => {
  const [log, load] = [new BusLog(), new LoadMeter()];
  for (const part of [log, load]) part.begin(60_500);
  for (let ms = 60_500; ms < 70_000; ms += 100) {
    if (ms % 1000 === 0 && ms >= 62_000) {
      assert.equal(load.perSecond(ms), 10, `${ms} ms`);
      assert.deepEqual(load.pgns(ms), [{ pgn: 127250, perSecond: 10 }]);
      assert.equal(log.rows()[0]?.rate.perSecond(ms), 10, `${ms} ms`);
    }
    load.received(frame(ms), ms);
    log.add(frame(ms), ms);
  }
});

Deno.test("a message that comes every 10 s has no high rate when it comes first", () => {
  const log = new BusLog();
  log.begin(60_500);
  log.add(frame(1), 60_900);
  assert.deepEqual([61_000, 62_000, 66_000].map((ms) => log.rows()[0]?.rate.perSecond(ms)), [1, 1 / 1.5, 0]);
});

Deno.test("the log has one steady row for each PGN and source, with its newest message", () => {
  const log = new BusLog();
  log.add(frame(1, { pgn: 130306, src: 7 }), 0);
  log.add(frame(2), 0);
  const rows = log.rows();
  log.add(frame(3), 0);
  assert.equal(log.rows(), rows, "no other array without another row");
  log.add(frame(4, { bus: "can1" }), 0);
  assert.deepEqual(log.rows().map(({ frame }) => frame.seq), [3, 4, 1]);
});

Deno.test("the order of messages keeps the last, newest first", () => {
  const log = new BusLog();
  for (let seq = 1; seq <= KEPT_MESSAGES + 7; seq++) log.add(frame(seq), 0);
  const seqs = log.messages().map(({ seq }) => seq);
  assert.deepEqual(seqs, Array.from({ length: KEPT_MESSAGES }, (_, index) => KEPT_MESSAGES + 7 - index));
});

Deno.test("a paused log holds what it shows and counts what passes", () => {
  const log = new BusLog();
  log.add(frame(1), 0);
  log.pause();
  for (let seq = 2; seq <= 9; seq++) log.add(frame(seq, { src: seq % 2 === 0 ? 35 : 36 }), 0);
  assert.deepEqual([log.passed, log.rows().length, log.messages().length], [8, 1, 1]);
  assert.equal(log.rows()[0]?.frame.seq, 1);
  log.resume();
  log.add(frame(10), 0);
  assert.deepEqual([log.passed, log.rows()[0]?.frame.seq], [0, 10]);
});

Deno.test("another filter keeps what matches it, in order", () => {
  const log = new BusLog();
  for (let seq = 1; seq <= KEPT_MESSAGES + 10; seq++) log.add(frame(seq, { src: seq % 5 }), 0);
  log.retain(({ src }) => src === 3);
  assert.deepEqual(log.rows().map(({ frame }) => frame.src), [3]);
  const seqs = log.messages().map(({ seq }) => seq);
  assert.equal(seqs.length, KEPT_MESSAGES / 5);
  assert.deepEqual(seqs, seqs.toSorted((a, b) => b - a));
  log.add(frame(9999), 0);
  assert.equal(log.messages()[0]?.seq, 9999);
});

Deno.test("messages beyond the most rows are counted", () => {
  const log = new BusLog();
  for (let i = 0; i < MAX_ROWS + 3; i++) log.add(frame(i, { pgn: i }), 0);
  assert.deepEqual([log.rows().length, log.withoutRow], [MAX_ROWS, 3]);
});

Deno.test("messages are counted as the CAN frames that they are split into", () => {
  for (let bytes = 1; bytes <= 223; bytes++) {
    assert.equal(canFrames(bytes, "fast"), splitFastPacket(new Uint8Array(bytes), 0).length, `${bytes} bytes`);
  }
  assert.equal(canFrames(8, "single"), 1);
  assert.equal(canFrames(8, undefined), 1);
  assert.equal(canFrames(1785, "single"), 256);
  assert.equal(Math.round(busBits(8, "single")), 144);
  assert.equal(Math.round(busBits(3, "single")), 100);
});

Deno.test("the load of each bus is a part of 250 kbit/s", () => {
  const meter = new LoadMeter();
  meter.learn([{ pgn: 129029, description: "", framing: "fast", layouts: 1 }]);
  for (let ms = 0; ms < 5000; ms += 10) meter.received({ pgn: 127250, bus: "can0", data: "00".repeat(8) }, ms);
  for (let ms = 0; ms < 5000; ms += 1000) meter.received({ pgn: 129029, bus: "can1", data: "00".repeat(43) }, ms);
  assert.equal(meter.perSecond(5000), 101);
  assert.deepEqual(meter.pgns(5000), [{ pgn: 127250, perSecond: 100 }, { pgn: 129029, perSecond: 1 }]);
  const [busy, calm] = meter.loads(5000);
  assert.ok(Math.abs((busy?.load ?? 0) - 14_410 / 250_000) < 1e-6, String(busy?.load));
  assert.ok(Math.abs((calm?.load ?? 0) - 7 * 144.1 / 250_000) < 1e-6, String(calm?.load));
});

Deno.test("the bits of a field are those that it takes, from the lowest of byte 0 on", () => {
  const spans: FieldSpan[] = [
    { name: "sid", bit: 0, bits: 8 },
    { name: "flag", bit: 8, bits: 3 },
    { name: "wide", bit: 11, bits: 16 },
    { name: "list.0.a", bit: 32, bits: 8 },
    { name: "list.1.a", bit: 40, bits: 8 },
  ];
  const all = (name: string) => [0, 1, 2, 3, 4, 5].map((byte) => litBits(spans, { name, byte }));
  assert.deepEqual(all("sid"), [255, 0, 0, 0, 0, 0]);
  assert.deepEqual(all("flag"), [0, 0b111, 0, 0, 0, 0]);
  assert.deepEqual(all("wide"), [0, 0b11111000, 255, 0b111, 0, 0]);
  assert.deepEqual(all("list"), [0, 0, 0, 0, 255, 255]);
  assert.deepEqual(all("list.1"), [0, 0, 0, 0, 0, 255]);
  assert.deepEqual([...fieldsAt(spans, 1)], ["flag", "wide"]);
  assert.deepEqual([...fieldsAt(spans, 4)], ["list", "list.0", "list.0.a"]);
  assert.deepEqual([0, 1, 2, 3, 4].map((byte) => isSplit(spans, byte)), [false, true, false, true, false]);
  assert.equal(maskOf({ name: "", bit: 15, bits: 1 }, 1), 128);
  assert.deepEqual(bytesOf("00ff7f"), [0, 255, 127]);
});

Deno.test("the objects of a list are rows of their own, with units, and names as their spans begin", () => {
  const payload = Uint8Array.fromHex("01ff02051027204e10270000000ff206ffffffffffffffffffffffff");
  const decoded = decode(129540, payload) ?? {};
  const rows = fieldRows(decoded, { details: describePgn(129540), system: "nautical" });
  assert.deepEqual(rows.map(({ name }) => name), [
    "sid",
    "range_residual_mode",
    "sats_in_view",
    "satellites.0",
    "satellites.1",
  ]);
  assert.deepEqual(rows.slice(2, 4).map(({ label }) => label), ["sats in view", "satellites 1"]);
  assert.match(rows[3]?.text ?? "", /^prn 5, elevation 57\.3°, azimuth 114\.6°/);
  assert.equal(rows[1]?.text, "not available");
  const spans = spansOfPayload(129540, payload).map(({ name }) => name);
  for (const { name } of rows) assert.ok(spans.some((each) => each === name || each.startsWith(`${name}.`)), name);
});

Deno.test(
  "messages with the same key of their layout have their fields at the same places",
  needs({ permissions: ["read"] }),
  async () => {
    const known = new Map<string, string>();
    let again = 0;
    for (const { pgn, payload } of [...vectorPayloads(), ...await recordedPayloads()]) {
      const decoded = decode(pgn, payload);
      if (!decoded) continue;
      const key = layoutKey({ pgn, data: payload.toHex(), decoded }, describePgn(pgn));
      if (key === undefined) continue;
      const spans = JSON.stringify(spansOfPayload(pgn, payload));
      if (known.has(key)) again++;
      assert.equal(known.get(key) ?? spans, spans, key);
      known.set(key, spans);
    }
    assert.ok(known.size > 50 && again > 500, `${known.size} kinds, ${again} again`);
    assert.notEqual(layoutKey(frame(1, { data: "00".repeat(8), decoded: {} }), describePgn(127250)), undefined);
    assert.equal(
      layoutKey(frame(1, { pgn: 129540, data: "00".repeat(8), decoded: {} }), describePgn(129540)),
      undefined,
    );
  },
);

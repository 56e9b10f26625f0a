import assert from "node:assert/strict";
import { Decoder, Values } from "../../src/broker/mod.ts";
import { formatHex } from "../../src/frame/mod.ts";
import { message, START_US } from "../support/messages.ts";
import { Logger } from "../../src/base/mod.ts";

function texts(values: Values, bus: number, src: number): string[] {
  return values.of(bus, src).map(({ pgn, seq, data, length }) =>
    `${pgn} ${seq} ${formatHex(data, { start: 0, length })}`
  );
}

Deno.test("the newest frame of every device and PGN is kept, sorted by PGN", () => {
  const values = new Values({ buses: 1 });
  values.set(1, message({ src: 5, pgn: 129029, data: [1] }));
  values.set(2, message({ src: 5, pgn: 127250, data: [2], monoMs: 10 }));
  values.set(3, message({ src: 5, pgn: 129029, data: [3] }));
  values.set(4, message({ src: 6, pgn: 129029, data: [4] }));
  assert.deepEqual(texts(values, 0, 5), ["127250 2 02", "129029 3 03"]);
  assert.deepEqual(texts(values, 0, 6), ["129029 4 04"]);
  assert.equal(values.of(0, 5)[0]!.timeUs, START_US + 10_000);
  assert.equal(values.size, 3);
  assert.deepEqual(texts(values, 0, 7), []);
});

Deno.test("a value that gets shorter and longer again is never mixed with what was there before", () => {
  const values = new Values({ buses: 1 });
  for (const length of [4, 2, 0, 9, 1785, 3]) {
    values.set(length, message({ data: new Uint8Array(length).fill(length) }));
    const text = formatHex(new Uint8Array(length).fill(length));
    assert.deepEqual(texts(values, 0, 1), [`127250 ${length} ${text}`]);
  }
});

Deno.test("a value is a copy: the message's buffer may be reused", () => {
  const values = new Values({ buses: 1 });
  const reused = message({ data: [1, 2] });
  values.set(1, reused);
  reused.data.fill(0);
  assert.deepEqual(texts(values, 0, 1), ["127250 1 0102"]);
});

Deno.test("the same source on two buses has values of its own on each", () => {
  const values = new Values({ buses: 2 });
  values.set(1, message({ src: 5, bus: 0, data: [1] }));
  values.set(2, message({ src: 5, bus: 1, data: [2] }));
  assert.deepEqual([texts(values, 0, 5), texts(values, 1, 5)], [["127250 1 01"], ["127250 2 02"]]);
});

Deno.test("messages of the null address and of 255 are not kept", () => {
  const values = new Values({ buses: 1 });
  for (const src of [254, 255]) {
    values.set(1, message({ src }));
    assert.deepEqual(values.of(0, src), []);
  }
  assert.equal(values.size, 0);
});

Deno.test("a full store refuses new pairs, counts them, and goes on renewing the old ones", () => {
  const values = new Values({ buses: 1, maxValues: 2 });
  values.set(1, message({ src: 1 }));
  values.set(2, message({ src: 2 }));
  values.set(3, message({ src: 3 }));
  values.set(4, message({ src: 1, pgn: 129029 }));
  values.set(5, message({ src: 1, data: [5] }));
  assert.deepEqual([values.size, values.refused], [2, 2]);
  assert.deepEqual(texts(values, 0, 1), ["127250 5 05"]);
  assert.deepEqual(texts(values, 0, 3), []);
});

Deno.test("forgetting an address makes room for others and leaves its neighbours alone", () => {
  const values = new Values({ buses: 2, maxValues: 3 });
  values.set(1, message({ src: 1 }));
  values.set(2, message({ src: 1, pgn: 129029 }));
  values.set(3, message({ src: 1, bus: 1 }));
  values.forget(0, 1);
  values.forget(0, 1);
  values.forget(0, 99);
  assert.equal(values.size, 1);
  assert.deepEqual([texts(values, 0, 1).length, texts(values, 1, 1).length], [0, 1]);
  values.set(4, message({ src: 2 }));
  values.set(5, message({ src: 3 }));
  assert.deepEqual([values.size, values.refused], [3, 0]);
});

const PAYLOAD = Uint8Array.of(1, 2, 3);

Deno.test("a decoder gives fields as an object and as JSON", () => {
  const decoder = new Decoder({ decode: (pgn, payload) => ({ pgn, count: payload.length }) });
  assert.deepEqual(decoder.decode(7, PAYLOAD), { pgn: 7, count: 3 });
  assert.equal(decoder.json(7, PAYLOAD), `{"pgn":7,"count":3}`);
  assert.deepEqual(decoder.fault, { count: 0, message: "" });
});

Deno.test("what nothing describes is no fault", () => {
  const decoder = new Decoder({ decode: () => undefined });
  assert.equal(decoder.decode(7, PAYLOAD), undefined);
  assert.equal(decoder.json(7, PAYLOAD), undefined);
  assert.equal(decoder.fault.count, 0);
});

Deno.test("a fault of decoding is counted each time, logged the first time, and gives nothing", () => {
  const lines: string[] = [];
  const log = new Logger({ write: (line) => lines.push(line) });
  const decoder = new Decoder({
    decode: (pgn) => {
      throw new RangeError(`no table for ${pgn}`);
    },
    log,
  });
  assert.equal(decoder.decode(127250, PAYLOAD), undefined);
  assert.equal(decoder.json(130306, PAYLOAD), undefined);
  assert.deepEqual(decoder.fault, { count: 2, message: "PGN 130306: RangeError: no table for 130306" });
  assert.equal(lines.length, 1);
  assert.match(lines[0] ?? "", /ERROR payload decoder failed pgn=127250 error=.*no table/);
});

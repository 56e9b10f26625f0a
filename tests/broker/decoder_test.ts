import assert from "node:assert/strict";
import { Logger } from "../../src/base/mod.ts";
import { Decoder } from "../../src/broker/mod.ts";

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

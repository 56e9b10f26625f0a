import assert from "node:assert/strict";
import { decode, encode, EncodeError } from "../../src/pgn/mod.ts";

const LONGEST = 1785;
/** Far above what it takes, far below what it took when every value was held against all values before it. */
const MOST_MS = 80;

Deno.test("a parameter for a field that its neighbours decide ends what is known", () => {
  // A command to PGN 126208 itself: its field 1 is the function code, field 6 the list of parameters.
  const command = decode(126208, Uint8Array.fromHex("0100ed01ff020100060102"));
  assert.deepEqual(command?.params, [{ field: 1, name: "function_code", value: 0 }]);
  const params = [{ field: 1, value: 0 }, { field: 6, value: 1 }];
  assert.throws(
    () => encode(126208, { function_code: 1, commanded_pgn: 126208, params }),
    (error) => error instanceof EncodeError && error.message === "params[1].value: 1 cannot be told alone",
  );
});

Deno.test("the longest command to a PGN of a hundred layouts does not hold the event loop", () => {
  // Fields 2 without end: no layout ends with the payload, so that all of them are tried.
  const command = new Uint8Array(LONGEST).fill(2);
  command.set(Uint8Array.fromHex("0104ff01f8ff"));
  const times = Array.from({ length: 3 }, () => {
    const startMs = performance.now();
    assert.ok(Array.isArray(decode(126208, command)?.params));
    return performance.now() - startMs;
  });
  assert.ok(Math.min(...times) < MOST_MS, `${times} ms`);
});

import assert from "node:assert/strict";
import { decode, encode, EncodeError } from "../../src/pgn/mod.ts";

Deno.test("a parameter for a field that its neighbours decide ends what is known", () => {
  // A command to PGN 126208 itself: its field 1 is the function code, field 6 the list of parameters.
  const command = decode(126208, Uint8Array.fromHex("0100ed01ff020100060102"));
  assert.deepEqual(command?.params, [{ field: 1, name: "function_code", value: 0 }]);
  const params = [{ field: 1, value: 0 }, { field: 6, value: 1 }];
  assert.throws(
    () => encode(126208, { function_code: 1, commanded_pgn: 126208, params }),
    (error) => error instanceof EncodeError && error.message === "params[1].value: 1 cannot be sent alone",
  );
});

Deno.test("a command has as many parameters as it announces, and what stands behind them is none", () => {
  const command = (hex: string) => decode(126208, Uint8Array.fromHex(hex))?.params;
  const instance = { field: 1, name: "instance", value: 32 };
  const indicator = { field: 10, name: "indicator_9", value: 1 };
  assert.deepEqual(command("010df201f80201200a01"), [instance, indicator]);
  assert.deepEqual(command("010df201f80101200a01"), [instance]);
  assert.deepEqual(command("010df201f8ff01200a01"), [instance, indicator], "255: nobody has counted");
  assert.deepEqual(command("010df201f8020120ff"), [instance], "a cut parameter is none");
  assert.deepEqual(command("010df201f80201200eff02ff"), [instance, { field: 14, name: "indicator_13", value: 3 }]);
});

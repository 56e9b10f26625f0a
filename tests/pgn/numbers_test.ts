import assert from "node:assert/strict";
import { isoRequestPayload } from "../../src/pgn/mod.ts";

Deno.test("an ISO request carries the PGN in three bytes, lowest first", () => {
  assert.deepEqual([...isoRequestPayload(60928)], [0x00, 0xee, 0x00]);
  assert.deepEqual([...isoRequestPayload(126996)], [0x14, 0xf0, 0x01]);
  assert.deepEqual([...isoRequestPayload(0x3ffff)], [0xff, 0xff, 0x03]);
});

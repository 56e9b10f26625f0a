import assert from "node:assert/strict";
import { decode } from "../../src/pgn/mod.ts";
import { interpret } from "../../src/pgn/interpret.ts";
import { definitionsOf, knownPgns } from "../../src/pgn/model.ts";
import { needs, rounds } from "../support/needs.ts";
import { randomPayload, recordedPayloads, vectorPayloads } from "../support/payloads.ts";
import { Random } from "../support/random.ts";

const RANDOM_PAYLOADS = rounds(1_000_000, 30_000);
const LONGEST = 1785;

function assertSame(pgn: number, payload: Uint8Array): void {
  const compiled = JSON.stringify(decode(pgn, payload));
  const walked = JSON.stringify(interpret(pgn, payload));
  if (compiled !== walked) assert.equal(compiled, walked, `PGN ${pgn}: ${payload.toHex()}`);
}

Deno.test("the compiled decoders say what walking the definitions says: vectors", () => {
  for (const { pgn, payload } of vectorPayloads()) assertSame(pgn, payload);
});

Deno.test(
  "the compiled decoders say what walking the definitions says: recordings",
  needs({ permissions: ["read"] }),
  async () => {
    const payloads = await recordedPayloads();
    assert.ok(payloads.length > 2500, `${payloads.length} payloads`);
    for (const { pgn, payload } of payloads) assertSame(pgn, payload);
  },
);

Deno.test("the compiled decoders say what walking the definitions says: random payloads of every layout", () => {
  const random = new Random(3);
  const definitions = knownPgns().flatMap(definitionsOf);
  let decoded = 0;
  for (let count = 0; count < RANDOM_PAYLOADS; count++) {
    const definition = definitions[count % definitions.length]!;
    const payload = randomPayload(random, definition);
    assertSame(definition.pgn, payload);
    if (decode(definition.pgn, payload)) decoded++;
  }
  assert.ok(decoded > 0.9 * RANDOM_PAYLOADS, `only ${decoded} were of a known layout`);
});

Deno.test("random bytes of any length to any PGN neither throw nor read beyond the payload", () => {
  const random = new Random(4);
  const space = new Uint8Array(LONGEST + 512);
  for (const pgn of [...knownPgns(), 0, 126207, 131071, 262143]) {
    for (let round = 0; round < rounds(60, 30); round++) {
      const length = random.int(round % 2 === 0 ? 64 : LONGEST + 1);
      const payload = space.subarray(0, length);
      payload.set(random.bytes(length));
      const before = payload.slice();
      const alone = JSON.stringify(decode(pgn, payload.slice()));
      space.fill(random.int(256), length);
      assert.equal(JSON.stringify(decode(pgn, payload)), alone, `PGN ${pgn}: ${before.toHex()}`);
      assert.deepEqual(payload, before);
    }
  }
});

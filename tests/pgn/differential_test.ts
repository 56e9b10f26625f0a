import assert from "node:assert/strict";
import { decode } from "../../src/pgn/mod.ts";
import { interpret } from "../../src/pgn/interpret.ts";
import { type Definition, definitionsOf, knownPgns } from "../../src/pgn/model.ts";
import { needs, rounds } from "../support/needs.ts";
import { recordedPayloads, vectorPayloads } from "../support/payloads.ts";
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

/** Writes a raw value where a discriminator lies, as far as the payload goes. */
function put(payload: Uint8Array, bit: number, { bits, value }: { bits: number; value: number }): void {
  for (let index = 0; index < bits; index++) {
    const [at, mask] = [(bit + index) >>> 3, 1 << ((bit + index) & 7)];
    if (at >= payload.length) return;
    payload[at] = Math.floor(value / 2 ** index) % 2 === 1 ? payload[at]! | mask : payload[at]! & ~mask;
  }
}

/** Random bytes that are a payload of this layout: now and then too short, too long, or full of ones. */
function randomPayload(random: Random, { fixedBits, matches }: Definition): Uint8Array<ArrayBuffer> {
  const whole = Math.ceil(fixedBits / 8);
  const length = random.chance(0.6) ? whole : random.int(whole + 40);
  const payload = random.bytes(length);
  if (random.chance(0.2)) payload.fill(0xff, random.int(length + 1));
  for (const { bit, field } of matches) put(payload, bit, { bits: field.bits ?? 0, value: field.match ?? 0 });
  return payload;
}

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

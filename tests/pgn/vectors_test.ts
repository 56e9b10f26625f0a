import assert from "node:assert/strict";
import { decode } from "../../src/pgn/mod.ts";
import { definitionsOf } from "../../src/pgn/model.ts";
import { matchesPayload } from "../../src/pgn/interpret.ts";
import { differences } from "../support/agreement.ts";
import vectors from "../data/pgn_vectors.json" with { type: "json" };

interface Vector {
  pgn: number;
  hex: string;
  expected: Record<string, unknown> | null;
  origin: string;
}

const VECTORS: readonly Vector[] = vectors;

interface Exception {
  pgn: number;
  path: RegExp;
  reason: string;
}

/** Where what clients know is not what the payload says, and why. */
const EXCEPTIONS: readonly Exception[] = [
  {
    pgn: 126208,
    path: /^params$/,
    reason: "the commanded PGN is Furuno's 130818, whose layout canboat knows: its parameters are told",
  },
  {
    pgn: 127245,
    path: /^direction_order$/,
    reason: "three bits wide by canboat and 117 recorded frames, not two; differs for reserved bits of zero only",
  },
  {
    pgn: 127513,
    path: /^(nominal_voltage|chemistry|temperature_coeff|peukert_exponent|charge_eff_factor|nominal_capacity)$/,
    reason: "real messages have canboat's layout: 4-bit codes for voltage and chemistry, then a word and three bytes",
  },
  { pgn: 127751, path: /^dc_current$/, reason: "24 bits with a sign: batteries are discharged, too" },
  {
    pgn: 129038,
    path: /^sid$/,
    reason: "byte 26 holds spare and reserved bits (0xF8 in all recorded reports), the sequence id is byte 27",
  },
  {
    pgn: 129038,
    path: /^special_maneuver_indicator$/,
    reason: "two bits that these clients have no name for: decoded in addition, for Signal K",
  },
  {
    pgn: 130313,
    path: /^(actual|set)_humidity$/,
    reason: '0x7FFF is "not available" for senders that take the field as signed, not 131 %',
  },
];

Deno.test("every payload that clients know decodes into the fields that they know", () => {
  const wrong: string[] = [];
  const met = new Set<Exception>();
  for (const { pgn, hex, expected } of VECTORS) {
    const payload = Uint8Array.fromHex(hex);
    const actual = decode(pgn, payload);
    if (expected === null) {
      const ours = definitionsOf(pgn).find((each) => matchesPayload(each, payload));
      if (actual !== undefined && ours?.origin !== "canboat") wrong.push(`${pgn} ${hex}: ${JSON.stringify(actual)}`);
      continue;
    }
    for (const each of differences(expected, actual ?? null)) {
      const exception = EXCEPTIONS.find(({ pgn: one, path }) => one === pgn && path.test(each.path));
      if (exception) met.add(exception);
      else {
        wrong.push(`${pgn} ${hex} ${each.path}: ${JSON.stringify(each.expected)} ≠ ${JSON.stringify(each.actual)}`);
      }
    }
  }
  assert.equal(wrong.join("\n"), "");
  assert.deepEqual(EXCEPTIONS.filter((each) => !met.has(each)), [], "exceptions that no payload needs");
});

import assert from "node:assert/strict";
import { decode, type Decoded, encode, EncodeError, isoRequestPayload } from "../../src/pgn/mod.ts";
import { readRaw } from "../../src/pgn/field.ts";
import { matchesPayload } from "../../src/pgn/interpret.ts";
import { type Definition, definitionsOf, type Field, isGroup, widthOf } from "../../src/pgn/model.ts";
import { needs } from "../support/needs.ts";
import { type Payload, recordedPayloads, vectorPayloads } from "../support/payloads.ts";

/** Why a payload is refused, or bits of a field come back changed. */
type Reason =
  | "count of more sets than there are"
  | "bytes that are no UTF-8"
  | "reserved bits"
  | "another code for null"
  | "filling behind a text"
  | "64 bits in a double";

/** Precision of a double, in counts of a 63-bit number. */
const DOUBLE_STEP = 2 ** 11;

/** Why a field differs; undefined when nothing explains it. */
function reasonOf(field: Field, bit: number, [before, after]: [Uint8Array, Uint8Array]): Reason | undefined {
  if (field.name === undefined && field.match === undefined) return "reserved bits";
  if (field.type === "text") return "filling behind a text";
  const { bits = 0, signed } = field;
  const [one, other] = [
    readRaw({ payload: before, bit }, { bits, signed }),
    readRaw({ payload: after, bit }, {
      bits,
      signed,
    }),
  ];
  if (field.nulls.includes(one) && field.nulls.includes(other)) return "another code for null";
  if (bits > 53 && Math.abs(Number(one) - Number(other)) <= DOUBLE_STEP) return "64 bits in a double";
  return undefined;
}

function sameBits(bit: number, bits: number, [before, after]: [Uint8Array, Uint8Array]): boolean {
  for (let at = bit; at < bit + bits; at++) {
    if (((before[at >>> 3]! >>> (at & 7)) & 1) !== ((after[at >>> 3]! >>> (at & 7)) & 1)) return false;
  }
  return true;
}

/** Counts why the bytes of a payload changed; throws for a change that nothing explains. */
function explain(definition: Definition, payloads: [Uint8Array, Uint8Array], counts: Map<Reason, number>): void {
  let bit = 0;
  for (const item of definition.items) {
    const width = isGroup(item) ? undefined : widthOf(item);
    if (isGroup(item) || width === undefined) break;
    if (!sameBits(bit, width, payloads)) {
      const reason = reasonOf(item, bit, payloads);
      const [before, after] = payloads;
      assert.ok(reason, `${definition.pgn} ${item.name}: ${before.toHex()} → ${after.toHex()}`);
      counts.set(reason, (counts.get(reason) ?? 0) + 1);
    }
    bit += width;
  }
}

/** Why the encoder refuses what was decoded. */
function refusalOf(message: string): Reason | undefined {
  if (/is not the number of/.test(message)) return "count of more sets than there are";
  return message.includes("\ufffd") ? "bytes that are no UTF-8" : undefined;
}

/** Encodes what was decoded; what contradicts itself is refused, and counted. */
function encodeAgain({ pgn, id }: Definition, decoded: Decoded, counts: Map<Reason, number>): Uint8Array | undefined {
  try {
    return encode(pgn, decoded, { layout: id });
  } catch (error) {
    const reason = error instanceof EncodeError ? refusalOf(error.message) : undefined;
    if (reason === undefined) throw error;
    counts.set(reason, (counts.get(reason) ?? 0) + 1);
    return undefined;
  }
}

/** Whole payloads of complete definitions: how many come back bit for bit, and why others do not. */
function roundTrip(payloads: readonly Payload[]): { exact: number; changed: Map<Reason, number>; count: number } {
  const changed = new Map<Reason, number>();
  let exact = 0;
  let count = 0;
  for (const { pgn, payload } of payloads) {
    const definition = definitionsOf(pgn).find((each) => matchesPayload(each, payload));
    const decoded = decode(pgn, payload);
    if (!definition?.complete || decoded === undefined || payload.length * 8 < definition.fixedBits) continue;
    count++;
    const again = encodeAgain(definition, decoded, changed);
    if (again === undefined) continue;
    assert.deepEqual(decode(pgn, again), decoded, `${pgn} ${payload.toHex()}`);
    const isFixed = definition.items.every((item) => !isGroup(item) && widthOf(item) !== undefined);
    const whole = isFixed ? payload.subarray(0, definition.fixedBits / 8) : payload;
    if (again.toHex() === whole.toHex()) exact++;
    else explain(definition, [whole, again], changed);
  }
  return { exact, changed, count };
}

Deno.test("whole vectors of complete definitions come back as they were, or changed for a known reason", () => {
  const { exact, count, changed } = roundTrip(vectorPayloads());
  assert.ok(count > 250 && exact > 150, `${exact} of ${count}`);
  assert.deepEqual(Object.fromEntries(changed), {
    "reserved bits": 93,
    "another code for null": 23,
    "64 bits in a double": 6,
    "count of more sets than there are": 5,
    "filling behind a text": 3,
    "bytes that are no UTF-8": 2,
  });
});

Deno.test(
  "whole recorded payloads of complete definitions come back, too",
  needs({ permissions: ["read"] }),
  async () => {
    const { exact, count, changed } = roundTrip(await recordedPayloads());
    assert.ok(count > 2500 && exact > 2250, `${exact} of ${count}`);
    assert.equal(changed.get("bytes that are no UTF-8"), undefined);
    const flawed = changed.get("count of more sets than there are") ?? 0;
    assert.ok(flawed < 20, `${flawed} recorded payloads contradict themselves`);
  },
);

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

Deno.test("an ISO request carries the PGN in three bytes, lowest first", () => {
  assert.deepEqual([...isoRequestPayload(60928)], [0x00, 0xee, 0x00]);
  assert.deepEqual([...isoRequestPayload(126996)], [0x14, 0xf0, 0x01]);
  assert.deepEqual([...isoRequestPayload(0x3ffff)], [0xff, 0xff, 0x03]);
});

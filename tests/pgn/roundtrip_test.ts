import assert from "node:assert/strict";
import { decode, type Decoded, encode, EncodeError } from "../../src/pgn/mod.ts";
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
    "reserved bits": 95,
    "another code for null": 22,
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

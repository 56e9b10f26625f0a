import assert from "node:assert/strict";
import {
  addressKey,
  BROADCAST_ADDRESS,
  buildCanId,
  CAN_ID_MASK,
  destinationOfId,
  isAddressed,
  MAX_PGN,
  packBus,
  parseCanId,
  pgnOfId,
  priorityOfId,
  sourceOfId,
  unpackBus,
} from "../../src/frame/mod.ts";
import { Random } from "../support/random.ts";

Deno.test("a CAN id is read as the fields that real devices sent", () => {
  assert.deepEqual(parseCanId(0x18eeff01), { prio: 6, pgn: 60928, src: 1, dst: 255 });
  assert.deepEqual(parseCanId(0x09f112cc), { prio: 2, pgn: 127250, src: 0xcc, dst: 255 });
  assert.deepEqual(parseCanId(0x0ded2301), { prio: 3, pgn: 126208, src: 1, dst: 0x23 });
  assert.deepEqual(parseCanId(0x18ea05fe), { prio: 6, pgn: 59904, src: 254, dst: 5 });
});

Deno.test("every 29-bit CAN id survives reading and building again", () => {
  const random = new Random(29);
  for (let i = 0; i < 100_000; i++) {
    const id = random.int(2 ** 29);
    assert.equal(buildCanId(parseCanId(id)), id);
  }
  for (const id of [0, 1, 0x1fffffff, 0x10000000, 0x03ffff00]) assert.equal(buildCanId(parseCanId(id)), id);
});

Deno.test("every priority, PGN, source and destination survives building and reading", () => {
  const random = new Random(30);
  for (let pgn = 0; pgn <= MAX_PGN; pgn += random.between(1, 13)) {
    const header = { prio: random.int(8), pgn, src: random.int(256), dst: random.int(256) };
    const expected = isAddressed(pgn) ? { ...header, pgn: pgn - pgn % 256 } : { ...header, dst: BROADCAST_ADDRESS };
    const id = buildCanId(header);
    assert.ok(id >= 0 && id < 2 ** 29);
    assert.deepEqual(parseCanId(id), expected);
    assert.equal(pgnOfId(id), expected.pgn);
    assert.equal(destinationOfId(id), expected.dst);
  }
});

Deno.test("PDU format 239 is the last that carries a destination and 240 the first that is broadcast", () => {
  assert.ok(isAddressed(0xef00) && isAddressed(0x1efff) && isAddressed(0));
  assert.ok(!isAddressed(0xf000) && !isAddressed(0x1f000) && !isAddressed(0x1ffff));
  assert.deepEqual(parseCanId(0x00efff00), { prio: 0, pgn: 0xef00, src: 0, dst: 255 });
  assert.deepEqual(parseCanId(0x00f00100), { prio: 0, pgn: 0xf001, src: 0, dst: 255 });
  assert.equal(destinationOfId(0x00ef0700), 7);
});

Deno.test("fields too wide for a CAN id are cut to their bits and never leak into a neighbour", () => {
  const id = buildCanId({ prio: 0xff, pgn: 0xfff_ffff, src: 0x1_23, dst: 0x1_45 });
  assert.equal(id, 0x1fffff23);
  assert.equal(buildCanId({ prio: 0, pgn: 0xea00, src: 0, dst: 0x3_05 }), 0x00ea0500);
});

Deno.test("an identifier and its bus survive sharing a word, which fits in 32 bits", () => {
  const random = new Random(31);
  for (let i = 0; i < 10_000; i++) {
    const [id, bus] = [i === 0 ? CAN_ID_MASK : random.int(2 ** 29), random.int(4)];
    const word = packBus(id, bus);
    assert.deepEqual([word & CAN_ID_MASK, unpackBus(word)], [id, bus]);
    assert.ok(word >= 0 && word < 2 ** 31);
    // The bit above belongs to whoever stores the word.
    assert.deepEqual([(word | 2 ** 31) & CAN_ID_MASK, unpackBus(word | 2 ** 31)], [id, bus]);
    assert.deepEqual([sourceOfId(id), priorityOfId(id)], [parseCanId(id).src, parseCanId(id).prio]);
  }
  assert.equal(packBus(0xffff_ffff, 7), 0x7fff_ffff, "what is too wide is cut");
});

Deno.test("every address of every bus has a key of its own, those of a bus in a row", () => {
  const keys = [0, 1, 2, 3].flatMap((bus) => Array.from({ length: 256 }, (_, src) => addressKey(bus, src)));
  assert.deepEqual(keys, keys.map((_, i) => i));
});

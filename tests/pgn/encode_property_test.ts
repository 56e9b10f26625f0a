import assert from "node:assert/strict";
import { decode, type Decoded, encode, EncodeError, type Fields } from "../../src/pgn/mod.ts";
import { readRaw } from "../../src/pgn/field.ts";
import { interpretBy, matchesPayload } from "../../src/pgn/interpret.ts";
import { type Definition, definitionsOf, type Field, isGroup, knownPgns, widthOf } from "../../src/pgn/model.ts";
import { needs, rounds } from "../support/needs.ts";
import { recordedPayloads, vectorPayloads } from "../support/payloads.ts";
import { Random } from "../support/random.ts";
import { WholePayloads } from "../support/whole_payload.ts";

const DEFINITIONS = knownPgns().flatMap(definitionsOf);
const ROUNDS = 60;
const LONGEST = 1785;

function show({ pgn, id }: Definition, payload: Uint8Array): string {
  return `${pgn} ${id} ${payload.toHex()}`;
}

/** Encodes what was decoded, by the same layout. */
function encodeBy({ pgn, id }: Definition, fields: Decoded): Uint8Array<ArrayBuffer> {
  return encode(pgn, fields, { layout: id });
}

/** Writes the discriminators of a layout, as far as the payload goes. */
function put({ matches }: Definition, payload: Uint8Array): void {
  for (const { bit, field: { bits = 0, match = 0 } } of matches) {
    for (let index = 0; index < bits; index++) {
      const [at, mask] = [(bit + index) >>> 3, 1 << ((bit + index) & 7)];
      if (at >= payload.length) return;
      payload[at] = Math.floor(match / 2 ** index) % 2 === 1 ? payload[at]! | mask : payload[at]! & ~mask;
    }
  }
}

/** The text that JSON would hold, which tells −0 and undefined no better than a reader of it could. */
function same(one: Decoded, other: Decoded): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

Deno.test("of every layout: what is decoded from a whole payload and encoded decodes to the same again", () => {
  const random = new Random(7);
  const payloads = new WholePayloads(random);
  assert.ok(DEFINITIONS.length > 500);
  for (const definition of DEFINITIONS) {
    for (let round = 0; round < rounds(ROUNDS, 10); round++) {
      const payload = payloads.next(definition);
      if (payload.length > LONGEST) continue;
      const decoded = interpretBy(definition, payload);
      const again = interpretBy(definition, encodeBy(definition, decoded));
      if (!same(decoded, again)) assert.deepEqual(again, decoded, show(definition, payload));
    }
  }
});

/** Why random bytes, other than whole payloads, cannot be encoded again: what they say of themselves is not so. */
const LOSSES = [
  // A count or length that says more than the payload holds.
  /^\w+(?:\[\d+\]\.\w+)?: [\d.]+ is not the (?:number|length) of \w+, [\d.]+$/,
  /^(?:list\[\d+\]\.)?value: "[0-9a-f]*…?" has \d+ bytes, its length says \d+$/,
  // More bytes than their count, which stands in fewer bits, can say.
  /^\w+: \d+ bytes are given, at most \d+ can be counted$/,
  // Odd bytes of a text take more room as characters.
  /^[\w[\].]+: ".*" has \d+ bytes, at most \d+ fit$/s,
  // A parameter that was cut off by the end of the payload.
  /^list2?\[\d+\]\.\w+: (?:"[0-9a-f]*…?" |null )?(?:is none of .*|is no number .*|is not .*|runs to the end .*)$/s,
];

/** True for layouts with texts, or with something whose size the payload tells. */
function speaksOfItself({ items }: Definition): boolean {
  return items.some((item) =>
    isGroup(item) || item.type === "text" || widthOf(item) === undefined || item.type === "lz"
  );
}

/** True for values that say nothing; what nothing stands in for is worked out on the way back. */
function isNothing(value: unknown): boolean {
  return value === null || value === 0 || value === undefined;
}

/** Whether an entry of a list tells the length of a value that the payload does not hold. */
function hasLengthOfNothing(list: unknown): boolean {
  return Array.isArray(list) && list.some(({ length, value }) => length > 0 && value === null);
}

/** Names of the fields that differ. */
function differing(one: Decoded, other: Decoded): string[] {
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...names].filter((name) => JSON.stringify(one[name]) !== JSON.stringify(other[name]));
}

Deno.test("of every layout: random bytes are encoded again, or refused because they contradict themselves", () => {
  const random = new Random(8);
  let encoded = 0;
  let refused = 0;
  for (const definition of DEFINITIONS) {
    const whole = Math.ceil(definition.fixedBits / 8);
    for (let round = 0; round < rounds(ROUNDS, 20); round++) {
      const payload = random.bytes(whole + (random.chance(0.6) ? 0 : random.int(60)));
      if (random.chance(0.2)) payload.fill(0xff, random.int(payload.length + 1));
      put(definition, payload);
      const decoded = interpretBy(definition, payload);
      try {
        const again = interpretBy(definition, encodeBy(definition, decoded));
        encoded++;
        // Nothing for a count becomes the count; nothing for a value with a length, in a list, that many ones.
        const names = differing(decoded, again).filter((name) =>
          !isNothing(decoded[name]) && !hasLengthOfNothing(decoded[name])
        );
        assert.deepEqual(names, [], show(definition, payload));
      } catch (error) {
        if (!(error instanceof EncodeError)) throw error;
        refused++;
        assert.ok(speaksOfItself(definition), `${definition.id}: ${error.message}`);
        assert.ok(LOSSES.some((loss) => loss.test(error.message)), `${show(definition, payload)}: ${error.message}`);
      }
    }
  }
  assert.ok(refused < 0.15 * encoded, `${refused} of ${encoded} were refused`);
});

Deno.test(
  "recorded messages decode, encode and decode to the same, unless they were cut short or contradict themselves",
  needs({ permissions: ["read"] }),
  async () => {
    const payloads = [...await recordedPayloads(), ...vectorPayloads()];
    let same = 0;
    let identical = 0;
    let refused = 0;
    for (const { pgn, payload } of payloads) {
      const decoded = decode(pgn, payload);
      const layout = definitionsOf(pgn).find((each) => matchesPayload(each, payload));
      if (!decoded || !layout) continue;
      try {
        const again = encode(pgn, decoded);
        if (again.toHex() === payload.toHex()) identical++;
        // Read by the same layout: bits that have no name are sent as ones, which may be those of another one.
        const back = interpretBy(layout, again);
        if (payload.length * 8 >= layout.fixedBits) assert.deepEqual(back, decoded, show(layout, payload));
        same++;
      } catch (error) {
        if (!(error instanceof EncodeError)) throw error;
        refused++;
        assert.ok(LOSSES.some((loss) => loss.test(error.message)), `${show(layout, payload)}: ${error.message}`);
      }
    }
    assert.ok(same > 3500 && refused < 40, `${same} the same, ${refused} refused`);
    assert.ok(identical > 0.75 * same, `${identical} of ${same} are the same bytes`);
  },
);

Deno.test("of every layout: a payload that is cut short settles once it was encoded", () => {
  const random = new Random(9);
  const payloads = new WholePayloads(random);
  for (const definition of DEFINITIONS) {
    for (let round = 0; round < 10; round++) {
      const whole = payloads.next(definition);
      const payload = whole.subarray(0, random.int(whole.length + 1));
      try {
        const settled = interpretBy(definition, encodeBy(definition, interpretBy(definition, payload)));
        const again = interpretBy(definition, encodeBy(definition, settled));
        if (!same(settled, again)) assert.deepEqual(again, settled, show(definition, payload));
      } catch (error) {
        assert.ok(error instanceof EncodeError, String(error));
      }
    }
  }
});

/** Types whose raw value is all that they say. */
const PLAIN = new Set([
  "number",
  "pgn",
  "enum",
  "indirect",
  "lookup",
  "bits",
  "key",
  "index",
  "length",
  "hex",
  "date",
  "time",
]);

/** True when a label stands for several raw values: decoding loses which. */
function isShared({ labels, keys }: Field): boolean {
  const names = labels ? [...labels.byCode.values()] : keys ? [...keys.values()].map(({ name }) => name) : [];
  return new Set(names).size < names.length;
}

Deno.test("of every layout: the bits of every number that is available come back", () => {
  const random = new Random(10);
  const payloads = new WholePayloads(random);
  let fields = 0;
  for (const definition of DEFINITIONS) {
    for (let round = 0; round < 20; round++) {
      const payload = payloads.next(definition);
      if (payload.length > LONGEST) continue;
      const decoded = interpretBy(definition, payload);
      const again = encodeBy(definition, decoded);
      let bit = 0;
      for (const item of definition.items) {
        if (bit >= definition.fixedBits || isGroup(item)) break;
        const { bits = 0, name, repeat, signed } = item;
        // Numbers of 64 bits hold more than a double; those are held to a double's step elsewhere.
        const wide = item.type === "number" && bits > 48;
        if (name !== undefined && PLAIN.has(item.type) && decoded[name] !== null && !wide && !isShared(item)) {
          for (let index = 0; index < (repeat ?? 1); index++) {
            const at = { bits, signed };
            const before = readRaw({ payload, bit: bit + index * bits }, at);
            assert.equal(
              readRaw({ payload: again, bit: bit + index * bits }, at),
              before,
              `${name} ${show(definition, payload)}`,
            );
            fields++;
          }
        }
        bit += widthOf(item) ?? 0;
      }
    }
  }
  assert.ok(fields > 30_000, `only ${fields} fields`);
});

/** True for layouts of which every bit shows in what is decoded, if nothing is null. */
function showsAllBits({ items }: Definition): boolean {
  return items.every((item) =>
    !isGroup(item) && item.name !== undefined && PLAIN.has(item.type) && (item.bits ?? 64) <= 48 && !isShared(item)
  );
}

Deno.test("layouts without reserved bits, texts and numbers of 64 bits come back byte by byte", () => {
  const random = new Random(11);
  const layouts = DEFINITIONS.filter(showsAllBits);
  let compared = 0;
  for (const definition of layouts) {
    for (let round = 0; round < 200; round++) {
      const payload = random.bytes(definition.fixedBits / 8);
      put(definition, payload);
      const decoded = interpretBy(definition, payload);
      if (Object.values(decoded).includes(null)) continue;
      assert.equal(encodeBy(definition, decoded).toHex(), payload.toHex(), definition.id);
      compared++;
    }
  }
  assert.ok(layouts.length > 15, `${layouts.length} layouts`);
  assert.ok(compared > 1000, `${compared} payloads`);
});

Deno.test("of every layout: no fields at all make a payload of that layout in which nothing is available", () => {
  for (const definition of DEFINITIONS) {
    const payload = encodeBy(definition, {});
    assert.ok(payload.length >= definition.least, definition.id);
    assert.ok(payload.length >= Math.floor(definition.fixedBits / 8), definition.id);
    for (const { bit, field } of definition.matches) {
      const { bits = 0, signed } = field;
      assert.equal(readRaw({ payload, bit }, { bits, signed }), field.match, definition.id);
    }
    const decoded = interpretBy(definition, payload);
    for (const item of definition.items) {
      if (isGroup(item)) assert.equal(decoded[item.group], undefined, `${definition.id}.${item.group}`);
      else if (item.name !== undefined && item.nulls.length > 0 && !item.proprietary) {
        const counts = definition.items.some((other) =>
          !isGroup(other) && (other.by === item.name || other.type === "parameters")
        );
        if (!counts) assert.equal(decoded[item.name], null, `${definition.id}.${item.name}`);
      }
    }
  }
});

/** Values of all kinds, few of which anybody would send. */
function junk(random: Random, depth = 0): unknown {
  const plain: unknown[] = [
    undefined,
    null,
    true,
    NaN,
    Infinity,
    -Infinity,
    -0,
    0,
    1,
    -1,
    0.5,
    255,
    2 ** 31,
    2 ** 53,
    1e308,
    5e-324,
    12n,
    "",
    "x",
    "0",
    "c0ffee",
    "ÿ€\ud800\0",
    "x".repeat(300),
    "2026-08-16",
    "12:00:00",
    Symbol("x"),
    () => 1,
    new Date(0),
    new Uint8Array(3),
    new Map(),
    Object.create(null),
    random.next() * 1000,
    random.int(300),
    [],
    {},
  ];
  if (depth > 2 || random.chance(0.7)) return random.pick(plain);
  if (random.chance(0.5)) return Array.from({ length: random.int(40) }, () => junk(random, depth + 1));
  const names = ["id", "name", "field", "value", "key", "length", "parameter", "x", "__proto__"];
  return Object.fromEntries(random.some(names).map((name) => [name, junk(random, depth + 1)]));
}

Deno.test("whatever is given is encoded or refused with the field's path and a message of one line", () => {
  const random = new Random(12);
  const refusals = new Set<string>();
  for (let round = 0; round < rounds(30_000, 3000); round++) {
    const definition = random.pick(DEFINITIONS);
    const names = definition.items.map((item) => (isGroup(item) ? item.group : item.name) ?? "reserved");
    const given = Object.fromEntries(random.some([...names, "nonsense"], 0.2).map((name) => [name, junk(random)]));
    for (const item of definition.items) {
      if (!isGroup(item) || random.chance(0.5)) continue;
      const sets = item.fields.map(({ name }) => name ?? "reserved");
      const set = () => Object.fromEntries(random.some(sets, 0.3).map((name) => [name, junk(random)]));
      given[item.group] = Array.from({ length: random.int(4) }, set);
    }
    try {
      const payload = encode(definition.pgn, given as Fields, random.chance(0.7) ? { layout: definition.id } : {});
      assert.ok(payload.length <= LONGEST);
    } catch (error) {
      if (!(error instanceof EncodeError)) throw error;
      assert.ok(!error.message.endsWith(".") && !error.message.includes("\n"), error.message);
      // A label says "undefined", too, and so does what was given.
      assert.ok(!/\[object|: undefined\b(?! is\b|,)/.test(error.message), error.message);
      refusals.add(error.message.replace(/".*?"|[\d.]+/gs, "").slice(0, 30));
    }
  }
  assert.ok(refusals.size > 100);
});

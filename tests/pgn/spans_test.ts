import assert from "node:assert/strict";
import { decode, type FieldSpan, spansOfPayload } from "../../src/pgn/mod.ts";
import { matchesPayload } from "../../src/pgn/interpret.ts";
import { type Definition, definitionsOf, isGroup, knownPgns } from "../../src/pgn/model.ts";
import { needs, rounds } from "../support/needs.ts";
import { randomPayload, recordedPayloads, vectorPayloads } from "../support/payloads.ts";
import { Random } from "../support/random.ts";

const RANDOM_PAYLOADS = rounds(200_000, 4000);
/** Bits of each payload that are flipped. */
const FLIPS = 4;
/** Enough for the fields that a short payload lacks. */
const MORE_BYTES = 300;

/** Values of a decoded payload by path; of a lookup its parts together, as of what else is one field. */
function leavesOf(value: unknown, path = ""): Map<string, string> {
  const isObject = typeof value === "object" && value !== null;
  const isLookup = path !== "" && isObject && Object.keys(value).every((name) => name === "id" || name === "name");
  if (!isObject || isLookup) return new Map([[path, JSON.stringify(value)]]);
  const inner = (name: string) => path === "" ? name : `${path}.${name}`;
  return new Map(Object.entries(value).flatMap(([name, each]) => [...leavesOf(each, inner(name))]));
}

/** The value at a path; undefined: there is none. */
function valueAt(value: unknown, path: string): unknown {
  return path.split(".").reduce<unknown>(
    (outer, name) => typeof outer === "object" && outer !== null ? Reflect.get(outer, name) : undefined,
    value,
  );
}

function flipped(payload: Uint8Array, bit: number): Uint8Array {
  const changed = payload.slice();
  changed[bit >>> 3]! ^= 1 << (bit & 7);
  return changed;
}

function definitionOf(pgn: number, payload: Uint8Array): Definition | undefined {
  return definitionsOf(pgn).find((each) => matchesPayload(each, payload));
}

const covers = ({ bit, bits }: FieldSpan, at: number) => at >= bit && at < bit + bits;

/** Names of fields whose value is read by what another field says. */
function readByOthers(pgn: number): { open: Set<string>; by: Map<string, string> } {
  const fields = definitionsOf(pgn).flatMap(({ items }) => items).flatMap((item) =>
    isGroup(item) ? [...item.fields] : [item]
  );
  const named = fields.flatMap(({ name, type, by }) => name === undefined ? [] : [{ name, type, by }]);
  return {
    open: new Set(
      named.filter(({ type }) => ["value", "variable", "parameters"].includes(type)).map(({ name }) => name),
    ),
    by: new Map(named.flatMap(({ name, by }) => by === undefined ? [] : [[name, by]])),
  };
}

function lastName(path: string): string {
  return path.split(".").at(-1) ?? "";
}

/** Each leaf that the payload reaches has one span, spans have no bit in common, and each changes what is decoded. */
function checkSpans(pgn: number, payload: Uint8Array): readonly FieldSpan[] {
  const what = `PGN ${pgn}: ${payload.toHex()}`;
  const decoded = decode(pgn, payload);
  const spans = spansOfPayload(pgn, payload);
  if (decoded === undefined) assert.deepEqual(spans, [], what);
  const names = new Set(spans.map(({ name }) => name));
  assert.equal(names.size, spans.length, what);
  for (const { name, bit, bits } of spans) {
    assert.notEqual(valueAt(decoded, name), undefined, `${name} of ${what}`);
    assert.ok(bit >= 0 && bits > 0 && bit + bits <= payload.length * 8, `${name} of ${what}`);
  }
  const taken = spans.toSorted((one, other) => one.bit - other.bit);
  taken.forEach(({ name, bit }, index) => {
    const before = taken[index - 1];
    assert.ok(!before || before.bit + before.bits <= bit, `${before?.name} and ${name} of ${what}`);
  });
  const longer = new Uint8Array(payload.length + MORE_BYTES);
  longer.set(payload);
  for (const [path, value] of leavesOf(decoded ?? {})) {
    if (names.has(path) || ["null", '""', "[]"].includes(value)) continue;
    const isItem = path.split(".").some((_, index, parts) => names.has(parts.slice(0, index).join(".")));
    const isParameterName = path.endsWith(".name") && names.has(path.replace(/name$/, "field"));
    // Missing bytes are read as ones, which is not null for every field.
    const isBeyond = JSON.stringify(valueAt(decode(pgn, longer), path)) !== value;
    assert.ok(isItem || isParameterName || isBeyond, `${path}: ${value} has no span in ${what}`);
  }
  const text = JSON.stringify(decoded);
  for (const { name, bit, bits } of spans) {
    // One bit more or less does not make a value of what is empty.
    if (["null", '""'].includes(JSON.stringify(valueAt(decoded, name)))) continue;
    const at = Array.from({ length: bits }, (_, index) => bit + index);
    const isRead = at.some((each) => JSON.stringify(decode(pgn, flipped(payload, each))) !== text);
    assert.ok(isRead, `no bit of ${name} changes what is decoded of ${what}`);
  }
  return spans;
}

/** Bits outside of a field do not change it, unless the layout changes with them. */
function checkFlip(pgn: number, payload: Uint8Array, bit: number): "same" | "other layout" {
  const spans = spansOfPayload(pgn, payload);
  const changed = flipped(payload, bit);
  const [before, after] = [decode(pgn, payload), decode(pgn, changed)];
  const isSame = definitionOf(pgn, payload) === definitionOf(pgn, changed) &&
    JSON.stringify(spansOfPayload(pgn, changed)) === JSON.stringify(spans);
  if (!isSame) return "other layout";
  const { open, by } = readByOthers(pgn);
  const touched = spans.filter((span) => covers(span, bit)).map(({ name }) => name);
  for (const { name } of spans) {
    if (JSON.stringify(valueAt(before, name)) === JSON.stringify(valueAt(after, name))) continue;
    const depends = touched.some((each) => by.get(lastName(name)) === lastName(each)) ||
      name.split(".").some((part) => open.has(part));
    assert.ok(touched.includes(name) || depends, `bit ${bit} changes ${name} of PGN ${pgn}: ${payload.toHex()}`);
  }
  return "same";
}

Deno.test("spans are where the decoder reads: vectors and recordings", needs({ permissions: ["read"] }), async () => {
  const random = new Random(1);
  const seen = new Map<string, number>();
  for (const { pgn, payload } of [...vectorPayloads(), ...await recordedPayloads()]) {
    // A few of each PGN and length: recordings repeat themselves.
    const key = `${pgn} ${payload.length}`;
    const count = (seen.get(key) ?? 0) + 1;
    seen.set(key, count);
    if (count > 3 || payload.length === 0) continue;
    checkSpans(pgn, payload);
    for (let flip = 0; flip < FLIPS; flip++) checkFlip(pgn, payload, random.int(payload.length * 8));
  }
  assert.ok(seen.size > 100, `${seen.size} kinds`);
});

Deno.test("spans are where the decoder reads: random payloads of every layout", () => {
  const random = new Random(2);
  const definitions: Definition[] = knownPgns().flatMap(definitionsOf);
  const results = { same: 0, "other layout": 0 };
  for (let count = 0; count < RANDOM_PAYLOADS; count++) {
    const definition = definitions[count % definitions.length];
    if (!definition) continue;
    const payload = randomPayload(random, definition);
    checkSpans(definition.pgn, payload);
    if (payload.length === 0) continue;
    for (let flip = 0; flip < FLIPS; flip++) {
      results[checkFlip(definition.pgn, payload, random.int(payload.length * 8))]++;
    }
  }
  assert.ok(results.same > 2 * RANDOM_PAYLOADS, JSON.stringify(results));
});

Deno.test("spans have the names of the decoded payload, in lists with the index", () => {
  const at = (pgn: number, hex: string) =>
    spansOfPayload(pgn, Uint8Array.fromHex(hex)).map(({ name, bit, bits }) => `${name} ${bit}+${bits}`);
  assert.deepEqual(at(127250, "011027000ff7f0fd"), [
    "sid 0+8",
    "heading 8+16",
    "deviation 24+16",
    "variation 40+16",
    "heading_reference 56+2",
  ]);
  // Two satellites: each of 96 bits, the last of which are reserved.
  const satellites = at(129540, "01fd02" + "05102700204e0010000000f2" + "06102700204e0010000000f2");
  assert.deepEqual(satellites.filter((text) => text.includes(".prn")), [
    "satellites.0.prn 24+8",
    "satellites.1.prn 120+8",
  ]);
  assert.deepEqual(at(130306, "0126"), ["sid 0+8", "wind_speed 8+8"], "a value that the payload ends within");
  assert.deepEqual(at(1, "00"), []);
  assert.deepEqual(at(65280, "ffffffffffffffff"), [], "a manufacturer without a known layout");
});

import assert from "node:assert/strict";
import { CHUNK_ROWS, columnBuffer, type SqlType } from "../../cli/commands/query/columns.ts";
import { MessageScan } from "../../cli/commands/query/scan.ts";
import { messageView } from "../../cli/commands/query/views.ts";
import { readMemoryBlock } from "../../src/journal/block/block.ts";
import { BlockBuilder } from "../../src/journal/mod.ts";
import { decode, describePayload, listPgns, PGN } from "../../src/pgn/mod.ts";
import { definitionsOf } from "../../src/pgn/model.ts";
import { message, START_US } from "../support/messages.ts";
import { IS_FULL, needs } from "../support/needs.ts";
import { randomPayload, recordedPayloads, vectorPayloads } from "../support/payloads.ts";
import { readColumn, wantedValue } from "../support/query_columns.ts";
import { Random } from "../support/random.ts";

const ALL = Array.from(listPgns(), ({ pgn }) => pgn);
/** Random payloads of each layout. */
const ROUNDS = IS_FULL ? 200 : 8;

/** Scans payloads of one PGN, with all columns. */
function scanOf(pgn: number, payloads: readonly Uint8Array[]) {
  const builder = new BlockBuilder({ blockBytes: 512 * 1024 });
  builder.begin();
  for (const [i, data] of payloads.entries()) {
    assert.equal(builder.append(i + 1, message({ pgn, src: 9, timeUs: START_US + i, data })), "added");
  }
  const block = readMemoryBlock(builder.finish());
  const location = { path: "", offset: 0, bytes: 0, timeUs: START_US, seq: 1, epochWord: 0 };
  const view = messageView(pgn);
  const source = {
    blocks: [{ location, from: 0, to: payloads.length }],
    read: () => block,
    range: { fromUs: -Infinity, toUs: Infinity },
    epochs: new Map<number, string>(),
  };
  return { view, scan: new MessageScan(view, { wanted: view.columns.map((_, i) => i), source }) };
}

/** Compares all rows with what the decoder says of each payload. Returns the number of values that are not NULL. */
function compare(pgn: number, payloads: readonly Uint8Array[]): number {
  const { view, scan } = scanOf(pgn, payloads);
  let values = 0;
  for (let at = 0, rows = scan.next(); rows > 0; at += rows, rows = scan.next()) {
    for (const [i, { name, type, source }] of view.columns.entries()) {
      const found = readColumn(scan.buffers[i]!, { type, rows });
      for (const [row, value] of found.entries()) {
        const payload = payloads[at + row]!;
        if (source.kind === "field") {
          const wanted = wantedValue(decode(pgn, payload), { field: source.field, type });
          assert.ok(Object.is(value, wanted), `${pgn} ${name} ${type} of ${payload.toHex()}: ${value}, not ${wanted}`);
          if (value !== null) values++;
        } else if (source.kind === "data") assert.equal(value, payload.toHex());
        else if (source.kind === "layout") assert.equal(value, describePayload(pgn, payload) ?? null);
        else if (source.kind === "seq") assert.equal(value, at + row + 1);
        else if (source.kind === "time") assert.equal(value, START_US + at + row);
        else if (source.kind === "source") assert.equal(value, 9);
        // The claims tell a NAME.
        else assert.ok(value === null || pgn === PGN.addressClaim && source.kind === "name", `${pgn} ${name}`);
      }
    }
  }
  return values;
}

Deno.test("every PGN has a view of its own, whose name needs no quotes; columns have different names", () => {
  const names = new Map<string, number>([["devices", 0], ["gaps", 0]]);
  for (const pgn of [...ALL, 65299, 130000]) {
    const { name, columns } = messageView(pgn);
    assert.match(name, /^[a-z][a-z0-9_]*$/);
    assert.ok(!names.has(name) || names.get(name) === pgn, `${name}: ${pgn} and ${names.get(name)}`);
    names.set(name, pgn);
    const lower = columns.map((column) => column.name.toLowerCase());
    assert.equal(new Set(lower).size, columns.length, `${pgn}: ${lower}`);
    assert.deepEqual(lower.slice(0, 6), ["time", "bus", "source", "name", "model", "seq"]);
    assert.equal(lower.at(-1), "data");
  }
  assert.ok(names.size > 300);
  assert.deepEqual([names.get("wind_data"), names.get("position_rapid_update")], [130306, 129025]);
  assert.deepEqual(messageView(130000).columns.map((column) => column.name).slice(6), ["data"]);
});

Deno.test("a field with the name of a column of every view has a prefix, and epochs have a column if there are several", () => {
  const columns = messageView(127258, { hasEpochs: true }).columns;
  assert.deepEqual(
    columns.map(({ name }) => name),
    [
      "time",
      "bus",
      "source",
      "name",
      "model",
      "seq",
      "epoch",
      "sid",
      "field_source",
      "days_since_1970",
      "variation",
      "data",
    ],
  );
  assert.equal(columns.find(({ name }) => name === "variation")?.unit, "rad");
});

const READ = needs({ permissions: ["read"] });

Deno.test(
  "the columns of all layouts have what the decoder says of random payloads, and of recorded ones",
  READ,
  async () => {
    const random = new Random(7);
    const recorded = Map.groupBy([...await recordedPayloads(), ...vectorPayloads()], ({ pgn }) => pgn);
    let [values, recordedValues] = [0, 0];
    for (const pgn of ALL) {
      const payloads = definitionsOf(pgn).flatMap((layout) =>
        Array.from({ length: ROUNDS }, () => randomPayload(random, layout))
      );
      values += compare(pgn, payloads);
      recordedValues += compare(pgn, (recorded.get(pgn) ?? []).map(({ payload }) => payload));
    }
    assert.ok(values > 20_000 && recordedValues > 2000, `${values} ${recordedValues}`);
  },
);

Deno.test("more rows than a chunk has come in several chunks, and nothing of one is in the next", () => {
  const payloads = Array.from(
    { length: 2 * CHUNK_ROWS + 5 },
    // Texts and NULLs of the first chunk are no longer in the others.
    (_, i) => Uint8Array.of(i & 0x7f, 1, 2, 3, 4, i < CHUNK_ROWS ? 0xff : 2, 0xff, 0xff),
  );
  assert.ok(compare(130306, payloads) > 2 * CHUNK_ROWS);
  const { scan } = scanOf(130306, payloads);
  assert.deepEqual([scan.next(), scan.next(), scan.next(), scan.next()], [CHUNK_ROWS, CHUNK_ROWS, 5, 0]);
});

Deno.test("values at the ends of a type are stored exactly, and those of another type are NULL", () => {
  const cases: [SqlType, (number | string | null | undefined)[]][] = [
    ["TIMESTAMP", [0, -1, 1.8e15, -1.8e15, 2 ** 53 - 1, -(2 ** 53) + 1, 2 ** 32, -(2 ** 32), null]],
    ["BIGINT", [2 ** 31, 2 ** 40 + 3, undefined, -5]],
    ["INTEGER", [2 ** 31 - 1, -(2 ** 31), null]],
    ["UINTEGER", [2 ** 32 - 1, 0, null]],
    ["DOUBLE", [Number.MIN_VALUE, -1.5, Infinity, null]],
    ["VARCHAR", ["", "twelve bytes", "thirteen bytes", "größer als", "\0", "a\0b", "😀😀😀", "😀😀😀x", null, 12.5]],
  ];
  for (const [type, values] of cases) {
    const buffer = columnBuffer(type);
    for (let round = 0; round < 2; round++) {
      buffer.clear();
      for (const [row, value] of values.entries()) buffer.set(row, value);
      const wanted = values.map((value) => value === undefined || value === null ? null : value);
      assert.deepEqual(
        readColumn(buffer, { type, rows: values.length }),
        type === "VARCHAR" ? wanted.map((value) => value === null ? null : `${value}`) : wanted,
      );
    }
    buffer.clear();
    buffer.set(0, type === "VARCHAR" ? undefined : "text");
    assert.deepEqual(readColumn(buffer, { type, rows: 1 }), [null]);
  }
});

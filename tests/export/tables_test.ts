import assert from "node:assert/strict";
import { CsvTable } from "../../src/export/csv.ts";
import { columnsOf, tableOf } from "../../src/export/tables.ts";
import { newStoredFrame } from "../../src/frame/mod.ts";
import { decode, describePgn, listPgns } from "../../src/pgn/mod.ts";
import { parseCsv } from "../support/csv.ts";
import { fieldsOf, fileNameOf, textOf } from "../support/exported.ts";
import { rounds } from "../support/needs.ts";
import { Random } from "../support/random.ts";

const HEAD_COLUMNS = 8;
const MAX_BYTES = 60;
const UNKNOWN = 65500;
const ORIGINS = { busName: () => "can0", nameOf: () => undefined };
const PGNS = Array.from(listPgns(), ({ pgn }) => pgn);
const random = new Random(130306);

/** Payloads of a PGN: of each layout with its discriminators, and any bytes. */
function* payloadsOf(pgn: number, count: number): Generator<Uint8Array> {
  for (const { matches = [] } of describePgn(pgn)?.layouts ?? []) {
    for (let i = 0; i < count; i++) {
      const payload = random.bytes(random.int(MAX_BYTES));
      for (const { bit, bits, value } of matches) {
        for (let at = 0; at < bits; at++) {
          const [index, mask] = [(bit + at) >> 3, 1 << ((bit + at) & 7)];
          if (index < payload.length) {
            payload[index]! = Math.floor(value / 2 ** at) % 2 ? payload[index]! | mask : payload[index]! & ~mask;
          }
        }
      }
      yield payload;
    }
  }
}

Deno.test("each PGN has a table of its own name, in which no column comes twice", () => {
  const names = PGNS.map((pgn) => tableOf(pgn).name);
  assert.equal(new Set(names).size, PGNS.length);
  assert.deepEqual(names, PGNS.map(fileNameOf));
  for (const name of names) assert.match(name, /^[a-z0-9]+(_[a-z0-9]+)*$/);
  for (const pgn of [...PGNS, UNKNOWN]) {
    const columns = columnsOf(tableOf(pgn)).map(({ name }) => name);
    assert.equal(new Set(columns).size, columns.length, `${pgn}`);
  }
});

Deno.test("rows of random payloads of every layout are what decoding gives, and fit the types of their columns", () => {
  for (const pgn of PGNS) {
    const table = tableOf(pgn);
    const csv = new CsvTable(table, ORIGINS);
    const expected: string[][] = [];
    for (const data of payloadsOf(pgn, rounds(100, 5))) {
      csv.add({ ...newStoredFrame(), pgn, data, length: data.length });
      const decoded = decode(pgn, data);
      assert.ok(decoded !== undefined || table.hasData, `${pgn} ${data.toHex()}`);
      expected.push([
        ...fieldsOf(pgn).map((name) => textOf(decoded?.[name]) ?? ""),
        ...table.hasData ? [decoded === undefined ? data.toHex() : ""] : [],
      ]);
      for (const { key, type } of table.fields) {
        const value = decoded?.[key] ?? null;
        if (type === "text" || value === null) continue;
        assert.ok(
          type === "double" ? typeof value === "number" : Number(value) === (Number(value) | 0),
          `${pgn} ${key}: ${value}`,
        );
      }
    }
    const rows = parseCsv(new TextDecoder().decode(csv.take())).slice(1).map((row) => row.slice(HEAD_COLUMNS));
    assert.deepEqual(rows, expected, `${pgn}`);
  }
});

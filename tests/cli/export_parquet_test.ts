import assert from "node:assert/strict";
import { inFolder } from "../support/folder.ts";
import { parseCanId } from "../../src/frame/mod.ts";
import {
  type ExpectedTable,
  fieldsOf,
  fileNameOf,
  type JournalMessage,
  journalsOf,
  messagesIn,
  payloadOf,
  tableOf,
  textOf,
} from "../support/exported.ts";
import { needs } from "../support/needs.ts";
import { type ParquetFile, readParquet } from "../support/parquet.ts";
import { CommandRun } from "./dump_run.ts";

const OFFLINE = needs({ permissions: ["env", "read", "sys", "write"] });

/** Cells before the fields or the payload. */
function headOf({ frame, bus, name }: JournalMessage): unknown[] {
  const { src, dst, prio, pgn } = parseCanId(frame.id);
  const seq = frame.seq === 0 ? null : BigInt(frame.seq);
  return [BigInt(frame.timeUs), bus || null, src, dst, prio, name || null, pgn, seq];
}

const HEAD_TYPES = ["TIMESTAMP_MICROS UTC", "UTF8", "INT32", "INT32", "INT32", "UTF8", "INT32", "INT64"];

/** Rows of a table with the types of its columns. */
function rowsOf(pgn: number, { rows, hasData }: ExpectedTable, { columns }: ParquetFile): unknown[][] {
  const types = columns.slice(HEAD_TYPES.length).map(({ type }) => type);
  return rows.map(({ message, decoded }) => {
    const fields = fieldsOf(pgn).map((name, index) => {
      const value = decoded?.[name];
      if (value === undefined || value === null) return null;
      return types[index] === "UTF8" ? typeof value === "string" ? value : textOf(value) : value;
    });
    const data = decoded === undefined ? payloadOf(message.frame).toHex() : null;
    return [...headOf(message), ...fields, ...hasData ? [data] : []];
  });
}

Deno.test(
  "every recording as Parquet: typed rows equal those of a plain reading, in one table and in one for each PGN",
  OFFLINE,
  () =>
    inFolder(async (folder) => {
      const types = new Set<string>();
      for (const [name, journal] of await journalsOf(folder)) {
        const messages = await messagesIn(journal);
        const path = `${folder}/${name}.parquet`;
        const { code, complaints } = await CommandRun.end(["export", journal, "-out", path, "-quiet"]);
        assert.deepEqual([code, complaints], [0, ""], name);
        const all = await readParquet(path);
        assert.deepEqual(all.columns.map(({ type }) => type), [...HEAD_TYPES, "UTF8"]);
        assert.deepEqual(all.rows, messages.map((each) => [...headOf(each), payloadOf(each.frame).toHex()]), name);
        const out = `${folder}/${name}.out`;
        assert.equal(
          (await CommandRun.end(["export", journal, "-format", "parquet", "-out", `${out}/`])).code,
          0,
          name,
        );
        for (const pgn of new Set(messages.map(({ frame }) => frame.pgn))) {
          const file = await readParquet(`${out}/${fileNameOf(pgn)}.parquet`);
          const table = tableOf(pgn, messages, { hasData: file.columns.at(-1)?.name === "data" });
          assert.deepEqual(file.columns.map(({ name }) => name), table.columns, `${name} ${pgn}`);
          assert.deepEqual(file.rows, rowsOf(pgn, table, file), `${name} ${pgn}`);
          for (const { type } of file.columns) types.add(type);
        }
      }
      assert.deepEqual(types, new Set([...HEAD_TYPES, "DOUBLE"]));
    }),
);

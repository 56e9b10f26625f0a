// What other makers' readers find in our Parquet files.
import assert from "node:assert/strict";
import { CommandRun } from "../cli/dump_run.ts";
import { namesIn } from "../support/converted.ts";
import { journalsOf } from "../support/exported.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";
import { PYTHON, readParquet } from "../support/parquet.ts";

const ORACLES = needs({
  permissions: ["run", "read", "write", "env", "sys"],
  others: { "pyarrow and duckdb (VBG_TEST_PYTHON)": PYTHON !== undefined },
});

/** A file as another reader has it. */
interface Found {
  names: string[];
  types: string[];
  rows: unknown[][];
}

/** Types of our columns in the words of each reader. */
const TYPES = {
  pyarrow: {
    "TIMESTAMP_MICROS UTC": "timestamp[us, tz=UTC]",
    UTF8: "string",
    INT32: "int32",
    INT64: "int64",
    DOUBLE: "double",
  },
  duckdb: {
    "TIMESTAMP_MICROS UTC": "TIMESTAMP WITH TIME ZONE",
    UTF8: "VARCHAR",
    INT32: "INTEGER",
    INT64: "BIGINT",
    DOUBLE: "DOUBLE",
  },
} as const;

async function readBy(paths: readonly string[]): Promise<{ pyarrow: Found; duckdb: Found }[]> {
  const script = new URL("../support/parquet_oracle.py", import.meta.url).pathname;
  const { stdout, stderr, success } = await new Deno.Command(PYTHON ?? "python3", { args: [script, ...paths] })
    .output();
  assert.ok(success, new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout).trim().split("\n").map((line) => JSON.parse(line));
}

Deno.test(
  "pyarrow and DuckDB read the rows and types of every recording, in one table and in one for each PGN",
  ORACLES,
  () =>
    inFolder(async (folder) => {
      const paths: string[] = [];
      for (const [name, journal] of await journalsOf(folder)) {
        const out = `${folder}/${name}.out`;
        await CommandRun.end(["export", journal, "-format", "parquet", "-out", `${out}/`]);
        await CommandRun.end(["export", journal, "-out", `${out}/all.parquet`]);
        paths.push(...(await namesIn(out)).map((each) => `${out}/${each}`));
      }
      const found = await readBy(paths);
      for (const [index, path] of paths.entries()) {
        const { columns, rows } = await readParquet(path);
        const expected = rows.map((row) => row.map((cell) => typeof cell === "bigint" ? Number(cell) : cell));
        for (const reader of ["pyarrow", "duckdb"] as const) {
          const { names, types, rows: read } = found[index]![reader];
          assert.deepEqual(names, columns.map(({ name }) => name));
          assert.deepEqual(
            types,
            columns.map(({ type }) => TYPES[reader][type as keyof typeof TYPES[typeof reader]]),
            path,
          );
          assert.deepEqual(read, expected, `${reader}: ${path}`);
        }
      }
    }),
);

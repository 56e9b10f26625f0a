import assert from "node:assert/strict";
import { runCommand } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { inFolder } from "../support/folder.ts";
import { appendRange, journalFiles, makeWriter } from "../support/journal_run.ts";
import { LiveCommand } from "../support/live_command.ts";
import { IS_FULL, needs } from "../support/needs.ts";
import { rowsOf, runQuery } from "../support/query.ts";

const RUN = needs({ permissions: ["env", "net", "read", "run", "sys", "write"] });
const VALUES = `SELECT 1 AS one, 'a "b", c' AS text, NULL AS nothing, '' AS empty, 2.50 AS decimal, [1, 2] AS list,
  {'x': 9007199254740993} AS struct, TIMESTAMP '2026-01-02 03:04:05.678901' AS time, 'nan'::DOUBLE AS nan`;

/** SQL for the full size of the tests; EVIL is a file that must not appear, FILE one of the journal. */
const MORE_HOSTILE = [
  "COPY (SELECT 1) TO 'FILE'",
  "SELECT * FROM read_blob('FILE')",
  "SELECT * FROM glob('/etc/*')",
  "SELECT * FROM sniff_csv('/etc/passwd')",
  "FROM 'https://example.com/a.csv'",
  "LOAD httpfs",
  "LOAD 'EVIL.duckdb_extension'",
  "EXPORT DATABASE 'EVIL'",
  "IMPORT DATABASE '/etc'",
  "SET temp_directory = 'EVIL'",
  "SET allowed_directories = ['/']",
  "RESET lock_configuration",
  "PRAGMA profiling_output = 'EVIL'",
  "CALL enable_logging(storage = 'file', storage_config = {'path': 'EVIL'}); FROM duckdb_logs",
  "CREATE SECRET s (TYPE s3)",
];

/** A claim about a journal with 100 messages in a folder of its own, and another folder. */
function test(claim: string, run: (journal: string, folder: string) => Promise<void>): void {
  Deno.test(`vbg query: ${claim}`, RUN, () =>
    inFolder((journal) =>
      inFolder(async (folder) => {
        const { writer } = makeWriter(journal);
        appendRange(writer, 1, 100);
        await writer.close();
        await run(journal, folder);
      })
    ));
}

test("a journal may have any path", async (journal, folder) => {
  const path = `${folder}/it's, a journal`;
  Deno.renameSync(journal, path);
  assert.deepEqual(await rowsOf("SELECT count(*) AS n FROM vessel_heading", path), [{ n: 86 }]);
  Deno.renameSync(path, journal);
});

test("a result is CSV, JSON, or a table on a terminal", async (journal) => {
  const csv = await runQuery([VALUES, journal]);
  assert.deepEqual(csv.out.split("\n"), [
    "one,text,nothing,empty,decimal,list,struct,time,nan",
    `1,"a ""b"", c",,"",2.50,"[1, 2]",{'x': 9007199254740993},2026-01-02 03:04:05.678901,NaN`,
    "",
  ]);
  assert.deepEqual(await rowsOf(VALUES, journal), [{
    ...{ one: 1, text: 'a "b", c', nothing: null, empty: "", decimal: 2.5, list: [1, 2], nan: "NaN" },
    ...{ struct: { x: "9007199254740993" }, time: "2026-01-02 03:04:05.678901" },
  }]);
  const table = await runQuery(["SELECT range AS n, 'x\u001b[31m' AS t FROM range(9, 11)", journal], {
    isTerminal: true,
  });
  assert.equal(table.out, " n  t\n 9  x\\u001b[31m\n10  x\\u001b[31m\n");
});

test("a table ends after 10000 rows and says so", async (journal) => {
  const { code, out, err } = await runQuery(["FROM range(10002)", journal, "-format", "table"]);
  assert.equal(code, 0);
  assert.deepEqual([out.split("\n").length, out.split("\n")[10_000]], [10_002, " 9999"]);
  assert.equal(err, "vbg query: only the first 10000 rows are shown: -format csv prints all\n");
});

test("a file has the whole result or is not there, and Parquet has what SQL found", async (journal, folder) => {
  const path = `${folder}/it's.parquet`;
  const written = await runQuery([
    "SELECT seq, heading FROM vessel_heading; -- all",
    journal,
    "-format",
    "parquet",
    "-out",
    path,
  ]);
  assert.deepEqual([written.code, written.out, written.err], [0, "", ""]);
  const query = `SELECT count(*) n, sum(seq)::INT s FROM read_parquet('${path.replace("'", "''")}')`;
  assert.deepEqual(
    await rowsOf(query, journal, "-allow-files"),
    await rowsOf("SELECT count(*) n, sum(seq)::INT s FROM vessel_heading", journal),
  );
  const csv = `${folder}/a.csv`;
  Deno.writeTextFileSync(csv, "before");
  for (const sql of ["SELECT * FROM nothing", "SELECT error('stop') FROM range(5000) WHERE range = 4999"]) {
    assert.equal((await runQuery([sql, journal, "-out", csv])).code, 1);
    assert.equal(Deno.readTextFileSync(csv), "before");
  }
  assert.equal((await runQuery(["SELECT 1 AS a", journal, "-out", csv])).code, 0);
  assert.equal(Deno.readTextFileSync(csv), "a\n1\n");
  assert.deepEqual([...Deno.readDirSync(folder)].map(({ name }) => name).sort(), ["a.csv", "it's.parquet"]);
});

test("a result is never written into a journal", async (journal, folder) => {
  const [name] = journalFiles(journal);
  const bytes = Deno.readFileSync(`${journal}/${name}`);
  Deno.symlinkSync(`${journal}/${name}`, `${folder}/link.csv`);
  for (
    const out of [
      `${journal}/${name}`,
      `${journal}/new.csv`,
      `${folder}/link.csv`,
      `${folder}/../${journal.split("/").at(-1)}/x`,
    ]
  ) {
    const { code, err } = await runQuery(["SELECT 1", journal, "-out", out]);
    assert.equal(code, 2, out);
    assert.match(err, /a journal is not changed, choose another place/);
  }
  const one = await runQuery(["SELECT 1", `${journal}/${name}`, "-out", `${folder}/link.csv`]);
  assert.equal(one.code, 2);
  assert.deepEqual(Deno.readFileSync(`${journal}/${name}`), bytes);
  assert.deepEqual(journalFiles(journal), [name]);
});

test("SQL cannot reach files, networks and extensions, nor change that", async (journal, folder) => {
  const evil = `${folder}/evil`;
  const file = `${journal}/${journalFiles(journal)[0]}`;
  const hostile = [
    `COPY (SELECT 1) TO '${evil}'`,
    `SELECT 1; COPY (SELECT 1) TO '${file}'`,
    "SELECT * FROM read_text('/etc/passwd')",
    "INSTALL httpfs",
    `ATTACH '${evil}.db'`,
    `SET enable_external_access = true; COPY (SELECT 1) TO '${evil}'`,
    ...(IS_FULL ? MORE_HOSTILE.map((sql) => sql.replace("EVIL", evil).replace("FILE", file)) : []),
  ];
  const answers = await Promise.all(hostile.map((sql) => runQuery([sql, journal])));
  for (const [i, { code, out, err }] of answers.entries()) {
    const sql = hostile[i] ?? "";
    assert.deepEqual([code, out], [1, ""], sql);
    assert.match(
      err,
      /^vbg query: (?:Permission Error|IO Error|Catalog Error|Invalid Input Error): [^\n]+\n$/,
      sql,
    );
  }
  // A query for Parquet may write its own file alone.
  const args = [journal, "-format", "parquet", "-out", `${folder}/a.parquet`];
  const broken = await runQuery([`SELECT 1) TO '${evil}' (FORMAT csv) --`, ...args]);
  assert.equal(broken.code, 1);
  assert.deepEqual([...Deno.readDirSync(folder)], []);
  // With -allow-files files are open, and networks and extensions are not.
  Deno.writeTextFileSync(`${folder}/a.txt`, "allowed");
  const text = await rowsOf(`SELECT content FROM read_text('${folder}/a.txt')`, journal, "-allow-files");
  assert.deepEqual(text, [{ content: "allowed" }]);
  for (const sql of ["INSTALL httpfs", "LOAD httpfs", "FROM 'http://127.0.0.1:1/a.csv'"]) {
    const { code, err } = await runQuery([sql, journal, "-allow-files"]);
    assert.equal(code, 1);
    assert.match(err, /^vbg query: (?:IO Error: Failed to create directory|Permission Error|Missing Extension Error)/);
  }
});

test("an error of SQL is one line with DuckDB's hint, other errors say what to do", async (journal) => {
  const cases: [args: string[], code: number, err: RegExp][] = [
    [["SELECT * FROM vessel_headin", journal], 1, /^vbg query: Catalog Error: .* Did you mean "vessel_heading"\?\n$/],
    [["SELECT headin FROM vessel_heading", journal], 1, /^vbg query: Binder Error: .*"heading".*\n$/],
    [["selec", journal], 1, /^vbg query: Parser Error: syntax error at or near "selec"\n$/],
    [["SELECT 1", `${journal}/missing.lpj`], 2, /^vbg query: Cannot read ".*missing\.lpj": No such file[^\n]*\n$/],
    [
      ["SELECT 1", import.meta.filename ?? ""],
      1,
      /^vbg query: Cannot read ".*": The file is not a journal; "vbg convert" makes one of a recording of another program\n$/,
    ],
    [["SELECT 1", journal, "-server", "boat.local"], 2, /^vbg query: Cannot use files with -server/],
    [
      ["SELECT 1", journal, "-format", "parquet"],
      2,
      /^vbg query: flag -format: Cannot print Parquet: expected -out FILE\n/,
    ],
    [[], 2, /^vbg query: Missing query: expected SQL in quotes\n/],
  ];
  for (const [args, code, err] of cases) {
    const answer = await runQuery(args);
    assert.deepEqual([answer.code, answer.out], [code, ""], args.join(" "));
    assert.match(answer.err, err);
  }
});

test("without DuckDB one line says what fetches it", async (journal, folder) => {
  const { code, err } = await runQuery(["SELECT 1", journal], { environment: { DENO_DIR: folder } });
  assert.deepEqual([code, err], [1, "vbg query: DuckDB is not installed: vbg query -install fetches it\n"]);
  const tables = await runQuery(["-tables", journal], { environment: { DENO_DIR: folder } });
  assert.equal(tables.code, 0, "the list needs none");
});

test("a failed download is reported with its reason, also where Deno prints traces", async (_, folder) => {
  const before = ["RUST_BACKTRACE", "HTTPS_PROXY"].map((name) => [name, Deno.env.get(name)] as const);
  try {
    Deno.env.set("RUST_BACKTRACE", "1");
    Deno.env.set("HTTPS_PROXY", "http://127.0.0.1:1");
    const { code, err } = await runCommand(["query", "-install"], { environment: { DENO_DIR: folder } });
    assert.equal(code, 1);
    assert.match(err, /\nvbg query: Cannot download DuckDB: Connection refused/);
  } finally {
    for (const [name, value] of before) value === undefined ? Deno.env.delete(name) : Deno.env.set(name, value);
  }
});

test("-tables lists the views with their columns, types and units", async (journal) => {
  const { out } = await runQuery(["-tables", journal]);
  const lines = out.trimEnd().split("\n");
  assert.equal(lines[0], "view,pgn,messages,column,type,unit");
  assert.ok(lines.includes("vessel_heading,127250,86,heading,DOUBLE,rad"), out);
  assert.ok(lines.includes("gnss_position_data,129029,14,time,TIMESTAMP,"), out);
  assert.ok(lines.includes("devices,,50,messages,BIGINT,"), out);
  assert.ok(lines.includes("gaps,,0,reason,VARCHAR,"), out);
});

Deno.test(
  "vbg query: Ctrl-C ends a query that prints without end",
  RUN,
  () =>
    inFolder(async (journal) => {
      const { writer } = makeWriter(journal);
      appendRange(writer, 1, 10);
      await writer.close();
      await rowsOf("SELECT 1", journal);
      await using command = new LiveCommand(["query", "FROM range(1000000000000)", journal]);
      await eventually("a row", () => command.written.length > 0);
      assert.equal(await command.stop(), 130);
    }),
);

/**
 * Runs a query with DuckDB: a process of its own, started by `vbg query`, with the job on its standard input.
 *
 * @module
 */
import { fileURLToPath } from "node:url";
import { errorText } from "@vessel/gateway/base";
import { listPgns } from "@vessel/gateway/pgn";
import { addTables, type Connection, literal, loadDuckDb, openMemory } from "./duckdb.ts";
import type { QueryJob } from "./job.ts";
import { MAX_TABLE_ROWS, printRows, type Rows } from "./output.ts";
import { openRecording, type RecordedTable } from "./recording.ts";
import { messageView } from "./views.ts";

const NUMERIC = /^(?:U?(?:TINY|SMALL|BIG|HUGE)?INT(?:EGER)?|FLOAT|DOUBLE|DECIMAL\(.*\))$/;
/** Rows of the list of views, in the order of its columns. */
const LIST_COLUMNS = ["view", "pgn", "messages", "column", "type", "unit"];
const encoder = new TextEncoder();

async function runJob(job: QueryJob): Promise<void> {
  const { sql, paths, range, output } = job;
  const { tables, damage } = await openRecording(paths, range);
  for (const what of damage) note(what);
  if (sql === undefined) return await print(listOf(tables), job);
  const duckDb = await loadDuckDb().catch((error) => {
    throw new Error(missingText(errorText(error)), { cause: error });
  });
  const connection = await openMemory(duckDb);
  await addTables(connection, { duckDb, tables });
  await restrict(connection, job);
  if (output.format === "parquet") return await copyTo(connection, { sql, path: output.path });
  const result = await connection.stream(sql);
  const isNumeric = result.columnTypes().map((type) => NUMERIC.test(type.toString()));
  await print({ names: result.deduplicatedColumnNames(), isNumeric, parts: result.yieldRows() }, job);
}

/** Closes files, networks and extensions to SQL. It cannot open them again. */
async function restrict(connection: Connection, { filesAllowed, temporary, output }: QueryJob): Promise<void> {
  const settings = [
    `temp_directory = ${literal(temporary)}`,
    // It is a file: extensions are stored nowhere, and not downloaded.
    `extension_directory = ${literal(fileURLToPath(import.meta.url))}`,
    ...(filesAllowed ? [`allowed_directories = [${literal(rootOf(temporary))}]`] : []),
    ...(output.format === "parquet" ? [`allowed_paths = [${literal(output.path)}]`] : []),
    // Times have no zone: beside now() and others with one they would be those of the zone of this machine.
    "TimeZone = 'UTC'",
    "enable_external_access = false",
    "lock_configuration = true",
  ];
  for (const setting of settings) await connection.run(`SET ${setting}`);
}

/** Directory of all files, on Windows of a drive. */
function rootOf(path: string): string {
  return /^[A-Za-z]:/.exec(path)?.[0].concat("/") ?? "/";
}

/** Writes Parquet. `query` reads one statement, with its comments, and nothing after it. */
async function copyTo(connection: Connection, { sql, path }: { sql: string; path: string }): Promise<void> {
  await connection.run(
    `COPY (FROM query(${literal(sql)})) TO ${literal(path)} (FORMAT parquet, USE_TMP_FILE false)`,
  );
}

function listOf(tables: ReadonlyMap<string, RecordedTable>): Rows {
  const rows = Array.from(
    tables,
    ([view, { pgn = null, rows, columns }]) =>
      columns.map(({ name, type, unit = null }) => [view, pgn, rows, name, type, unit]),
  );
  const parts = async function* () {
    yield rows.flat();
  };
  return { names: LIST_COLUMNS, isNumeric: [false, true, true], parts: parts() };
}

async function print(rows: Rows, { output }: QueryJob): Promise<void> {
  if (output.format === "parquet") throw new TypeError("Parquet is not printed");
  const { format, form } = output;
  if (await printRows(rows, { format, form, write })) {
    note(`only the first ${MAX_TABLE_ROWS} rows are shown: -format csv prints all`);
  }
}

async function write(text: string): Promise<void> {
  for (let bytes = encoder.encode(text); bytes.length > 0;) bytes = bytes.subarray(await Deno.stdout.write(bytes));
}

function note(text: string): void {
  Deno.stderr.writeSync(encoder.encode(`${text}\n`));
}

function missingText(why: string): string {
  return /cached-only|not found in cache/.test(why)
    ? "DuckDB is not installed: vbg query -install fetches it"
    : `Cannot load DuckDB: ${why}`;
}

/** An error of DuckDB as one line, without the copy of the statement. A view that only other recordings have is no typing error. */
function oneLine(text: string): string {
  const [, name] = /Table with name (\w+) does not exist/.exec(text) ?? [];
  const known = name === undefined ? undefined : listPgns().find(({ pgn }) => messageView(pgn).name === name);
  if (known !== undefined) return `Cannot read ${name}: the recording has no message of PGN ${known.pgn} in this time`;
  const message = text.replace(/^Failed to extract statements: /, "").replace(/\n+LINE \d+:[^]*$/, "");
  return message.trim().replaceAll(/\s*\n\s*/g, " ");
}

if (import.meta.main) {
  try {
    const job: QueryJob = JSON.parse(await new Response(Deno.stdin.readable).text());
    await runJob(job);
    Deno.exit(0);
  } catch (error) {
    if (!(error instanceof Deno.errors.BrokenPipe)) note(oneLine(errorText(error)));
    Deno.exit(1);
  }
}

import { CHUNK_ROWS, type SqlType } from "./columns.ts";
import type { Scan } from "./scan.ts";

// The types are written here, not imported: the main program does not have the package.

/** A vector of a chunk. */
interface Vector {
  __duckdb_type: "duckdb_vector";
}

/** A chunk of rows. */
interface Chunk {
  /** As the native functions take it. */
  readonly chunk: { __duckdb_type: "duckdb_data_chunk" };
  rowCount: number;
}

/** The native functions that are used directly: they take memory as it is. */
interface Bindings {
  data_chunk_get_vector(chunk: Chunk["chunk"], column: number): Vector;
  copy_data_to_vector(vector: Vector, to: number, buffer: ArrayBuffer, from: number, bytes: number): void;
  copy_data_to_vector_validity(vector: Vector, to: number, buffer: ArrayBuffer, from: number, bytes: number): void;
  vector_ensure_validity_writable(vector: Vector): void;
  vector_assign_string_element_len(vector: Vector, row: number, text: Uint8Array): void;
}

interface BindInfo {
  getParameter(index: number): unknown;
  addResultColumn(name: string, type: unknown): void;
  setBindData(data: object): void;
  setCardinality(rows: number, isExact: boolean): void;
  setError(message: string): void;
}

interface InitInfo {
  readonly bindData: object | undefined;
  getColumnIndexes(): number[];
  setInitData(data: object): void;
  setMaxThreads(threads: number): void;
  setError(message: string): void;
}

interface FunctionInfo {
  readonly initData: object | undefined;
  setError(message: string): void;
}

/** Result of a query. */
export interface QueryResult {
  deduplicatedColumnNames(): string[];
  columnTypes(): { toString(): string }[];
  yieldRows(): AsyncIterable<unknown[][]>;
}

/** A connection to a database. */
export interface Connection {
  run(sql: string): Promise<unknown>;
  /** Runs all statements. The result is of the last one, and read while it is computed. */
  stream(sql: string): Promise<QueryResult>;
  registerTableFunction(table: object): void;
}

/** The package. */
interface Package {
  DuckDBInstance: {
    create(path: string, options: Record<string, string>): Promise<{ connect(): Promise<Connection> }>;
  };
  DuckDBTableFunction: {
    create(options: {
      name: string;
      parameterTypes: unknown[];
      supportsProjectionPushdown: boolean;
      bindFunction: (info: BindInfo) => void;
      initFunction: (info: InitInfo) => void;
      mainFunction: (info: FunctionInfo, output: Chunk) => void;
    }): object;
  };
  TIMESTAMP: unknown;
  BIGINT: unknown;
  INTEGER: unknown;
  UINTEGER: unknown;
  DOUBLE: unknown;
  VARCHAR: unknown;
}

/** DuckDB, loaded. */
export interface DuckDb {
  api: Package;
  bindings: Bindings;
}

/** A table that DuckDB reads from us. */
export interface Table {
  columns: readonly { name: string; type: SqlType }[];
  /** Number of rows. */
  rows: number;
  /** Begins to read. @param wanted indexes of columns */
  open(wanted: readonly number[]): Scan;
}

// Not literals: tools that read the sources must not find the package.
const API: string = "@duckdb/node-api";
const BINDINGS: string = "@duckdb/node-bindings";

/** Loads the package. @throws {Error} it is not installed */
export async function loadDuckDb(): Promise<DuckDb> {
  const api: Package = await import(API);
  const bindings: { default: Bindings } = await import(BINDINGS);
  return { api, bindings: bindings.default };
}

/** Opens a database in memory, whose SQL cannot load anything. */
export async function openMemory({ api }: DuckDb): Promise<Connection> {
  const instance = await api.DuckDBInstance.create(":memory:", {
    autoinstall_known_extensions: "false",
    autoload_known_extensions: "false",
    allow_community_extensions: "false",
  });
  return await instance.connect();
}

class TableBinding {
  constructor(readonly table: Table) {}
}

class OpenScan {
  constructor(readonly scan: Scan) {}
}

/** Name of the table function: its parameter is the name of the table. */
const FUNCTION = "vbg_table";

/** Makes the tables readable in SQL, as views with their names. */
export async function addTables(
  connection: Connection,
  { duckDb: { api, bindings }, tables }: { duckDb: DuckDb; tables: ReadonlyMap<string, Table> },
): Promise<void> {
  connection.registerTableFunction(api.DuckDBTableFunction.create({
    name: FUNCTION,
    parameterTypes: [api.VARCHAR],
    supportsProjectionPushdown: true,
    bindFunction: (info) =>
      guarded(info, () => {
        const name = String(info.getParameter(0));
        const table = tables.get(name);
        if (table === undefined) return info.setError(`There is no table "${name}"`);
        for (const { name, type } of table.columns) info.addResultColumn(name, api[type]);
        // Without it the optimizer assumes few rows, and joins take minutes.
        info.setCardinality(table.rows, true);
        info.setBindData(new TableBinding(table));
      }),
    initFunction: (info) =>
      guarded(info, () => {
        if (!(info.bindData instanceof TableBinding)) throw new TypeError("The table is not bound");
        // All calls run in the thread of JavaScript.
        info.setMaxThreads(1);
        info.setInitData(new OpenScan(info.bindData.table.open(info.getColumnIndexes())));
      }),
    mainFunction: (info, output) =>
      guarded(info, () => {
        if (!(info.initData instanceof OpenScan)) throw new TypeError("The table is not open");
        fill(output, { scan: info.initData.scan, bindings });
      }),
  }));
  for (const name of tables.keys()) {
    await connection.run(`CREATE VIEW ${identifier(name)} AS SELECT * FROM ${FUNCTION}(${literal(name)})`);
  }
}

/** An error must not leave a callback of native code. */
function guarded(info: { setError(message: string): void }, run: () => void): void {
  try {
    run();
  } catch (error) {
    info.setError(error instanceof Error ? error.message : String(error));
  }
}

function fill(output: Chunk, { scan, bindings }: { scan: Scan; bindings: Bindings }): void {
  const rows = scan.next();
  output.rowCount = rows;
  if (rows === 0) return;
  for (const [column, { bytes, validity, hasNulls, longTexts }] of scan.buffers.entries()) {
    const vector = bindings.data_chunk_get_vector(output.chunk, column);
    bindings.copy_data_to_vector(vector, 0, bytes.buffer, 0, bytes.length / CHUNK_ROWS * rows);
    for (const { row, text } of longTexts) bindings.vector_assign_string_element_len(vector, row, text);
    if (!hasNulls) continue;
    bindings.vector_ensure_validity_writable(vector);
    bindings.copy_data_to_vector_validity(vector, 0, validity.buffer, 0, Math.ceil(rows / 64) * 8);
  }
}

/** A name in SQL. */
export function identifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** A text in SQL. */
export function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

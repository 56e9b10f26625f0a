// Reads Parquet with other software than that which writes it.
import { zstdDecompressSync } from "node:zlib";
import { parquetMetadata, parquetReadObjects } from "npm:hyparquet@1.31.5";
import { environment } from "./needs.ts";

/** A Python with pyarrow and duckdb, if there is one. */
export const PYTHON = environment("VBG_TEST_PYTHON");

/** A file as rows of cells; times are bigints, microseconds since 1970. */
export interface ParquetFile {
  /** Names of the columns with their types. */
  columns: { name: string; type: string }[];
  rows: unknown[][];
  /** Rows of each row group. */
  groups: number[];
}

/** Reads a file with hyparquet. */
export async function readParquet(path: string): Promise<ParquetFile> {
  return await parseParquet(await Deno.readFile(path));
}

/** Reads the bytes of a file with hyparquet. */
export async function parseParquet({ buffer, byteOffset, byteLength }: Uint8Array<ArrayBuffer>): Promise<ParquetFile> {
  const bytes = buffer.slice(byteOffset, byteOffset + byteLength);
  const { schema, row_groups } = parquetMetadata(bytes);
  const columns = schema.slice(1).map(({ name, type, converted_type, logical_type }) => {
    const isUtc = logical_type?.type === "TIMESTAMP" && logical_type.isAdjustedToUTC;
    return { name, type: isUtc ? `${converted_type} UTC` : converted_type ?? type ?? "" };
  });
  const objects = await parquetReadObjects({
    file: { byteLength, slice: (start, end) => bytes.slice(start, end) },
    compressors: { ZSTD: (input) => new Uint8Array(zstdDecompressSync(input)) },
    parsers: { timestampFromMicroseconds: (us: bigint) => us },
  });
  const rows = objects.map((row) => columns.map(({ name }) => row[name] ?? null));
  return { columns, rows, groups: row_groups.map(({ num_rows }) => Number(num_rows)) };
}

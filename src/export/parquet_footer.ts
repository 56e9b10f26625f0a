import { zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { VERSION } from "../version.ts";
import type { Column, ColumnType } from "./tables.ts";

/** The package that writes Parquet. */
export type ParquetPackage = typeof import("./parquet_package.ts");
type SchemaElement = import("./parquet_package.ts").SchemaElement;
type Writer = InstanceType<ParquetPackage["ByteWriter"]>;
type RowGroups = InstanceType<ParquetPackage["ParquetWriter"]>["row_groups"];

const TYPES: Readonly<Record<ColumnType, Omit<SchemaElement, "name">>> = {
  time: {
    type: "INT64",
    converted_type: "TIMESTAMP_MICROS",
    logical_type: { type: "TIMESTAMP", isAdjustedToUTC: true, unit: "MICROS" },
  },
  int: { type: "INT32" },
  long: { type: "INT64" },
  double: { type: "DOUBLE" },
  text: { type: "BYTE_ARRAY", converted_type: "UTF8", logical_type: { type: "STRING" } },
};
/** `PAR1` */
const MAGIC = 0x31524150;
/** The length after the metadata. */
const LENGTH_BYTES = 4;
/** Thrift's compact protocol: type of a struct; in a list of fewer than 15, their number is in the four bits above. */
const STRUCT = 0x0c;
const SHORT_LIST = 15;
/** First byte of a longer list. */
const LONG_LIST = (SHORT_LIST << 4) | STRUCT;

/** Descriptions of row groups that are compressed together. */
const PACKED_GROUPS = 512;

/**
 * The end of a Parquet file, which describes every row group. The package keeps the descriptions as objects until then: 20 KB
 * for each group, 1 GB for a month. This one keeps what is written of them, 1 KB, and compresses it.
 */
export class ParquetFooter {
  readonly schema: SchemaElement[];
  readonly #loaded: ParquetPackage;
  readonly #scratch: Writer;
  readonly #packed: Uint8Array[] = [];
  #groups: Uint8Array[] = [];
  #count = 0;
  /** Offset of the list of row groups in the metadata. */
  readonly #listAt: number;
  /** Bytes after that list. */
  readonly #tail: Uint8Array;
  #rows = 0;

  constructor(loaded: ParquetPackage, columns: readonly Column[]) {
    this.#loaded = loaded;
    this.#scratch = new loaded.ByteWriter();
    this.schema = [
      { name: "root", num_children: columns.length },
      ...columns.map(({ name, type, isOptional }): SchemaElement => ({
        name,
        ...TYPES[type],
        repetition_type: isOptional ? "OPTIONAL" : "REQUIRED",
      })),
    ];
    const [none, one] = [this.#metadata([]), this.#metadata([EMPTY_GROUP])];
    this.#listAt = none.findIndex((byte, at) => byte !== one[at]);
    this.#tail = none.subarray(this.#listAt + 1);
  }

  /** Adds row groups with together this number of rows. */
  add(groups: RowGroups, rows: number): void {
    for (const group of groups) {
      const bytes = this.#metadata([group]);
      this.#groups.push(bytes.subarray(this.#listAt + 1, bytes.length - this.#tail.length));
      this.#count++;
      if (this.#groups.length >= PACKED_GROUPS) {
        this.#packed.push(zstdCompressSync(joined(this.#groups)));
        this.#groups = [];
      }
    }
    this.#rows += rows;
  }

  /** The end of the file, in pieces. */
  *end(): Generator<Uint8Array> {
    let bytes = 0;
    for (const part of this.#parts()) {
      bytes += part.length;
      yield part;
    }
    const to = this.#scratch;
    to.index = to.offset = 0;
    to.appendUint32(bytes);
    to.appendUint32(MAGIC);
    yield to.getBytes().slice();
  }

  *#parts(): Generator<Uint8Array> {
    const head = this.#metadata([], this.#rows);
    yield head.subarray(0, head.length - this.#tail.length - 1);
    yield this.#listHead();
    for (const packed of this.#packed) yield zstdDecompressSync(packed);
    yield joined(this.#groups);
    yield this.#tail;
  }

  /** Head of a list of structs. */
  #listHead(): Uint8Array {
    if (this.#count < SHORT_LIST) return Uint8Array.of((this.#count << 4) | STRUCT);
    const to = this.#scratch;
    to.index = to.offset = 0;
    to.appendUint8(LONG_LIST);
    to.appendVarInt(this.#count);
    return to.getBytes().slice();
  }

  /** Metadata of a file with these row groups, as the package writes it. */
  #metadata(groups: RowGroups, rows = 0): Uint8Array {
    const scratch = this.#scratch;
    scratch.index = scratch.offset = 0;
    this.#loaded.writeMetadata(scratch, {
      version: 2,
      created_by: `vbg version ${VERSION}`,
      schema: this.schema,
      num_rows: BigInt(rows),
      row_groups: groups,
      metadata_length: 0,
    });
    return scratch.getBytes().slice(0, -LENGTH_BYTES);
  }
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

const EMPTY_GROUP: RowGroups[number] = { columns: [], total_byte_size: 0n, num_rows: 0n };

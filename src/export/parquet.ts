import { constants, zstdCompressSync } from "node:zlib";
import { importLate } from "../base/mod.ts";
import { destinationOfId, packBus, priorityOfId, sourceOfId, type StoredFrame } from "../frame/mod.ts";
import { decode } from "../pgn/mod.ts";
import type { Origins } from "./origins.ts";
import { type ColumnValues, FieldValues, HexColumn, NumberColumn, TextColumn } from "./parquet_columns.ts";
import { ParquetFooter, type ParquetPackage } from "./parquet_footer.ts";
import type { MessageWriter } from "./message_writer.ts";
import { type Column, columnsOf, type Table } from "./tables.ts";

/** Rows of a row group: with more, its values outlive the young generation, and the memory is several times as large. */
const GROUP_ROWS = 8192;
const COMPRESSION_LEVEL = 1;
/** Identifiers whose texts are remembered. */
const MAX_HEADS = 65_536;
const FIRST_BYTES = 65_536;

/** Loads the package that writes Parquet. */
export function loadParquet(): Promise<ParquetPackage> {
  return importLate<ParquetPackage>(new URL("./parquet_package.ts", import.meta.url));
}

/** Values of the first columns, row by row. */
class HeadColumns {
  readonly #origins: Origins;
  readonly #time = new NumberColumn("long");
  readonly #bus = new TextColumn();
  readonly #src = new NumberColumn("int");
  readonly #dst = new NumberColumn("int");
  readonly #prio = new NumberColumn("int");
  readonly #name = new TextColumn();
  readonly #pgn = new NumberColumn("int");
  readonly #seq = new NumberColumn("long");
  readonly #heads = new Map<number, { bus: string | undefined; name: string | undefined }>();

  constructor(origins: Origins) {
    this.#origins = origins;
  }

  originsChanged(): void {
    this.#heads.clear();
  }

  add({ id, bus, pgn, seq, timeUs }: StoredFrame): void {
    const src = sourceOfId(id);
    const key = packBus(id, bus);
    let head = this.#heads.get(key);
    if (head === undefined) {
      if (this.#heads.size >= MAX_HEADS) this.#heads.clear();
      head = { bus: this.#origins.busName(bus) || undefined, name: this.#origins.nameOf(bus, src) };
      this.#heads.set(key, head);
    }
    this.#time.add(timeUs);
    this.#bus.add(head.bus);
    this.#src.add(src);
    this.#dst.add(destinationOfId(id));
    this.#prio.add(priorityOfId(id));
    this.#name.add(head.name);
    this.#pgn.add(pgn);
    this.#seq.add(seq > 0 ? seq : undefined);
  }

  /** In the order of `HEAD_COLUMNS`. */
  take(): ColumnValues[] {
    const columns = [this.#time, this.#bus, this.#src, this.#dst, this.#prio, this.#name, this.#pgn, this.#seq];
    return columns.map((column) => column.take());
  }
}

/** Writes a table as Parquet: typed columns, times in UTC with microseconds, pages compressed with zstd. */
export class ParquetTable implements MessageWriter {
  readonly #columns: readonly Column[];
  readonly #head: HeadColumns;
  readonly #fields: readonly FieldValues[];
  readonly #data: HexColumn | undefined;
  readonly #footer: ParquetFooter;
  readonly #writer: InstanceType<ParquetPackage["ParquetWriter"]>;
  readonly #bytes: InstanceType<ParquetPackage["ByteWriter"]>;
  #rows = 0;

  constructor(table: Table, { origins, loaded }: { origins: Origins; loaded: ParquetPackage }) {
    this.#columns = columnsOf(table);
    this.#head = new HeadColumns(origins);
    this.#fields = table.fields.map((column) => new FieldValues(column));
    if (table.hasData) this.#data = new HexColumn();
    this.#bytes = new loaded.ByteWriter(FIRST_BYTES);
    this.#footer = new ParquetFooter(loaded, this.#columns);
    this.#writer = new loaded.ParquetWriter({
      writer: this.#bytes,
      schema: this.#footer.schema,
      codec: "ZSTD",
      compressors: { ZSTD: compress },
    });
  }

  get waitingBytes(): number {
    return this.#bytes.index;
  }

  get waitingValues(): number {
    return this.#rows * this.#columns.length;
  }

  originsChanged(): void {
    this.#head.originsChanged();
  }

  add(frame: StoredFrame): boolean {
    const { pgn, data, offset, length } = frame;
    this.#head.add(frame);
    const decoded = this.#fields.length > 0 ? decode(pgn, data.subarray(offset, offset + length)) : undefined;
    for (const field of this.#fields) field.add(decoded);
    if (decoded === undefined) this.#data?.add(data, offset, offset + length);
    else this.#data?.addNull();
    this.#rows++;
    if (this.#rows >= GROUP_ROWS) this.settle();
    return true;
  }

  /** Writes the waiting values as a row group. */
  settle(): void {
    if (this.#rows === 0) return;
    const values = [
      ...this.#head.take(),
      ...this.#fields.map((field) => field.take()),
      ...this.#data ? [this.#data.take()] : [],
    ];
    this.#writer.write({
      columnData: this.#columns.map(({ name, type }, index) => {
        const data = values[index] ?? [];
        return { name, data, ...optionsOf(type, data) };
      }),
      rowGroupSize: this.#rows,
      // One page for each column of a group.
      pageSize: 0,
    });
    this.#footer.add(this.#writer.row_groups.splice(0), this.#rows);
    this.#writer.pendingIndexes.length = 0;
    this.#rows = 0;
  }

  take(): Uint8Array {
    const bytes = this.#bytes.getBytes().slice();
    this.#bytes.index = 0;
    return bytes;
  }

  *end(): Generator<Uint8Array> {
    this.settle();
    yield this.take();
    yield* this.#footer.end();
  }
}

/** Times and numbers count up; payloads hardly repeat. Bounds of texts help no reader. */
function optionsOf(type: Column["type"], data: ColumnValues) {
  const isPayload = data[0] instanceof Uint8Array;
  return {
    offsetIndex: false,
    statistics: type !== "text",
    ...(data instanceof BigInt64Array && { encoding: "DELTA_BINARY_PACKED" as const }),
    ...(isPayload && { encoding: "PLAIN" as const }),
  };
}

function compress(bytes: Uint8Array): Uint8Array {
  return zstdCompressSync(bytes, { params: { [constants.ZSTD_c_compressionLevel]: COMPRESSION_LEVEL } });
}

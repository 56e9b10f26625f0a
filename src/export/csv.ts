import { destinationOfId, packBus, priorityOfId, sourceOfId, type StoredFrame } from "../frame/mod.ts";
import { decode, type Decoded } from "../pgn/mod.ts";
import { ByteBuffer, MAX_DIGITS } from "./byte_buffer.ts";
import { type CellWriter, cellWriter, writeText } from "./cells.ts";
import type { Origins } from "./origins.ts";
import { columnsOf, type Table } from "./tables.ts";
import { TIME_BYTES, TimeText } from "./time_text.ts";
import { RowWriter } from "./message_writer.ts";

const [COMMA, LINE_END] = [44, 10];
/** Identifiers whose cells are remembered. */
const MAX_HEADS = 65_536;
/** Most bytes of a time and a number. */
const FIXED_BYTES = TIME_BYTES + MAX_DIGITS;

/** Writes a table as CSV (RFC 4180, lines end with LF): a heading, and a row for each message. An empty cell is a null. */
export class CsvTable extends RowWriter {
  readonly #buffer = new ByteBuffer();
  readonly #origins: Origins;
  readonly #hasData: boolean;
  readonly #keys: readonly string[];
  readonly #cells: readonly CellWriter[];
  readonly #time = new TimeText();
  /** Cells from the bus to the PGN, by bus and identifier: many messages share few of them. */
  readonly #heads = new Map<number, Uint8Array>();

  constructor(table: Table, origins: Origins) {
    super();
    this.#origins = origins;
    this.#hasData = table.hasData;
    this.#keys = table.fields.map(({ key }) => key);
    this.#cells = table.fields.map(cellWriter);
    columnsOf(table).forEach(({ name }, index) => {
      if (index > 0) this.#buffer.byte(COMMA);
      writeText(this.#buffer, name);
      this.#buffer.reserve(1);
    });
    this.#buffer.byte(LINE_END);
  }

  get waitingBytes(): number {
    return this.#buffer.length;
  }

  override originsChanged(): void {
    this.#heads.clear();
  }

  add(frame: StoredFrame): boolean {
    const { data, offset, length, seq } = frame;
    const to = this.#buffer;
    const head = this.#headOf(frame);
    to.reserve(FIXED_BYTES + head.length);
    this.#time.write(to, frame.timeUs);
    to.copy(head);
    if (seq > 0) to.decimal(seq);
    const decoded = this.#cells.length > 0 ? decode(frame.pgn, data.subarray(offset, offset + length)) : undefined;
    if (this.#cells.length > 0) this.#addFields(decoded);
    to.reserve(2 * length + 2);
    if (this.#hasData) to.byte(COMMA);
    if (this.#hasData && decoded === undefined) {
      if (length === 0) writeText(to, "");
      else to.hex(data, offset, offset + length);
    }
    to.reserve(1);
    to.byte(LINE_END);
    return true;
  }

  take(): Uint8Array {
    return this.#buffer.take();
  }

  #addFields(decoded: Decoded | undefined): void {
    const [to, keys, cells] = [this.#buffer, this.#keys, this.#cells];
    for (let i = 0; i < cells.length; i++) {
      to.reserve(1);
      to.byte(COMMA);
      if (decoded !== undefined) cells[i]?.(to, decoded[keys[i] ?? ""]);
    }
  }

  #headOf(frame: StoredFrame): Uint8Array {
    const key = packBus(frame.id, frame.bus);
    let head = this.#heads.get(key);
    if (head === undefined) {
      if (this.#heads.size >= MAX_HEADS) this.#heads.clear();
      this.#heads.set(key, head = this.#makeHead(frame));
    }
    return head;
  }

  #makeHead({ id, bus, pgn }: StoredFrame): Uint8Array {
    const src = sourceOfId(id);
    const cells = new ByteBuffer();
    const add = (text: string | undefined) => {
      writeText(cells, text);
      cells.reserve(1);
      cells.byte(COMMA);
    };
    add(undefined);
    add(this.#origins.busName(bus) || undefined);
    for (const value of [src, destinationOfId(id), priorityOfId(id)]) add(String(value));
    add(this.#origins.nameOf(bus, src));
    add(String(pgn));
    return cells.take().slice();
  }
}

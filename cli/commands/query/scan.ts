import { addressKey, formatHex, formatName, newStoredFrame, sourceOfId } from "@vessel/gateway/frame";
import { ActiveDevices, type Block, type BlockDevice, BlockError } from "@vessel/gateway/journal";
import { decode, type Decoded, describePayload } from "@vessel/gateway/pgn";
import { CHUNK_ROWS, type ColumnBuffer, columnBuffer, type ColumnValue } from "./columns.ts";
import { busName, type KeptBlock, type ReadBlock, type TimeRange } from "./contents.ts";
import type { ColumnSource, MessageView, ViewColumn } from "./views.ts";

/** Rows in chunks. */
export interface Scan {
  /** The wanted columns. */
  readonly buffers: readonly ColumnBuffer[];
  /** Fills the buffers. Returns the number of rows; 0 at the end. @throws the file cannot be read any more */
  next(): number;
}

/** Rows that are in memory. @param wanted indexes of columns */
export function scanRows<Row>(
  rows: readonly Row[],
  { columns, wanted, valuesOf }: {
    columns: readonly ViewColumn[];
    wanted: readonly number[];
    /** Values of a row in the order of the columns. */
    valuesOf: (row: Row) => readonly ColumnValue[];
  },
): Scan {
  const buffers = wanted.map((index) => columnBuffer(columns[index]?.type ?? "VARCHAR"));
  let at = 0;
  return {
    buffers,
    next: () => {
      const chunk = rows.slice(at, at += CHUNK_ROWS);
      for (const buffer of buffers) buffer.clear();
      for (const [row, each] of chunk.entries()) {
        const values = valuesOf(each);
        for (const [i, buffer] of buffers.entries()) buffer.set(row, values[wanted[i] ?? 0]);
      }
      return chunk.length;
    },
  };
}

/** Where messages are read from. */
export interface MessageSource {
  blocks: readonly KeptBlock[];
  read: ReadBlock;
  range: TimeRange;
  /** Names of the epochs by their first four bytes. */
  epochs: ReadonlyMap<number, string>;
}

/** A block that is being read. */
interface OpenBlock {
  kept: KeptBlock;
  block: Block;
  cursor: ReturnType<Block["frames"]>;
  devices: ActiveDevices;
}

/** The messages of one PGN, decoded only if a field is wanted. */
export class MessageScan implements Scan {
  readonly buffers: readonly ColumnBuffer[];
  readonly #view: MessageView;
  readonly #source: MessageSource;
  readonly #getters: readonly (() => ColumnValue)[];
  readonly #isDecoded: boolean;
  readonly #followsDevices: boolean;
  readonly #frame = newStoredFrame();
  readonly #holders = new Map<number, BlockDevice>();
  #decoded: Decoded | undefined;
  #open: OpenBlock | undefined;
  #next = 0;

  /** @param wanted indexes of columns */
  constructor(view: MessageView, { wanted, source }: { wanted: readonly number[]; source: MessageSource }) {
    const columns = wanted.flatMap((index) => view.columns[index] ?? []);
    this.#view = view;
    this.#source = source;
    this.buffers = columns.map(({ type }) => columnBuffer(type));
    this.#getters = columns.map((column) => this.#getter(column.source));
    this.#isDecoded = columns.some((column) => column.source.kind === "field");
    this.#followsDevices = columns.some((column) => ["name", "model"].includes(column.source.kind));
  }

  next(): number {
    const { pgn } = this.#view;
    const { fromUs, toUs } = this.#source.range;
    const [frame, buffers, getters] = [this.#frame, this.buffers, this.#getters];
    for (const buffer of buffers) buffer.clear();
    let row = 0;
    while (row < CHUNK_ROWS && this.#nextFrame()) {
      if (frame.pgn !== pgn || frame.timeUs < fromUs || frame.timeUs > toUs) continue;
      if (this.#isDecoded) this.#decoded = decode(pgn, this.#payload());
      for (let i = 0; i < buffers.length; i++) buffers[i]?.set(row, getters[i]?.());
      row++;
    }
    return row;
  }

  /** Reads the next frame, of any PGN; false at the end. */
  #nextFrame(): boolean {
    for (;;) {
      const open = this.#open ??= this.#openBlock();
      if (open === undefined) return false;
      if (this.#advance(open)) return true;
      this.#open = undefined;
    }
  }

  #advance({ cursor, devices }: OpenBlock): boolean {
    try {
      if (!cursor.next(this.#frame)) return false;
    } catch (error) {
      // Reported when the contents were read.
      if (error instanceof BlockError) return false;
      throw error;
    }
    if (this.#followsDevices) devices.advance(cursor.index - 1, this.#learn);
    return true;
  }

  #openBlock(): OpenBlock | undefined {
    const { blocks, read } = this.#source;
    const kept = blocks[this.#next++];
    if (kept === undefined) return undefined;
    const whole = read(kept.location);
    const block = whole.slice(kept.from, kept.to);
    this.#holders.clear();
    const devices = new ActiveDevices(this.#followsDevices ? block.devices : []);
    return { kept, block, cursor: block.frames(), devices };
  }

  readonly #learn = (device: BlockDevice): void => {
    this.#holders.set(addressKey(device.bus, device.src), device);
  };

  #payload(): Uint8Array {
    const { data, offset, length } = this.#frame;
    return data.subarray(offset, offset + length);
  }

  #holder(): BlockDevice | undefined {
    return this.#holders.get(addressKey(this.#frame.bus, sourceOfId(this.#frame.id)));
  }

  /** Returns the function that gets a column's value of the current frame. */
  #getter(source: ColumnSource): () => ColumnValue {
    const frame = this.#frame;
    switch (source.kind) {
      case "time":
        return () => frame.timeUs;
      case "bus":
        return () => this.#open && busName(this.#open.block, frame.bus);
      case "source":
        return () => sourceOfId(frame.id);
      case "name":
        return () => {
          const name = this.#holder()?.name;
          return name === undefined ? undefined : formatName(name);
        };
      case "model":
        return () => this.#holder()?.modelId || undefined;
      case "seq":
        return () => this.#open?.block.baseSeq === undefined ? undefined : frame.seq;
      case "epoch":
        return () => this.#open && this.#source.epochs.get(this.#open.kept.location.epochWord);
      case "layout":
        return () => describePayload(this.#view.pgn, this.#payload());
      case "data":
        return () => formatHex(frame.data, { start: frame.offset, length: frame.length });
      case "field":
        return () => this.#decoded?.[source.field];
    }
  }
}

// What an export of a journal has to hold, worked out in the plainest way: every block is read, every payload decoded, and
// cells are written one by one.
import assert from "node:assert/strict";
import { silentLogger } from "../../src/base/mod.ts";
import { formatName, newStoredFrame, parseCanId, type StoredFrame } from "../../src/frame/mod.ts";
import { JournalIndex } from "../../src/journal/mod.ts";
import { decode, type Decoded, type DecodedValue, describePgn } from "../../src/pgn/mod.ts";
import { CommandRun } from "../cli/dump_run.ts";
import { sampleBytes, SAMPLES } from "./recordings.ts";
import { environment, IS_FULL } from "./needs.ts";

/** A message of a journal. */
export interface JournalMessage {
  frame: StoredFrame;
  bus: string;
  /** NAME of its sender; empty: unknown. */
  name: string;
}

/** Names of the columns before the fields or the payload. */
export const HEAD = ["time", "bus", "src", "dst", "prio", "name", "pgn", "seq"];

/** Journals of tests/data: those that are made of its recordings, by name, and the one there is. In full size all of them. */
export async function journalsOf(folder: string, { isFull = IS_FULL } = {}): Promise<Map<string, string>> {
  const data = new URL("../data/", import.meta.url).pathname;
  const journals = new Map<string, string>();
  if (isFull) journals.set("lplex_cloud", `${data}lplex_cloud/instances/oboat/journal`);
  const recordings = new Map(SAMPLES.map(({ file }) => [file, sampleBytes(file)]));
  const whole = environment("VBG_TEST_RECORDINGS");
  if (whole !== undefined) {
    for await (const { name, isFile } of Deno.readDir(whole)) {
      if (isFile) recordings.set(name, await Deno.readFile(`${whole}/${name}`));
    }
  }
  for (const [name, bytes] of recordings) {
    await Deno.writeFile(`${folder}/${name}`, bytes);
    const { code, complaints } = await CommandRun.end(["convert", `${folder}/${name}`, "-out", `${folder}/${name}.d`]);
    assert.equal(code, 0, complaints);
    journals.set(name, `${folder}/${name}.d`);
  }
  return journals;
}

/** All messages of a journal directory. */
export async function messagesIn(directory: string): Promise<JournalMessage[]> {
  const index = await JournalIndex.open(directory, { log: silentLogger });
  const messages: JournalMessage[] = [];
  const names = new Map<string, string>();
  for await (const block of index.blocks({})) {
    const buses = block.metadata.buses ?? [""];
    const keyOf = (bus: number, src: number) => `${buses.length > 1 ? buses[bus] : ""}/${src}`;
    const cursor = block.frames();
    for (let frame = newStoredFrame(); cursor.next(frame); frame = newStoredFrame()) {
      for (const { activeFrom, bus, src, name } of block.devices) {
        if (activeFrom === cursor.index - 1) names.set(keyOf(bus, src), formatName(name));
      }
      const name = names.get(keyOf(frame.bus, parseCanId(frame.id).src)) ?? "";
      messages.push({ frame, bus: buses[frame.bus] ?? "", name });
    }
  }
  return messages;
}

/** The payload of a frame. */
export function payloadOf({ data, offset, length }: StoredFrame): Uint8Array {
  return data.subarray(offset, offset + length);
}

/** Cells before the fields or the payload. */
export function headOf({ frame, bus, name }: JournalMessage): (string | null)[] {
  const { prio, pgn, src, dst } = parseCanId(frame.id);
  const time = new Date(Math.floor(frame.timeUs / 1000)).toISOString().slice(0, -1) +
    String(((frame.timeUs % 1000) + 1000) % 1000).padStart(3, "0") + "Z";
  return [
    time,
    bus || null,
    ...[src, dst, prio].map(String),
    name || null,
    `${pgn}`,
    frame.seq ? `${frame.seq}` : null,
  ];
}

/** A value as text; of lists and objects JSON, of null nothing. */
export function textOf(value: DecodedValue | undefined): string | null {
  if (value === null || value === undefined) return null;
  if (typeof value === "object" && "id" in value) return textOf(value.name ?? value.id);
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** Names of all fields of a PGN, of each layout in turn. */
export function fieldsOf(pgn: number): string[] {
  const layouts = describePgn(pgn)?.layouts ?? [];
  return [...new Set(layouts.flatMap(({ fields }) => fields.map(({ name }) => name)))];
}

/** A row of CSV. */
export function csvRow(cells: readonly (string | null)[]): string {
  const isQuoted = (cell: string) => cell === "" || /[",\r\n]/.test(cell);
  return cells.map((cell) => cell === null ? "" : isQuoted(cell) ? `"${cell.replaceAll('"', '""')}"` : cell).join(",") +
    "\n";
}

/** The table of all messages. */
export function messagesCsv(messages: readonly JournalMessage[]): string {
  const rows = messages.map((message) => csvRow([...headOf(message), payloadOf(message.frame).toHex()]));
  return [csvRow([...HEAD, "data"]), ...rows].join("");
}

/** A table of one PGN: the names of its columns, and a row of decoded values for each message. */
export interface ExpectedTable {
  columns: string[];
  rows: { message: JournalMessage; decoded: Decoded | undefined }[];
  hasData: boolean;
}

/** The table of a PGN. `hasData`: as its header says; a payload that is not decoded needs it. */
export function tableOf(
  pgn: number,
  messages: readonly JournalMessage[],
  { hasData }: { hasData: boolean },
): ExpectedTable {
  const rows = messages.filter(({ frame }) => frame.pgn === pgn)
    .map((message) => ({ message, decoded: decode(pgn, payloadOf(message.frame)) }));
  if (rows.some(({ decoded }) => decoded === undefined)) assert.ok(hasData, `${pgn} has no column data`);
  const fields = fieldsOf(pgn).map((name) => [...HEAD, "data"].includes(name) ? `field_${name}` : name);
  return { columns: [...HEAD, ...fields, ...hasData ? ["data"] : []], rows, hasData };
}

/** The same as CSV. */
export function tableCsv(pgn: number, { columns, rows, hasData }: ExpectedTable): string {
  const lines = rows.map(({ message, decoded }) => {
    const data = decoded === undefined ? payloadOf(message.frame).toHex() : null;
    const fields = fieldsOf(pgn).map((name) => textOf(decoded?.[name]));
    return csvRow([...headOf(message), ...fields, ...hasData ? [data] : []]);
  });
  return [csvRow(columns), ...lines].join("");
}

/** Name of the file of a PGN, without its ending. */
export function fileNameOf(pgn: number): string {
  const description = describePgn(pgn)?.description ?? "Proprietary";
  if (description === "Proprietary") return `pgn_${pgn}`;
  return description.toLowerCase().split(/[^a-z0-9]+/).filter((word) => word !== "").join("_");
}

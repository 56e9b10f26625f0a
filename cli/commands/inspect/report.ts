import { formatTimeUs } from "@vessel/gateway/frame";
import { type BlockFile, type BlockMetadata, storedBytes } from "@vessel/gateway/journal";
import { type Column, formatTable } from "../../program/table.ts";
import { type Output, paint, printable } from "../../program/terminal.ts";
import { blocksOf, count, epochText, type ExaminedBlock, rangeText, spanOf } from "./file.ts";

/** Report of one block. */
export interface BlockRow {
  offset: number;
  /** Bytes in the file. */
  bytes: number;
  /** As the block's header says; undefined in version 1. */
  firstSeq: number | undefined;
  timeUs: number;
  /** A block that cannot be read has no further fields. */
  content:
    | {
      kind: "read";
      frames: number;
      latestTimeUs: number;
      devices: number;
      notes: BlockMetadata;
      damage: string | undefined;
    }
    | { kind: "damaged"; why: string };
}

/** A file with its blocks. */
export interface FileRows {
  file: BlockFile;
  rows: BlockRow[];
}

const COLUMNS: readonly Column[] = [
  { title: "OFFSET", align: "right" },
  { title: "FIRST SEQ", align: "right" },
  { title: "FRAMES", align: "right" },
  { title: "TIME" },
  { title: "BYTES", align: "right" },
  { title: "RATIO", align: "right" },
  { title: "DEVICES", align: "right" },
  { title: "NOTES" },
];

/** Reads all blocks of a file. @param onBytes called with the number of bytes done; an error that it throws ends the reading */
export async function readRows(file: BlockFile, onBytes: (bytes: number) => void): Promise<FileRows> {
  const rows: BlockRow[] = [];
  for await (const block of blocksOf(file, onBytes)) rows.push(rowOf(block));
  return { file, rows };
}

/** A file for people: what its header says, a table of its blocks, and totals. */
export function formatFile(
  { file, rows }: FileRows,
  { columns, hasColor }: Pick<Output, "columns" | "hasColor">,
): string {
  const { path, bytes, index: { header, state, damaged, end }, sealsInto } = file;
  const { version, compression, blockBytes, epochWord } = header;
  const totals = totalsOf(rows);
  const { frames, epoch, buses } = totals;
  const epochWords = epoch ?? epochText(epochWord);
  const style = { hasColor };
  const facts = [
    `version ${version}`,
    sealsInto !== undefined ? "write-ahead log" : compression === "none" ? "not compressed" : compression,
    `blocks of ${blockBytes} bytes`,
    epochWords === undefined ? "no epoch" : `epoch ${epochWords}`,
    count(bytes, "byte"),
  ];
  const table = formatTable(rows.map((row, index) => cellsOf(row, { blockBytes, before: notesBefore(rows, index) })), {
    columns: COLUMNS,
    width: columns,
    color: hasColor,
  });
  const perFrame = frames === 0 ? "" : `, ${(bytes / frames).toFixed(1)} bytes a frame`;
  return [
    `${paint(style, "bold", printable(path))}: ${facts.join(", ")}`,
    ...rows.length > 0 ? [table] : [],
    `${contentText({ ...totals, blocks: rows.length })}${perFrame}`,
    `buses: ${buses === undefined ? "not named" : printable(buses.join(", "))}; index: ${
      sealsInto === undefined ? indexText(compression, state) : "not needed"
    }`,
    ...damaged > 0 ? [paint(style, "red", `damaged: ${count(damaged, "place")} where no block begins`)] : [],
    ...state === "torn" ? [paint(style, "red", `torn: ${bytes - end} bytes after byte ${end} are no block`)] : [],
  ].join("\n");
}

/** `2 blocks, 300 frames 1 to 300, TIME to TIME`. */
export function contentText({ blocks, frames, firstSeq, lastSeq, firstTimeUs, latestTimeUs }: {
  blocks: number;
  frames: number;
  firstSeq: number | undefined;
  lastSeq: number | undefined;
  firstTimeUs: number | undefined;
  latestTimeUs: number | undefined;
}): string {
  const numbers = firstSeq === undefined || lastSeq === undefined ? "" : ` ${rangeText(firstSeq, lastSeq)}`;
  const times = firstTimeUs === undefined || latestTimeUs === undefined
    ? ""
    : `, ${formatTimeUs(firstTimeUs)} to ${formatTimeUs(latestTimeUs)}`;
  return `${count(blocks, "block")}, ${count(frames, "frame")}${numbers}${times}`;
}

/** A file for programs: one object. */
export function formatJson({ file: { path, bytes, index }, rows }: FileRows): string {
  const { header, state, damaged, end } = index;
  const { frames, epoch, buses, firstSeq, lastSeq, firstTimeUs, latestTimeUs } = totalsOf(rows);
  return JSON.stringify({
    path,
    bytes,
    version: header.version,
    compression: header.compression,
    block_bytes: header.blockBytes,
    epoch: epoch ?? epochText(header.epochWord) ?? null,
    buses: buses ?? null,
    index: state === "closed",
    torn_at: state === "torn" ? end : null,
    damaged_places: damaged,
    frames,
    first_seq: firstSeq ?? null,
    last_seq: lastSeq ?? null,
    first_ts: firstTimeUs === undefined ? null : formatTimeUs(firstTimeUs),
    last_ts: latestTimeUs === undefined ? null : formatTimeUs(latestTimeUs),
    blocks: rows.map(jsonOf),
  });
}

function rowOf(found: ExaminedBlock): BlockRow {
  const { place: { offset, header } } = found;
  const place = { offset, bytes: storedBytes(header), firstSeq: header.baseSeq, timeUs: header.baseTimeUs };
  if (found.kind === "damaged") return { ...place, content: { kind: "damaged", why: found.why } };
  const { block } = found.stored;
  const { frames, latestTimeUs, damage } = spanOf(block);
  const { length: devices } = block.devices;
  return { ...place, content: { kind: "read", frames, latestTimeUs, devices, notes: block.metadata, damage } };
}

function totalsOf(rows: readonly BlockRow[]) {
  const read = rows.flatMap(({ content, ...row }) => content.kind === "read" ? [{ ...row, ...content }] : []);
  const numbered = read.flatMap(({ firstSeq, frames }) => firstSeq === undefined ? [] : [{ firstSeq, frames }]);
  return {
    frames: read.reduce((sum, { frames }) => sum + frames, 0),
    epoch: read.find(({ notes }) => notes.epoch)?.notes.epoch?.toHex(),
    buses: read.findLast(({ notes }) => notes.buses)?.notes.buses,
    firstSeq: numbered[0]?.firstSeq,
    lastSeq: numbered.length === 0 ? undefined : Math.max(...numbered.map((row) => row.firstSeq + row.frames - 1)),
    firstTimeUs: read[0]?.timeUs,
    latestTimeUs: read.at(-1)?.latestTimeUs,
  };
}

function cellsOf(
  { offset, bytes, firstSeq, timeUs, content }: BlockRow,
  { blockBytes, before }: { blockBytes: number; before: BlockMetadata | undefined },
): string[] {
  const [seq, ratio] = [firstSeq === undefined ? "" : `${firstSeq}`, (blockBytes / bytes).toFixed(2)];
  if (content.kind === "damaged") {
    return [`${offset}`, seq, "", timeText(timeUs), `${bytes}`, "", "", `DAMAGED: ${content.why}`];
  }
  const { frames, devices, notes, damage } = content;
  const texts = [damage === undefined ? "" : `DAMAGED: ${damage}`, notesText(notes, before)];
  const words = texts.filter((text) => text !== "").join("; ");
  return [`${offset}`, seq, `${frames}`, timeText(timeUs), `${bytes}`, ratio, `${devices}`, words];
}

/** Metadata of the nearest readable block before. */
function notesBefore(rows: readonly BlockRow[], index: number): BlockMetadata | undefined {
  for (let at = index - 1; at >= 0; at--) {
    const content = rows[at]?.content;
    if (content?.kind === "read") return content.notes;
  }
  return undefined;
}

/** Metadata of a block that differs from the block before; that of the first is in the totals. */
function notesText({ gap, epoch, buses, boot }: BlockMetadata, before: BlockMetadata | undefined): string {
  const isNews = (one: unknown, other: unknown) => one !== undefined && String(one) !== String(other);
  return [
    gap ? `gap from ${gap.firstMissing} (${gap.reason})` : "",
    before && epoch && isNews(epoch, before.epoch) ? `epoch ${epoch.toHex().slice(0, 8)}` : "",
    before && buses && isNews(buses, before.buses) ? `buses ${buses.join(",")}` : "",
    boot && isNews(boot.bootId, before?.boot?.bootId) ? `start, clock ${boot.clock}` : "",
  ].filter((text) => text !== "").join("; ");
}

function jsonOf({ offset, bytes, firstSeq, timeUs, content }: BlockRow) {
  const place = { offset, bytes, first_seq: firstSeq ?? null, first_ts: timeText(timeUs) };
  if (content.kind === "damaged") return { ...place, damage: content.why };
  const { frames, latestTimeUs, devices, notes, damage } = content;
  const { epoch, boot, ...others } = notes;
  return {
    ...place,
    last_ts: formatTimeUs(latestTimeUs),
    frames,
    devices,
    notes: {
      ...others,
      ...(epoch && { epoch: epoch.toHex() }),
      ...(boot &&
        { boot: { id: boot.bootId.toHex(), mono_ms: boot.monoMs, ts: timeText(boot.timeUs), clock: boot.clock } }),
    },
    ...(damage !== undefined && { damage }),
  };
}

/** Headers have no checksum: the time may be any number. */
function timeText(timeUs: number): string {
  return Number.isSafeInteger(timeUs) ? formatTimeUs(timeUs) : String(timeUs);
}

function indexText(compression: string, state: "closed" | "open" | "torn"): string {
  if (compression === "none") return "not needed";
  return state === "closed" ? "there" : "missing: not ended in order, or being written";
}

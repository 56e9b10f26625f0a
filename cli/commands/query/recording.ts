import { dirname } from "node:path";
import { Logger } from "@vessel/gateway/base";
import {
  type BlockFile,
  DirectoryClocks,
  loadDictionaryDecoder,
  openBlockFile,
  openJournalDirectory,
  orderBlocks,
  SyncBlockReader,
} from "@vessel/gateway/journal";
import { unreadableText } from "../inspect/unreadable.ts";
import type { ColumnValue } from "./columns.ts";
import { type Contents, type DeviceRow, type ReadBlock, readContents, type TimeRange } from "./contents.ts";
import type { GapRow } from "./gaps.ts";
import { MessageScan, type Scan, scanRows } from "./scan.ts";
import { DEVICE_COLUMNS, GAP_COLUMNS, messageView, type ViewColumn } from "./views.ts";

/** A table of the recording. */
export interface RecordedTable {
  /** Left out: it is not one of messages. */
  pgn?: number;
  columns: readonly ViewColumn[];
  /** Number of rows. */
  rows: number;
  /** Begins to read. @param wanted indexes of columns */
  open(wanted: readonly number[]): Scan;
}

/** A recording as tables, by name. */
export interface Recording {
  tables: ReadonlyMap<string, RecordedTable>;
  /** What cannot be read, each with its file. */
  damage: readonly string[];
}

/**
 * Reads a recording once, and makes its tables, whose rows are read from the files again.
 *
 * @param paths journal files, and directories with their write-ahead logs
 * @param range times of frames, inclusive, microseconds since 1970; default all
 * @throws {Error} a path cannot be read, or is no journal
 */
export async function openRecording(
  paths: readonly string[],
  { fromUs = -Infinity, toUs = Infinity }: Partial<TimeRange> = {},
): Promise<Recording> {
  const range = { fromUs, toUs };
  const damage: string[] = [];
  const log = new Logger({ level: "warn", format: "text", write: (line) => damage.push(line.trimEnd()) });
  const clocks = new DirectoryClocks();
  const inputs = await Promise.all(paths.map(inputAt));
  for (const { directory } of inputs) await clocks.add(directory, { log });
  // Files and blocks are found by recorded times.
  const recorded = clocks.isEmpty ? range : {};
  const files: BlockFile[] = [];
  for (const input of inputs) files.push(...await filesOf(input, { range: recorded, log, damage }));
  const hasDictionary = files.some(({ index }) => index.header.compression === "zstd-dict");
  const reader = new SyncBlockReader(hasDictionary ? await loadDictionaryDecoder() : undefined);
  const read: ReadBlock = (location) => clocks.corrected(reader.read(location.path, location), location);
  const contents = readContents(orderBlocks(files, recorded), { read, range });
  return { tables: tablesOf(contents, { read, range }), damage: [...damage, ...contents.damage] };
}

/** The files at a path that may have frames of the range. Those of a directory that are no journals are damage. */
async function filesOf(
  { path, isDirectory }: Input,
  { range, log, damage }: { range: Partial<TimeRange>; log: Logger; damage: string[] },
): Promise<BlockFile[]> {
  try {
    if (!isDirectory) {
      const file = await openBlockFile(path);
      damage.push(...faultsOf(file));
      return [file];
    }
    const { files, wals } = await openJournalDirectory(path, { log, ...range });
    for (const file of files) {
      const isWritten = wals.some(({ index }) => index.header.epochWord === file.index.header.epochWord);
      damage.push(...faultsOf(file, { isWritten }));
    }
    return [...files, ...wals];
  } catch (error) {
    throw cannotRead(path, error);
  }
}

/** A file or directory, and where the corrections of its times are. */
interface Input {
  path: string;
  isDirectory: boolean;
  directory: string;
}

async function inputAt(path: string): Promise<Input> {
  const { isDirectory } = await Deno.stat(path).catch((error) => {
    throw cannotRead(path, error);
  });
  return { path, isDirectory, directory: isDirectory ? path : dirname(path) };
}

function cannotRead(path: string, error: unknown): Error {
  return new Error(`Cannot read "${path}": ${unreadableText(error)}`, { cause: error });
}

/** @param options.isWritten a write-ahead log has the frames of a torn last block */
function faultsOf({ path, index: { damaged, state } }: BlockFile, { isWritten = false } = {}): string[] {
  const lost = `"${path}": ${damaged} damaged ${damaged === 1 ? "block" : "blocks"} skipped: the length is wrong`;
  return [...(damaged > 0 ? [lost] : []), ...(state === "torn" && !isWritten ? [`"${path}": the end is torn`] : [])];
}

function tablesOf(
  { messages, devices, gaps, epochs }: Contents,
  { read, range }: { read: ReadBlock; range: TimeRange },
): Map<string, RecordedTable> {
  const tables = new Map<string, RecordedTable>();
  for (const [pgn, { count: rows, blocks }] of [...messages].sort(([a], [b]) => a - b)) {
    const view = messageView(pgn, { hasEpochs: epochs.size > 1 });
    const { columns } = view;
    const source = { blocks, read, range, epochs };
    tables.set(view.name, { pgn, columns, rows, open: (wanted) => new MessageScan(view, { wanted, source }) });
  }
  tables.set("devices", {
    columns: DEVICE_COLUMNS,
    rows: devices.length,
    open: (wanted) => scanRows(devices, { columns: DEVICE_COLUMNS, wanted, valuesOf: deviceValues }),
  });
  tables.set("gaps", {
    columns: GAP_COLUMNS,
    rows: gaps.length,
    open: (wanted) => scanRows(gaps, { columns: GAP_COLUMNS, wanted, valuesOf: (gap) => gapValues(gap, epochs) }),
  });
  return tables;
}

/** In the order of the columns. */
function deviceValues({ bus, source, name, manufacturer, model, firstUs, lastUs, messages }: DeviceRow): ColumnValue[] {
  return [bus, source, name, manufacturer, model, firstUs, lastUs, messages];
}

/** In the order of the columns. */
function gapValues(gap: GapRow, epochs: ReadonlyMap<number, string>): ColumnValue[] {
  const { epochWord, firstSeq, lastSeq, beforeUs, afterUs, reason } = gap;
  return [epochs.get(epochWord) || undefined, firstSeq, lastSeq, beforeUs, afterUs, reason];
}

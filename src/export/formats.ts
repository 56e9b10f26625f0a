import { CANDUMP_FORMAT, FrameWriter, PCAP_FORMAT } from "./can_frames.ts";
import { CanboatWriter } from "./canboat.ts";
import { CsvTable } from "./csv.ts";
import type { MessageWriter } from "./message_writer.ts";
import type { Origins } from "./origins.ts";
import { loadParquet, ParquetTable } from "./parquet.ts";
import type { Table } from "./tables.ts";

/** Begins a file. Formats without tables ignore `table`. */
export type BeginFile = (origins: Origins, table: Table) => MessageWriter;

/** A format of exported files. */
export interface ExportFormat {
  /** Endings of its files, the first one for files that get their names here. */
  endings: readonly [string, ...string[]];
  /** Whether it is text. */
  isText: boolean;
  /** Whether it has tables; else it has messages as they are. */
  hasTables: boolean;
  /** Whether it says which bus a message comes from. */
  namesBus: boolean;
  /** Loads what it needs. */
  load(): Promise<BeginFile>;
}

/** Names of the formats. */
export const EXPORT_FORMAT_NAMES = ["csv", "parquet", "pcap", "candump", "canboat"] as const;

/** One of {@linkcode EXPORT_FORMAT_NAMES}. */
export type ExportFormatName = typeof EXPORT_FORMAT_NAMES[number];

/** The formats by name. */
export const EXPORT_FORMATS: Readonly<Record<ExportFormatName, ExportFormat>> = {
  csv: {
    endings: [".csv"],
    isText: true,
    hasTables: true,
    namesBus: true,
    load: () => Promise.resolve((origins, table) => new CsvTable(table, origins)),
  },
  parquet: {
    endings: [".parquet"],
    isText: false,
    hasTables: true,
    namesBus: true,
    load: async () => {
      const loaded = await loadParquet();
      return (origins, table) => new ParquetTable(table, { origins, loaded });
    },
  },
  pcap: {
    endings: [".pcap"],
    isText: false,
    hasTables: false,
    namesBus: false,
    load: () => Promise.resolve((origins) => new FrameWriter(PCAP_FORMAT, origins)),
  },
  candump: {
    endings: [".log"],
    isText: true,
    hasTables: false,
    namesBus: true,
    load: () => Promise.resolve((origins) => new FrameWriter(CANDUMP_FORMAT, origins)),
  },
  canboat: {
    endings: [".jsonl", ".json"],
    isText: true,
    hasTables: false,
    namesBus: false,
    load: () => Promise.resolve(() => new CanboatWriter()),
  },
};

/** The format of a file by the ending of its path; undefined: no format has it. */
export function formatOfPath(path: string): ExportFormatName | undefined {
  return EXPORT_FORMAT_NAMES.find((name) => EXPORT_FORMATS[name].endings.some((ending) => path.endsWith(ending)));
}

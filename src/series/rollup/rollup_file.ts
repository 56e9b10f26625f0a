import { errorText, writeAll } from "../../base/mod.ts";
import { compressSmall, crc32c, decompress, readFileAt } from "../../journal/mod.ts";
import type { SeriesField } from "../fields.ts";
import { decodeSection, encodeSection, type OriginSeries, type StoredSeries } from "./section.ts";

// FILE.lpr, beside FILE.lpj. Little-endian:
//   header: magic u32, version u32, signature u32, CRC32C of these u32
//   chunks: directory bytes u32, its size unpacked u32, body bytes u32, size of FILE.lpj f64, CRC32C of these and of the
//           directory u32; directory (zstd of JSON); body (sections, zstd each)
// A chunk has the buckets of some consecutive blocks. Chunks are appended, so that a crash damages at most the last one.

/** A sidecar that must be rebuilt: it is damaged, or of other settings. */
export class RollupError extends Error {
  override name = "RollupError";
}

/** A block whose frames are in a chunk. */
export interface ChunkBlock {
  /** Offset in the journal file. */
  offset: number;
  /** Number of its first frame. */
  seq: number;
  frames: number;
  /** Earliest and latest time of its frames; Infinity and -Infinity, which are null in JSON, if it has none. */
  fromUs: number;
  toUs: number;
}

/** Location of the buckets of one PGN. */
interface Section {
  pgn: number;
  /** Offset in the file. */
  at: number;
  bytes: number;
  rawBytes: number;
  crc: number;
}

/** The buckets of some consecutive blocks. */
export interface Chunk {
  blocks: readonly ChunkBlock[];
  sections: readonly Section[];
  /** Size of the journal file when the chunk was written. */
  fileBytes: number;
}

/** Content of a new chunk. */
export interface NewChunk {
  blocks: readonly ChunkBlock[];
  groups: readonly OriginSeries[];
  fileBytes: number;
}

const MAGIC = 0x5342_4756; // "VGBS"
const VERSION = 1;
const HEADER_BYTES = 16;
const HEAD_BYTES = 24;
/** Bytes read at once: the directory of a typical chunk. */
const READ_BYTES = 8192;
/** Largest directory and section: bounds the memory that a damaged file can claim. */
const MAX_PART_BYTES = 64 * 2 ** 20;

/** Encodes the file header. */
export function encodeHeader(signature: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(HEADER_BYTES);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, MAGIC, true);
  view.setUint32(4, VERSION, true);
  view.setUint32(8, signature, true);
  view.setUint32(12, crc32c(bytes.subarray(0, 12)), true);
  return bytes;
}

/**
 * Encodes a chunk.
 *
 * @param options.at its offset in the file
 * @param options.pause called between sensors: the caller may let other work run
 */
export async function encodeChunk(
  { blocks, groups, fileBytes }: NewChunk,
  { at, bucketUs, pause }: { at: number; bucketUs: number; pause: () => Promise<void> },
): Promise<{ bytes: Uint8Array<ArrayBuffer>; chunk: Chunk }> {
  const packed: Uint8Array[] = [];
  const rows: Section[] = [];
  let bodyBytes = 0;
  const byPgn = Map.groupBy(groups, ({ series: [first] }) => first?.field.pgn ?? 0);
  for (const [pgn, group] of [...byPgn].sort(([a], [b]) => a - b)) {
    const raw = await encodeSection(group, { bucketUs, pause });
    const bytes = compressSmall(raw);
    rows.push({ pgn, at: bodyBytes, bytes: bytes.length, rawBytes: raw.length, crc: crc32c(bytes) });
    packed.push(bytes);
    bodyBytes += bytes.length;
  }
  const rawDirectory = new TextEncoder().encode(JSON.stringify({
    blocks: blocks.map(({ offset, seq, frames, fromUs, toUs }) => [offset, seq, frames, fromUs, toUs]),
    sections: rows.map(({ pgn, at, bytes, rawBytes, crc }) => [pgn, at, bytes, rawBytes, crc]),
  }));
  const directory = compressSmall(rawDirectory);
  const whole = new Uint8Array(HEAD_BYTES + directory.length + bodyBytes);
  const view = new DataView(whole.buffer);
  view.setUint32(0, directory.length, true);
  view.setUint32(4, rawDirectory.length, true);
  view.setUint32(8, bodyBytes, true);
  view.setFloat64(12, fileBytes, true);
  whole.set(directory, HEAD_BYTES);
  view.setUint32(20, crcOfHead(whole, directory), true);
  let end = HEAD_BYTES + directory.length;
  const bodyAt = at + end;
  for (const bytes of packed) {
    whole.set(bytes, end);
    end += bytes.length;
  }
  return { bytes: whole, chunk: { blocks, fileBytes, sections: rows.map((row) => ({ ...row, at: bodyAt + row.at })) } };
}

function crcOfHead(head: Uint8Array, directory: Uint8Array): number {
  const bytes = new Uint8Array(20 + directory.length);
  bytes.set(head.subarray(0, 20));
  bytes.set(directory, 20);
  return crc32c(bytes);
}

/** The readable chunks of a file, and the offset after them. Bytes after it are torn. */
export interface LoadedChunks {
  chunks: Chunk[];
  end: number;
}

/**
 * Reads the directories of a file.
 *
 * @throws {Deno.errors.NotFound} it does not exist
 * @throws {RollupError} it is damaged, of other settings, or no sidecar
 * @throws {Error} it cannot be read
 */
export async function loadChunks(path: string, signature: number): Promise<LoadedChunks> {
  using file = await Deno.open(path, { read: true });
  const head = await readFileAt(file, { offset: 0, length: HEADER_BYTES });
  if (!isSame(head, encodeHeader(signature))) throw new RollupError("it is damaged or of other settings");
  const { size } = await file.stat();
  const chunks: Chunk[] = [];
  let end = HEADER_BYTES;
  while (end < size) {
    const found = await readChunk(file, { at: end, size });
    if (found === undefined) break;
    chunks.push(found.chunk);
    end = found.end;
  }
  return { chunks, end };
}

async function readChunk(
  file: Deno.FsFile,
  { at, size }: { at: number; size: number },
): Promise<{ chunk: Chunk; end: number } | undefined> {
  const start = await readFileAt(file, { offset: at, length: READ_BYTES });
  if (start.length < HEAD_BYTES) return undefined;
  const view = new DataView(start.buffer, start.byteOffset, start.length);
  const [bytes, rawBytes, bodyBytes] = [0, 4, 8].map((each) => view.getUint32(each, true)) as [number, number, number];
  const bodyAt = at + HEAD_BYTES + bytes;
  if (bytes > MAX_PART_BYTES || rawBytes > MAX_PART_BYTES || bodyAt + bodyBytes > size) return undefined;
  const directory = HEAD_BYTES + bytes <= start.length
    ? start.subarray(HEAD_BYTES, HEAD_BYTES + bytes)
    : await readFileAt(file, { offset: at + HEAD_BYTES, length: bytes });
  if (crcOfHead(start, directory) !== view.getUint32(20, true)) return undefined;
  const { blocks, sections } = parseChecked((): { blocks: (number | null)[][]; sections: number[][] } =>
    JSON.parse(new TextDecoder().decode(decompress(directory, { compression: "zstd", blockBytes: rawBytes })))
  );
  const chunk: Chunk = {
    fileBytes: view.getFloat64(12, true),
    blocks: blocks.map(([offset, seq, frames, fromUs, toUs]) => ({
      ...{ offset: offset ?? 0, seq: seq ?? 0, frames: frames ?? 0 },
      ...{ fromUs: fromUs ?? Infinity, toUs: toUs ?? -Infinity },
    })),
    sections: sections.map(([pgn = 0, from = 0, bytes = 0, rawBytes = 0, crc = 0]) => ({
      ...{ pgn, at: bodyAt + from, bytes, rawBytes, crc },
    })),
  };
  return { chunk, end: bodyAt + bodyBytes };
}

/** Parses bytes whose checksum is right. @throws {RollupError} they are damaged nevertheless */
function parseChecked<T>(parse: () => T): T {
  try {
    return parse();
  } catch (cause) {
    throw new RollupError(`it is damaged: ${errorText(cause)}`);
  }
}

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}

/**
 * Reads the sections of a chunk that have wanted fields. The returned series are decoded one at a time, because they need much
 * more memory than the sections.
 *
 * @throws {Deno.errors.NotFound} the file does not exist
 * @throws {RollupError} it is damaged; also while series are decoded
 * @throws {Error} it cannot be read
 */
export async function readSections(
  path: string,
  { chunk: { sections }, fields, sources, bucketUs }: {
    chunk: Chunk;
    fields: readonly SeriesField[];
    sources?: ReadonlySet<number> | undefined;
    bucketUs: number;
  },
): Promise<Iterable<StoredSeries>> {
  const byPgn = Map.groupBy(fields, ({ pgn }) => pgn);
  const found: { packed: Uint8Array; rawBytes: number; wanted: readonly SeriesField[] }[] = [];
  using file = await Deno.open(path, { read: true });
  for (const { pgn, at, bytes, rawBytes, crc } of sections) {
    const wanted = byPgn.get(pgn);
    if (wanted === undefined) continue;
    const packed = await readFileAt(file, { offset: at, length: bytes });
    if (packed.length !== bytes || crc32c(packed) !== crc) throw new RollupError("a section is damaged");
    if (rawBytes > MAX_PART_BYTES) throw new RollupError("a section is too large");
    found.push({ packed, rawBytes, wanted });
  }
  return decodeSections(found, { sources, bucketUs });
}

function* decodeSections(
  list: readonly { packed: Uint8Array; rawBytes: number; wanted: readonly SeriesField[] }[],
  options: { sources?: ReadonlySet<number> | undefined; bucketUs: number },
): Generator<StoredSeries, void> {
  for (const { packed, rawBytes, wanted } of list) {
    const series = parseChecked(() => {
      const raw = decompress(packed, { compression: "zstd", blockBytes: rawBytes });
      return decodeSection(raw, { ...options, fields: wanted });
    });
    for (;;) {
      const { value, done } = parseChecked(() => series.next());
      if (done) break;
      yield value;
    }
  }
}

/**
 * Writes bytes at an offset and truncates the file after them. Not synced: what a crash loses is rebuilt.
 *
 * @throws {Error} the disk failed
 */
export async function writeAt(path: string, { at, bytes, mode }: {
  at: number;
  bytes: Uint8Array;
  mode: number;
}): Promise<void> {
  using file = await Deno.open(path, { write: true, create: true, mode });
  await file.truncate(at);
  await file.seek(at, Deno.SeekMode.Start);
  await writeAll(file, bytes);
}

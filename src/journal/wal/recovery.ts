import { errorText, type Logger } from "../../base/mod.ts";
import { type FileEnd, FileEnds, journalNames, readEnd } from "../file/end.ts";
import { epochWordOf, FILE_HEADER_BYTES } from "../file/layout.ts";
import { DEFAULT_PREFIX, nextFileName, parseFileName } from "../file/name.ts";
import { JournalFile } from "../file/journal_file.ts";
import type { SealedBlock } from "../types.ts";
import type { Wal } from "./wal.ts";
import { decodeOpening, readWals, removeWals, type StoredWal } from "./wal_files.ts";
import { BlockBuilder } from "../block/builder.ts";

/** Result of a recovery. */
export interface Recovered {
  /** Newest frame of the journal, including recovered frames; 0 if there is none. */
  lastSeq: number;
  /** 16 bytes that identify its epoch; undefined if there is no frame, or the epoch is unknown. */
  epoch: Uint8Array<ArrayBuffer> | undefined;
  /** Name of the newest file: the next name must sort after it. */
  newestFile: string | undefined;
  /** Frames recovered from a WAL. */
  frames: number;
  /** Bytes truncated from files. */
  cutBytes: number;
  /** Recovered blocks that could not be written. The writer writes them; their WAL files are kept. */
  pending: SealedBlock[];
}

/** Options of {@linkcode recover}. */
export interface RecoveryOptions {
  directory: string;
  prefix?: string;
  compression?: "none" | "zstd";
  /**
   * Reads files of the prefix only; default false. Set it if other writers use the directory: their newest files say
   * nothing about this WAL.
   */
  onlyOwn?: boolean;
  log: Logger;
}

/**
 * Truncates the torn end of a file; removes a file without any complete block. Returns the number of truncated bytes;
 * undefined if the file is complete, or not a journal.
 */
async function repairEnd(
  file: Deno.FsFile,
  { path, end }: { path: string; end: FileEnd | undefined },
): Promise<number | undefined> {
  const { size } = await file.stat();
  if (size > FILE_HEADER_BYTES && !end?.tornBytes) return undefined;
  // Without an end the file was created, but power failed before the first write.
  const tornBytes = end?.tornBytes ?? size;
  if (size - tornBytes <= FILE_HEADER_BYTES) await Deno.remove(path);
  else {
    await file.truncate(size - tornBytes);
    await file.sync();
  }
  return tornBytes;
}

/** Writes blocks into a new file. Returns its name. */
async function writeFile(
  blocks: readonly SealedBlock[],
  { wal, after, options }: { wal: Wal; after: string | undefined; options: RecoveryOptions },
): Promise<string> {
  const { directory, prefix = DEFAULT_PREFIX, compression = "zstd" } = options;
  const taken = new Set(await journalNames(directory));
  const timeUs = blocks[0]?.firstTimeUs ?? 0;
  const name = nextFileName(prefix, { timeUs, after, isTaken: (each) => taken.has(each) });
  const { blockBytes } = wal;
  const epochWord = epochWordOf(wal.epoch);
  const path = `${directory}/${name}`;
  const file = await JournalFile.create({ path, directory, blockBytes, compression, epochWord });
  try {
    for (const block of blocks) await file.append(block);
    await file.end();
  } catch (error) {
    await file.abandon();
    throw error;
  }
  return name;
}

/** Writes frames that only a WAL holds into files, one for each WAL. */
async function restore(found: Recovered, { ends, options }: { ends: FileEnds; options: RecoveryOptions }) {
  const { directory, log } = options;
  for await (const { wal, blocks } of unsealedOf(await readWals(directory), ends)) {
    const last = blocks.at(-1);
    if (last === undefined) continue;
    try {
      if (found.pending.length > 0) found.pending.push(...blocks);
      else found.newestFile = await writeFile(blocks, { wal, after: found.newestFile, options });
    } catch (error) {
      const reason = errorText(error);
      log.error("recovered frames cannot be written now", { reason });
      found.pending.push(...blocks);
    }
    found.frames += blocks.reduce((sum, { firstSeq, lastSeq }) => sum + lastSeq - firstSeq + 1, 0);
    found.lastSeq = last.lastSeq;
    found.epoch = wal.epoch;
  }
  if (found.pending.length === 0) await removeWals(directory);
}

/** Total of truncated bytes, and the files. */
interface Cuts {
  bytes: number;
  files: string[];
}

/** Reads the ends of files, and truncates torn ones. */
function repairedEnds(directory: string, { names, cuts }: { names: readonly string[]; cuts: Cuts }): FileEnds {
  return new FileEnds(names, async (name, mayBeTorn) => {
    const path = `${directory}/${name}`;
    using file = await Deno.open(path, { read: true, write: mayBeTorn });
    const end = await readEnd(file, name);
    const cutBytes = mayBeTorn ? await repairEnd(file, { path, end }) : undefined;
    if (cutBytes !== undefined) {
      cuts.bytes += cutBytes;
      cuts.files.push(name);
    }
    return end;
  });
}

/**
 * Recovers a journal after a crash or power failure: truncates torn files, and writes frames that only the
 * WAL holds into a file. Call it before creating a writer, while holding the directory's lock.
 */
export async function recover(options: RecoveryOptions): Promise<Recovered> {
  const { directory, prefix = DEFAULT_PREFIX, onlyOwn = false, log } = options;
  const names = await journalNames(directory, onlyOwn ? prefix : undefined);
  const cuts: Cuts = { bytes: 0, files: [] };
  const ends = repairedEnds(directory, { names, cuts });
  const newest = await ends.find();
  const found: Recovered = {
    lastSeq: newest?.lastSeq ?? 0,
    epoch: newest?.epoch,
    // Only if a file is readable: the name of a foreign file may be thousands of years ahead.
    newestFile: newest && [newest.name, ...names].find((name) => parseFileName(name)?.prefix === prefix),
    frames: 0,
    cutBytes: 0,
    pending: [],
  };
  await restore(found, { ends, options });
  found.cutBytes = cuts.bytes;
  const { frames, cutBytes, lastSeq } = found;
  if (frames > 0 || cuts.files.length > 0) {
    const file = cuts.files.length > 0 ? cuts.files.join(", ") : undefined;
    log.warn("the last recording was cut short", { frames, lastSeq, cutBytes, file });
  }
  return found;
}

/**
 * Truncates the torn ends of the newest files of a prefix that were written concurrently and without a WAL.
 *
 * @param options.count files that may have been open concurrently
 */
export async function repairNewestFiles(
  { directory, prefix, count, log }: { directory: string; prefix: string; count: number; log: Logger },
): Promise<void> {
  for (const name of (await journalNames(directory, prefix)).slice(0, count)) {
    const path = `${directory}/${name}`;
    using file = await Deno.open(path, { read: true, write: true });
    const cutBytes = await repairEnd(file, { path, end: await readEnd(file, name) });
    if (cutBytes !== undefined) log.warn("a file was cut short", { path, cutBytes });
  }
}

/** Frames that a WAL holds and no file does. */
export interface Unsealed extends StoredWal {
  wal: Wal;
  /** The frames as blocks. May be empty if the WAL is torn. */
  blocks: SealedBlock[];
}

/**
 * Frames that only a WAL holds, in the order in which recovery writes them: first those of the newest file's epoch,
 * as a WAL of another epoch is newer than all files. Skips a WAL whose frames are all in files.
 */
export async function* unsealedOf(stored: readonly StoredWal[], ends: FileEnds): AsyncGenerator<Unsealed, void> {
  const newestWord = (await ends.find())?.epochWord;
  const isOther = ({ epoch }: Wal) => newestWord === undefined || epochWordOf(epoch) === newestWord ? 0 : 1;
  const wals = stored.flatMap(({ wal, ...file }) => wal ? [{ ...file, wal }] : []);
  wals.sort((one, other) => isOther(one.wal) - isOther(other.wal));
  const lastSeqs = new Map<number, number>();
  for (const { wal, ...file } of wals) {
    const word = epochWordOf(wal.epoch);
    const lastSeq = lastSeqs.get(word) ?? (await ends.find(word))?.lastSeq ?? 0;
    // A torn record belongs to a later frame; a file that continues holds that frame, too.
    const isSealed = lastSeq >= wal.firstSeq + Math.max(0, wal.frames.length - 1);
    if (isSealed || (wal.frames.length === 0 && wal.torn === 0)) continue;
    const blocks = blocksOf(wal, lastSeq);
    lastSeqs.set(word, blocks.at(-1)?.lastSeq ?? lastSeq);
    yield { ...file, wal, blocks };
  }
}

/** Builds blocks of a WAL's frames after `lastSeq`. */
function blocksOf(wal: Wal, lastSeq: number): SealedBlock[] {
  const skip = Math.max(0, lastSeq + 1 - wal.firstSeq);
  const { devices, metadata: { gap, digests, counts, ...metadata } } = decodeOpening(wal.opening);
  const { blockBytes, epoch, counters } = wal;
  const epochWord = epochWordOf(epoch);
  const builder = new BlockBuilder({ blockBytes });
  const blocks: SealedBlock[] = [];
  const end = () => {
    if (builder.frames === 0) return;
    const frames = wal.firstSeq + (counters?.frames ?? 0) - builder.firstSeq;
    const isWithin = frames > 0 && frames <= builder.frames;
    blocks.push(builder.seal(epochWord, counters && isWithin ? { ...counters, frames } : undefined));
  };
  // Gap, digests and counters describe what precedes the WAL's first frame.
  const before = skip === 0 ? { ...(gap && { gap }), ...(digests && { digests }), ...(counts && { counts }) } : {};
  builder.begin({ devices, metadata: { ...metadata, epoch, ...before } });
  for (const [i, frame] of wal.frames.slice(skip).entries()) {
    const seq = wal.firstSeq + skip + i;
    if (builder.append(seq, frame) === "added") continue;
    end();
    builder.begin({ devices, metadata: { ...metadata, epoch } });
    builder.append(seq, frame);
  }
  end();
  return blocks;
}

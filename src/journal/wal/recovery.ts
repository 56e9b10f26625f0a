import { errorText, type Logger } from "../../base/mod.ts";
import { type FileEnd, FileEnds, journalNames, readEnd } from "../file/end.ts";
import { epochWordOf, FILE_HEADER_BYTES } from "../file/layout.ts";
import { DEFAULT_PREFIX, nextFileName, parseFileName } from "../file/name.ts";
import { JournalFile, type SealedBlock } from "../file/journal_file.ts";
import type { Wal } from "./wal.ts";
import { readWals, removeWals } from "./wal_files.ts";
import { unsealedOf } from "./unsealed.ts";

/** What a start found. */
export interface Recovered {
  /** Newest frame of the journal, recovered ones included; 0 when there is none. */
  lastSeq: number;
  /** 16 bytes that name its run of numbers; undefined when there is none, or none that is known. */
  epoch: Uint8Array<ArrayBuffer> | undefined;
  /** Name of the newest file, which the next one must not sort before. */
  newestFile: string | undefined;
  /** Frames that were only in a tail. */
  frames: number;
  /** Bytes cut off from files. */
  cutBytes: number;
  /** Blocks of such frames that could not be written, for the writer to do: their tails are still there. */
  pending: SealedBlock[];
}

/** Where a journal is. */
export interface RecoveryOptions {
  directory: string;
  prefix?: string;
  compression?: "none" | "zstd";
  /**
   * Looks at files of the prefix alone; default false. Where others write beside the recording, what they wrote last says
   * nothing of what a tail holds.
   */
  onlyOwn?: boolean;
  log: Logger;
}

/** Cuts off what is torn; a file in which nothing else is goes. */
async function cut(file: Deno.FsFile, { path, end }: { path: string; end: FileEnd }): Promise<void> {
  const { size, tornBytes } = end;
  if (size - tornBytes <= FILE_HEADER_BYTES) return await Deno.remove(path);
  if (tornBytes === 0) return;
  await file.truncate(size - tornBytes);
  await file.sync();
}

/** Mends how a file ends. Gives how many bytes were cut off; undefined when it is whole, or no journal. */
async function mend(
  file: Deno.FsFile,
  { path, name, end }: { path: string; name: string; end: FileEnd | undefined },
): Promise<number | undefined> {
  const { size } = await file.stat();
  if (end === undefined && size > FILE_HEADER_BYTES) return undefined;
  // Made, and the power went before anything was in it.
  const found = end ?? { name, epochWord: 0, lastSeq: 0, epoch: undefined, tornBytes: size, size };
  if (found.tornBytes === 0 && size > FILE_HEADER_BYTES) return undefined;
  await cut(file, { path, end: found });
  return found.tornBytes;
}

/** Writes blocks into a file of their own. Returns its name. */
async function writeFile(
  blocks: readonly SealedBlock[],
  { tail, after, options }: { tail: Wal; after: string | undefined; options: RecoveryOptions },
): Promise<string> {
  const { directory, prefix = DEFAULT_PREFIX, compression = "zstd" } = options;
  const taken = new Set(await journalNames(directory));
  const timeUs = blocks[0]?.firstTimeUs ?? 0;
  const name = nextFileName(prefix, { timeUs, after, isTaken: (each) => taken.has(each) });
  const { blockBytes } = tail;
  const epochWord = epochWordOf(tail.epoch);
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

/** Writes what only the tails hold into files, one for each tail. */
async function restore(found: Recovered, { ends, options }: { ends: FileEnds; options: RecoveryOptions }) {
  const { directory, log } = options;
  for await (const { tail, blocks } of unsealedOf(await readWals(directory), ends)) {
    const last = blocks.at(-1);
    if (last === undefined) continue;
    try {
      if (found.pending.length > 0) found.pending.push(...blocks);
      else found.newestFile = await writeFile(blocks, { tail, after: found.newestFile, options });
    } catch (error) {
      const reason = errorText(error);
      log.error("recovered frames cannot be written now", { reason });
      found.pending.push(...blocks);
    }
    found.frames += blocks.reduce((sum, { firstSeq, lastSeq }) => sum + lastSeq - firstSeq + 1, 0);
    found.lastSeq = last.lastSeq;
    found.epoch = tail.epoch;
  }
  if (found.pending.length === 0) await removeWals(directory);
}

/** What was cut off, where. */
interface Cuts {
  bytes: number;
  files: string[];
}

/** Reads how files of a directory end, and cuts off what is torn. */
function mendingEnds(directory: string, { names, cuts }: { names: readonly string[]; cuts: Cuts }): FileEnds {
  return new FileEnds(names, async (name, mayBeTorn) => {
    const path = `${directory}/${name}`;
    using file = await Deno.open(path, { read: true, write: mayBeTorn });
    const end = await readEnd(file, name);
    const cutBytes = mayBeTorn ? await mend(file, { path, name, end }) : undefined;
    if (cutBytes !== undefined) {
      cuts.bytes += cutBytes;
      cuts.files.push(name);
    }
    return end;
  });
}

/**
 * Makes a journal whole again after whatever ended its last recording: cuts off what is torn, and writes what only the
 * tails hold into a file. To be called before a writer is made, by the process that holds the directory.
 */
export async function recover(options: RecoveryOptions): Promise<Recovered> {
  const { directory, prefix = DEFAULT_PREFIX, onlyOwn = false, log } = options;
  const names = await journalNames(directory, onlyOwn ? prefix : undefined);
  const cuts: Cuts = { bytes: 0, files: [] };
  const ends = mendingEnds(directory, { names, cuts });
  const newest = await ends.find();
  const found: Recovered = {
    lastSeq: newest?.lastSeq ?? 0,
    epoch: newest?.epoch,
    // Where no file can be read, names say nothing: a stranger's may be thousands of years ahead.
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
 * Cuts off what is torn in the newest files of a prefix, which were written side by side and without a tail.
 *
 * @param options.count how many may have been open at once
 */
export async function mendNewest(
  { directory, prefix, count, log }: { directory: string; prefix: string; count: number; log: Logger },
): Promise<void> {
  for (const name of (await journalNames(directory, prefix)).slice(0, count)) {
    const path = `${directory}/${name}`;
    using file = await Deno.open(path, { read: true, write: true });
    const cutBytes = await mend(file, { path, name, end: await readEnd(file, name) });
    if (cutBytes !== undefined) log.warn("a file was cut short", { path, cutBytes });
  }
}

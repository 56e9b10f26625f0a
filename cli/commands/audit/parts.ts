import { basename } from "node:path";
import { type BlockFile, openBlockFile, readJournalDirectory, storedBytes } from "@vessel/gateway/journal";
import { errorText } from "@vessel/gateway/base";

/** A block of frames with consecutive numbers; blocks of files are read later. */
export interface Part {
  epochWord: number;
  seq: number;
  timeUs: number;
  path: string;
  offset: number;
  bytes: number;
  /** The block itself if it is in no file. */
  unsealed: Uint8Array<ArrayBuffer> | undefined;
}

/** The blocks of a directory. */
export interface Parts {
  /** Sorted by their first numbers. */
  parts: Part[];
  /** Messages about what could not be read. */
  damage: string[];
}

/**
 * Finds all blocks of a journal directory: those of its files, torn ones as far as they can be read, and the frames that
 * only its write-ahead logs hold. Changes nothing. A missing directory gives no blocks.
 */
export async function findParts(directory: string): Promise<Parts> {
  const found: Parts = { parts: [], damage: [] };
  const { files, wals } = await readJournalDirectory(directory).catch((error) => {
    if (error instanceof Deno.errors.NotFound) return { files: [], wals: [] };
    throw error;
  });
  for (const path of files) {
    try {
      addBlocks(await openBlockFile(path), found);
    } catch (error) {
      found.damage.push(`${basename(path)}: ${errorText(error)}`);
    }
  }
  for (const wal of wals) addBlocks(wal, found);
  found.parts.sort((a, b) => a.seq - b.seq);
  return found;
}

function addBlocks({ path, index }: BlockFile, { parts, damage }: Parts): void {
  const { header: { epochWord }, blocks, state, damaged, end } = index;
  const name = basename(path);
  if (state === "torn") damage.push(`${name}: torn behind byte ${end}`);
  if (damaged > 0) damage.push(`${name}: ${damaged} places where no block begins`);
  for (const { offset, header, unsealed } of blocks) {
    const { baseSeq: seq, baseTimeUs: timeUs } = header;
    if (seq === undefined) return void damage.push(`${name}: its frames have no numbers`);
    parts.push({ epochWord, seq, timeUs, path, offset, bytes: storedBytes(header), unsealed });
  }
}

import { type BlockFile, openBlockFile, readJournalDirectory, storedBytes } from "@vessel/gateway/journal";
import { errorText } from "@vessel/gateway/base";

/** A block of frames whose numbers follow each other; one of a file is not read yet. */
export interface Part {
  epochWord: number;
  seq: number;
  timeUs: number;
  path: string;
  offset: number;
  bytes: number;
  /** The block itself where it is in no file. */
  unsealed: Uint8Array<ArrayBuffer> | undefined;
}

/** What was found in a directory. */
export interface Parts {
  /** In the order of their first numbers. */
  parts: Part[];
  /** What could not be read, in words. */
  damage: string[];
}

/**
 * Finds all that a directory holds of a journal: blocks of its files, torn ones as far as they go, and the frames that
 * are in its write-ahead logs alone. Nothing is changed. Without a journal there is none.
 */
export async function findParts(directory: string): Promise<Parts> {
  const found: Parts = { parts: [], damage: [] };
  const { files, tails } = await readJournalDirectory(directory).catch((error) => {
    if (error instanceof Deno.errors.NotFound) return { files: [], tails: [] };
    throw error;
  });
  for (const path of files) {
    try {
      addBlocks(await openBlockFile(path), found);
    } catch (error) {
      found.damage.push(`${nameOf(path)}: ${errorText(error)}`);
    }
  }
  for (const tail of tails) addBlocks(tail, found);
  found.parts.sort((a, b) => a.seq - b.seq);
  return found;
}

function addBlocks({ path, index }: BlockFile, { parts, damage }: Parts): void {
  const { header: { epochWord }, blocks, state, damaged, end } = index;
  const name = nameOf(path);
  if (state === "torn") damage.push(`${name}: torn behind byte ${end}`);
  if (damaged > 0) damage.push(`${name}: ${damaged} places where no block begins`);
  for (const { offset, header, unsealed } of blocks) {
    const { baseSeq: seq, baseTimeUs: timeUs } = header;
    if (seq === undefined) return void damage.push(`${name}: its frames have no numbers`);
    parts.push({ epochWord, seq, timeUs, path, offset, bytes: storedBytes(header), unsealed });
  }
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

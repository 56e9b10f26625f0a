import { basename } from "node:path";
import { errorText } from "@vessel/gateway/base";
import type { StoredJournal } from "@vessel/gateway/cloud";
import {
  type BlockFile,
  openBlockFile,
  type OpenSource,
  readJournalDirectory,
  storedBytes,
} from "@vessel/gateway/journal";

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

/** The blocks of a directory, or of a boat in an object store. */
export interface Parts {
  /** Sorted by their first numbers. */
  parts: Part[];
  /** Messages about what could not be read. */
  damage: string[];
  /** Opens what `path` of a part names; undefined: a file of the local disk. */
  open?: OpenSource;
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

/** Finds all blocks of a boat in an object store. @throws {SourceUnavailableError} the store does not answer */
export async function findStoredParts(journal: StoredJournal): Promise<Parts> {
  const parts = (await journal.locations()).map((part) => ({ ...part, unsealed: undefined }));
  return { parts: parts.sort((a, b) => a.seq - b.seq), damage: [...journal.damage], open: journal.open };
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

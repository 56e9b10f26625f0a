import { turn } from "../../base/mod.ts";
import {
  BlockError,
  BlockReader,
  epochWordOf,
  type JournalFileInfo,
  type JournalIndex,
  MAX_BUSES,
  openBlockFile,
  parseFileName,
} from "../../journal/mod.ts";
import { Ranges } from "../../replication/mod.ts";
import { BACKFILL_PREFIX } from "../files/backfill_files.ts";
import { isFrameKey } from "../store/object_names.ts";
import type { EpochHistory, ReceivedRecord } from "./received.ts";

/** The part of a boat's state that journal files contain. */
export interface RebuiltState {
  /** The newest epoch. Former ones are left out: the files do not reliably say their order. */
  epochs: EpochHistory;
  /** Names of its buses by index. */
  buses: readonly string[];
  received: ReceivedRecord;
}

/** Rebuilds the state from a boat's journal files: reads every block of the newest epoch. */
export async function rebuildState(journal: JournalIndex): Promise<RebuiltState> {
  const epochWord = journal.files.at(-1)?.epochWord;
  const durable = new Ranges();
  const { epoch: current, buses = [] } = epochWord === undefined
    ? {}
    : await readBlocks(durable, { journal, epochWord, fromSeq: 1 });
  // Without its full name, an epoch cannot be distinguished from the next one.
  const received = { durable: current ? [...durable] : [], void: [], lost: [] };
  return { epochs: { current, previous: [] }, buses, received };
}

/** The part of a boat's files whose frames its saved numbers contain. */
export interface Accounted {
  /** All live frames up to this number. */
  live: number;
  /** All backfill files up to and including this name; undefined: none. */
  backfill: string | undefined;
}

/**
 * Adds the frames in the journal files that a saved record lacks: those received between the last save and a crash.
 *
 * @param options.epoch the record's epoch, hex
 * @param options.accounted the part of the files that need not be read
 */
export async function withNewerFrames(
  received: ReceivedRecord,
  { journal, epoch, accounted }: { journal: JournalIndex; epoch: string; accounted: Accounted },
): Promise<ReceivedRecord> {
  const durable = new Ranges(received.durable);
  const epochWord = epochWordOf(Uint8Array.fromHex(epoch));
  const knownMs = accounted.backfill === undefined ? -Infinity : parseFileName(accounted.backfill)?.timeMs ?? -Infinity;
  const live: JournalFileInfo[] = [];
  for (const file of journal.files) {
    if (file.epochWord !== epochWord || isFrameKey(file.path)) continue;
    const name = parseFileName(file.path.slice(file.path.lastIndexOf("/") + 1));
    if (name?.prefix !== BACKFILL_PREFIX) live.push(file);
    else if (name.timeMs > knownMs) await readFileBlocks(durable, { path: file.path, fromSeq: 0 });
  }
  // Live numbers only rise: a file ends where the next one begins.
  live.sort((a, b) => (a.firstSeq ?? 0) - (b.firstSeq ?? 0));
  const fromSeq = accounted.live + 1;
  for (const [i, { path }] of live.entries()) {
    if ((live[i + 1]?.firstSeq ?? Infinity) > fromSeq) await readFileBlocks(durable, { path, fromSeq });
  }
  return { ...received, durable: [...durable] };
}

/**
 * Adds the numbers of a file's blocks. Unreadable blocks are skipped: their frames are missing.
 *
 * @param options.fromSeq blocks that end below this number, where the next one begins, are skipped
 */
async function readFileBlocks(durable: Ranges, { path, fromSeq }: { path: string; fromSeq: number }): Promise<void> {
  using reader = new BlockReader();
  const { blocks } = await openBlockFile(path);
  for (const [i, location] of blocks.entries()) {
    if ((blocks[i + 1]?.seq ?? Infinity) <= fromSeq) continue;
    // Decompressing a block takes a millisecond.
    await turn();
    try {
      const { baseSeq, frameCount } = await reader.read(path, location);
      if (baseSeq !== undefined) durable.add(baseSeq, baseSeq + frameCount);
    } catch (error) {
      if (!(error instanceof BlockError)) throw error;
    }
  }
}

/** Adds the numbers of all blocks. Returns the epoch that they name, hex, and the buses of the newest block. */
async function readBlocks(
  durable: Ranges,
  { journal, epochWord, fromSeq }: { journal: JournalIndex; epochWord: number; fromSeq: number },
): Promise<{ epoch?: string; buses?: readonly string[] }> {
  const found: { epoch?: string; buses?: readonly string[] } = {};
  for await (const { baseSeq, frameCount, metadata } of journal.blocks({ epochWord, fromSeq })) {
    // Blocks of peers' boats name no epoch; only the file's header does.
    if (metadata.epoch && epochWordOf(metadata.epoch) === epochWord) found.epoch ??= metadata.epoch.toHex();
    if (metadata.buses) found.buses = metadata.buses.slice(0, MAX_BUSES);
    if (baseSeq !== undefined) durable.add(baseSeq, baseSeq + frameCount);
  }
  return found;
}

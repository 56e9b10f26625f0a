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
import type { ReceivedRecord } from "./received.ts";
import type { EpochHistory } from "./received_epochs.ts";

/** What journal files tell of a boat. */
export interface RebuiltState {
  /** The newest run of numbers. Those before it are not told: in which order they came the files do not say for sure. */
  epochs: EpochHistory;
  /** Names of its buses by index. */
  buses: readonly string[];
  /** Its frames. */
  received: ReceivedRecord;
}

/** Looks up in a boat's journal files which frames are here. Every block of the newest run of numbers is unpacked. */
export async function rebuildState(journal: JournalIndex): Promise<RebuiltState> {
  const epochWord = journal.files.at(-1)?.epochWord;
  const durable = new Ranges();
  const { epoch: current, buses = [] } = epochWord === undefined
    ? {}
    : await readInto(durable, { journal, epochWord, fromSeq: 1 });
  // Frames of a run that no block names could not be told from those of the next.
  const received = { durable: current ? [...durable] : [], void: [], lost: [] };
  return { epochs: { current, previous: [] }, buses, received };
}

/** Up to where what is written down of a boat goes along with its files. */
export interface Accounted {
  /** All live frames up to this number are known of. */
  live: number;
  /** All files of fetched blocks are up to and with this one, by name; undefined: none is. */
  backfill: string | undefined;
}

/**
 * Adds the frames that are in the journal files and that a record does not know: those that came between the last time it
 * was written down and a crash.
 *
 * @param options.epoch the record's run of numbers, hex
 * @param options.accounted what of the files need not be looked at
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
    if (file.epochWord !== epochWord) continue;
    const name = parseFileName(file.path.slice(file.path.lastIndexOf("/") + 1));
    if (name?.prefix !== BACKFILL_PREFIX) live.push(file);
    else if (name.timeMs > knownMs) await readFileInto(durable, { path: file.path, fromSeq: 0 });
  }
  // Their numbers only go up: where the next begins, those before it end.
  live.sort((a, b) => (a.firstSeq ?? 0) - (b.firstSeq ?? 0));
  const fromSeq = accounted.live + 1;
  for (const [i, { path }] of live.entries()) {
    if ((live[i + 1]?.firstSeq ?? Infinity) > fromSeq) await readFileInto(durable, { path, fromSeq });
  }
  return { ...received, durable: [...durable] };
}

/**
 * Adds the numbers of a file's blocks; those that cannot be read are missing, and who reads the journal tells.
 *
 * @param options.fromSeq blocks that end below this number, as the next one's beginning says, are passed over
 */
async function readFileInto(
  durable: Ranges,
  { path, fromSeq }: { path: string; fromSeq: number },
): Promise<void> {
  using reader = new BlockReader();
  const { blocks } = await openBlockFile(path);
  for (const [i, place] of blocks.entries()) {
    if ((blocks[i + 1]?.seq ?? Infinity) <= fromSeq) continue;
    // To unpack one takes a millisecond.
    await turn();
    try {
      const { baseSeq, frameCount } = await reader.read(path, place);
      if (baseSeq !== undefined) durable.add(baseSeq, baseSeq + frameCount);
    } catch (error) {
      if (!(error instanceof BlockError)) throw error;
    }
  }
}

/** Adds the numbers that blocks hold. Gives the run of numbers that they name, hex, and the buses of the newest. */
async function readInto(
  durable: Ranges,
  { journal, epochWord, fromSeq }: { journal: JournalIndex; epochWord: number; fromSeq: number },
): Promise<{ epoch?: string; buses?: readonly string[] }> {
  const found: { epoch?: string; buses?: readonly string[] } = {};
  for await (const { baseSeq, frameCount, notes } of journal.blocks({ epochWord, fromSeq })) {
    // Blocks of peers' boats name none: there the file's header has to do.
    if (notes.epoch && epochWordOf(notes.epoch) === epochWord) found.epoch ??= notes.epoch.toHex();
    if (notes.buses) found.buses = notes.buses.slice(0, MAX_BUSES);
    if (baseSeq !== undefined) durable.add(baseSeq, baseSeq + frameCount);
  }
  return found;
}

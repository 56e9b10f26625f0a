import { epochWordOf, type JournalIndex } from "../journal/mod.ts";
import { Ranges } from "../replication/mod.ts";
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

/**
 * Adds the frames that are in the journal files above all that a record knows: those that came between the last time it
 * was written down and a crash.
 *
 * @param options.epoch the record's run of numbers, hex
 */
export async function withNewerFrames(
  received: ReceivedRecord,
  { journal, epoch }: { journal: JournalIndex; epoch: string },
): Promise<ReceivedRecord> {
  const durable = new Ranges(received.durable);
  const epochWord = epochWordOf(Uint8Array.fromHex(epoch));
  await readInto(durable, { journal, epochWord, fromSeq: (durable.last ?? 0) + 1 });
  return { ...received, durable: [...durable] };
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
    if (notes.buses) found.buses = notes.buses;
    if (baseSeq !== undefined) durable.add(baseSeq, baseSeq + frameCount);
  }
  return found;
}

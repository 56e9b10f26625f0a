import { BlockBuilder } from "../block/builder.ts";
import type { FileEnds } from "../file/end.ts";
import { epochWordOf } from "../file/layout.ts";
import type { SealedBlock } from "../file/journal_file.ts";
import type { Wal } from "./wal.ts";
import type { StoredWal } from "./wal_files.ts";
import { decodeOpening } from "./wal_header.ts";

/** What a tail holds and no file does. */
export interface Unsealed extends StoredWal {
  tail: Wal;
  /** Its frames as blocks. May be empty where the tail is torn. */
  blocks: SealedBlock[];
}

/**
 * Frames that are in tails alone, in the order in which a start writes them into files: those of the newest file's epoch
 * first, as a tail of another epoch is newer than all files. Tails whose frames are all in files are left out.
 */
export async function* unsealedOf(stored: readonly StoredWal[], ends: FileEnds): AsyncGenerator<Unsealed, void> {
  const newestWord = (await ends.find())?.epochWord;
  const isOther = ({ epoch }: Wal) => newestWord === undefined || epochWordOf(epoch) === newestWord ? 0 : 1;
  const tails = stored.flatMap(({ tail, ...file }) => tail ? [{ ...file, tail }] : []);
  tails.sort((one, other) => isOther(one.tail) - isOther(other.tail));
  const lastSeqs = new Map<number, number>();
  for (const { tail, ...file } of tails) {
    const word = epochWordOf(tail.epoch);
    const lastSeq = lastSeqs.get(word) ?? (await ends.find(word))?.lastSeq ?? 0;
    // A torn record is of a frame that follows; where the file goes on, it holds that frame, too.
    const isSealed = lastSeq >= tail.firstSeq + Math.max(0, tail.frames.length - 1);
    if (isSealed || (tail.frames.length === 0 && tail.torn === 0)) continue;
    const blocks = blocksOf(tail, lastSeq);
    lastSeqs.set(word, blocks.at(-1)?.lastSeq ?? lastSeq);
    yield { ...file, tail, blocks };
  }
}

/** Blocks of the frames of a tail after a number. */
function blocksOf(tail: Wal, lastSeq: number): SealedBlock[] {
  const skip = Math.max(0, lastSeq + 1 - tail.firstSeq);
  const { devices, notes: { gap, digests, ...notes } } = decodeOpening(tail.opening);
  const { blockBytes, epoch } = tail;
  const epochWord = epochWordOf(epoch);
  const builder = new BlockBuilder({ blockBytes });
  const blocks: SealedBlock[] = [];
  const end = () => {
    const { firstSeq, lastSeq, firstTimeUs, latestTimeUs } = builder;
    if (builder.frames > 0) {
      blocks.push({ bytes: builder.finish(), firstSeq, lastSeq, firstTimeUs, latestTimeUs, epochWord });
    }
  };
  // Gap and digests are of what lies before the tail's first frame.
  const before = skip === 0 ? { ...(gap && { gap }), ...(digests && { digests }) } : {};
  builder.begin({ devices, notes: { ...notes, epoch, ...before } });
  for (const [i, frame] of tail.frames.slice(skip).entries()) {
    const seq = tail.firstSeq + skip + i;
    if (builder.append(seq, frame) === "added") continue;
    end();
    builder.begin({ devices, notes: { ...notes, epoch } });
    builder.append(seq, frame);
  }
  end();
  return blocks;
}

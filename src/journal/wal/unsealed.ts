import { BlockBuilder } from "../block/builder.ts";
import type { FileEnds } from "../file/end.ts";
import { epochWordOf } from "../file/layout.ts";
import type { SealedBlock } from "../types.ts";
import type { Wal } from "./wal.ts";
import type { StoredWal } from "./wal_files.ts";
import { decodeOpening } from "./wal_header.ts";

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
  const { devices, notes: { gap, digests, ...notes } } = decodeOpening(wal.opening);
  const { blockBytes, epoch } = wal;
  const epochWord = epochWordOf(epoch);
  const builder = new BlockBuilder({ blockBytes });
  const blocks: SealedBlock[] = [];
  const end = () => {
    if (builder.frames > 0) blocks.push(builder.seal(epochWord));
  };
  // Gap and digests describe what precedes the WAL's first frame.
  const before = skip === 0 ? { ...(gap && { gap }), ...(digests && { digests }) } : {};
  builder.begin({ devices, notes: { ...notes, epoch, ...before } });
  for (const [i, frame] of wal.frames.slice(skip).entries()) {
    const seq = wal.firstSeq + skip + i;
    if (builder.append(seq, frame) === "added") continue;
    end();
    builder.begin({ devices, notes: { ...notes, epoch } });
    builder.append(seq, frame);
  }
  end();
  return blocks;
}

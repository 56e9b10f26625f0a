import { formatTimeUs } from "@vessel/gateway/frame";
import { type BlockFile, type Gap, isTornBlockKept, MAX_DISORDER_US } from "@vessel/gateway/journal";
import { blocksOf, type ExaminedBlock, type FoundFile, spanOf } from "../inspect/file.ts";
import { unreadableText } from "../inspect/unreadable.ts";

/** A block whose frames have numbers. */
export interface VerifiedBlock {
  path: string;
  offset: number;
  /** Bytes in the file. */
  bytes: number;
  /** The block itself where it is in no file. */
  unsealed: Uint8Array<ArrayBuffer> | undefined;
  firstSeq: number;
  lastSeq: number;
  timeUs: number;
  /** Frames that are missing before it, as it says. */
  gap: Gap | undefined;
}

/** Something wrong at a place of a file. */
export interface Fault {
  /** Byte of the file; left out where it is about all of it. */
  offset?: number;
  what: string;
}

/** What a file is worth. */
export interface VerifiedFile {
  path: string;
  bytes: number;
  /** First four bytes of the epoch; 0 where none is named. */
  epochWord: number;
  /** All of it, in hexadecimal. */
  epoch: string | undefined;
  /** Blocks that can be read. */
  blocks: number;
  /** Frames that can be read. */
  frames: number;
  firstSeq: number | undefined;
  lastSeq: number | undefined;
  firstTimeUs: number | undefined;
  latestTimeUs: number | undefined;
  hasIndex: boolean;
  errors: Fault[];
  /** What is worth knowing, and no error. */
  notes: Fault[];
  /** Those with numbers, in the order in which they lie there. */
  numbered: VerifiedBlock[];
}

/**
 * Reads every block and every frame of a file. Nothing is thrown for what the file holds.
 *
 * @param onBytes is told of bytes that are done; what it throws ends the reading
 */
export async function verifyFile(found: FoundFile, onBytes: (bytes: number) => void): Promise<VerifiedFile> {
  const result: VerifiedFile = {
    ...{ path: found.path, bytes: found.bytes, epochWord: 0, epoch: undefined, blocks: 0, frames: 0, hasIndex: false },
    ...{ firstSeq: undefined, lastSeq: undefined, firstTimeUs: undefined, latestTimeUs: undefined },
    ...{ errors: [], notes: [], numbered: [] },
  };
  const file = await found.open().catch((error) => void result.errors.push({ what: unreadableText(error) }));
  if (file === undefined) return result;
  takeFile(result, file);
  for await (const block of blocksOf(file, onBytes)) takeBlock(result, block);
  if (file.index.state === "torn") await takeTornEnd(result, file);
  result.errors.sort((a, b) => (a.offset ?? -1) - (b.offset ?? -1));
  return result;
}

function takeFile(result: VerifiedFile, { bytes, index: { header, state, damaged, blocks } }: BlockFile): void {
  result.bytes = bytes;
  result.epochWord = header.epochWord;
  result.hasIndex = state === "closed";
  if (damaged > 0) {
    const places = damaged === 1 ? "At one place a block" : `At ${damaged} places a block`;
    result.errors.push({ what: `${places} should begin and none does` });
  }
  if (blocks.length === 0 && state !== "torn") result.notes.push({ what: "It has no block" });
  if (header.version === 1) result.notes.push({ what: "Version 1: its frames have no numbers" });
}

/** What a crash cuts off is an error, unless it was not synced yet or is in a write-ahead log, too. */
async function takeTornEnd(result: VerifiedFile, { path, bytes, index, sealsInto }: BlockFile): Promise<void> {
  const { end: offset, header: { epochWord } } = index;
  const count = bytes - offset;
  if (sealsInto !== undefined) {
    result.notes.push({ offset, what: `${count} bytes that are no whole record: cut off, or being written` });
  } else if (await isTornBlockKept(path, { epochWord, lastSeq: result.lastSeq ?? 0 })) {
    result.notes.push({ offset, what: `${count} bytes of a block that is being written; the write-ahead log has it` });
  } else result.errors.push({ offset, what: `${count} bytes that are no block: cut off, or being written` });
}

function takeBlock(result: VerifiedFile, found: ExaminedBlock): void {
  const { place: { offset, header, unsealed } } = found;
  if (found.kind === "damaged") return void result.errors.push({ offset, what: found.why });
  const { block, storedBytes: bytes } = found.stored;
  const { baseSeq, baseTimeUs: timeUs } = block;
  const { frames, latestTimeUs, damage } = spanOf(block);
  const fail = (what: string) => result.errors.push({ offset, what });
  if (damage !== undefined) fail(damage);
  if (header.baseSeq !== baseSeq) fail(`Its header has number ${header.baseSeq}, and the block ${baseSeq}`);
  if (header.baseTimeUs !== timeUs) fail("Its header has another time than the block");
  const before = result.latestTimeUs;
  if (before !== undefined && timeUs < before - MAX_DISORDER_US) {
    result.notes.push({ offset, what: `Time goes back from ${formatTimeUs(before)} to ${formatTimeUs(timeUs)}` });
  }
  result.blocks++;
  result.frames += frames;
  result.firstTimeUs ??= timeUs;
  result.latestTimeUs = latestTimeUs;
  result.epoch ??= block.metadata.epoch?.toHex();
  if (baseSeq === undefined || frames === 0) return;
  const lastSeq = baseSeq + frames - 1;
  result.firstSeq = Math.min(baseSeq, result.firstSeq ?? Infinity);
  result.lastSeq = Math.max(lastSeq, result.lastSeq ?? 0);
  const { path } = result;
  result.numbered.push({ path, offset, bytes, unsealed, firstSeq: baseSeq, lastSeq, timeUs, gap: block.metadata.gap });
}

import { newStoredFrame } from "@vessel/gateway/frame";
import {
  ActiveDevices,
  type Block,
  BlockBuilder,
  type BlockDevice,
  type BlockFile,
  type BlockMetadata,
  compress,
  type Gap,
  isTornBlockKept,
  type StoredBlock,
} from "@vessel/gateway/journal";
import { blocksOf, spanOf } from "../inspect/file.ts";
import { type OutputBlock, OutputFile, type OutputHeader } from "./output.ts";
import type { Fault } from "../verify/file.ts";

/** Result for one file. */
export interface RepairedFile {
  path: string;
  /** Path of the output; undefined: nothing can be read. */
  out: string | undefined;
  blocks: number;
  frames: number;
  /** Messages about what could not be read. */
  lost: Fault[];
  /** Numbers of lost frames, as far as later blocks show them; ends included. */
  missing: { first: number; last: number }[];
}

/** State carried from one file to the next. */
export class RepairState {
  readonly #lastSeqs = new Map<number, number>();
  #losses = 0;
  readonly #reportedLosses = new Map<number, number>();

  /** Something was lost here. */
  lose(): void {
    this.#losses++;
  }

  /** The numbers lost between the previous block written and this block of the epoch. */
  gapBefore(epochWord: number, firstSeq: number): Gap | undefined {
    const last = this.#lastSeqs.get(epochWord);
    const isNews = (this.#reportedLosses.get(epochWord) ?? 0) < this.#losses;
    this.#reportedLosses.set(epochWord, this.#losses);
    if (!isNews || last === undefined || firstSeq <= last + 1) return undefined;
    return { firstMissing: last + 1, reason: "disk" };
  }

  /** Records that all numbers up to this one were written. */
  wrote(epochWord: number, lastSeq: number): void {
    this.#lastSeqs.set(epochWord, Math.max(lastSeq, this.#lastSeqs.get(epochWord) ?? 0));
  }
}

/** Output of a file, and the state shared with others. */
export interface RepairOptions {
  directory: string;
  name: string;
  state: RepairState;
  /** Called with the number of bytes done; an error that it throws ends the repair. */
  onBytes: (bytes: number) => void;
}

/** Writes the readable part of a file into a complete file of the same name, with an index. */
export async function repairFile(file: BlockFile, options: RepairOptions): Promise<RepairedFile> {
  const { directory, name, state } = options;
  const { path, bytes, index: { header, damaged, state: ending, end }, sealsInto } = file;
  const result: RepairedFile = { path, out: undefined, blocks: 0, frames: 0, lost: [], missing: [] };
  const isLog = sealsInto !== undefined;
  let lastSeq = 0;
  const compression = header.compression === "none" ? "none" : "zstd";
  const output = await OutputFile.create(directory, { name, header: { ...header, compression } });
  try {
    if (damaged > 0) state.lose();
    for await (const found of blocksOf(file, options.onBytes)) {
      const { offset } = found.place;
      const lose = (what: string) => {
        result.lost.push({ offset, what });
        state.lose();
      };
      if (found.kind === "damaged") {
        lose(found.why);
        continue;
      }
      const { baseSeq = 0, frameCount } = found.stored.block;
      lastSeq = baseSeq + frameCount - 1;
      await new BlockRepair(found.stored, { header: { ...header, compression }, state, result, lose }).write(output);
    }
    if (damaged > 0) result.lost.push({ what: `Blocks at ${damaged} places where none begins` });
    if (ending === "torn" && !await isTornBlockKept(path, { epochWord: header.epochWord, lastSeq })) {
      result.lost.push({ offset: end, what: `${bytes - end} bytes that are no ${isLog ? "whole record" : "block"}` });
      state.lose();
    }
    if (result.blocks === 0) await output.abandon();
    else {
      await output.end();
      result.out = output.path;
    }
    return result;
  } catch (error) {
    await output.abandon();
    throw error;
  }
}

interface BlockRepairOptions {
  header: OutputHeader;
  state: RepairState;
  result: RepairedFile;
  lose: (what: string) => void;
}

/** Repairs one block. */
class BlockRepair {
  readonly #stored: StoredBlock;
  readonly #options: BlockRepairOptions;

  constructor(stored: StoredBlock, options: BlockRepairOptions) {
    this.#stored = stored;
    this.#options = options;
  }

  async write(output: OutputFile): Promise<void> {
    const { header: { epochWord, version }, state, result, lose } = this.#options;
    const { block } = this.#stored;
    const { frames, damage } = spanOf(block);
    const { baseSeq } = block;
    const gap = baseSeq === undefined ? undefined : this.#gap(block.metadata.gap, state.gapBefore(epochWord, baseSeq));
    if (gap && baseSeq !== undefined) result.missing.push({ first: gap.firstMissing, last: baseSeq - 1 });
    if (damage !== undefined) lose(damage);
    // Frames of version 1 stay in their block: new blocks have sequence numbers.
    if (version === 1 && damage !== undefined) return;
    const blocks = damage === undefined && gap === undefined
      ? [this.#unchanged()]
      : this.#rebuild(block, { frames, gap });
    for (const each of blocks) await output.append(each);
    result.blocks += blocks.length;
    result.frames += blocks.length > 0 ? frames : 0;
    if (baseSeq !== undefined) state.wrote(epochWord, baseSeq + frames - 1);
  }

  /** The gap that the block must declare in addition to its own. */
  #gap(told: Gap | undefined, found: Gap | undefined): Gap | undefined {
    return found && told && told.firstMissing <= found.firstMissing ? undefined : found;
  }

  #unchanged(): OutputBlock {
    const { block, bytes, packed } = this.#stored;
    return { timeUs: block.baseTimeUs, firstSeq: block.baseSeq, data: packed ?? this.#pack(bytes.slice()) };
  }

  /** Rebuilds the block with the gap declared or without unreadable frames; two blocks if it was full. */
  #rebuild(block: Block, { frames, gap }: { frames: number; gap: Gap | undefined }): OutputBlock[] {
    const builder = new BlockBuilder({
      blockBytes: this.#options.header.blockBytes,
      productOf: (bus, src) => block.devices.findLast((device) => device.bus === bus && device.src === src),
    });
    const done: OutputBlock[] = [];
    const begin = (metadata: BlockMetadata, index: number) =>
      builder.begin({ devices: devicesAt(block, index), metadata });
    const finish = () => {
      const place = { timeUs: builder.firstTimeUs, firstSeq: builder.firstSeq };
      done.push({ ...place, data: this.#pack(builder.finish()) });
    };
    // The counters are those of the beginning and of the end of the whole block.
    const { gap: own, counts, end: _, ...metadata } = block.metadata;
    begin({ ...metadata, ...(counts && { counts }), ...(gap ?? own ? { gap: gap ?? own } : {}) }, 0);
    const frame = newStoredFrame();
    for (const cursor = block.frames(); cursor.index < frames && cursor.next(frame);) {
      if (builder.append(frame.seq, frame) === "added") continue;
      finish();
      begin(metadata, cursor.index - 1);
      builder.append(frame.seq, frame);
    }
    if (builder.frames > 0) finish();
    return done;
  }

  #pack(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
    return compress(bytes, this.#options.header.compression);
  }
}

/** Device at each address at a frame of a block, by the frame's index. */
function devicesAt({ devices }: Block, index: number): BlockDevice[] {
  const current = new Map<string, BlockDevice>();
  new ActiveDevices(devices).advance(index, (device) => current.set(`${device.bus} ${device.src}`, device));
  return [...current.values()].map((device) => ({ ...device, activeFrom: 0 }));
}

import { decompress, readBlock } from "../../../journal/mod.ts";
import { newStoredFrame } from "../../../frame/mod.ts";
import type { PackedBlock } from "../frame_objects.ts";

/**
 * What adding a block to a run does.
 *
 * - `added`: it has frames that the run lacked
 * - `held`: the run has all of its frames
 * - `different`: the run has another frame with one of its numbers
 * - `gap`: numbers are missing between the run and the block
 */
export type Addition = "added" | "held" | "different" | "gap";

/** Blocks with consecutive numbers. Blocks that overlap must have equal frames. Pure. */
export class BlockRun {
  readonly #blocks: PackedBlock[] = [];
  #last = 0;

  /** The blocks, in the order in which they were added. */
  get blocks(): readonly PackedBlock[] {
    return this.#blocks;
  }

  /** Adds a block that has frames which the run lacks. Its first number must not be below that of the run. */
  add(block: PackedBlock): Addition {
    const compared = this.compare(block);
    if (compared !== "added") return compared;
    this.#blocks.push(block);
    this.#last = block.last;
    return "added";
  }

  /** As {@linkcode BlockRun.add}, but changes nothing. */
  compare(block: PackedBlock): Addition {
    if (this.#blocks.length === 0 || block.first === this.#last + 1) return "added";
    if (block.first > this.#last + 1) return "gap";
    const overlapping = this.#blocks.filter(({ first, last }) => first <= block.last && last >= block.first);
    const isSame = overlapping.some((other) => isEqual(other, block));
    if (!isSame && overlapping.some((other) => differs(other, block))) return "different";
    return block.last > this.#last ? "added" : "held";
  }
}

function isEqual(a: PackedBlock, b: PackedBlock): boolean {
  if (a.bytes !== b.bytes || a.first !== b.first || a.last !== b.last) return false;
  return a.parts.every((part, i) => {
    const other = b.parts[i];
    return other?.length === part.length && part.every((byte, at) => byte === other[at]);
  });
}

/** True if the blocks have different frames with one number. */
function differs(a: PackedBlock, b: PackedBlock): boolean {
  const contents = contentsOf(a);
  for (const [seq, content] of contentsOf(b)) {
    const other = contents.get(seq);
    if (other !== undefined && other !== content) return true;
  }
  return false;
}

/** Frames of a block as texts, by number. */
function contentsOf({ parts: [, data = new Uint8Array()], blockBytes }: PackedBlock): Map<number, string> {
  const bytes = decompress(data, { compression: "zstd", blockBytes });
  const contents = new Map<number, string>();
  const frame = newStoredFrame();
  for (const frames = readBlock(bytes, { version: 2, blockBytes }).frames(); frames.next(frame);) {
    const { seq, timeUs, id, bus, offset, length } = frame;
    contents.set(seq, `${timeUs} ${id} ${bus} ${frame.data.subarray(offset, offset + length).toHex()}`);
  }
  return contents;
}

import { writeAll } from "@vessel/gateway/base";
import {
  type BlockFile,
  encodeFileHeader,
  epochWordOf,
  type FileHeader,
  MAX_BLOCK_BYTES,
  MIN_BLOCK_BYTES,
  openBlockFile,
} from "@vessel/gateway/journal";
import { blocksOf } from "../inspect/file.ts";

const VERSIONS = [2, 1] as const;
const COMPRESSIONS = ["zstd", "none"] as const;
/** Blocks tried with each header: the first ones may be damaged, too. */
const MAX_TRIED_BLOCKS = 4;

/**
 * If the header of a file is unreadable, finds one with which its blocks can be read and writes it into the file:
 * call it with a copy. Returns undefined if no header fits.
 */
export async function repairHeader(path: string): Promise<BlockFile | undefined> {
  for (const header of candidates()) {
    await writeHeader(path, header);
    const file = await openBlockFile(path);
    const epochWord = await epochWordIn(file);
    if (epochWord === undefined) continue;
    await writeHeader(path, { ...header, epochWord });
    return await openBlockFile(path);
  }
  return undefined;
}

function* candidates(): Generator<FileHeader> {
  for (const version of VERSIONS) {
    for (const compression of COMPRESSIONS) {
      for (let blockBytes = MIN_BLOCK_BYTES; blockBytes <= MAX_BLOCK_BYTES; blockBytes *= 2) {
        yield { version, compression, blockBytes, epochWord: 0 };
      }
    }
  }
}

/** The epoch that the first readable block names, 0 where it names none; undefined where none can be read. */
async function epochWordIn(file: BlockFile): Promise<number | undefined> {
  const blocks = file.index.blocks.slice(0, MAX_TRIED_BLOCKS);
  for await (const found of blocksOf({ ...file, index: { ...file.index, blocks } })) {
    if (found.kind === "damaged") continue;
    const { epoch } = found.stored.block.metadata;
    return epoch === undefined ? 0 : epochWordOf(epoch);
  }
  return undefined;
}

async function writeHeader(path: string, header: FileHeader): Promise<void> {
  using file = await Deno.open(path, { write: true });
  const bytes = encodeFileHeader(header);
  await writeAll(file, bytes);
}

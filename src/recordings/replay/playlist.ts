import { errorText, type Logger } from "../../base/mod.ts";
import { formatTimeUs, newStoredFrame } from "../../frame/mod.ts";
import {
  type Block,
  BlockError,
  type BlockFile,
  type BlockLocation,
  BlockReader,
  MAX_DISORDER_US,
  openBlockFile,
  readJournalDirectory,
} from "../../journal/mod.ts";

/** There is nothing that can be played. */
export class ReplayError extends Error {
  /** `ReplayError`. */
  override readonly name = "ReplayError";
}

/** A block and the file it is in. */
export interface PlaylistBlock extends BlockLocation {
  path: string;
}

/** What is to be played. */
export interface PlaylistOptions {
  /** Journal files, or directories of them, in the order in which they are played. */
  paths: readonly string[];
  /** Begins with the first frame of this time or later, microseconds since 1970; default with the first of all. */
  startUs?: number | undefined;
  log: Logger;
}

/** Bus of recordings that name none. */
const UNNAMED_BUS = "can0";

/** Blocks in the order in which they are played: files as they are given, blocks as they lie in them. */
export class Playlist {
  /** Blocks from the one with the first frame on. */
  readonly blocks: readonly PlaylistBlock[];
  /** Names of all buses, in order of appearance. */
  readonly buses: readonly string[];
  /** Time that frames in front of the first one are earlier than; -Infinity where all are played. */
  readonly startUs: number;
  /** Offsets where a block should begin and none does. */
  readonly damaged: number;

  private constructor(played: Pick<Playlist, "blocks" | "buses" | "startUs" | "damaged">) {
    this.blocks = played.blocks;
    this.buses = played.buses;
    this.startUs = played.startUs;
    this.damaged = played.damaged;
  }

  /**
   * Looks at the files. One that cannot be read is warned of and left out, unless it is the only one.
   *
   * @throws {ReplayError} nothing is left to be played
   */
  static async open({ paths, startUs = -Infinity, log }: PlaylistOptions): Promise<Playlist> {
    const files = await openAll(paths, log);
    if (files.length === 0) throw new ReplayError("None of the files can be played");
    using reader = new BlockReader();
    const buses = new Set<string>();
    for (const file of files) for (const name of await busesOf(file, reader)) buses.add(name);
    const all = files.flatMap(({ path, blocks }) => blocks.map((place) => ({ path, ...place })));
    return new Playlist({
      blocks: startUs === -Infinity ? all : await from(startUs, { blocks: all, reader }),
      buses: buses.size > 0 ? [...buses] : [UNNAMED_BUS],
      startUs,
      damaged: files.reduce((sum, { index }) => sum + index.damaged, 0),
    });
  }
}

/** Files and what directories hold, logs after the files. @throws {ReplayError} a directory has no journal */
async function openAll(paths: readonly string[], log: Logger): Promise<BlockFile[]> {
  const found: (string | BlockFile)[] = [];
  for (const path of paths) {
    if (await Deno.stat(path).then(({ isDirectory }) => isDirectory, () => false)) {
      const { files, wals } = await readJournalDirectory(path, { log }).catch((error) => {
        throw new ReplayError(`Cannot play "${path}": ${errorText(error)}`);
      });
      found.push(...files, ...wals.filter(({ blocks }) => blocks.length > 0));
    } else found.push(path);
  }
  const opened: BlockFile[] = [];
  for (const each of found) {
    const file = typeof each === "string" ? await openFile(each, { isOnly: found.length === 1, log }) : each;
    if (file) opened.push(file);
  }
  return opened;
}

async function openFile(
  path: string,
  { isOnly, log }: { isOnly: boolean; log: Logger },
): Promise<BlockFile | undefined> {
  try {
    // A pipe would be waited for.
    if (!(await Deno.stat(path)).isFile) throw new ReplayError("it is no file");
    const file = await openBlockFile(path);
    if (file.blocks.length === 0) throw new BlockError("size", "it has no whole block");
    const { state, damaged } = file.index;
    if (state === "torn") log.warn("journal file is torn", { path });
    if (damaged > 0) log.warn("journal file has damaged blocks", { path, blocks: damaged });
    return file;
  } catch (error) {
    if (isOnly) throw new ReplayError(`Cannot play "${path}": ${errorText(error)}`);
    log.warn("journal file passed over", { path, reason: errorText(error) });
    return undefined;
  }
}

/** Names in the first and the last block that is whole: the recorder tells them in each, and buses only ever join. */
async function busesOf({ path, blocks }: BlockFile, reader: BlockReader): Promise<string[]> {
  const names: string[] = [];
  for (const places of [blocks, blocks.toReversed()]) {
    for (const place of places) {
      const block = await readBlockAt(reader, { path, ...place });
      names.push(...block?.notes.buses ?? []);
      if (block) break;
    }
  }
  return names;
}

/** The blocks from the one on that has the first frame of a time or later. */
async function from(
  startUs: number,
  { blocks, reader }: { blocks: readonly PlaylistBlock[]; reader: BlockReader },
): Promise<PlaylistBlock[]> {
  for (const [i, place] of blocks.entries()) {
    // Blocks tell when they begin. While times ascend, each ends before the one after the next begins, but for disorder.
    const [next, second] = [blocks[i + 1]?.timeUs ?? NaN, blocks[i + 2]?.timeUs ?? NaN];
    if (place.timeUs <= next && next <= second && second < startUs - MAX_DISORDER_US) continue;
    const block = await readBlockAt(reader, place);
    if (!block || latestTimeOf(block) >= startUs) return blocks.slice(i);
  }
  throw new ReplayError(`Nothing was recorded at ${formatTimeUs(startUs)} or later`);
}

/** Undefined where the block is damaged: that is told when it is its turn. */
async function readBlockAt(reader: BlockReader, place: PlaylistBlock): Promise<Block | undefined> {
  try {
    return await reader.read(place.path, place);
  } catch (error) {
    if (error instanceof BlockError) return undefined;
    throw error;
  }
}

function latestTimeOf(block: Block): number {
  const frame = newStoredFrame();
  const frames = block.frames();
  let latestUs = -Infinity;
  try {
    while (frames.next(frame)) latestUs = Math.max(latestUs, frame.timeUs);
  } catch (error) {
    if (!(error instanceof BlockError)) throw error;
  }
  return latestUs;
}

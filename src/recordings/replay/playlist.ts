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

/** Nothing can be played. */
export class ReplayError extends Error {
  /** `ReplayError`. */
  override readonly name = "ReplayError";
}

/** Location of a block, and the path of its file. */
export interface PlaylistBlock extends BlockLocation {
  path: string;
}

/** Options of a {@linkcode Playlist}. */
export interface PlaylistOptions {
  /** Journal files and directories, in the order of playback. */
  paths: readonly string[];
  /** Starts with the first frame of this time or later, microseconds since 1970; default all frames. */
  startUs?: number | undefined;
  log: Logger;
}

/** Bus of recordings that name none. */
const UNNAMED_BUS = "can0";

/** The blocks to play: files in the given order, blocks in file order. */
export class Playlist {
  /** Blocks, beginning with the one that has the first frame to play. */
  readonly blocks: readonly PlaylistBlock[];
  /** Names of all buses, in order of appearance. */
  readonly buses: readonly string[];
  /** Start time: earlier frames are skipped until the first later one; -Infinity: none is skipped. */
  readonly startUs: number;
  /** Number of offsets where a block should begin and none does. */
  readonly damaged: number;

  private constructor(played: Pick<Playlist, "blocks" | "buses" | "startUs" | "damaged">) {
    this.blocks = played.blocks;
    this.buses = played.buses;
    this.startUs = played.startUs;
    this.damaged = played.damaged;
  }

  /**
   * Opens the files. Skips unreadable ones with a warning, unless it is the only one.
   *
   * @throws {ReplayError} nothing can be played
   */
  static async open({ paths, startUs = -Infinity, log }: PlaylistOptions): Promise<Playlist> {
    const files = await openAll(paths, log);
    if (files.length === 0) throw new ReplayError("None of the files can be played");
    using reader = new BlockReader();
    const buses = new Set<string>();
    for (const file of files) for (const name of await busesOf(file, reader)) buses.add(name);
    const all = files.flatMap(({ path, blocks }) => blocks.map((block) => ({ path, ...block })));
    return new Playlist({
      blocks: startUs === -Infinity ? all : await blocksFrom(startUs, { blocks: all, reader }),
      buses: buses.size > 0 ? [...buses] : [UNNAMED_BUS],
      startUs,
      damaged: files.reduce((sum, { index }) => sum + index.damaged, 0),
    });
  }
}

/** Opens files, and those of directories with their logs last. @throws {ReplayError} a directory has no journal */
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
    // Opening a pipe would block.
    if (!(await Deno.stat(path)).isFile) throw new ReplayError("it is not a regular file");
    const file = await openBlockFile(path);
    if (file.blocks.length === 0) throw new BlockError("size", "it has no complete block");
    const { state, damaged } = file.index;
    if (state === "torn") log.warn("journal file is torn", { path });
    if (damaged > 0) log.warn("journal file has damaged blocks", { path, blocks: damaged });
    return file;
  } catch (error) {
    if (isOnly) throw new ReplayError(`Cannot play "${path}": ${errorText(error)}`);
    log.warn("journal file skipped", { path, reason: errorText(error) });
    return undefined;
  }
}

/** Buses of the first and the last readable block: every block names them, and buses are only ever added. */
async function busesOf({ path, blocks }: BlockFile, reader: BlockReader): Promise<string[]> {
  const names: string[] = [];
  for (const ordered of [blocks, blocks.toReversed()]) {
    for (const location of ordered) {
      const block = await reader.tryRead(path, location);
      names.push(...block?.metadata.buses ?? []);
      if (block) break;
    }
  }
  return names;
}

/** The blocks from the first one that has a frame of `startUs` or later. Damage is reported during playback. */
async function blocksFrom(
  startUs: number,
  { blocks, reader }: { blocks: readonly PlaylistBlock[]; reader: BlockReader },
): Promise<PlaylistBlock[]> {
  for (const [i, location] of blocks.entries()) {
    // Only start times are known. While they ascend, a block ends before the start of the next but one, apart from disorder.
    const [next, second] = [blocks[i + 1]?.timeUs ?? NaN, blocks[i + 2]?.timeUs ?? NaN];
    if (location.timeUs <= next && next <= second && second < startUs - MAX_DISORDER_US) continue;
    const block = await reader.tryRead(location.path, location);
    if (!block || latestTimeOf(block) >= startUs) return blocks.slice(i);
  }
  throw new ReplayError(`Nothing was recorded at ${formatTimeUs(startUs)} or later`);
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

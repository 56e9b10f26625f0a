import { createHash, type Hash } from "node:crypto";
import { errorText, turn } from "../../base/mod.ts";
import { newStoredFrame } from "../../frame/mod.ts";
import { type Block, BlockError, BlockReader, JOURNAL_EXTENSION, openBlockFile } from "../../journal/mod.ts";
import { EPOCH_BYTES } from "../../replication/mod.ts";
import { BACKFILL_PREFIX } from "../files/backfill_files.ts";
import { beginEpoch } from "../state/received.ts";

/** A block in a file of a peer's cloud. */
export interface PeerBlock {
  path: string;
  offset: number;
  bytes: number;
  /** True: written by the boat (file `backfill-…`), so that its numbers are right. False: written by the peer's cloud. */
  isBoats: boolean;
  /** Number of its first frame; 0: unknown. */
  baseSeq: number;
  frames: number;
  firstTimeUs: number;
  latestTimeUs: number;
  /** The epoch that it names, hex; undefined: it names none. */
  epoch: string | undefined;
  /** Names of the boat's buses; undefined: it names none. */
  buses: readonly string[] | undefined;
}

/** Blocks of one epoch. */
export interface PeerEpoch {
  /** Hex of 16 bytes: the boat's own, or derived from the first block. */
  epoch: string;
  /** Ordered by time. */
  blocks: PeerBlock[];
  buses: readonly string[];
}

/** Content of a boat's directory of a peer's cloud. */
export interface PeerScan {
  /** Oldest first. */
  epochs: PeerEpoch[];
  /** Damage, for people. */
  damage: string[];
  /** SHA-256 of the content of all files, hex. */
  digest: string;
}

/**
 * Reads every block of a boat's journal of a peer's cloud. Changes nothing.
 *
 * @param directory `instances/ID/journal` of its data directory
 * @throws {Deno.errors.NotFound} the directory does not exist
 */
export async function scanPeer(directory: string): Promise<PeerScan> {
  const names: string[] = [];
  for await (const { name, isFile } of Deno.readDir(directory)) {
    if (isFile && name.endsWith(JOURNAL_EXTENSION)) names.push(name);
  }
  const damage: string[] = [];
  const blocks: PeerBlock[] = [];
  const hash = createHash("sha256");
  for (const name of names.sort()) {
    hash.update(`${name}\n`);
    await digestFile(hash, `${directory}/${name}`);
    blocks.push(...await scanFile(`${directory}/${name}`, damage));
  }
  return { epochs: epochsOf(blocks), damage, digest: hash.digest("hex") };
}

async function digestFile(hash: Hash, path: string): Promise<void> {
  using file = await Deno.open(path);
  for await (const chunk of file.readable) hash.update(chunk);
}

async function scanFile(path: string, damage: string[]): Promise<PeerBlock[]> {
  const name = path.slice(path.lastIndexOf("/") + 1);
  const isBoats = name.startsWith(`${BACKFILL_PREFIX}-`);
  const found: PeerBlock[] = [];
  using reader = new BlockReader();
  try {
    const file = await openBlockFile(path);
    const { damaged, state } = file.index;
    if (damaged > 0) damage.push(`${name}: ${damaged} damaged blocks`);
    if (state === "torn") damage.push(`${name}: torn at its end`);
    for (const { offset, bytes, seq } of file.blocks) {
      await turn();
      try {
        const block = await reader.read(path, { offset, bytes });
        if (block.frameCount === 0) continue;
        if (block.baseSeq === undefined) throw new BlockError("sequence", "Its frames have no numbers");
        if (block.baseSeq !== seq) throw new BlockError("sequence", "Its header has another number");
        if (isBoats && seq === 0) throw new BlockError("sequence", "It begins with number 0, which no frame has");
        found.push({ path, offset, bytes, isBoats, baseSeq: seq, ...describe(block) });
      } catch (error) {
        if (!(error instanceof BlockError)) throw error;
        damage.push(`${name}, byte ${offset}: ${error.message}`);
      }
    }
  } catch (error) {
    if (!(error instanceof BlockError)) throw error;
    damage.push(`${name}: ${errorText(error)}`);
  }
  return found;
}

/** @throws {BlockError} a frame cannot be read */
function describe(block: Block): Pick<PeerBlock, "frames" | "firstTimeUs" | "latestTimeUs" | "epoch" | "buses"> {
  const frame = newStoredFrame();
  let latestTimeUs = block.baseTimeUs;
  for (const frames = block.frames(); frames.next(frame);) latestTimeUs = Math.max(latestTimeUs, frame.timeUs);
  const { frameCount: frames, baseTimeUs: firstTimeUs, metadata: { epoch, buses } } = block;
  return { frames, firstTimeUs, latestTimeUs, epoch: epoch?.toHex(), buses };
}

/**
 * Groups blocks by epoch. A peer's boat counts from 1 again at each start without recording that. In the order of their
 * first times, the blocks of an epoch have rising numbers.
 */
function epochsOf(blocks: readonly PeerBlock[]): PeerEpoch[] {
  const byName = new Map<string, PeerEpoch>();
  const inTime = blocks.toSorted((a, b) =>
    a.firstTimeUs - b.firstTimeUs || Number(b.isBoats) - Number(a.isBoats) || a.baseSeq - b.baseSeq
  );
  // Blocks of the peer's cloud name no epoch: they have that of the boat's blocks around them.
  const named = inTime.map(({ epoch }) => epoch);
  for (let i = named.length - 2; i >= 0; i--) named[i] ??= named[i + 1];
  let current: { epoch: PeerEpoch; highest: number } | undefined;
  for (const [i, block] of inTime.entries()) {
    const { baseSeq } = block;
    const continues = current !== undefined && (baseSeq === 0 || baseSeq >= current.highest);
    const next = named[i] === current?.epoch.epoch ? undefined : named[i];
    const name = block.epoch ?? (continues && current ? current.epoch.epoch : next ?? derivedEpoch(block));
    const epoch = byName.get(name) ?? { epoch: name, blocks: [], buses: [] };
    byName.set(name, epoch);
    epoch.blocks.push(block);
    if (block.buses) epoch.buses = block.buses;
    current = { epoch, highest: current?.epoch === epoch ? Math.max(current.highest, baseSeq) : baseSeq };
  }
  return [...byName.values()];
}

/** The same for the same block, so that a repeated import has the same result. */
function derivedEpoch({ firstTimeUs, baseSeq, frames }: PeerBlock): string {
  const digest = createHash("sha256").update(`${firstTimeUs} ${baseSeq} ${frames}`).digest();
  const randomBytes = (count: number) => new Uint8Array(digest.subarray(0, Math.min(count, EPOCH_BYTES)));
  return beginEpoch({ current: undefined, previous: [] }, { epoch: undefined, randomBytes }).current ?? "";
}

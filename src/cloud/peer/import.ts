import {
  AtomicFile,
  errorText,
  type Logger,
  parseTimestamp,
  syncDirectory,
  systemClock,
  turn,
} from "../../base/mod.ts";
import { type Message, newStoredFrame, pgnOfId } from "../../frame/mod.ts";
import {
  BlockBuilder,
  BlockReader,
  epochWordOf,
  JOURNAL_DIRECTORY_MODE,
  JournalIndex,
  readBlock,
} from "../../journal/mod.ts";
import { isInstanceId } from "../../pki/mod.ts";
import { Ranges } from "../../replication/mod.ts";
import { BackfillFiles } from "../files/backfill_files.ts";
import type { CheckedBlock } from "../files/block_check.ts";
import { MAX_KEPT_FORMER } from "../state/former_epochs.ts";
import { knownStretches, type NumberedFrame, type PeerFrame, type Stretch } from "./evidence.ts";
import { type PeerBlock, type PeerEpoch, type PeerScan, scanPeer } from "./scan.ts";
import { countNumbers, isPeerEpoch, MAX_HELD_RANGES, MAX_PREVIOUS_EPOCHS } from "../state/received.ts";
import { encodeState, stateFile } from "../state/state_file.ts";
import { readBlockFile } from "../files/stored_files.ts";

/** Options of {@linkcode importPeer}. */
export interface PeerImportOptions {
  /** The boat's directory of the peer's cloud, `instances/ID`. It is only read. */
  from: string;
  /** Instance id of the boat. */
  id: string;
  /** Data directory of the importing cloud. The caller must have locked it. */
  dataDirectory: string;
  /** Receives errors of files. */
  log: Logger;
}

/** Result of importing one boat. */
export interface PeerImportReport {
  /** Instance id of the boat. */
  id: string;
  /** `same`: it was imported before, and the source has not changed. */
  kind: "imported" | "same";
  /** Imported frames. */
  frames: number;
  /** Those of them from blocks that the peer's cloud has written. */
  liveFrames: number;
  /** Frames of such blocks that were left out because their numbers or times are uncertain. */
  unknownFrames: number;
  /** Number of epochs. */
  epochs: number;
  /** Missing numbers of the newest epoch, which the cloud will request from the boat. */
  missing: number;
  /** Unreadable or refused blocks, for people. */
  damage: readonly string[];
}

/** The target exists, or the source cannot be used. */
export class PeerImportError extends Error {
  /** `PeerImportError`. */
  override readonly name = "PeerImportError";
}

/** File in a boat's directory that describes the source of an import. */
const MARKER_FILE = "imported.json";
/** Maximum time span of an imported file. */
const FILE_US = 86_400_000_000;
/** Maximum size of an imported file. */
const FILE_BYTES = 64 * 1024 * 1024;
/** Blocks of the boat this far from a block of the peer's cloud may have the same frames. */
const AROUND_US = 60_000_000;
const BLOCK_BYTES = 262_144;
/** Maximum lines of damage in a report. */
const MAX_DAMAGE_LINES = 20;

/**
 * Imports a boat's data from a peer's cloud. Blocks that the boat has written are imported unchanged; of those that the
 * peer's cloud has written, only the frames with certain numbers and times. The cloud requests the others from the boat. The
 * new directory appears complete or not at all.
 *
 * @throws {PeerImportError} the boat exists with other data, its id is invalid, or the source cannot be read
 */
export async function importPeer(options: PeerImportOptions): Promise<PeerImportReport> {
  const { from, id, dataDirectory } = options;
  if (!isInstanceId(id)) throw new PeerImportError(`Cannot import "${id}": it is not an instance id`);
  const target = `${dataDirectory}/${id}`;
  const scan = await scanPeer(`${from}/journal`).catch((error: unknown) => {
    throw new PeerImportError(`Cannot read "${from}": ${errorText(error)}`);
  });
  const marker = new AtomicFile(target, { name: MARKER_FILE });
  const before = await reportOf(marker, scan.digest);
  if (before) return { ...before, kind: "same" };
  if (await pathExists(target)) {
    throw new PeerImportError(`Cannot import "${id}": "${target}" is there with other data`);
  }
  // An interrupted import may have left files.
  const staging = `${dataDirectory}/.import-${id}`;
  if (await pathExists(staging)) await Deno.remove(staging, { recursive: true });
  await Deno.mkdir(staging, { recursive: true, mode: JOURNAL_DIRECTORY_MODE });
  const report = await fill(staging, scan, options);
  await new AtomicFile(staging, { name: MARKER_FILE }).write(JSON.stringify({ source: scan.digest, report }) + "\n");
  await Deno.rename(staging, target);
  await syncDirectory(dataDirectory);
  return report;
}

async function reportOf(marker: AtomicFile, digest: string): Promise<PeerImportReport | undefined> {
  const bytes = await marker.read();
  if (!bytes) return undefined;
  const { source, report }: { source?: unknown; report: PeerImportReport } = JSON.parse(
    new TextDecoder().decode(bytes),
  );
  return source === digest ? report : undefined;
}

async function pathExists(path: string): Promise<boolean> {
  return await Deno.stat(path).then(() => true, (error) => {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  });
}

interface ImportedEpoch extends Pick<PeerEpoch, "epoch" | "buses"> {
  held: Ranges;
}

/** Imports everything into a directory, and verifies it. */
async function fill(
  staging: string,
  { epochs, damage }: PeerScan,
  { from, id, log }: PeerImportOptions,
): Promise<PeerImportReport> {
  const imported: ImportedEpoch[] = [];
  const totals = { liveFrames: 0, unknownFrames: 0 };
  const peer = await readPeerState(from, damage);
  const index = await JournalIndex.open(staging, { log });
  for (const each of epochs) {
    // The peer's saved state is about the newest epoch.
    const cursor = each === epochs.at(-1) ? peer.cursor : 0;
    using importing = new EpochImport(each, { directory: staging, index, cursor, damage, log });
    await importing.run();
    imported.push({ ...each, held: importing.held });
    totals.liveFrames += importing.liveFrames;
    totals.unknownFrames += importing.unknownFrames;
  }
  await requireWritten(index, imported);
  const newest = imported.at(-1) ?? { epoch: undefined, buses: [], held: new Ranges() };
  const headSeq = Math.max(peer.headSeq, newest.held.last ?? 0);
  const nothing = { void: [], lost: [] };
  const formers = imported.slice(0, -1).filter(({ epoch }) => !isPeerEpoch(epoch)).reverse();
  const names: string[] = [];
  for await (const { name } of Deno.readDir(staging)) if (name.endsWith(".lpj")) names.push(name);
  const state = {
    epochs: { current: newest.epoch, previous: formers.map(({ epoch }) => epoch).slice(0, MAX_PREVIOUS_EPOCHS) },
    headSeq: newest.epoch === undefined ? 0 : headSeq,
    ...{ journalBytes: peer.journalBytes, lastSeenMs: peer.lastSeenMs, buses: newest.buses },
    accounted: { live: 0, backfill: names.sort().at(-1) },
    received: { durable: [...newest.held].slice(-MAX_HELD_RANGES), ...nothing },
    former: formers.slice(0, MAX_KEPT_FORMER).map(({ epoch, held }) => {
      return { epoch, headSeq: held.last ?? 0, received: { durable: [...held], ...nothing } };
    }),
  };
  await stateFile(staging).write(JSON.stringify(encodeState(id, state)) + "\n");
  const missing = countNumbers(newest.held.holes(state.headSeq + 1));
  const frames = imported.reduce((sum, { held }) => sum + held.count, 0);
  const lines = damage.slice(0, MAX_DAMAGE_LINES);
  if (damage.length > MAX_DAMAGE_LINES) lines.push(`and ${damage.length - MAX_DAMAGE_LINES} more`);
  return { id, kind: "imported", frames, ...totals, epochs: imported.length, missing, damage: lines };
}

/** Reads all files. @throws {Error} an imported frame is missing */
async function requireWritten(index: JournalIndex, imported: readonly ImportedEpoch[]): Promise<void> {
  const missing = new Map(imported.map(({ epoch, held }) => [epochWordOf(Uint8Array.fromHex(epoch)), held]));
  for (const { path, epochWord } of index.files) {
    const read = await readBlockFile(path);
    if (read) missing.set(epochWord, missing.get(epochWord)?.subtract(read.ranges) ?? new Ranges());
  }
  const frames = missing.values().reduce((sum, { count }) => sum + count, 0);
  if (frames > 0) throw new Error(`verification failed: ${frames} imported frames cannot be read`);
}

/** The valid members of the peer's saved state of a boat. */
async function readPeerState(
  from: string,
  damage: string[],
): Promise<{ cursor: number; headSeq: number; journalBytes: number; lastSeenMs: number | undefined }> {
  const number = (value: unknown) => typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : 0;
  try {
    const text = await Deno.readTextFile(`${from}/state.json`);
    const { cursor, ...found }: Record<string, unknown> = JSON.parse(text);
    const { boat_head_seq: head, boat_journal_bytes: bytes, last_seen: seen } = found;
    const seenUs = typeof seen === "string" ? parseTimestamp(seen) : undefined;
    const lastSeenMs = seenUs === undefined ? undefined : Math.floor(seenUs / 1000);
    return { cursor: number(cursor), headSeq: number(head), journalBytes: number(bytes), lastSeenMs };
  } catch (error) {
    damage.push(`state.json: ${errorText(error)}`);
    return { cursor: 0, headSeq: 0, journalBytes: 0, lastSeenMs: undefined };
  }
}

interface EpochImportOptions {
  directory: string;
  index: JournalIndex;
  /** Number of the last frame in the peer's saved state; 0: none. */
  cursor: number;
  damage: string[];
  log: Logger;
}

/** Imports one epoch. */
class EpochImport implements Disposable {
  /** Numbers of imported frames. */
  readonly held: Ranges = new Ranges();
  liveFrames = 0;
  unknownFrames = 0;
  readonly #epoch: PeerEpoch;
  readonly #options: EpochImportOptions;
  readonly #reader = new BlockReader();
  /** Numbers in the boat's blocks, imported or not yet. */
  readonly #boats: Ranges = new Ranges();
  /** First times of blocks by first number, where it is known. */
  readonly #begins: ReadonlyMap<number, number>;
  /** Blocks of the boat, by time. */
  readonly #inTime: readonly PeerBlock[];
  readonly #longestUs: number;
  #files: { files: BackfillFiles; fromUs: number; bytes: number } | undefined;

  constructor(epoch: PeerEpoch, options: EpochImportOptions) {
    this.#epoch = epoch;
    this.#options = options;
    for (const { isBoats, baseSeq, frames } of epoch.blocks) if (isBoats) this.#boats.add(baseSeq, baseSeq + frames);
    this.#inTime = epoch.blocks.filter(({ isBoats }) => isBoats);
    this.#longestUs = this.#inTime.reduce((most, each) => Math.max(most, each.latestTimeUs - each.firstTimeUs), 0);
    const begins = epoch.blocks.filter(({ baseSeq }) => baseSeq > 0);
    this.#begins = new Map(begins.map(({ baseSeq, firstTimeUs }) => [baseSeq, firstTimeUs]));
  }

  async run(): Promise<void> {
    for (const block of this.#epoch.blocks) {
      await (block.isBoats ? this.#importBoatBlock(block) : this.#importLiveBlock(block));
    }
    await this.#files?.files.end();
  }

  [Symbol.dispose](): void {
    this.#reader[Symbol.dispose]();
  }

  /** Imports a block of the boat unchanged, unless all its frames were imported. */
  async #importBoatBlock(source: PeerBlock): Promise<void> {
    const { baseSeq: start, frames, firstTimeUs, latestTimeUs } = source;
    const seqs = { start, end: start + frames };
    if (this.held.covers(seqs.start, seqs.end)) return;
    const { block, bytes, packed } = await this.#reader.readStored(source.path, source);
    await this.#write({ block, bytes: new Uint8Array(bytes), seqs, firstTimeUs, latestTimeUs, packed }, source);
  }

  /** Imports the frames of a block of the peer's cloud that have certain numbers and are in no block of the boat. */
  async #importLiveBlock(source: PeerBlock): Promise<void> {
    const frames = await this.#framesOf(source);
    const numbered: NumberedFrame[] = [];
    for (const other of this.#around(source)) numbered.push(...await this.#framesOf(other));
    // A peer's cloud does not record the bus of a frame.
    const isOneBus = this.#epoch.buses.length <= 1;
    const { cursor } = this.#options;
    // The peer's cloud has received every frame up to its cursor, and none after it.
    const beginsAt = (seq: number) => this.#begins.get(seq) ?? (seq === cursor + 1 ? Infinity : undefined);
    const stretches = isOneBus ? knownStretches(frames, { baseSeq: source.baseSeq, numbered, beginsAt }) : [];
    const known = stretches.reduce((sum, { from, to }) => sum + to - from, 0);
    this.unknownFrames += frames.length - known;
    for (const stretch of stretches) await this.#importStretch(frames, { stretch, source });
  }

  async #importStretch(
    frames: readonly PeerFrame[],
    { stretch: { from, to, firstSeq, shiftUs }, source }: { stretch: Stretch; source: PeerBlock },
  ): Promise<void> {
    const missing = new Ranges(this.#boats.union(this.held).holes(firstSeq + to - from, firstSeq));
    for (const { start, end } of missing) {
      const builder = new BlockBuilder({ blockBytes: BLOCK_BYTES });
      const metadata = { epoch: Uint8Array.fromHex(this.#epoch.epoch), buses: this.#epoch.buses };
      const begin = () =>
        builder.begin({ metadata: this.#epoch.buses.length > 0 ? metadata : { epoch: metadata.epoch } });
      const endBlock = async () => {
        if (builder.frames > 0) await this.#writeBuilt(builder, source);
        begin();
      };
      begin();
      for (let seq = start; seq < end; seq++) {
        const frame = frames[from + seq - firstSeq];
        if (!frame) throw new RangeError(`no frame ${seq}`);
        const message = messageOf(frame, shiftUs);
        if (builder.append(seq, message) === "added") continue;
        await endBlock();
        builder.append(seq, message);
      }
      await endBlock();
      this.liveFrames += end - start;
    }
  }

  async #writeBuilt(builder: BlockBuilder, source: PeerBlock): Promise<void> {
    const { firstSeq: start, lastSeq, firstTimeUs, latestTimeUs } = builder;
    const bytes = builder.finish();
    const block = readBlock(bytes, { version: 2, blockBytes: bytes.length });
    const seqs = { start, end: lastSeq + 1 };
    await this.#write({ block, bytes, seqs, firstTimeUs, latestTimeUs, packed: undefined }, source);
  }

  /** Writes a block, unless it contradicts imported frames with the same numbers. */
  async #write(block: CheckedBlock, { path, offset }: PeerBlock): Promise<void> {
    const epoch = Uint8Array.fromHex(this.#epoch.epoch);
    const { seqs: { start, end } } = block;
    const files = await this.#filesFor(block);
    const isOverlapping = countNumbers(this.held.holes(end, start)) < end - start;
    const conflict = isOverlapping ? await files.conflict(block, epoch) : undefined;
    if (conflict !== undefined) {
      const name = path.slice(path.lastIndexOf("/") + 1);
      this.#options.damage.push(`${name}, byte ${offset}: frame ${conflict} was imported with other content`);
      return;
    }
    const bytes = await files.write([block], epoch);
    if (this.#files) this.#files.bytes += bytes;
    this.held.add(start, end);
    await turn();
  }

  /** The file for a block. Files span a day at most, because retention deletes whole files by the times in their names. */
  async #filesFor({ firstTimeUs }: CheckedBlock): Promise<BackfillFiles> {
    const open = this.#files;
    if (open && firstTimeUs - open.fromUs < FILE_US && open.bytes < FILE_BYTES) return open.files;
    await open?.files.end();
    const { directory, index, log } = this.#options;
    const files = new BackfillFiles({
      ...{ directory, index, log, clock: systemClock, compression: "zstd" },
      onWritten: (written) => index.noteWritten(written),
      isPaused: () => false,
    });
    this.#files = { files, fromUs: firstTimeUs, bytes: 0 };
    return files;
  }

  /** Blocks of the boat that may have the same frames. */
  #around({ firstTimeUs, latestTimeUs }: PeerBlock): PeerBlock[] {
    const found: PeerBlock[] = [];
    let [at, end] = [0, this.#inTime.length];
    const fromUs = firstTimeUs - AROUND_US - this.#longestUs;
    while (at < end) {
      const middle = (at + end) >> 1;
      if ((this.#inTime[middle]?.firstTimeUs ?? 0) < fromUs) at = middle + 1;
      else end = middle;
    }
    for (; at < this.#inTime.length; at++) {
      const other = this.#inTime[at];
      if (!other || other.firstTimeUs > latestTimeUs + AROUND_US) break;
      if (other.latestTimeUs >= firstTimeUs - AROUND_US) found.push(other);
    }
    return found;
  }

  async #framesOf({ path, offset, bytes }: PeerBlock): Promise<NumberedFrame[]> {
    const block = await this.#reader.read(path, { offset, bytes });
    const found: NumberedFrame[] = [];
    const frame = newStoredFrame();
    for (const frames = block.frames(); frames.next(frame);) {
      const { seq, id, pgn, timeUs, data, offset, length } = frame;
      found.push({ seq, id, pgn, timeUs, data: new Uint8Array(data.subarray(offset, offset + length)) });
    }
    return found;
  }
}

function messageOf({ id, timeUs, data }: PeerFrame, shiftUs: number): Message {
  const time = timeUs - shiftUs;
  return { id, pgn: pgnOfId(id), bus: 0, timeUs: time, monoMs: time / 1000, data, offset: 0, length: data.length };
}

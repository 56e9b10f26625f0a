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
import { type PeerBlock, type PeerRun, type PeerScan, scanPeer } from "./scan.ts";
import { MAX_HELD_RANGES } from "../state/received.ts";
import { isPeerEpoch, MAX_PREVIOUS_EPOCHS } from "../state/received_epochs.ts";
import { keptState, stateFile } from "../state/state_file.ts";
import { readBlockFile } from "../files/stored_files.ts";

/** What is taken over. */
export interface PeerImportOptions {
  /** The boat's directory at the peer's cloud, `instances/ID`. It is only read. */
  from: string;
  /** The boat. */
  id: string;
  /** Data directory of the cloud that takes it over. Who calls holds it. */
  dataDirectory: string;
  /** Gets faults of files. */
  log: Logger;
}

/** What became of one boat's data. */
export interface PeerImportReport {
  /** The boat. */
  id: string;
  /** `same`: it was taken over before, and the source has not changed. */
  kind: "imported" | "same";
  /** Frames that are in the new directory. */
  frames: number;
  /** Those of them that come from what the peer's cloud wrote itself. */
  liveFrames: number;
  /** Frames of the peer's own blocks that were not taken, as their numbers or times cannot be told for sure. */
  unknownFrames: number;
  /** Runs of numbers. */
  epochs: number;
  /** Numbers of the newest run that are missing, which the boat will be asked for. */
  missing: number;
  /** What could not be read or was not taken, in words. */
  damage: readonly string[];
}

/** The target is in use, or the source is none. */
export class PeerImportError extends Error {
  /** Tells it from other errors. */
  override readonly name = "PeerImportError";
}

/** Tells in a boat's directory what it was taken over from. */
const MARKER_FILE = "imported.json";
/** A file of taken over frames has those of a day at most, and so many bytes. */
const FILE_US = 86_400_000_000;
const FILE_BYTES = 64 * 1024 * 1024;
/** Blocks of the boat that begin so much earlier or later than one of the peer's may have the same frames. */
const AROUND_US = 60_000_000;
const BLOCK_BYTES = 262_144;
/** Most lines of a report's damage. */
const MAX_TOLD = 20;

/**
 * Takes over what a peer's cloud holds of a boat. Blocks that the boat made come as they are; of those that the peer's
 * cloud wrote, the frames whose numbers and times are beyond doubt. What is left out is missing, so that the boat is asked
 * for it. The new directory appears whole or not at all.
 *
 * @throws {PeerImportError} the boat is there with other data, its id cannot be used, or there is nothing to take over
 */
export async function importPeer(options: PeerImportOptions): Promise<PeerImportReport> {
  const { from, id, dataDirectory } = options;
  if (!isInstanceId(id)) throw new PeerImportError(`Cannot import "${id}": it is no instance id`);
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
  // What an import that was interrupted has left.
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

/** Writes everything into a directory, and reads it again. */
async function fill(
  staging: string,
  { runs, damage }: PeerScan,
  { from, id, log }: PeerImportOptions,
): Promise<PeerImportReport> {
  const taken: { run: PeerRun; held: Ranges }[] = [];
  const totals = { liveFrames: 0, unknownFrames: 0 };
  const said = await readPeerState(from, damage);
  const index = await JournalIndex.open(staging, { log });
  for (const run of runs) {
    // What the peer's cloud has written down is of the newest run.
    const cursor = run === runs.at(-1) ? said.cursor : 0;
    using taking = new RunImport(run, { directory: staging, index, cursor, damage, log });
    await taking.run();
    taken.push({ run, held: taking.held });
    totals.liveFrames += taking.liveFrames;
    totals.unknownFrames += taking.unknownFrames;
  }
  await requireWritten(index, taken);
  const newest = taken.at(-1) ?? { run: undefined, held: new Ranges() };
  const headSeq = Math.max(said.headSeq, newest.held.last ?? 0);
  const nothing = { void: [], lost: [] };
  const formers = taken.slice(0, -1).filter(({ run: { epoch } }) => !isPeerEpoch(epoch)).reverse();
  const names: string[] = [];
  for await (const { name } of Deno.readDir(staging)) if (name.endsWith(".lpj")) names.push(name);
  const state = {
    epochs: { current: newest.run?.epoch, previous: formers.map(({ run }) => run.epoch).slice(0, MAX_PREVIOUS_EPOCHS) },
    ...{ headSeq: newest.run ? headSeq : 0, journalBytes: said.journalBytes, lastSeenMs: said.lastSeenMs },
    buses: newest.run?.buses ?? [],
    accounted: { live: 0, backfill: names.sort().at(-1) },
    received: { durable: [...newest.held].slice(-MAX_HELD_RANGES), ...nothing },
    former: formers.slice(0, MAX_KEPT_FORMER).map(({ run: { epoch }, held }) => {
      return { epoch, headSeq: held.last ?? 0, received: { durable: [...held], ...nothing } };
    }),
  };
  await stateFile(staging).write(JSON.stringify(keptState(id, state)) + "\n");
  const missing = newest.held.holes(state.headSeq + 1).reduce((sum, { start, end }) => sum + end - start, 0);
  const frames = taken.reduce((sum, { held }) => sum + held.count, 0);
  const told = damage.slice(0, MAX_TOLD);
  if (damage.length > MAX_TOLD) told.push(`and ${damage.length - MAX_TOLD} more`);
  return { id, kind: "imported", frames, ...totals, epochs: taken.length, missing, damage: told };
}

/** Reads all files. @throws {Error} they do not have what was written */
async function requireWritten(
  index: JournalIndex,
  expected: readonly { run: PeerRun; held: Ranges }[],
): Promise<void> {
  const missing = new Map(expected.map(({ run, held }) => [epochWordOf(Uint8Array.fromHex(run.epoch)), held]));
  for (const { path, epochWord } of index.files) {
    const read = await readBlockFile(path);
    if (read) missing.set(epochWord, missing.get(epochWord)?.subtract(read.ranges) ?? new Ranges());
  }
  const frames = missing.values().reduce((sum, { count }) => sum + count, 0);
  if (frames > 0) throw new Error(`${frames} frames that were written cannot be read again`);
}

/** What the peer's cloud has written down of a boat, as far as it can be used. */
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

interface RunImportOptions {
  directory: string;
  /** Of the directory. */
  index: JournalIndex;
  /** The number of the last frame that the peer's cloud has written down; 0: it has none. */
  cursor: number;
  damage: string[];
  log: Logger;
}

/** Takes over one run of numbers. */
class RunImport implements Disposable {
  /** Numbers of the frames that were written. */
  readonly held: Ranges = new Ranges();
  liveFrames = 0;
  unknownFrames = 0;
  readonly #run: PeerRun;
  readonly #options: RunImportOptions;
  readonly #reader = new BlockReader();
  /** Numbers that the boat's blocks have, written or not yet. */
  readonly #boats: Ranges = new Ranges();
  /** When each block begins whose first number is known. */
  readonly #begins: ReadonlyMap<number, number>;
  /** Blocks of the boat, by time. */
  readonly #inTime: readonly PeerBlock[];
  readonly #longestUs: number;
  #files: { files: BackfillFiles; fromUs: number; bytes: number } | undefined;

  constructor(run: PeerRun, options: RunImportOptions) {
    this.#run = run;
    this.#options = options;
    for (const { isBoats, baseSeq, frames } of run.blocks) if (isBoats) this.#boats.add(baseSeq, baseSeq + frames);
    this.#inTime = run.blocks.filter(({ isBoats }) => isBoats);
    this.#longestUs = this.#inTime.reduce((most, each) => Math.max(most, each.latestTimeUs - each.firstTimeUs), 0);
    const begins = run.blocks.filter(({ baseSeq }) => baseSeq > 0);
    this.#begins = new Map(begins.map(({ baseSeq, firstTimeUs }) => [baseSeq, firstTimeUs]));
  }

  async run(): Promise<void> {
    for (const block of this.#run.blocks) await (block.isBoats ? this.#takeBoats(block) : this.#takeLive(block));
    await this.#files?.files.end();
  }

  [Symbol.dispose](): void {
    this.#reader[Symbol.dispose]();
  }

  /** Takes a block over as it is, unless all of it is here. */
  async #takeBoats(place: PeerBlock): Promise<void> {
    const { baseSeq: start, frames, firstTimeUs, latestTimeUs } = place;
    const seqs = { start, end: start + frames };
    if (this.held.covers(seqs.start, seqs.end)) return;
    const { block, bytes, packed } = await this.#reader.readStored(place.path, place);
    await this.#write({ block, bytes: new Uint8Array(bytes), seqs, firstTimeUs, latestTimeUs, packed }, place);
  }

  /** Takes those frames of a block of the peer's cloud whose numbers are known and that no block of the boat has. */
  async #takeLive(place: PeerBlock): Promise<void> {
    const frames = await this.#framesOf(place);
    const numbered: NumberedFrame[] = [];
    for (const other of this.#around(place)) numbered.push(...await this.#framesOf(other));
    // A peer's cloud does not write down of which bus a frame is.
    const isOneBus = this.#run.buses.length <= 1;
    const { cursor } = this.#options;
    // The peer's cloud counts every frame that comes: no later one has come, and those up to there are not missing.
    const beginsAt = (seq: number) => this.#begins.get(seq) ?? (seq === cursor + 1 ? Infinity : undefined);
    const stretches = isOneBus ? knownStretches(frames, { baseSeq: place.baseSeq, numbered, beginsAt }) : [];
    const known = stretches.reduce((sum, { from, to }) => sum + to - from, 0);
    this.unknownFrames += frames.length - known;
    for (const stretch of stretches) await this.#takeStretch(frames, { stretch, place });
  }

  async #takeStretch(
    frames: readonly PeerFrame[],
    { stretch: { from, to, firstSeq, shiftUs }, place }: { stretch: Stretch; place: PeerBlock },
  ): Promise<void> {
    const missing = new Ranges(this.#boats.union(this.held).holes(firstSeq + to - from, firstSeq));
    for (const { start, end } of missing) {
      const builder = new BlockBuilder({ blockBytes: BLOCK_BYTES });
      const notes = { epoch: Uint8Array.fromHex(this.#run.epoch), buses: this.#run.buses };
      const begin = () => builder.begin({ notes: this.#run.buses.length > 0 ? notes : { epoch: notes.epoch } });
      const endBlock = async () => {
        if (builder.frames > 0) await this.#writeBuilt(builder, place);
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

  async #writeBuilt(builder: BlockBuilder, place: PeerBlock): Promise<void> {
    const { firstSeq: start, lastSeq, firstTimeUs, latestTimeUs } = builder;
    const bytes = builder.finish();
    const block = readBlock(bytes, { version: 2, blockBytes: bytes.length });
    const seqs = { start, end: lastSeq + 1 };
    await this.#write({ block, bytes, seqs, firstTimeUs, latestTimeUs, packed: undefined }, place);
  }

  /** Stores a block, unless it has other frames than what is here under the same numbers. */
  async #write(block: CheckedBlock, { path, offset }: PeerBlock): Promise<void> {
    const epoch = Uint8Array.fromHex(this.#run.epoch);
    const { seqs: { start, end } } = block;
    const files = await this.#filesFor(block);
    const isOverlapping =
      this.held.holes(end, start).reduce((sum, hole) => sum + hole.end - hole.start, 0) < end - start;
    const conflict = isOverlapping ? await files.conflict(block, epoch) : undefined;
    if (conflict !== undefined) {
      const name = path.slice(path.lastIndexOf("/") + 1);
      this.#options.damage.push(`${name}, byte ${offset}: frame ${conflict} is here with other content`);
      return;
    }
    const bytes = await files.write([block], epoch);
    if (this.#files) this.#files.bytes += bytes;
    this.held.add(start, end);
    await turn();
  }

  /** Files of a day at most: retention deletes whole files, by the times in their names. */
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

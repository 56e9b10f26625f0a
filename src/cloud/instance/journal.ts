import type { Clock, Logger } from "../../base/mod.ts";
import type { Message } from "../../frame/mod.ts";
import {
  epochWordOf,
  JournalIndex,
  type JournalState,
  JournalWriter,
  type JournalWriterOptions,
  mendNewest,
  parseFileName,
  recover,
  type Recovered,
  type WrittenBlock,
} from "../../journal/mod.ts";
import type { Range } from "../../replication/mod.ts";
import { BACKFILL_PREFIX, BackfillFiles, MAX_OPEN_BACKFILL_FILES } from "../files/backfill_files.ts";
import type { InstanceSettings } from "./settings.ts";
import type { Accounted } from "../state/state_file_rebuild.ts";

/** First part of the names of files with live frames. */
const LIVE_PREFIX = "nmea2k";

/** A boat's run of numbers and its buses. */
export interface Numbering {
  /** 16 bytes. */
  epoch: Uint8Array<ArrayBuffer>;
  /** Names of the buses, in the order of their indexes. */
  buses: readonly string[];
}

/** How a boat's files are opened. */
export interface InstanceJournalOptions extends Pick<JournalWriterOptions, "devices" | "productOf"> {
  /** The boat's directory. */
  directory: string;
  settings: () => InstanceSettings;
  clock: Clock;
  log: Logger;
  /** Told when a file of live frames is ended … */
  onLiveEnded?: (() => void) | undefined;
  /** … and when any is. */
  onEnded?: (() => void) | undefined;
  /** Told of every block that is on disk. */
  onWritten?: ((block: WrittenBlock) => void) | undefined;
}

/**
 * The files of one boat that is in use: live frames, written as they come, and blocks that the boat has sent later. Both
 * are read as one journal. Files are made when there is something to go into them.
 */
export class InstanceJournal {
  /** What is on disk, and what is about to be. */
  readonly index: JournalIndex;
  readonly #options: InstanceJournalOptions;
  readonly #recovered: Recovered;
  readonly #sessions = new Set<BackfillFiles>();
  /** The writer keeps this very list: names that change here are those of its next block. */
  readonly #buses: string[] = [];
  #epoch: Uint8Array<ArrayBuffer> | undefined;
  #writer: JournalWriter | undefined;
  #lastLive = 0;
  /** Everything live up to this number is in a file, or was only in a WAL when the journal was opened. */
  #writtenThrough = 0;
  /** Everything live up to this number was told to be durable. */
  #toldThrough = 0;
  #isPaused = false;
  /** Newest file of fetched blocks that is ended. */
  #newestBackfill: string | undefined;

  private constructor(options: InstanceJournalOptions, parts: {
    recovered: Recovered;
    late: { journal?: InstanceJournal };
    index: JournalIndex;
  }) {
    this.#options = options;
    this.#recovered = parts.recovered;
    this.index = parts.index;
    this.#newestBackfill = newestBackfill(parts.index);
    parts.late.journal = this;
  }

  /**
   * Mends what is torn, and looks at what is there.
   *
   * @throws {Error} the directory cannot be read or written
   */
  static async open(options: InstanceJournalOptions): Promise<InstanceJournal> {
    const { directory, log } = options;
    const { compression } = options.settings();
    const recovered = await recover({ directory, prefix: LIVE_PREFIX, compression, onlyOwn: true, log });
    await mendNewest({ directory, prefix: BACKFILL_PREFIX, count: MAX_OPEN_BACKFILL_FILES, log });
    const late: { journal?: InstanceJournal } = {};
    const index = await JournalIndex.open(directory, { log, unwritten: () => late.journal?.unwritten() ?? [] });
    return new InstanceJournal(options, { recovered, late, index });
  }

  /** The last live number of this run that is in the journal; those that come must be above it. 0: none. */
  get lastLive(): number {
    return this.#lastLive;
  }

  /** How recording of live frames does. */
  get state(): JournalState {
    return this.#writer?.state ?? { kind: "recording" };
  }

  /** Whether live frames are being recorded. */
  get isRecording(): boolean {
    return this.#writer !== undefined;
  }

  /** Numbers of this run that only a WAL had when the journal was opened, and that could not be written then. */
  get onlyInWal(): Range[] {
    const word = this.#epoch && epochWordOf(this.#epoch);
    const ours = this.#recovered.pending.filter(({ epochWord }) => epochWord === word);
    return ours.map(({ firstSeq, lastSeq }) => ({ start: firstSeq, end: lastSeq + 1 }));
  }

  /** Numbers of this run that may be in no file yet. */
  get notInFiles(): Range[] {
    return [...this.onlyInWal, { start: this.#writtenThrough + 1, end: this.#lastLive + 1 }];
  }

  /** The lowest of them; Infinity where there is none. */
  get firstNotInFiles(): number {
    const starts = this.notInFiles.map(({ start, end }) => start < end ? start : Infinity);
    return Math.min(...starts);
  }

  /** Blocks that are not on disk yet, oldest first. */
  unwritten(): Uint8Array<ArrayBuffer>[] {
    return this.#writer?.unwritten() ?? this.#recovered.pending.map(({ bytes }) => bytes);
  }

  /** The run of numbers that frames are of from now on; live ones go on behind those that are here of it. */
  use({ epoch, buses }: Numbering): void {
    const isSame = this.#epoch?.toHex() === epoch.toHex();
    if (this.#buses.join("\n") !== buses.join("\n")) {
      this.#buses.splice(0, Infinity, ...buses);
      if (isSame) void this.#writer?.rotate();
    }
    if (isSame) return;
    const recovered = this.#recovered;
    this.#epoch = epoch;
    this.#lastLive = recovered.epoch?.toHex() === epoch.toHex() ? recovered.lastSeq : 0;
    this.#toldThrough = this.#writtenThrough = this.#lastLive;
    this.#writer?.beginEpoch(epoch);
    // They wait for a writer, and there may be no live frame for long.
    if (recovered.pending.length > 0) this.#writer ??= this.#openWriter(epoch);
  }

  /** Takes a live frame, whose number is above the last one; its bytes are copied. False when it cannot be kept. */
  append(seq: number, message: Message): boolean {
    if (seq <= this.#lastLive || this.#epoch === undefined) return false;
    this.#writer ??= this.#openWriter(this.#epoch);
    if (!this.#writer.append(seq, message)) return false;
    this.#lastLive = seq;
    return true;
  }

  /** Live numbers that a power cut leaves, of those that were taken and not told before. */
  newlyDurable(): Range | undefined {
    const through = this.#writer?.durableSeq ?? 0;
    if (through <= this.#toldThrough) return undefined;
    const range = { start: this.#toldThrough + 1, end: through + 1 };
    this.#toldThrough = through;
    return range;
  }

  /** Up to where who heard of all that was stored, and of {@linkcode newlyDurable}, goes along with the files. */
  get accounted(): Accounted {
    const pending = this.#sessions.values().map((files) => files.accountedThrough).filter((each) => each !== undefined);
    const backfill = pending.reduce((name, each) => earlierOf(name, each.name), this.#newestBackfill);
    return { live: this.#toldThrough, backfill };
  }

  /** Begins a session of blocks. Whoever begins it ends it by {@linkcode endBackfill}. */
  beginBackfill(): BackfillFiles {
    const { directory, settings, clock, log } = this.#options;
    const { compression } = settings();
    const files = new BackfillFiles({
      ...{ directory, index: this.index, compression, clock, log },
      isPaused: () => this.#isPaused,
      onWritten: (block) => this.#noteWritten(block),
    });
    this.#sessions.add(files);
    return files;
  }

  /** Ends the files of a session. */
  async endBackfill(files: BackfillFiles): Promise<void> {
    await files.end();
    if (!this.#sessions.delete(files) || files.newestName === undefined) return;
    if (timeOf(files.newestName) > timeOf(this.#newestBackfill)) this.#newestBackfill = files.newestName;
    this.#options.onEnded?.();
  }

  /** Whether a file, by its name, is being written; true before it is there. */
  isOpen(name: string): boolean {
    return this.#writer?.openName === name || this.#sessions.values().some((files) => files.isOpen(name));
  }

  /** Pauses recording, or goes on: what comes meanwhile, live or in blocks, is not taken. */
  pause(isPaused: boolean): void {
    this.#isPaused = isPaused;
    this.#writer?.pause(isPaused);
  }

  /** Writes everything and ends all files. What could not be written is not told to be durable. */
  async close(): Promise<void> {
    for (const files of [...this.#sessions]) await this.endBackfill(files);
    await this.#writer?.close();
  }

  /** A file is gone, whoever took it; if it was being written, another one is begun. */
  leaveFile(name: string): void {
    if (this.#writer?.openName === name) void this.#writer.rotate();
    this.index.noteRemoved(`${this.#options.directory}/${name}`);
  }

  #noteWritten(block: WrittenBlock): void {
    this.index.noteWritten(block);
    this.#options.onWritten?.(block);
  }

  #openWriter(epoch: Uint8Array<ArrayBuffer>): JournalWriter {
    const { directory, settings, clock, log, devices, productOf, onLiveEnded, onEnded } = this.#options;
    const { blockBytes, compression, rotateDurationMs, rotateBytes, syncIntervalMs, maxBacklogBytes } = settings();
    const { newestFile, pending } = this.#recovered;
    const writer = new JournalWriter({
      ...{ directory, blockBytes, compression, rotateDurationMs, rotateBytes, syncIntervalMs, maxBacklogBytes },
      ...{ epoch, newestFile, pending, clock, log },
      prefix: LIVE_PREFIX,
      hasForeignTimes: true,
      buses: this.#buses,
      // Thousands of boats, and each would have a thread.
      slowBlockMs: Infinity,
      ...(devices && { devices }),
      ...(productOf && { productOf }),
      onWritten: (block) => {
        if (block.header.epochWord === epochWordOf(this.#epoch ?? epoch)) this.#writtenThrough = block.lastSeq;
        this.#noteWritten(block);
      },
      onEnded: () => {
        onLiveEnded?.();
        onEnded?.();
      },
    });
    writer.pause(this.#isPaused);
    return writer;
  }
}

/** Name of the newest file of fetched blocks. */
function newestBackfill(index: JournalIndex): string | undefined {
  let newest: string | undefined;
  for (const { path } of index.files) {
    const name = path.slice(path.lastIndexOf("/") + 1);
    if (parseFileName(name)?.prefix === BACKFILL_PREFIX && timeOf(name) > timeOf(newest)) newest = name;
  }
  return newest;
}

function earlierOf(a: string | undefined, b: string | undefined): string | undefined {
  return timeOf(a) <= timeOf(b) ? a : b;
}

function timeOf(name: string | undefined): number {
  return (name === undefined ? undefined : parseFileName(name)?.timeMs) ?? -Infinity;
}

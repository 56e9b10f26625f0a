import { type Clock, type DurableFile, errorText, type Logger } from "../../base/mod.ts";
import type { DeviceRecord } from "../../broker/mod.ts";
import type { Message } from "../../frame/mod.ts";
import {
  type BlockDevice,
  clockFile,
  type ClockSpan,
  encodeSpans,
  epochWordOf,
  JournalIndex,
  type JournalIndexOptions,
  type JournalState,
  JournalWriter,
  type JournalWriterOptions,
  NO_PRODUCT,
  type OpenSource,
  parseFileName,
  readClockSpans,
  recover,
  type Recovered,
  repairNewestFiles,
  type WrittenBlock,
} from "../../journal/mod.ts";
import type { Range } from "../../replication/mod.ts";
import { BACKFILL_PREFIX, BackfillFiles, MAX_OPEN_BACKFILL_FILES } from "../files/backfill_files.ts";
import type { InstanceSettings } from "./settings.ts";
import type { Accounted } from "../state/state_file_rebuild.ts";

/** Prefix of the names of files with live frames. */
const LIVE_PREFIX = "nmea2k";

/** A boat's epoch and its buses. */
export interface Numbering {
  /** 16 bytes. */
  epoch: Uint8Array<ArrayBuffer>;
  /** Names of the buses, in the order of their indexes. */
  buses: readonly string[];
}

/** Options of a boat's files. */
export interface InstanceJournalOptions extends Pick<JournalWriterOptions, "devices" | "productOf" | "place"> {
  /** The boat's directory. */
  directory: string;
  settings: () => InstanceSettings;
  clock: Clock;
  log: Logger;
  /** Called when a file of live frames is complete. */
  onLiveEnded?: (() => void) | undefined;
  /** Called when any file is complete. */
  onEnded?: (() => void) | undefined;
  /** Called for each block that is synced to disk, or was placed. */
  onWritten?: ((block: WrittenBlock) => void) | undefined;
  /** Opens files for reading; default: on the local disk. */
  openSource?: OpenSource | undefined;
  /** Lists files outside the directory again. */
  relist?: JournalIndexOptions["relist"];
}

/**
 * The open files of one boat: live frames, and blocks from backfills. Both are read as one journal. A file is created for
 * its first block.
 */
export class InstanceJournal {
  /** Index of all blocks, including those that are not written yet. */
  readonly index: JournalIndex;
  readonly #options: InstanceJournalOptions;
  readonly #recovered: Recovered;
  readonly #sessions = new Set<BackfillFiles>();
  /** Shared with the writer, so that changed names apply to its next block. */
  readonly #buses: string[] = [];
  #epoch: Uint8Array<ArrayBuffer> | undefined;
  #writer: JournalWriter | undefined;
  #lastLive = 0;
  /** Live frames up to this number are in a file, or were only in a WAL when the journal was opened. */
  #writtenThrough = 0;
  /** Live frames up to this number were reported as durable. */
  #reportedThrough = 0;
  #isPaused = false;
  readonly #clockFile: DurableFile;
  /** Undefined: nothing is being written. */
  #clockWriting: Promise<void> | undefined;
  #corrections: string;
  /** Newest complete file of a backfill. */
  #newestBackfill: string | undefined;

  private constructor(options: InstanceJournalOptions, parts: {
    recovered: Recovered;
    owner: { journal?: InstanceJournal };
    index: JournalIndex;
  }) {
    this.#options = options;
    this.#clockFile = clockFile(options.directory);
    this.#recovered = parts.recovered;
    this.index = parts.index;
    this.#corrections = encodeSpans(parts.index.clock.spans.all);
    this.#newestBackfill = newestBackfill(parts.index);
    parts.owner.journal = this;
  }

  /**
   * Repairs torn files and reads their index.
   *
   * @throws {Error} the directory cannot be read or written
   */
  static async open(options: InstanceJournalOptions): Promise<InstanceJournal> {
    const { directory, openSource: open, relist, log } = options;
    const { compression } = options.settings();
    const recovered = await recover({ directory, prefix: LIVE_PREFIX, compression, onlyOwn: true, log });
    await repairNewestFiles({ directory, prefix: BACKFILL_PREFIX, count: MAX_OPEN_BACKFILL_FILES, log });
    const clock = await readClockSpans(directory, { log });
    const owner: { journal?: InstanceJournal } = {};
    const unwritten = () => owner.journal?.unwritten() ?? [];
    const index = await JournalIndex.open(directory, { log, open, relist, unwritten, clock });
    return new InstanceJournal(options, { recovered, owner, index });
  }

  /** Last live number of the epoch in the journal; further ones must be above it. 0: none. */
  get lastLive(): number {
    return this.#lastLive;
  }

  /** State of recording live frames. */
  get state(): JournalState {
    return this.#writer?.state ?? { kind: "recording" };
  }

  /** True once a live frame was recorded. */
  get isRecording(): boolean {
    return this.#writer !== undefined;
  }

  /** Numbers of the epoch that were only in a WAL when the journal was opened, and could not be written then. */
  get onlyInWal(): Range[] {
    const word = this.#epoch && epochWordOf(this.#epoch);
    return this.#recovered.pending.filter(({ epochWord }) => epochWord === word)
      .map(({ firstSeq, lastSeq }) => ({ start: firstSeq, end: lastSeq + 1 }));
  }

  /** Numbers of the epoch that may be in no file yet. */
  get notInFiles(): Range[] {
    return [...this.onlyInWal, { start: this.#writtenThrough + 1, end: this.#lastLive + 1 }];
  }

  /** The lowest of them; Infinity if there is none. */
  get firstNotInFiles(): number {
    return Math.min(...this.notInFiles.map(({ start, end }) => start < end ? start : Infinity));
  }

  /** Blocks that are not written yet, oldest first. */
  unwritten(): Uint8Array<ArrayBuffer>[] {
    return this.#writer?.unwritten() ?? this.#recovered.pending.map(({ bytes }) => bytes);
  }

  /** Sets the epoch and buses of further frames. Live numbers continue after those in the journal. */
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
    this.#reportedThrough = this.#writtenThrough = this.#lastLive;
    this.#writer?.beginEpoch(epoch);
    // Pending blocks need a writer, and the next live frame may arrive much later.
    if (recovered.pending.length > 0) this.#writer ??= this.#openWriter(epoch);
  }

  /** Appends a live frame whose number is above the last one; copies its bytes. False if it cannot be recorded. */
  append(seq: number, message: Message): boolean {
    if (seq <= this.#lastLive || this.#epoch === undefined) return false;
    this.#writer ??= this.#openWriter(this.#epoch);
    if (!this.#writer.append(seq, message)) return false;
    this.#lastLive = seq;
    return true;
  }

  /** Replaces the corrections of recorded times, of the current epoch and of those that `spans` has. */
  correct(spans: readonly ClockSpan[]): void {
    const { clock } = this.index;
    const before = encodeSpans(clock.spans.all);
    clock.spans.update(spans, this.#epoch && epochWordOf(this.#epoch));
    if (encodeSpans(clock.spans.all) !== before) this.index.noteClock();
    this.#clockWriting ??= this.#writeCorrections().finally(() => this.#clockWriting = undefined);
  }

  /** Content of the file with the corrections. */
  get corrections(): string {
    return this.#corrections;
  }

  /** Live numbers that were synced since the last call. */
  newlyDurable(): Range | undefined {
    const through = this.#writer?.durableSeq ?? 0;
    if (through <= this.#reportedThrough) return undefined;
    const range = { start: this.#reportedThrough + 1, end: through + 1 };
    this.#reportedThrough = through;
    return range;
  }

  /** The part of the files that was reported by {@linkcode newlyDurable} and `onWritten`. */
  get accounted(): Accounted {
    const pending = this.#sessions.values().map((files) => files.accountedThrough).filter((each) => each !== undefined);
    const backfill = pending.reduce((name, each) => earlierOf(name, each.name), this.#newestBackfill);
    return { live: this.#reportedThrough, backfill };
  }

  /** Begins the files of a backfill; the caller must end them with {@linkcode endBackfill}. */
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

  /** Completes all open files; further frames and blocks go into new ones. */
  async rotate(): Promise<void> {
    await Promise.all([this.#writer?.rotate(), ...this.#sessions.values().map((files) => files.rotate())]);
  }

  /** Resolves when no block of live frames is being stored without a file. */
  async placed(): Promise<void> {
    await this.#writer?.placed();
  }

  /** Ends the files of a backfill. */
  async endBackfill(files: BackfillFiles): Promise<void> {
    await files.end();
    if (!this.#sessions.delete(files) || files.newestName === undefined) return;
    if (timeOf(files.newestName) > timeOf(this.#newestBackfill)) this.#newestBackfill = files.newestName;
    this.#options.onEnded?.();
  }

  /** True while a file, given by its name, is being written, and before it exists. */
  readonly isOpen = (name: string): boolean =>
    this.#writer?.openName === name || this.#sessions.values().some((files) => files.isOpen(name));

  /** Pauses or resumes recording; meanwhile live frames and blocks are refused. */
  pause(isPaused: boolean): void {
    this.#isPaused = isPaused;
    this.#writer?.pause(isPaused);
  }

  /** Writes everything and ends all files. Frames that could not be written are not reported as durable. */
  async close(): Promise<void> {
    for (const files of [...this.#sessions]) await this.endBackfill(files);
    await this.#writer?.close();
    await this.#clockWriting;
  }

  /** Forgets a file that has disappeared; if it was being written, a new one is begun. */
  forgetFile(name: string): void {
    if (this.#writer?.openName === name) void this.#writer.rotate();
    this.index.noteRemoved(`${this.#options.directory}/${name}`);
  }

  /** Writes until the file has the newest corrections: those that come while one write is under way need one more. */
  async #writeCorrections(): Promise<void> {
    const { directory, log } = this.#options;
    const { spans } = this.index.clock;
    try {
      for (let text = encodeSpans(spans.all); text !== this.#corrections; text = encodeSpans(spans.all)) {
        await this.#clockFile.write(text);
        this.#corrections = text;
      }
    } catch (error) {
      // The boat sends them again when it connects.
      log.error("corrections of recorded times not stored", { directory, error: errorText(error) });
    }
  }

  #noteWritten(block: WrittenBlock): void {
    this.index.noteWritten(block);
    this.#options.onWritten?.(block);
  }

  #openWriter(epoch: Uint8Array<ArrayBuffer>): JournalWriter {
    const { directory, settings, clock, log, devices, productOf, place, onLiveEnded, onEnded } = this.#options;
    const { blockBytes, compression, rotateDurationMs, rotateBytes, syncIntervalMs, maxBacklogBytes } = settings();
    const { newestFile, pending } = this.#recovered;
    const writer = new JournalWriter({
      ...{ directory, blockBytes, compression, rotateDurationMs, rotateBytes, syncIntervalMs, maxBacklogBytes },
      ...{ epoch, newestFile, pending, place, clock, log },
      prefix: LIVE_PREFIX,
      hasForeignTimes: true,
      buses: this.#buses,
      // Otherwise each of thousands of boats would have a thread.
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

/** Name of the newest file of a backfill. */
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

/** A device as a block records it. */
export function blockDevice({ bus, src, name = 0n, product = NO_PRODUCT }: DeviceRecord): BlockDevice {
  return { bus, src, name, activeFrom: 0, ...product };
}

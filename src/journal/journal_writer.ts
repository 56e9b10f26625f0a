import { backoffMs, type Clock, type Logger } from "../base/mod.ts";
import type { Message } from "../frame/mod.ts";
import { BlockBuilder } from "./block_builder.ts";
import type { DeviceProduct } from "./device_table.ts";
import { OversizedMessageError } from "./errors.ts";
import { nextFileName } from "./file_name.ts";
import { JournalFile, type SealedBlock } from "./journal_file.ts";
import { TailFiles } from "./tail_files.ts";
import { type BlockDevice, type BlockNotes, type BootRecord, DEFAULT_BLOCK_BYTES, type Gap } from "./types.ts";

/** How the journal does. */
export type JournalState =
  | { kind: "recording" }
  | { kind: "failing"; reason: string; since: number }
  | { kind: "closed" };

/** Where a block was written. */
export interface WrittenBlock extends Omit<SealedBlock, "bytes"> {
  path: string;
  offset: number;
}

/** How a journal is written. */
export interface JournalWriterOptions {
  /** Directory of the files, which this process holds alone. */
  directory: string;
  /** First part of the files' names; default `nmea2k`. */
  prefix?: string;
  /** Default 256 KiB. */
  blockBytes?: number;
  /** Default `zstd`. */
  compression?: "none" | "zstd";
  /** A file is ended after so long, also on a silent bus; 0 (the default) never. */
  rotateDurationMs?: number;
  /** A file is ended when it is larger; 0 (the default) never. */
  rotateBytes?: number;
  /** Longest time that a frame is in memory alone; default 1 s. */
  syncIntervalMs?: number;
  /** Blocks that wait while nothing can be written, default 32 MiB; then frames are lost, and counted. */
  maxBacklogBytes?: number;
  /** Names of the buses, in the order of their indexes. */
  buses: readonly string[];
  /** 16 bytes that name the run of sequence numbers. */
  epoch: Uint8Array<ArrayBuffer>;
  boot?: BootRecord;
  /** Numbers that were skipped before the first frame. */
  gap?: Gap | undefined;
  /** Newest file there is: no name sorts before it. */
  newestFile?: string | undefined;
  /** Devices known now, for the block that begins. */
  devices?: () => readonly BlockDevice[];
  productOf?: (bus: number, src: number) => DeviceProduct | undefined;
  clock: Clock;
  log: Logger;
  /** Told of every block that is on disk … */
  onWritten?: (block: WrittenBlock) => void;
  /** … and of every file that is ended. */
  onEnded?: (path: string) => void;
}

const RETRY = { firstMs: 500, capMs: 60_000 };
const DEFAULT_BACKLOG_BYTES = 32 * 1024 * 1024;

/**
 * Writes frames into journal files. Appending is synchronous and never fails: frames go into the open block and its tail;
 * full blocks wait in a bounded backlog until they are on disk. What cannot be kept is a gap that the journal tells.
 */
export class JournalWriter {
  readonly #options:
    & Required<Pick<JournalWriterOptions, "prefix" | "syncIntervalMs" | "maxBacklogBytes">>
    & JournalWriterOptions;
  readonly #builder: BlockBuilder;
  readonly #tails: TailFiles;
  readonly #timer: ReturnType<typeof setInterval>;
  readonly #backlog: SealedBlock[] = [];
  readonly #waiters: { seq: number; resolve: () => void }[] = [];
  #file: JournalFile | undefined;
  #fileOpenedMs = 0;
  #newestFile: string | undefined;
  #state: JournalState = { kind: "recording" };
  #isOpen = false;
  #gap: Gap | undefined;
  #lastSeq = 0;
  #writtenSeq = 0;
  #lost = 0;
  #blocks = 0;
  #failures = 0;
  #retryAtMs = 0;
  #working: Promise<void> | undefined;
  #endsFile = false;

  constructor(options: JournalWriterOptions) {
    const { prefix = "nmea2k", syncIntervalMs = 1000, maxBacklogBytes = DEFAULT_BACKLOG_BYTES } = options;
    this.#options = { ...options, prefix, syncIntervalMs, maxBacklogBytes };
    this.#builder = new BlockBuilder({
      blockBytes: options.blockBytes ?? DEFAULT_BLOCK_BYTES,
      ...(options.productOf && { productOf: options.productOf }),
    });
    this.#tails = new TailFiles(options.directory);
    this.#gap = options.gap;
    this.#newestFile = options.newestFile;
    this.#timer = setInterval(() => this.#tick(), syncIntervalMs);
  }

  get state(): JournalState {
    return this.#state;
  }

  /** Newest frame that a power cut leaves; 0 before there is one. */
  get durableSeq(): number {
    return this.#backlog.length === 0 && this.#isOpen
      ? Math.max(this.#writtenSeq, this.#tails.durableSeq)
      : this.#writtenSeq;
  }

  /** Frames that could not be kept. */
  get lost(): number {
    return this.#lost;
  }

  /** Blocks written. */
  get blocks(): number {
    return this.#blocks;
  }

  /** Path of the file that is being written. */
  get openFile(): string | undefined {
    return this.#file?.path;
  }

  /** Takes a frame; its bytes are copied. */
  append(seq: number, message: Message): void {
    if (this.#state.kind === "closed") return;
    if (this.#backlogBytes() >= this.#options.maxBacklogBytes) return this.#lose(seq);
    try {
      if (!this.#isOpen) this.#begin(seq);
      let result = this.#builder.append(seq, message);
      if (result !== "added") {
        if (seq !== this.#lastSeq + 1) this.#gap ??= { firstMissing: this.#lastSeq + 1, reason: "source" };
        this.#seal();
        this.#begin(seq);
        result = this.#builder.append(seq, message);
      }
      if (result !== "added") return this.#lose(seq);
      this.#tails.add(seq, message);
      this.#lastSeq = seq;
    } catch (error) {
      if (!(error instanceof OversizedMessageError || error instanceof RangeError)) throw error;
      this.#options.log.error("frame not recorded", { seq, error: error.message });
      this.#lose(seq);
    }
  }

  /** Resolves when every frame taken so far is safe from a power cut. */
  sync(): Promise<void> {
    const seq = this.#lastSeq;
    if (this.durableSeq >= seq) return Promise.resolve();
    const done = new Promise<void>((resolve) => this.#waiters.push({ seq, resolve }));
    this.#work();
    return done;
  }

  /** Blocks that are not on disk yet, oldest first; of the open one a copy, which ends nothing. */
  unwritten(): Uint8Array<ArrayBuffer>[] {
    const waiting = this.#backlog.map(({ bytes }) => bytes);
    return this.#isOpen && this.#builder.frames > 0 ? [...waiting, this.#builder.copy()] : waiting;
  }

  /** Ends the open file; recording goes on in a new one. */
  async rotate(): Promise<void> {
    this.#rotate();
    await this.#work();
  }

  /** Writes everything and ends the file. What cannot be written within one try stays in the tails. */
  async close(): Promise<void> {
    if (this.#state.kind === "closed") return;
    clearInterval(this.#timer);
    await this.#working;
    this.#rotate();
    this.#retryAtMs = 0;
    await this.#work();
    this.#state = { kind: "closed" };
    this.#tails.close();
    for (const { resolve } of this.#waiters.splice(0)) resolve();
  }

  #backlogBytes(): number {
    return this.#backlog.length * this.#builder.blockBytes;
  }

  #lose(seq: number): void {
    if (this.#lost === 0 || this.#gap === undefined) {
      this.#options.log.error("frames are not recorded", { from: seq, state: this.#state.kind });
    }
    this.#lost++;
    this.#gap ??= { firstMissing: this.#lastSeq + 1, reason: "disk" };
    if (this.#isOpen && this.#builder.frames > 0) this.#seal();
  }

  #begin(seq: number): void {
    const { buses, epoch, boot, devices } = this.#options;
    const known = devices?.() ?? [];
    const gap = this.#gap;
    const notes: BlockNotes = { buses, epoch, ...(boot && { boot }), ...(gap && { gap }) };
    this.#builder.begin({ devices: known, notes });
    const opening = { gap, devices: known.map((device) => ({ ...device, name: device.name.toString(16) })) };
    this.#tails.begin({ blockBytes: this.#builder.blockBytes, epoch, firstSeq: seq }, opening);
    this.#gap = undefined;
    this.#isOpen = true;
  }

  #seal(): void {
    const { frames, firstSeq, lastSeq, firstTimeUs, lastTimeUs } = this.#builder;
    this.#isOpen = false;
    if (frames === 0) return;
    this.#backlog.push({ bytes: this.#builder.finish(), firstSeq, lastSeq, firstTimeUs, lastTimeUs });
    this.#work();
  }

  #rotate(): void {
    if (this.#isOpen) this.#seal();
    this.#endsFile = true;
  }

  #tick(): void {
    const { rotateDurationMs = 0, clock } = this.#options;
    const due = rotateDurationMs > 0 && this.#file && clock.monoMs() - this.#fileOpenedMs >= rotateDurationMs;
    if (due) this.#rotate();
    this.#work();
  }

  /** Starts writing what waits, unless that is under way already. */
  #work(): Promise<void> {
    if (this.#working) return this.#working.then(() => this.#backlog.length > 0 ? this.#work() : undefined);
    const { clock, log } = this.#options;
    if (clock.monoMs() < this.#retryAtMs) return Promise.resolve();
    this.#working = this.#writeAll().then(() => {
      if (this.#state.kind === "failing") log.info("recording again", { lost: this.#lost });
      if (this.#state.kind !== "closed") this.#state = { kind: "recording" };
      this.#failures = 0;
    }).catch((error) => this.#fail(error)).finally(() => {
      this.#working = undefined;
      this.#tellWaiters();
    });
    return this.#working;
  }

  async #writeAll(): Promise<void> {
    for (let block = this.#backlog[0]; block; block = this.#backlog[0]) {
      await this.#writeBlock(block);
      this.#backlog.shift();
    }
    if (this.#endsFile) await this.#endFile();
    await this.#tails.flush();
  }

  async #writeBlock(block: SealedBlock): Promise<void> {
    const file = this.#file ??= await this.#createFile(block.firstTimeUs);
    const offset = await file.append(block);
    const { bytes: _, ...place } = block;
    this.#writtenSeq = block.lastSeq;
    this.#blocks++;
    this.#options.onWritten?.({ ...place, path: file.path, offset });
    const { rotateBytes = 0 } = this.#options;
    if (rotateBytes > 0 && file.bytes >= rotateBytes) await this.#endFile();
  }

  async #createFile(timeUs: number): Promise<JournalFile> {
    const { directory, prefix, compression = "zstd", epoch, clock } = this.#options;
    const taken = new Set<string>();
    for await (const { name } of Deno.readDir(directory)) taken.add(name);
    const name = nextFileName(prefix, { timeUs, after: this.#newestFile, isTaken: (each) => taken.has(each) });
    const path = `${directory}/${name}`;
    const { blockBytes } = this.#builder;
    const file = await JournalFile.create({ path, directory, blockBytes, compression, epoch });
    this.#newestFile = name;
    this.#fileOpenedMs = clock.monoMs();
    return file;
  }

  async #endFile(): Promise<void> {
    this.#endsFile = false;
    const file = this.#file;
    this.#file = undefined;
    if (file === undefined) return;
    await file.end();
    if (file.blocks > 0) this.#options.onEnded?.(file.path);
  }

  /** Writing failed: the file is left as it is, and everything is tried again later in a new one. */
  #fail(error: unknown): void {
    const { clock, log } = this.#options;
    const reason = error instanceof Error ? error.message : String(error);
    this.#file?.abandon();
    if (this.#file && this.#file.blocks > 0) this.#options.onEnded?.(this.#file.path);
    this.#file = undefined;
    this.#tails.close();
    this.#failures++;
    const waitMs = backoffMs(this.#failures, RETRY);
    this.#retryAtMs = clock.monoMs() + waitMs;
    if (this.#state.kind === "recording") {
      log.error("journal cannot be written", { reason, retryInMs: waitMs });
      this.#state = { kind: "failing", reason, since: clock.wallUs() };
    }
  }

  #tellWaiters(): void {
    const durable = this.durableSeq;
    const still = this.#waiters.filter(({ seq, resolve }) => {
      if (seq > durable) return true;
      resolve();
      return false;
    });
    this.#waiters.splice(0, this.#waiters.length, ...still);
  }
}

import { backoffMs, errorText, timerMs } from "../../base/mod.ts";
import type { Message } from "../../frame/mod.ts";
import { Backlog, ClockSteps, type EndedBy, type WaitingBlock } from "./backlog.ts";
import { BlockBuilder } from "../block/builder.ts";
import { Durability, notDurable } from "./durability.ts";
import { OversizedMessageError } from "../errors.ts";
import { epochWordOf } from "../file/layout.ts";
import { DEFAULT_PREFIX } from "../file/name.ts";
import { FileSequence, type WriteFigures } from "./file_sequence.ts";
import type { JournalState, JournalWriterOptions, RecordedCounts, WrittenBlock } from "./journal_writer_types.ts";
import { PackedBlocks } from "./packed_blocks.ts";
import { RunCounts } from "./run_counts.ts";
import { encodeOpening, removeWals, WalFiles } from "../wal/wal_files.ts";
import { type BlockMetadata, DEFAULT_BLOCK_BYTES, type Gap } from "../types.ts";

export type { JournalState, JournalWriterOptions, RecordedCounts, WrittenBlock } from "./journal_writer_types.ts";

const RETRY = { firstMs: 500, capMs: 15_000 };
const DEFAULT_BACKLOG_BYTES = 32 * 1024 * 1024;
/** Blocks that fill faster use fast compression: on a small computer the thread would take over 1 % of a core. */
const DEFAULT_SLOW_BLOCK_MS = 30_000;

/**
 * Writes frames into journal files. Appending is synchronous and never fails: frames go into the open block and its WAL;
 * full blocks wait in a bounded backlog until they are on disk. Lost frames are recorded as a gap.
 */
export class JournalWriter {
  /** Counters since the start. */
  readonly run: RunCounts;
  readonly #options:
    & Required<Pick<JournalWriterOptions, "prefix" | "compression" | "syncIntervalMs" | "maxBacklogBytes">>
    & JournalWriterOptions;
  readonly #builder: BlockBuilder;
  readonly #packed: PackedBlocks;
  readonly #wals: WalFiles;
  readonly #timer: ReturnType<typeof setInterval>;
  readonly #backlog: Backlog;
  #epoch: Uint8Array<ArrayBuffer>;
  #epochWord: number;
  readonly #durable: Durability;
  /** Undefined if the timestamps come from another machine. */
  readonly #clockSteps: ClockSteps | undefined;
  readonly #files: FileSequence;
  /** Arrival of the first frame of the current file, monotonic milliseconds. */
  #fileSinceMs: number | undefined;
  #isPaused = false;
  #state: JournalState = { kind: "recording" };
  /** True while a block is open; an open block has at least one frame. */
  #isOpen = false;
  /** Gap to record in the next block. */
  #gap: Gap | undefined;
  #isLosing = false;
  #lastSeq = 0;
  #failures = 0;
  #retryAtMs = 0;
  #working: Promise<void> | undefined;
  /** New work arrived during a write. */
  #again = false;
  #endsFile = false;
  #closing: Promise<void> | undefined;

  constructor(options: JournalWriterOptions) {
    const { prefix = DEFAULT_PREFIX, compression = "zstd", syncIntervalMs = 1000 } = options;
    const { maxBacklogBytes = DEFAULT_BACKLOG_BYTES, slowBlockMs = DEFAULT_SLOW_BLOCK_MS } = options;
    this.#options = { ...options, prefix, compression, syncIntervalMs, maxBacklogBytes };
    const { directory, productOf, rotateBytes = 0, blockBytes = DEFAULT_BLOCK_BYTES } = options;
    this.#builder = new BlockBuilder({ blockBytes, ...(productOf && { productOf }) });
    this.#files = new FileSequence({ ...this.#options, blockBytes, rotateBytes });
    this.#clockSteps = options.hasForeignTimes ? undefined : new ClockSteps();
    const { packThread, place, log } = options;
    const onDone = () => this.#state.kind === "closed" || this.#work();
    this.#packed = new PackedBlocks({ compression, slowBlockMs, place, packThread, log, onDone });
    this.#durable = new Durability(() => options.clock.monoMs());
    this.#wals = new WalFiles(directory, (seq) => this.#durable.noteAppended(this.#epochWord, seq));
    this.#backlog = new Backlog(options.pending ?? [], { blockBytes, maxBytes: maxBacklogBytes });
    this.#epoch = options.epoch;
    this.#epochWord = epochWordOf(options.epoch);
    this.#gap = options.gap;
    this.run = new RunCounts(options);
    this.#timer = setInterval(() => this.#tick(), timerMs(syncIntervalMs));
  }

  get state(): JournalState {
    return this.#state;
  }

  /** Newest durable frame; 0 before the first. */
  get durableSeq(): number {
    return this.#durable.seqOf(this.#epochWord);
  }

  /** Age of the oldest unsynced frame, milliseconds; 0 if all frames are synced. */
  get unsyncedMs(): number {
    const sinceMs = this.#durable.unsyncedSinceMs;
    return sinceMs === undefined ? 0 : Math.max(0, this.#options.clock.monoMs() - sinceMs);
  }

  /** Interval between syncs, milliseconds: the target for the longest time a frame is unsynced. */
  get syncIntervalMs(): number {
    return this.#options.syncIntervalMs;
  }

  /** Frames lost since the start. */
  get lost(): number {
    return this.run.lost;
  }

  /** Frames of this epoch since the start. */
  get counts(): RecordedCounts {
    return this.#durable.counts(this.#epochWord);
  }

  /** Write statistics since the start. */
  get written(): Readonly<WriteFigures> {
    return this.#files.figures;
  }

  /** Name of the open file; known before the file is created. */
  get openName(): string | undefined {
    return this.#files.openName;
  }

  /** Oldest frame of this epoch that is not in a file; undefined if there is none. */
  get oldestUnwritten(): number | undefined {
    const waiting = this.#backlog.blocks.find(({ epochWord }) => epochWord === this.#epochWord);
    return waiting?.firstSeq ?? (this.#isOpen ? this.#builder.firstSeq : undefined);
  }

  /** Appends a frame; copies its bytes. False if the frame is lost, or after {@linkcode close}. */
  append(seq: number, message: Message): boolean {
    if (this.#closing) return false;
    const { bus } = message;
    if (this.#isPaused) return this.#lose(seq, { bus, reason: "recording is paused: no space left for journal files" });
    if (this.#backlog.isFull) {
      const reason = this.#state.kind === "failing" ? this.#state.reason : this.#backlog.reason;
      return this.#lose(seq, { bus, reason });
    }
    try {
      const isStep = this.#clockSteps?.isStep(message) ?? false;
      const result = isStep || !this.#isOpen ? "break" : this.#builder.append(seq, message);
      if (result === "added") this.#wals.add(seq, message);
      else {
        this.#seal(result === "full" ? "full" : seq === this.#lastSeq + 1 ? "clock step" : "missing numbers");
        this.#begin(seq, message);
      }
      this.#options.digests?.add(seq, message);
      this.#lastSeq = seq;
      return true;
    } catch (error) {
      if (!(error instanceof OversizedMessageError || error instanceof RangeError)) throw error;
      return this.#lose(seq, { bus, reason: error.message });
    }
  }

  /** Starts a new epoch: its frames go into a new file. */
  beginEpoch(epoch: Uint8Array<ArrayBuffer>): void {
    this.#rotate();
    this.#epoch = epoch;
    this.#epochWord = epochWordOf(epoch);
    this.#lastSeq = 0;
    this.run.beginEpoch();
    this.#options.digests?.reset();
    // A gap at the end of the previous epoch has no following block that could record it.
    this.#gap = undefined;
    this.#isLosing = false;
  }

  /** Pauses or resumes recording. Frames appended while paused are lost, and counted. */
  pause(isPaused: boolean): void {
    this.#isPaused = isPaused;
    this.#backlog.hold(isPaused);
  }

  /** Resolves when the backlog has capacity for more; undefined while it has. */
  ready(): Promise<void> | undefined {
    return this.#backlog.ready();
  }

  /** Resolves when the frames up to `through`, default all so far, are durable. Rejects if the journal is closed before. */
  sync(through = Infinity): Promise<void> {
    const last = { epochWord: this.#epochWord, seq: Math.min(through, this.#lastSeq) };
    if (this.#durable.has(last)) return Promise.resolve();
    if (this.#state.kind === "closed") return Promise.reject(notDurable());
    const done = this.#durable.wait(last);
    this.#work();
    return done;
  }

  /** Blocks that are not in a file yet, oldest first. The open block is copied and stays open. */
  unwritten(): Uint8Array<ArrayBuffer>[] {
    const waiting = this.#backlog.blocks.map(({ bytes }) => bytes);
    return this.#isOpen ? [...waiting, this.#builder.copy()] : waiting;
  }

  /** Completes the open file; recording continues in a new one. */
  async rotate(): Promise<void> {
    this.#rotate();
    await this.#work();
  }

  /** Resolves when no block is being placed. */
  async placed(): Promise<void> {
    await this.#packed.settled();
    await this.#working;
  }

  /** Writes everything and completes the file. Frames that one attempt cannot write are counted as lost, and logged. */
  close(): Promise<void> {
    return this.#closing ??= this.#close();
  }

  async #close(): Promise<void> {
    clearInterval(this.#timer);
    this.#packed.end();
    await this.#working;
    this.#retryAtMs = 0;
    this.#rotate();
    await this.#work();
    this.#state = { kind: "closed" };
    this.#packed.close();
    this.#wals.close();
    if (this.#backlog.length === 0) {
      // Must not remove the WAL of another journal, on a card that was mounted at this path.
      const check = this.#options.checkDirectory?.() ?? Promise.resolve();
      await check.then(() => removeWals(this.#options.directory)).catch(() => {});
    } else {
      const { frames } = this.#backlog;
      this.run.loseAtEnd(frames);
      this.#options.log.error("journal closed with frames that could not be written", { frames });
    }
    this.#durable.end();
  }

  /** Counts a lost frame, and seals the block: a block holds consecutive numbers only. */
  #lose(seq: number, { bus, reason }: { bus: number; reason: string }): false {
    if (!this.#isLosing) this.#options.log.error("frames are not recorded", { from: seq, reason });
    this.#isLosing = true;
    // First: the counters at its end belong to the frames before this one.
    this.#seal("missing numbers");
    this.run.lose(bus);
    this.#durable.noteLost(this.#epochWord);
    // Lost frames take precedence over numbers skipped at a start.
    if (this.#gap === undefined || this.#gap.reason === "restart") {
      this.#gap = { firstMissing: this.#lastSeq === 0 ? seq : this.#lastSeq + 1, reason: "disk" };
    }
    return false;
  }

  /** Begins a block with its first frame. @throws {RangeError} the frame cannot be stored; no block is open */
  #begin(seq: number, message: Message): void {
    if (this.#lastSeq > 0 && seq > this.#lastSeq + 1) {
      this.#gap ??= { firstMissing: this.#lastSeq + 1, reason: "source" };
    }
    const { devices, clock } = this.#options;
    const epoch = this.#epoch;
    const known = devices?.() ?? [];
    const opening = this.run.opening(this.#builder.blockBytes);
    const metadata: BlockMetadata = { ...opening, epoch, ...(this.#gap && { gap: this.#gap }) };
    this.#builder.begin({ devices: known, metadata });
    if (this.#builder.append(seq, message) !== "added") {
      throw new RangeError("The frame does not fit into an empty block");
    }
    const { blockBytes } = this.#builder;
    this.#wals.begin({ blockBytes, epoch, firstSeq: seq }, encodeOpening({ devices: known, metadata }));
    this.#wals.add(seq, message);
    this.#fileSinceMs ??= clock.monoMs();
    this.#gap = undefined;
    this.#isLosing = false;
    this.#isOpen = true;
  }

  #seal(endedBy: EndedBy): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    const end = this.run.end(this.#builder.frames);
    this.#backlog.push({ ...this.#builder.seal(this.#epochWord, end), wal: this.#wals.current, endedBy });
    this.#work();
  }

  #rotate(): void {
    this.#seal("rotation");
    const { last } = this.#backlog;
    if (last) last.endsFile = true;
    else this.#endsFile = true;
    this.#fileSinceMs = undefined;
  }

  #tick(): void {
    const { rotateDurationMs = 0, clock } = this.#options;
    const since = this.#fileSinceMs;
    if (rotateDurationMs > 0 && since !== undefined && clock.monoMs() - since >= rotateDurationMs) this.#rotate();
    this.#work();
  }

  /** Writes the backlog, including what arrives meanwhile. */
  #work(): Promise<void> {
    this.#again = true;
    if (this.#working) return this.#working;
    if (this.#options.clock.monoMs() < this.#retryAtMs) return Promise.resolve();
    return this.#working = this.#run();
  }

  async #run(): Promise<void> {
    try {
      while (this.#again) {
        this.#again = false;
        this.#durable.startSpan();
        await this.#options.checkDirectory?.();
        await this.#writeAll();
        this.#durable.resolveWaiters();
      }
      if (this.#state.kind === "failing") {
        this.#options.log.info("recording again", { lost: this.run.lost });
        this.#state = { kind: "recording" };
      }
      this.#failures = 0;
    } catch (error) {
      await this.#fail(error);
      this.#durable.resolveWaiters();
    } finally {
      // Synchronously, not in a later microtask: the next caller starts a new run.
      this.#working = undefined;
    }
  }

  async #writeAll(): Promise<void> {
    for (let block = this.#backlog.first; block; block = this.#backlog.first) {
      const next = this.#packed.next(block, { mayWait: this.#mayWait(block) });
      if (next.kind === "wait") return await this.#flushWhileWaiting(block);
      if (next.kind === "write") await this.#writeBlock(block, next.packed);
      else await this.#notePlaced(block, next.written);
    }
    if (this.#endsFile) await this.#endFile();
    if (this.#backlog.length === 0) await this.#flush();
  }

  /** True if nothing depends on a block, and its WAL has its frames: no further block, no lack of memory. */
  #mayWait({ bytes, wal }: WaitingBlock): boolean {
    return wal !== undefined && this.#backlog.length === 1 && 2 * bytes.length < this.#options.maxBacklogBytes;
  }

  /** Syncs the WAL of the only waiting block while it is packed or placed, then the open block. */
  async #flushWhileWaiting(block: WaitingBlock): Promise<void> {
    const { epochWord, lastSeq } = block;
    await block.wal?.flush();
    this.#durable.noteDurable({ epochWord, seq: lastSeq });
    // Meanwhile the open block may have been sealed into the backlog.
    if (this.#backlog.length === 1) await this.#flush();
  }

  /** Syncs the open block's WAL. Requires earlier frames to be durable, and all blocks but the last in a file. */
  async #flush(): Promise<void> {
    if (!this.#isOpen) return;
    const epochWord = this.#epochWord;
    this.#durable.noteDurable({ epochWord, seq: await this.#wals.flush(this.run.end(this.#builder.frames)) });
  }

  async #writeBlock(block: WaitingBlock, packed: Uint8Array<ArrayBuffer>): Promise<void> {
    if (!this.#files.fits(block)) await this.#endFile();
    const { written, isFull } = await this.#files.append(block, packed);
    this.#noteWritten(block, written);
    const { endsFile = false } = block;
    // A rotation has already reset the time, which may belong to the next file by now.
    const hasMore = this.#isOpen || this.#backlog.length > 0;
    if (isFull && !endsFile) this.#fileSinceMs = hasMore ? this.#options.clock.monoMs() : undefined;
    if (endsFile || isFull) await this.#endFile();
  }

  async #notePlaced(block: WaitingBlock, written: WrittenBlock): Promise<void> {
    this.#noteWritten(block, written);
    if (block.endsFile) await this.#endFile();
    this.#options.onEnded?.(written.path);
  }

  #noteWritten({ epochWord, lastSeq }: WaitingBlock, written: WrittenBlock): void {
    this.#backlog.shift();
    this.#durable.noteDurable({ epochWord, seq: lastSeq });
    this.#options.onWritten?.(written);
  }

  async #endFile(): Promise<void> {
    this.#endsFile = false;
    await this.#files.end();
  }

  /** Handles a write error: the file keeps its blocks; writing is retried later in a new file. */
  async #fail(error: unknown): Promise<void> {
    const { clock, log } = this.#options;
    const reason = errorText(error);
    this.#failures++;
    const waitMs = backoffMs(this.#failures, RETRY);
    this.#retryAtMs = clock.monoMs() + waitMs;
    if (this.#state.kind === "recording") log.error("journal cannot be written", { reason, retryInMs: waitMs });
    const since = this.#state.kind === "failing" ? this.#state.since : clock.wallUs();
    this.#state = { kind: "failing", reason, since };
    this.#wals.close();
    await this.#files.abandon();
  }
}

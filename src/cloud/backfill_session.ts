import { type Clock, errorText, type Logger, turn } from "../base/mod.ts";
import {
  type BackfillBlock,
  type BackfillStatus,
  type BackfillUpstream,
  type Caller,
  MAX_RANGES,
  type MessageStream,
  type Range,
  Ranges,
  RangesFullError,
  type RejectedBlock,
  RpcError,
} from "../replication/mod.ts";
import type { BackfillFiles } from "./backfill_files.ts";
import { checkBlock, type CheckedBlock } from "./block_check.ts";
import type { Instance } from "./instance.ts";
import type { InstanceSession } from "./instance_sessions.ts";
import type { InstanceSettings } from "./instance_settings.ts";

/** What a stream of blocks is served with. */
export interface BackfillSessionOptions {
  instance: Instance;
  stream: MessageStream<BackfillUpstream, BackfillStatus>;
  caller: Caller;
  settings: () => InstanceSettings;
  clock: Clock;
  log: Logger;
}

/** While blocks come one after the other, the boat hears of them at least so often. */
const ANSWER_EVERY_MS = 250;
/** Bytes of unpacked blocks that wait to be written; then the boat has to wait. */
const MAX_WAITING_BYTES = 8 * 1024 * 1024;
/** Blocks of which the boat does not want to hear that they were not taken; then it has to wait. */
const MAX_REJECTED = 256;
/** One line in the log tells of all that were not taken for so long. */
const TELL_EVERY_MS = 1000;
const NO_ROOM = "There are too many holes: those that are told come first";

/** One stream of blocks, from its first message to its end: they are checked, stored together, and answered. */
export class BackfillSession implements InstanceSession {
  readonly caller: Caller;
  readonly #options: BackfillSessionOptions;
  #ended: RpcError | undefined;
  #waiting: CheckedBlock[] = [];
  #waitingBytes = 0;
  #pumping: Promise<void> | undefined;
  #filled = new Ranges();
  #rejected: RejectedBlock[] = [];
  #untold = 0;
  #toldMs = -Infinity;
  #lastAnswerMs = -Infinity;
  #blocks = 0;
  #frames = 0;

  constructor(options: BackfillSessionOptions) {
    this.#options = options;
    this.caller = options.caller;
  }

  /** See {@linkcode InstanceSession}. */
  get connection(): string {
    return this.caller.address;
  }

  /** Ends it; of what it brings nothing counts any more. */
  end(error: RpcError): void {
    this.#ended ??= error;
    this.#options.stream.fail(error);
  }

  /**
   * Takes what comes until the boat ends the stream.
   *
   * @throws {RpcError} why it was ended otherwise
   */
  async run(): Promise<void> {
    const { instance, stream } = this.#options;
    const files = await instance.enterBackfill(this);
    instance.note("backfill_start", `${instance.record.holes.length} holes`);
    let reason = "the boat ended the stream";
    try {
      for await (const { block } of stream) {
        if (this.#ended) throw this.#ended;
        instance.heard();
        if (block) await this.#take(block, files);
      }
      await this.#pumping;
    } catch (error) {
      reason = errorText(this.#ended ?? error);
      throw this.#ended ?? error;
    } finally {
      await this.#pumping;
      await instance.leaveBackfill(this, files);
      instance.note("backfill_stop", `${this.#blocks} blocks, ${this.#frames} new frames: ${reason}`);
    }
  }

  async #take(message: BackfillBlock, files: BackfillFiles): Promise<void> {
    const { instance: { record }, settings } = this.#options;
    const verdict = checkBlock(message, {
      epoch: record.blockEpoch,
      maxBlockBytes: settings().maxBlockBytes,
    });
    const top = Math.max(record.headSeq, record.receivedThrough);
    const reason = verdict.ok && verdict.seqs.start > top
      ? `The block begins behind the boat's head, ${top}`
      : undefined;
    if (verdict.ok && reason === undefined) {
      this.#waiting.push(verdict);
      this.#waitingBytes += verdict.bytes.length;
    } else {
      record.counters.verifyFailures++;
      this.#reject(message.baseSeq, reason ?? (verdict.ok ? "" : verdict.reason));
    }
    this.#pumping ??= this.#pump(files);
    while (this.#isFull && !this.#ended) await this.#pumping;
    // To check one takes a millisecond or two.
    await turn();
  }

  get #isFull(): boolean {
    return this.#waitingBytes >= MAX_WAITING_BYTES || this.#rejected.length >= MAX_REJECTED;
  }

  #reject(baseSeq: number, reason: string): void {
    const { instance: { id }, clock, log } = this.#options;
    this.#rejected.push({ baseSeq, reason });
    this.#untold++;
    const nowMs = clock.monoMs();
    if (nowMs - this.#toldMs < TELL_EVERY_MS) return;
    log.warn("a block is not taken", { id, baseSeq, reason, blocks: this.#untold });
    this.#toldMs = nowMs;
    this.#untold = 0;
  }

  /** Stores and answers what waits, until nothing does. Never rejects: a fault ends the stream. */
  async #pump(files: BackfillFiles): Promise<void> {
    try {
      do {
        await this.#store(files);
        await this.#answer();
      } while (this.#waiting.length + this.#rejected.length + this.#filled.size > 0);
    } catch (error) {
      const reason = `blocks cannot be stored: ${errorText(error)}`;
      this.end(error instanceof RpcError ? error : new RpcError("UNAVAILABLE", reason));
    } finally {
      this.#pumping = undefined;
    }
  }

  async #store(files: BackfillFiles): Promise<void> {
    const { instance } = this.#options;
    const { record } = instance;
    const { epoch } = record;
    // What waits was checked for the numbers that were the boat's when it came.
    if (this.#ended) throw this.#ended;
    const blocks = await this.#withoutConflicts(this.#nextBlocks(), files);
    // Another machine may have come while we looked.
    if (this.#ended) throw this.#ended;
    if (blocks.length === 0 || epoch === undefined) return;
    const bytes = await files.write(blocks, Uint8Array.fromHex(epoch));
    // A handshake may have begun other numbers meanwhile.
    if (this.#ended) throw this.#ended;
    for (const block of blocks) this.#count(block);
    record.counters.backfillBytes += bytes;
    this.#blocks += blocks.length;
  }

  /** Leaves out blocks with numbers that are here with other frames: to go on would mix two machines' frames. */
  async #withoutConflicts(blocks: CheckedBlock[], files: BackfillFiles): Promise<CheckedBlock[]> {
    const { instance } = this.#options;
    const { received, record } = instance;
    const { blockEpoch } = record;
    // Peers' boats may count anew without telling.
    if (blockEpoch === undefined) return blocks;
    const good: CheckedBlock[] = [];
    for (const block of blocks) {
      const { seqs } = block;
      const isOverlapping = received.decide(seqs).kind === "overlapping";
      const conflict = isOverlapping ? await files.conflict(block, blockEpoch) : undefined;
      if (conflict === undefined) good.push(block);
      else {
        record.counters.verifyFailures++;
        const reason = `Frame ${conflict} is here with other content: two machines may be this boat`;
        instance.note("block_received", `refused: ${reason}`);
        this.#reject(seqs.start, reason);
        instance.contest(reason);
      }
    }
    return good;
  }

  /** A block is on disk. */
  #count(block: CheckedBlock): void {
    const { instance } = this.#options;
    const { seqs: { start, end } } = block;
    try {
      const frames = instance.stored(block);
      this.#frames += frames;
      this.#filled.add(start, end);
      instance.note("block_received", `frames ${start} to ${end - 1}, ${frames} of them new`);
    } catch (error) {
      if (!(error instanceof RangesFullError)) throw error;
      // Those before it have taken the room.
      this.#reject(start, NO_ROOM);
    }
  }

  /** Blocks that wait and are to be stored, as many as have no number in common. */
  #nextBlocks(): CheckedBlock[] {
    const { instance: { received } } = this.#options;
    const seqs = new Ranges();
    const blocks: CheckedBlock[] = [];
    let [count, bytes] = [0, 0];
    for (const block of this.#waiting) {
      const { start, end } = block.seqs;
      if (seqs.holes(end, start).reduce((sum, hole) => sum + hole.end - hole.start, 0) < end - start) break;
      seqs.add(start, end);
      count++;
      bytes += block.bytes.length;
      const { kind } = received.decide(block.seqs);
      if (kind === "duplicate") this.#filled.add(start, end);
      else if (kind === "no-room") this.#reject(start, NO_ROOM);
      else blocks.push(block);
    }
    this.#waiting.splice(0, count);
    this.#waitingBytes -= bytes;
    return blocks;
  }

  /** Tells the boat what became of its blocks: at once where none waits, else now and then. */
  async #answer(): Promise<void> {
    const { instance: { received, record }, stream, clock } = this.#options;
    const nowMs = clock.monoMs();
    if (this.#waiting.length > 0 && nowMs - this.#lastAnswerMs < ANSWER_EVERY_MS) return;
    if (this.#filled.size === 0 && this.#rejected.length === 0) return;
    const filled: Range[] = [...this.#filled];
    const rejected = this.#rejected;
    this.#filled = new Ranges();
    this.#rejected = [];
    this.#lastAnswerMs = nowMs;
    const remaining = record.holes.slice(-MAX_RANGES);
    await stream.send({ continuousThrough: received.cursor, remaining, filled, rejected });
  }
}

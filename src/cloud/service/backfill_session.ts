import { errorText, turn } from "../../base/mod.ts";
import {
  type BackfillBlock,
  type BackfillStatus,
  type BackfillUpstream,
  type Caller,
  MAX_RANGES,
  type Range,
  Ranges,
  RangesFullError,
  type RejectedBlock,
  RpcError,
} from "../../replication/mod.ts";
import type { BackfillFiles } from "../files/backfill_files.ts";
import { type BlockVerdict, checkBlock, type CheckedBlock } from "../files/block_check.ts";
import { StreamEvents } from "../state/diagnostic_events.ts";
import type { BlockTarget } from "../instance/former_handshake.ts";
import type { InstanceSession } from "../instance/sessions.ts";
import { countNumbers } from "../state/received.ts";
import type { SessionOptions } from "./live_session.ts";

/** Maximum interval between statuses while blocks arrive. */
const STATUS_EVERY_MS = 250;
/** Maximum uncompressed blocks that wait for the disk, bytes; then the cloud stops reading the stream. */
export const MAX_WAITING_BYTES: number = 8 * 1024 * 1024;
/** Maximum rejections that are not sent yet; then the cloud stops reading the stream. */
export const MAX_REJECTED = 256;
/** Minimum interval between log lines about rejected blocks. */
const LOG_EVERY_MS = 1000;
const NO_ROOM = "There are too many holes: send blocks for the reported ones first";

/** Serves one backfill: checks blocks, stores them in groups, and reports the result. */
export class BackfillSession implements InstanceSession {
  readonly caller: Caller;
  readonly #options: SessionOptions<BackfillUpstream, BackfillStatus>;
  /** Former epoch of the blocks of this stream; undefined before the first block. */
  #epoch: { former: Uint8Array<ArrayBuffer> | undefined } | undefined;
  #ended: RpcError | undefined;
  #waiting: CheckedBlock[] = [];
  #waitingBytes = 0;
  #pumping: Promise<void> | undefined;
  #filled = new Ranges();
  #rejected: RejectedBlock[] = [];
  /** Rejections since the last log line. */
  #unlogged = 0;
  #loggedMs = -Infinity;
  #lastStatusMs = -Infinity;
  #blocks = 0;
  #frames = 0;
  readonly #events: StreamEvents;

  constructor(options: SessionOptions<BackfillUpstream, BackfillStatus>) {
    this.#options = options;
    this.caller = options.caller;
    this.#events = new StreamEvents("backfill", options.instance.note);
  }

  /** See {@linkcode InstanceSession}. */
  get connection(): string {
    return this.caller.connection;
  }

  /** Ends the stream; blocks that arrive later are ignored. */
  end(error: RpcError): void {
    this.#ended ??= error;
    this.#noteStop(errorText(error));
    this.#options.stream.fail(error);
  }

  /** See {@linkcode InstanceSession}. */
  started(): void {
    this.#events.start(`${this.#options.instance.record.holes.length} holes`);
  }

  /**
   * Receives blocks until the boat ends the stream.
   *
   * @throws {RpcError} why the cloud has ended it
   */
  async run(): Promise<void> {
    const { instance, stream } = this.#options;
    const files = await instance.enterBackfill(this);
    let reason = "the boat ended the stream";
    try {
      for await (const { block } of stream) {
        if (this.#ended) throw this.#ended;
        instance.noteActivity();
        if (block) await this.#receive(block, files);
      }
      await this.#pumping;
    } catch (error) {
      reason = errorText(this.#ended ?? error);
      throw this.#ended ?? error;
    } finally {
      await this.#pumping;
      this.#noteStop(reason);
      await instance.leaveBackfill(this, files);
    }
  }

  #noteStop(reason: string): void {
    this.#events.stop(`${this.#blocks} blocks, ${this.#frames} new frames: ${reason}`);
  }

  async #receive(message: BackfillBlock, files: BackfillFiles): Promise<void> {
    const { instance: { record } } = this.#options;
    const target = this.#targetOf(message);
    const verdict = typeof target === "string" ? { ok: false as const, reason: target } : this.#check(message, target);
    if (verdict.ok) {
      this.#waiting.push(verdict);
      this.#waitingBytes += verdict.bytes.length;
    } else {
      record.counters.verifyFailures++;
      this.#reject(message.baseSeq, verdict.reason);
    }
    this.#pumping ??= this.#pump(files);
    while (this.#isFull && !this.#ended) await this.#pumping;
    // Checking a block takes a millisecond or two.
    await turn();
  }

  /** The target of a block; all blocks of a stream must have the same epoch. */
  #targetOf({ epoch }: BackfillBlock): BlockTarget | string {
    const { former } = this.#options.instance;
    this.#epoch ??= { former: epoch };
    if (this.#epoch.former?.toHex() === epoch?.toHex()) return former.targetOf(epoch, this.connection);
    return "The block is of another epoch than those before it on this stream";
  }

  #check(message: BackfillBlock, { blockEpoch, former }: BlockTarget): BlockVerdict {
    const { instance: { record }, settings } = this.#options;
    const verdict = checkBlock(message, { epoch: blockEpoch, maxBlockBytes: settings().maxBlockBytes });
    const top = former ? former.headSeq : record.newestSeq;
    if (!verdict.ok || verdict.seqs.start <= top) return verdict;
    return { ok: false, reason: `The block begins after the boat's head, ${top}` };
  }

  /** The target of the waiting blocks. @throws {RpcError} they are refused */
  get #target(): BlockTarget {
    const target = this.#options.instance.former.targetOf(this.#epoch?.former, this.connection);
    if (typeof target === "string") throw new RpcError("FAILED_PRECONDITION", target);
    return target;
  }

  get #isFull(): boolean {
    return this.#waitingBytes >= MAX_WAITING_BYTES || this.#rejected.length >= MAX_REJECTED;
  }

  #reject(baseSeq: number, reason: string): void {
    const { instance: { id }, clock, log } = this.#options;
    this.#rejected.push({ baseSeq, reason });
    this.#unlogged++;
    const nowMs = clock.monoMs();
    if (nowMs - this.#loggedMs < LOG_EVERY_MS) return;
    log.warn("block rejected", { id, baseSeq, reason, blocks: this.#unlogged });
    this.#loggedMs = nowMs;
    this.#unlogged = 0;
  }

  /** Stores waiting blocks and sends statuses until nothing waits. Never rejects: an error ends the stream. */
  async #pump(files: BackfillFiles): Promise<void> {
    try {
      do {
        await this.#store(files);
        await this.#sendStatus();
      } while (this.#waiting.length + this.#rejected.length + this.#filled.size > 0);
    } catch (error) {
      const reason = `blocks cannot be stored: ${errorText(error)}`;
      this.end(error instanceof RpcError ? error : new RpcError("UNAVAILABLE", reason));
    } finally {
      this.#pumping = undefined;
    }
  }

  async #store(files: BackfillFiles): Promise<void> {
    const { record } = this.#options.instance;
    if (this.#waiting.length === 0) return;
    const target = this.#target;
    const { epoch } = target;
    // The waiting blocks were checked against the former declarations.
    if (this.#ended) throw this.#ended;
    const blocks = await this.#withoutConflicts(this.#nextBlocks(target), { files, target });
    // Another machine may have connected meanwhile.
    if (this.#ended) throw this.#ended;
    if (blocks.length === 0 || epoch === undefined) return;
    const bytes = await files.write(blocks, Uint8Array.fromHex(epoch));
    // A handshake may have begun another epoch meanwhile.
    if (this.#ended) throw this.#ended;
    for (const block of blocks) this.#count(block, target);
    record.counters.backfillBytes += bytes;
    this.#blocks += blocks.length;
  }

  /** Rejects blocks that contradict stored frames with the same numbers: they may come from another machine. */
  async #withoutConflicts(
    blocks: CheckedBlock[],
    { files, target: { received, blockEpoch, former } }: { files: BackfillFiles; target: BlockTarget },
  ): Promise<CheckedBlock[]> {
    const { instance } = this.#options;
    const { record } = instance;
    // Peers' boats may restart at 1 without declaring a new epoch.
    if (blockEpoch === undefined) return blocks;
    const good: CheckedBlock[] = [];
    for (const block of blocks) {
      const { seqs } = block;
      const isOverlapping = received.evaluate(seqs).kind === "overlapping";
      const conflict = isOverlapping ? await files.conflict(block, blockEpoch) : undefined;
      if (conflict === undefined) good.push(block);
      else {
        record.counters.verifyFailures++;
        const reason = `Frame ${conflict} is here with other content: two machines may be this boat`;
        instance.note("checkpoint", `refused: ${reason}`);
        this.#reject(seqs.start, reason);
        if (!former) instance.contest(reason);
      }
    }
    return good;
  }

  /** Adds a stored block to the record. */
  #count({ seqs: { start, end } }: CheckedBlock, { received, former }: BlockTarget): void {
    const { instance } = this.#options;
    const { counters } = instance.record;
    try {
      const frames = countNumbers(received.addBlock({ start, end }));
      received.markDurable({ start, end });
      // Readers may wait for these frames.
      instance.runningReplica?.source.changed();
      counters.backfillBlocks++;
      counters.backfillFrames += frames;
      this.#frames += frames;
      this.#filled.add(start, end);
      const epoch = former ? ` of epoch ${former.epoch}` : "";
      instance.note("block_received", `frames ${start} to ${end - 1}${epoch}, ${frames} of them new`);
    } catch (error) {
      if (!(error instanceof RangesFullError)) throw error;
      // Blocks stored before it have reached the limit.
      this.#reject(start, NO_ROOM);
    }
  }

  /** The next waiting blocks to store, as many as do not overlap. */
  #nextBlocks({ received }: BlockTarget): CheckedBlock[] {
    const seqs = new Ranges();
    const blocks: CheckedBlock[] = [];
    let [count, bytes] = [0, 0];
    for (const block of this.#waiting) {
      const { start, end } = block.seqs;
      if (countNumbers(seqs.holes(end, start)) < end - start) break;
      seqs.add(start, end);
      count++;
      bytes += block.bytes.length;
      const { kind } = received.evaluate(block.seqs);
      if (kind === "duplicate") this.#filled.add(start, end);
      else if (kind === "no-room") this.#reject(start, NO_ROOM);
      else blocks.push(block);
    }
    this.#waiting.splice(0, count);
    this.#waitingBytes -= bytes;
    return blocks;
  }

  /** Reports stored and rejected blocks: at once if none waits, otherwise at intervals. */
  async #sendStatus(): Promise<void> {
    const { instance: { record }, stream, clock } = this.#options;
    const nowMs = clock.monoMs();
    if (this.#waiting.length > 0 && nowMs - this.#lastStatusMs < STATUS_EVERY_MS) return;
    if (this.#filled.size === 0 && this.#rejected.length === 0) return;
    const filled: Range[] = [...this.#filled];
    const rejected = this.#rejected;
    this.#filled = new Ranges();
    this.#rejected = [];
    this.#lastStatusMs = nowMs;
    const epoch = this.#epoch?.former;
    const former = epoch && record.former.get(epoch.toHex());
    const holes = former ? former.received.holes(former.headSeq + 1) : record.holes;
    const { cursor: continuousThrough } = former?.received ?? record.received;
    const status = { continuousThrough, remaining: holes.slice(-MAX_RANGES), filled, rejected };
    await stream.send({ ...status, ...(epoch && { epoch }) });
  }
}

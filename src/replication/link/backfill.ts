import { backoffMs, type Clock, errorText, type Logger, type Range, Ranges } from "../../base/mod.ts";
import { BackfillPlan } from "./backfill_plan.ts";
import type { ArchivedBlock, BoatArchive } from "./archive.ts";
import type { BoatBackfillStream } from "../grpc/stream.ts";
import type { BackfillStatus, LostRange, RejectedBlock } from "../wire/messages.ts";
import { BackfillPacer } from "./pacer.ts";

/** Maximum time until a waiting block is checked again, milliseconds. */
const RECHECK_MS = 200;
/** Delay before reading a block again after a read error. */
const READ_BACKOFF = { firstMs: 1000, capMs: 60_000 };
/** Interval of searching again for files that could not be read, milliseconds. */
const SEARCH_AGAIN_MS = 30_000;

/** Events of a backfill. */
export interface BackfillEvents {
  /** A status arrived. @param missingFrames frames still missing on the cloud */
  answered(status: BackfillStatus, missingFrames: number): void;
  /** A block was sent. */
  sent(bytes: number): void;
}

/** Options of {@linkcode BackfillSender}. */
export interface BackfillSenderOptions {
  /** Opens the stream; called once, before the first block. */
  open: () => BoatBackfillStream;
  /** How long the oldest unsent live frame has waited, milliseconds. */
  liveWaitMs: (nowMs: number) => number;
  clock: Clock;
  log: Logger;
  events: BackfillEvents;
  /** 16 bytes that identify the earlier epoch of the blocks; absent: the current one. */
  epoch?: Uint8Array<ArrayBuffer>;
}

/** Sends the blocks that the cloud is missing, with the bandwidth that live frames leave. */
export class BackfillSender {
  readonly #options: BackfillSenderOptions;
  readonly #pacer = new BackfillPacer();
  /** In order of sending. */
  readonly #inFlight: ArchivedBlock[] = [];
  /** Blocks with a read error, in order of the last attempt. */
  readonly #unread = new Map<ArchivedBlock, { tries: number; dueMs: number }>();
  #plan: BackfillPlan<ArchivedBlock> | undefined;
  #stream: BoatBackfillStream | undefined;
  #listening: Promise<void> | undefined;
  #failure: { error: unknown } | undefined;
  #isEnded = false;
  #wake: PromiseWithResolvers<void> | undefined;

  constructor(options: BackfillSenderOptions) {
    this.#options = options;
  }

  /** Ranges missing on the cloud and not lost, lowest first; undefined before it has begun. */
  get holes(): Range[] | undefined {
    return this.#plan?.holes;
  }

  /** Frames found lost by the last run. */
  get lost(): LostRange[] {
    return this.#plan?.lost ?? [];
  }

  /** The part of them that was not found but may exist. */
  get deferred(): Ranges {
    return this.#plan?.deferred ?? new Ranges();
  }

  /** Number of frames missing on the cloud and not lost. */
  get missingFrames(): number {
    return this.#plan?.missingFrames ?? 0;
  }

  /**
   * Sends the blocks of these holes, and waits for the cloud's answers. May be called again after it has resolved.
   *
   * @returns lost frames
   * @throws {RpcError} the stream has failed
   */
  async run(holes: Ranges, archive: BoatArchive): Promise<LostRange[]> {
    const plan = this.#plan = new BackfillPlan({ holes, index: archive });
    this.#unread.clear();
    for (;;) {
      this.#throwFailure();
      const step = plan.next();
      if (step.kind === "finished") return plan.lost;
      const block = step.kind === "send" ? step.block : this.#retryDue();
      if (block) await this.#send(block, { plan, archive });
      else await this.#wait(this.#unread.size > 0 ? { timeoutMs: RECHECK_MS } : {});
    }
  }

  /** Waits before the next search for deferred frames. @throws the error given to {@linkcode BackfillSender.stop} */
  async rest(): Promise<void> {
    await this.#wait({ timeoutMs: SEARCH_AGAIN_MS });
    this.#throwFailure();
  }

  /** Ends the stream regularly; resolves when the cloud has ended it, too. */
  async end(): Promise<void> {
    this.#isEnded = true;
    this.#stream?.end();
    await this.#listening;
  }

  /** Stops sending; pending waits fail with the error. */
  stop(error: unknown): void {
    this.#isEnded = true;
    this.#failure ??= { error };
    this.#wakeUp();
  }

  async #send(
    block: ArchivedBlock,
    { plan, archive }: { plan: BackfillPlan<ArchivedBlock>; archive: BoatArchive },
  ): Promise<void> {
    const { clock, liveWaitMs, log, events } = this.#options;
    const seqs = { start: block.baseSeq, end: block.baseSeq + block.frameCount };
    let read;
    try {
      read = await archive.read(block);
    } catch (error) {
      // The block counts as unanswered, so its frames remain a hole.
      const tries = (this.#unread.get(block)?.tries ?? 0) + 1;
      this.#unread.delete(block);
      this.#unread.set(block, { tries, dueMs: clock.monoMs() + backoffMs(tries, READ_BACKOFF) });
      log.error("replication block read failed", { seq: block.baseSeq, tries, error: errorText(error) });
      return;
    }
    this.#unread.delete(block);
    if (read.kind === "gone") return plan.lose(seqs, read.reason);
    for (const { reason, ...range } of read.missing) plan.lose(range, reason);
    const { message } = read;
    if (!plan.misses({ start: message.baseSeq, end: message.baseSeq + message.frameCount })) return;
    const bytes = message.data.length;
    for (;;) {
      this.#throwFailure();
      const nowMs = clock.monoMs();
      this.#pacer.liveWaiting(nowMs, liveWaitMs(nowMs));
      if (this.#pacer.maySend(nowMs, bytes)) break;
      await this.#wait({ timeoutMs: RECHECK_MS });
    }
    const stream = this.#stream ??= this.#open();
    this.#inFlight.push(block);
    this.#pacer.sent(clock.monoMs(), bytes);
    const { epoch } = this.#options;
    await stream.send({ block: { ...message, ...(epoch && { epoch }) } });
    events.sent(bytes);
  }

  /** A block whose next read attempt is due. */
  #retryDue(): ArchivedBlock | undefined {
    const nowMs = this.#options.clock.monoMs();
    for (const [block, { dueMs }] of this.#unread) if (dueMs <= nowMs) return block;
    return undefined;
  }

  #open(): BoatBackfillStream {
    const stream = this.#options.open();
    this.#listening = this.#listen(stream).catch((error: unknown) => {
      this.#failure = { error };
      this.#wakeUp();
    });
    return stream;
  }

  async #listen(stream: BoatBackfillStream): Promise<void> {
    for await (const status of stream) {
      const answered = this.#plan?.answer(status) ?? [];
      // Blocks are answered in order: earlier blocks get no answer of their own any more.
      const count = this.#inFlight.findLastIndex((block) => answered.includes(block)) + 1;
      this.#inFlight.splice(0, count);
      this.#pacer.answered(this.#options.clock.monoMs(), count);
      this.#logRejected(status.rejected);
      this.#options.events.answered(status, this.missingFrames);
      this.#wakeUp();
    }
    // A complete cloud may end the stream first.
    if (!this.#isEnded && this.missingFrames > 0) throw new Error("the cloud ended the backfill stream");
  }

  #logRejected(rejected: readonly RejectedBlock[]): void {
    for (const { baseSeq, reason } of rejected) {
      this.#options.log.warn("replication block rejected", { seq: baseSeq, reason });
    }
  }

  #throwFailure(): void {
    if (this.#failure) throw this.#failure.error;
  }

  /** Resolves at the next status, at the end of the stream, or after `timeoutMs`. */
  async #wait({ timeoutMs }: { timeoutMs?: number } = {}): Promise<void> {
    this.#wake ??= Promise.withResolvers();
    const timer = timeoutMs === undefined ? undefined : setTimeout(() => this.#wakeUp(), timeoutMs);
    await this.#wake.promise;
    clearTimeout(timer);
  }

  #wakeUp(): void {
    this.#wake?.resolve();
    this.#wake = undefined;
  }
}

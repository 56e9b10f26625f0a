import { backoffMs, type Clock, errorText, type Logger, type Range, Ranges } from "../../base/mod.ts";
import { BackfillPlan } from "./backfill_plan.ts";
import type { ArchivedBlock, BoatArchive } from "./archive.ts";
import type { MessageStream } from "../grpc/stream.ts";
import type { BackfillStatus, BackfillUpstream, LostRange, RejectedBlock } from "../wire/messages.ts";
import { BackfillPacer } from "./pacer.ts";

/** A block that has to wait for the link is looked at again after so long, milliseconds, whatever the cloud says. */
const LOOK_EVERY_MS = 200;
/** Waits until a block is read again that the disk did not give. */
const READ_BACKOFF = { firstMs: 1000, capMs: 60_000 };
/** Files that the disk did not give are looked at again after so long, milliseconds. */
const LOOK_AGAIN_MS = 30_000;

/** What a backfill tells. */
export interface BackfillEvents {
  /** The cloud has spoken; so many frames are missing. */
  answered(status: BackfillStatus, missingFrames: number): void;
  /** A block is out. */
  sent(bytes: number): void;
}

/** What blocks are sent with. */
export interface BackfillSenderOptions {
  /** Opens the stream; asked once, when there is something to send. */
  open: () => MessageStream<BackfillStatus, BackfillUpstream>;
  /** How long a live frame waits for the link, milliseconds. */
  liveWaitMs: (nowMs: number) => number;
  clock: Clock;
  log: Logger;
  events: BackfillEvents;
  /** 16 bytes that name the former epoch the blocks are of; left out: they are of the current one. */
  epoch?: Uint8Array<ArrayBuffer>;
}

/** Sends blocks of the journal for what the cloud misses, with what live leaves of the link. */
export class BackfillSender {
  readonly #options: BackfillSenderOptions;
  readonly #pacer = new BackfillPacer();
  /** In the order of sending. */
  readonly #underWay: ArchivedBlock[] = [];
  /** What the disk did not give, in the order of trying. */
  readonly #unread = new Map<ArchivedBlock, { tries: number; dueMs: number }>();
  #plan: BackfillPlan<ArchivedBlock> | undefined;
  #stream: MessageStream<BackfillStatus, BackfillUpstream> | undefined;
  #listening: Promise<void> | undefined;
  #failure: { error: unknown } | undefined;
  #isEnded = false;
  #wake: PromiseWithResolvers<void> | undefined;

  constructor(options: BackfillSenderOptions) {
    this.#options = options;
  }

  /** Where frames are missing that the boat has not given up, lowest first. */
  get holes(): Range[] {
    return this.#plan?.holes ?? [];
  }

  /** What of them was not found, though it may be there. */
  get putOff(): Ranges {
    return this.#plan?.putOff ?? new Ranges();
  }

  /** How many frames these are. */
  get missingFrames(): number {
    return this.#plan?.missingFrames ?? 0;
  }

  /**
   * Sends what there is for these holes, and waits for the cloud's answers. May be called again when it has resolved.
   *
   * @returns what is not to be had
   * @throws {RpcError} the stream has failed
   */
  async run(holes: Ranges, archive: BoatArchive): Promise<LostRange[]> {
    const plan = this.#plan = new BackfillPlan({ holes, index: archive });
    this.#unread.clear();
    for (;;) {
      this.#throwFailure();
      const step = plan.next();
      if (step.kind === "finished") return plan.lost;
      const block = step.kind === "send" ? step.block : this.#dueAgain();
      if (block) await this.#send(block, { plan, archive });
      else await this.#news(this.#unread.size > 0 ? { timeoutMs: LOOK_EVERY_MS } : {});
    }
  }

  /** Waits until it is worth to look again for what was not found. @throws what {@linkcode BackfillSender.stop} was told */
  async rest(): Promise<void> {
    await this.#news({ timeoutMs: LOOK_AGAIN_MS });
    this.#throwFailure();
  }

  /** Ends the stream in good order; resolves when the cloud has done so, too. */
  async end(): Promise<void> {
    this.#isEnded = true;
    this.#stream?.end();
    await this.#listening;
  }

  /** Sends no more; who waits for the cloud gets the error. */
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
      // It stays a hole that waits for its answer.
      const tries = (this.#unread.get(block)?.tries ?? 0) + 1;
      this.#unread.delete(block);
      this.#unread.set(block, { tries, dueMs: clock.monoMs() + backoffMs(tries, READ_BACKOFF) });
      log.error("a block cannot be read for replication", { seq: block.baseSeq, tries, error: errorText(error) });
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
      this.#pacer.liveWaits(nowMs, liveWaitMs(nowMs));
      if (this.#pacer.maySend(nowMs, bytes)) break;
      await this.#news({ timeoutMs: LOOK_EVERY_MS });
    }
    const stream = this.#stream ??= this.#open();
    this.#underWay.push(block);
    this.#pacer.sent(clock.monoMs(), bytes);
    const { epoch } = this.#options;
    await stream.send({ block: { ...message, ...(epoch && { epoch }) } });
    events.sent(bytes);
  }

  /** A block that is to be read once more, now that others were. */
  #dueAgain(): ArchivedBlock | undefined {
    const nowMs = this.#options.clock.monoMs();
    for (const [block, { dueMs }] of this.#unread) if (dueMs <= nowMs) return block;
    return undefined;
  }

  #open(): MessageStream<BackfillStatus, BackfillUpstream> {
    const stream = this.#options.open();
    this.#listening = this.#listen(stream).catch((error: unknown) => {
      this.#failure = { error };
      this.#wakeUp();
    });
    return stream;
  }

  async #listen(stream: MessageStream<BackfillStatus, BackfillUpstream>): Promise<void> {
    for await (const status of stream) {
      const answered = this.#plan?.answer(status) ?? [];
      // Blocks are answered in their order: what was sent before one that is answered will not be any more.
      const count = this.#underWay.findLastIndex((block) => answered.includes(block)) + 1;
      this.#underWay.splice(0, count);
      this.#pacer.answered(this.#options.clock.monoMs(), count);
      this.#tellRejected(status.rejected);
      this.#options.events.answered(status, this.missingFrames);
      this.#wakeUp();
    }
    // A cloud that has everything may be the first to end the stream.
    if (!this.#isEnded && this.missingFrames > 0) throw new Error("the cloud has ended the backfill stream");
  }

  #tellRejected(rejected: readonly RejectedBlock[]): void {
    for (const { baseSeq, reason } of rejected) {
      this.#options.log.warn("the cloud does not take a block", { seq: baseSeq, reason });
    }
  }

  #throwFailure(): void {
    if (this.#failure) throw this.#failure.error;
  }

  /** Resolves when the cloud has spoken, or the stream is over, or after a while. */
  async #news({ timeoutMs }: { timeoutMs?: number } = {}): Promise<void> {
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

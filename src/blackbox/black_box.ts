import { type Clock, errorText, type Logger, turn } from "../base/mod.ts";
import { newStoredFrame, type StoredFrame } from "../frame/mod.ts";
import { type Block, BlockError, epochWordOf, nextFileName } from "../journal/mod.ts";
import { BoxFiles, type ListedEvent } from "./box_files.ts";
import { type BlackBoxEvent, RecentSubjects } from "./events.ts";
import type { FrameStore } from "./frame_store.ts";
import { AROUND_MS, prefixOf, type StoredEvent, storedEventOf } from "./record.ts";
import { WindowBlocks, type WindowRange } from "./window.ts";

/** Default size of all files together, bytes. */
export const DEFAULT_BLACKBOX_BYTES = 200_000_000;
/** Events whose frames are not written yet; beyond it an event is only logged. */
export const MAX_PENDING_EVENTS = 64;
/** Kinds of events whose files are deleted last: somebody asked for them. */
const KEPT_LONGEST: ReadonlySet<string> = new Set(["mark", "mob"]);
/** An alert within this time after another one has no file of its own, milliseconds. */
const SHARED_MS = 10_000;
/** Frames that are read before other work gets its turn. */
const FRAMES_A_TURN = 2048;
/** Time for writing at a stop, milliseconds; what is not written then is written by the next start. */
const STOP_MS = 2000;

/** Options of a {@linkcode BlackBox}. */
export interface BlackBoxOptions {
  /** Directory of its files; created with the first event. */
  directory: string;
  /** Most bytes of all files; beyond it the oldest are deleted. Default {@linkcode DEFAULT_BLACKBOX_BYTES}. */
  maxBytes?: number | undefined;
  /** Where the frames come from. */
  frames: FrameStore;
  /** Newest number, and the number before the first of this run. */
  numbers: { readonly head: number; readonly base: number };
  /** Returns the current epoch, 16 bytes. */
  epoch: () => Uint8Array<ArrayBuffer>;
  clock: Clock;
  log: Logger;
}

/** An event in the list. */
export interface BlackBoxFile extends ListedEvent {
  /** Whether its frames are written. */
  isComplete: boolean;
}

/** Answer to an event: its file, and whether the event has begun it. */
export interface Noted {
  name: string;
  isNew: boolean;
}

interface Known extends ListedEvent {
  /** Left out: the frames are written. */
  pending?: Pending;
}

interface Pending {
  /** `failed`: it could not be written; the next start tries again. */
  state: "waiting" | "writing" | "failed";
  /** When the last frame has come, monotonic milliseconds. */
  dueMs: number;
  /** An earlier run has begun it. */
  isResumed: boolean;
}

/** Keeps the frames around events. No method waits for the disk or throws, except where it says so. */
export class BlackBox {
  readonly #options: BlackBoxOptions;
  readonly #files: BoxFiles;
  readonly #recent = new RecentSubjects();
  /** By name, oldest first. */
  readonly #known = new Map<string, Known>();
  /** The newest number, once a second, for one minute and the moment before. */
  #heads: { atMs: number; seq: number }[] = [];
  #writing: Promise<void> = Promise.resolve();
  #failure: string | undefined;
  #isStopped = false;

  private constructor(options: BlackBoxOptions, files: BoxFiles) {
    this.#options = options;
    this.#files = files;
    this.#heads.push({ atMs: options.clock.monoMs(), seq: options.numbers.head });
  }

  /** Opens a black box. Events of the last run whose frames are not written are finished. */
  static async open(options: BlackBoxOptions): Promise<BlackBox> {
    const { directory, clock, log } = options;
    const files = BoxFiles.open(directory, { log });
    const box = new BlackBox(options, files);
    const stored = await files.load().catch((error: unknown) => {
      box.#fail(error);
      return [];
    });
    const [nowMs, wallMs] = [clock.monoMs(), clock.wallUs() / 1000];
    for (const { event, bytes } of stored) {
      const agoMs = wallMs - Date.parse(event.time);
      const dueMs = nowMs + Math.min(AROUND_MS, Math.max(0, AROUND_MS - agoMs));
      const pending: Pending = { state: "waiting", dueMs, isResumed: true };
      box.#known.set(event.name, { event, bytes, ...(bytes === 0 && { pending }) });
      // The clock may be behind.
      if (agoMs >= 0) box.#recent.note(event.subject, { name: event.name, atMs: nowMs - agoMs });
    }
    return box;
  }

  /** All events, newest first. */
  list(): BlackBoxFile[] {
    return Array.from(this.#known.values(), ({ event, bytes, pending }) => ({ event, bytes, isComplete: !pending }))
      .reverse();
  }

  /** Path of a complete file; undefined: there is none of this name. */
  pathOf(name: string): string | undefined {
    const known = this.#known.get(name);
    return known && !known.pending ? `${this.#files.directory}/${name}` : undefined;
  }

  /** Degraded while files cannot be written. */
  health(): { status: "ok" } | { status: "degraded"; message: string } {
    return this.#failure === undefined ? { status: "ok" } : { status: "degraded", message: this.#failure };
  }

  /** Notes an event. Undefined: too many events wait for their last frames, or the black box has stopped. */
  readonly note = (event: BlackBoxEvent): Noted | undefined => {
    const { clock, log, frames, epoch } = this.#options;
    const { kind, subject, text } = event;
    const nowMs = clock.monoMs();
    const own = this.#recent.find(subject, nowMs);
    const recent = own ?? this.#sharedBy(kind, nowMs);
    if (recent !== undefined && this.#isKept(recent)) {
      if (own === undefined) this.#recent.note(subject, { name: recent, atMs: nowMs });
      return { name: recent, isNew: false };
    }
    if (this.#isStopped || this.#needed().length >= MAX_PENDING_EVENTS) {
      log.warn("event not kept in the black box", { kind, subject, text });
      return undefined;
    }
    const name = nextFileName(prefixOf(event), { timeUs: event.timeUs, isTaken: (each) => this.#known.has(each) });
    const before = this.#heads.findLast(({ atMs }) => atMs < nowMs - AROUND_MS);
    const seq = before?.seq ?? this.#options.numbers.base;
    const stored = storedEventOf(event, {
      name,
      epoch: epoch().toHex(),
      from_seq: seq + 1,
      is_after_start: before === undefined,
    });
    const pending: Pending = { state: "waiting", dueMs: nowMs + AROUND_MS, isResumed: false };
    this.#known.set(name, { event: stored, bytes: 0, pending });
    this.#recent.note(subject, { name, atMs: nowMs });
    log.info("event kept in the black box", { kind, subject, text, file: name });
    frames.keep(seq + 1);
    this.#enqueue(() => this.#files.store(stored));
    return { name, isNew: true };
  };

  /** Begins to write what is due. Call it once a second. */
  runHousekeeping(): void {
    const { clock, numbers, frames } = this.#options;
    const nowMs = clock.monoMs();
    // A new epoch began.
    if ((this.#heads.at(-1)?.seq ?? 0) > numbers.head) this.#heads = [];
    this.#heads.push({ atMs: nowMs, seq: numbers.head });
    const first = this.#heads.findLastIndex(({ atMs }) => atMs < nowMs - AROUND_MS);
    if (first > 0) this.#heads.splice(0, first);
    frames.collect();
    for (const known of this.#needed()) if (known.pending.dueMs <= nowMs) this.#begin(known);
  }

  /** Writes what there is of events that still wait, for at most two seconds; the next start writes the rest. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    const { clock } = this.#options;
    const endMs = clock.monoMs() + STOP_MS;
    for (const known of this.#needed()) this.#begin(known, { endMs });
    await this.#writing;
  }

  /** Events whose frames are not written and will be by this run. */
  #needed(): (Known & { pending: Pending })[] {
    return [...this.#known.values()].filter((known): known is Known & { pending: Pending } =>
      known.pending !== undefined && known.pending.state !== "failed"
    );
  }

  /** A cause has several effects: the file that an alert has begun some seconds before has the frames of this one. */
  #sharedBy(kind: string, nowMs: number): string | undefined {
    if (KEPT_LONGEST.has(kind)) return undefined;
    const earliestMs = nowMs + AROUND_MS - SHARED_MS;
    return this.#needed().findLast(({ pending: { isResumed, dueMs } }) => !isResumed && dueMs >= earliestMs)?.event
      .name;
  }

  #isKept(name: string): boolean {
    const known = this.#known.get(name);
    return known !== undefined && known.pending?.state !== "failed";
  }

  #isCurrent({ epoch }: StoredEvent): boolean {
    return epoch === this.#options.epoch().toHex();
  }

  /** Runs one after the other. */
  #enqueue(work: () => Promise<void>): void {
    this.#writing = this.#writing.then(work).then(() => this.#failure = undefined, (error) => this.#fail(error));
  }

  #fail(error: unknown): void {
    const message = errorText(error);
    if (this.#failure !== message) this.#options.log.error("black box not written", { error: message });
    this.#failure = message;
  }

  /** Writes the frames of an event that waits, unless `endMs` is over then. */
  #begin({ event, pending }: Known & { pending: Pending }, { endMs }: { endMs?: number } = {}): void {
    if (pending.state !== "waiting") return;
    pending.state = "writing";
    const { clock, numbers, frames } = this.#options;
    const { isResumed } = pending;
    const eventUs = Date.parse(event.time) * 1000;
    const range: WindowRange = {
      fromSeq: event.from_seq,
      throughSeq: isResumed || !this.#isCurrent(event) ? Infinity : numbers.head,
      fromUs: event.is_after_start ? eventUs - AROUND_MS * 1000 : undefined,
      toUs: isResumed ? eventUs + AROUND_MS * 1000 : undefined,
    };
    const isInterrupted = isResumed || event.is_after_start || endMs !== undefined;
    this.#enqueue(async () => {
      if (endMs !== undefined && clock.monoMs() >= endMs) return;
      try {
        await this.#write(event, { range, isInterrupted });
      } catch (error) {
        pending.state = "failed";
        throw error;
      } finally {
        frames.release(Math.min(Infinity, ...this.#needed().map(({ event: { from_seq } }) => from_seq)));
      }
    });
  }

  async #write(
    event: StoredEvent,
    { range, isInterrupted }: { range: WindowRange; isInterrupted: boolean },
  ): Promise<void> {
    const { log } = this.#options;
    const content = (await this.#read(event, range)).end();
    if (content) {
      const complete = { ...event, frames: { ...content.window, is_interrupted: isInterrupted } };
      const bytes = await this.#files.complete(complete, content.blocks);
      this.#known.set(event.name, { event: complete, bytes });
      const { count, missing } = content.window;
      log.info("black box written", { file: event.name, frames: count, missing });
    } else {
      this.#known.delete(event.name);
      await this.#files.remove(event);
      log.warn("black box not written: there are no frames of this time", { file: event.name });
    }
    await this.#prune();
  }

  async #read(event: StoredEvent, range: WindowRange): Promise<WindowBlocks> {
    const epoch = Uint8Array.fromHex(event.epoch);
    const window = new WindowBlocks(range, { epoch });
    const frame = newStoredFrame();
    for await (const block of this.#options.frames.blocks(range, epochWordOf(epoch))) {
      if (!await addBlock(window, { block, frame })) return window;
      // Frames of the bus are read between two blocks.
      await turn();
    }
    return window;
  }

  async #prune(): Promise<void> {
    const { maxBytes = DEFAULT_BLACKBOX_BYTES } = this.#options;
    const complete = [...this.#known.values()].filter(({ pending }) => pending === undefined)
      .sort((a, b) => Number(KEPT_LONGEST.has(a.event.kind)) - Number(KEPT_LONGEST.has(b.event.kind)));
    let total = complete.reduce((sum, { bytes }) => sum + bytes, 0);
    for (const { event, bytes } of complete) {
      if (total <= maxBytes) return;
      total -= bytes;
      this.#known.delete(event.name);
      await this.#files.remove(event);
    }
  }
}

/** Adds the frames of a block. Those that cannot be read are missing. Resolves with false after the last frame of the window. */
async function addBlock(
  window: WindowBlocks,
  { block, frame }: { block: Block; frame: StoredFrame },
): Promise<boolean> {
  window.enter(block);
  const cursor = block.frames();
  try {
    while (cursor.next(frame)) {
      if (!window.add(frame, cursor.index - 1)) return false;
      if (cursor.index % FRAMES_A_TURN === 0) await turn();
    }
  } catch (error) {
    if (!(error instanceof BlockError)) throw error;
  }
  return true;
}

import { type Clock, type DurableFile, JsonFile, type Logger, Ranges, readJsonFile } from "../../base/mod.ts";
import { type EpochRanges, MAX_FORMER_RECORDINGS, type StoredFrames } from "../../journal/mod.ts";
import type { HandshakeResponse, LiveStatus, LostRange } from "../wire/messages.ts";
import { NEVER_USED } from "./missing.ts";

/** Reason of lost frames in files that retention has deleted before the cloud stored them. */
export const LOST_UNSTORED = "deleted on the boat before the cloud stored it";

/** Interval of saving progress, milliseconds; a start that knows less only keeps more files. */
const SAVE_EVERY_MS = 60_000;
/** Maximum ranges of deleted frames saved for each epoch; others are declared by the backfill, with its own reason. */
export const MAX_SAVED_RANGES = 1024;
const MAX_EPOCHS = MAX_FORMER_RECORDINGS + 1;

/** Options of {@linkcode StoredProgress}. */
export interface StoredProgressOptions {
  /** Keeps the progress over a restart; default: nothing does. */
  file?: DurableFile | undefined;
  /** Whether files that are not stored are kept past their age; default: unless the cloud has said that it has no store. */
  isKept?: boolean | undefined;
  clock: Clock;
  log: Logger;
}

/** A former epoch after a handshake. */
export interface FormerProgress {
  /** First four bytes of the epoch. */
  epochWord: number;
  /** Frames that the cloud requests; undefined: unknown, or it refuses the epoch. */
  holes: Ranges | undefined;
  /** True if the cloud holds all of it, and these are the frames of this boat. */
  isHeld: boolean;
}

/** What is known of an epoch. */
interface Progress {
  /** Infinity: the whole epoch. */
  through: number;
  /** The cloud holds every frame up to and including this number, stored or not. */
  acknowledged: number;
  /** Deleted above `through`. */
  lost: Ranges;
  /** Declared as lost: the cloud does not have these frames, and acknowledges later ones. */
  declared: Ranges;
}

const nothing = (): Progress => ({ through: 0, acknowledged: 0, lost: new Ranges(), declared: new Ranges() });

interface Saved {
  hasStore: boolean | undefined;
  epochs: [epochWord: number, progress: Progress][];
}

/**
 * How much of the boat's epochs the cloud has stored: in its store, or without one on its disk. Retention goes by it. What is
 * not known counts as not stored.
 */
export class StoredProgress implements StoredFrames {
  readonly #options: StoredProgressOptions;
  readonly #file: JsonFile | undefined;
  /** By the first four bytes of the epoch, the longest unchanged first. */
  readonly #epochs: Map<number, Progress>;
  #hasStore: boolean | undefined;
  #savedMs = -Infinity;

  private constructor(options: StoredProgressOptions, saved: Saved | undefined) {
    const { file, log } = options;
    this.#options = options;
    this.#epochs = new Map(saved?.epochs);
    this.#hasStore = saved?.hasStore;
    const content = () => this.#content();
    this.#file = file && new JsonFile(file, { what: "progress of replication", content, log });
  }

  /** Reads the saved progress. Never fails: then nothing is known. */
  static async open(options: StoredProgressOptions): Promise<StoredProgress> {
    const { file, log } = options;
    const saved = file && await readJsonFile(file, { what: "progress of replication", parse: parseSaved, log });
    return new StoredProgress(options, saved);
  }

  /** Without a file. */
  static inMemory(options: Omit<StoredProgressOptions, "file">): StoredProgress {
    return new StoredProgress(options, undefined);
  }

  /** See {@linkcode StoredFrames}. */
  get isKept(): boolean {
    return this.#options.isKept ?? this.#hasStore !== false;
  }

  /** Frames deleted before they were stored, and not passed over by the cloud since. */
  get lostFrames(): number {
    return this.#epochs.values().reduce((sum, { lost }) => sum + lost.count, 0);
  }

  /** See {@linkcode StoredFrames}. */
  storedThrough(epochWord: number): number {
    return this.#epochs.get(epochWord)?.through ?? 0;
  }

  /** The same number as the cloud has last reported it; undefined: it has reported nothing of this epoch. */
  reported(epochWord: number): number | undefined {
    return this.#epochs.get(epochWord)?.through;
  }

  /**
   * Numbers of an epoch that were deleted before they were stored, and that the cloud does not hold either. If the cloud
   * loses others that it held, they are holes, and the backfill finds that the boat does not have them.
   */
  lostOf(epochWord: number): LostRange[] {
    const { lost, acknowledged } = this.#epochs.get(epochWord) ?? nothing();
    const unheld = new Ranges(lost);
    unheld.remove(0, acknowledged + 1);
    return Array.from(unheld, (range) => ({ ...range, reason: LOST_UNSTORED }));
  }

  /** Numbers of an epoch that were declared as lost, also by earlier runs. */
  declaredOf(epochWord: number): Ranges {
    return this.#epochs.get(epochWord)?.declared ?? new Ranges();
  }

  /** Notes numbers that are about to be declared as lost. Resolves when they are saved. */
  async noteDeclared(epochWord: number, found: readonly LostRange[]): Promise<void> {
    const progress = this.#epochs.get(epochWord) ?? nothing();
    const before = progress.declared.count;
    progress.declared.addAll(found.filter(({ reason }) => reason !== NEVER_USED));
    if (progress.declared.count === before) return;
    this.#set(epochWord, progress);
    this.#save({ isUrgent: true });
    await this.#file?.flush();
  }

  /** See {@linkcode StoredProgress.lostOf}: these numbers are about to be declared as lost. */
  declareLost(epochWord: number): LostRange[] {
    const lost = this.lostOf(epochWord);
    void this.noteDeclared(epochWord, lost);
    return lost;
  }

  /** Accepts the answer to a handshake about the current epoch. @param options.isPeer other software, without durable numbers */
  noteHandshake(
    epochWord: number,
    { response: { storedThrough, durableThrough, cursor }, isPeer }: { response: HandshakeResponse; isPeer: boolean },
  ): void {
    const acknowledged = isPeer ? cursor : durableThrough;
    this.#note(epochWord, { acknowledged, storedThrough, hasStore: storedThrough !== undefined });
  }

  /** Accepts a status about the current epoch. */
  noteStatus(epochWord: number, { storedThrough, ackSeq }: LiveStatus): void {
    // A cloud with a store that does not report it now has one still.
    const hasStore = storedThrough !== undefined || this.#hasStore !== false;
    this.#note(epochWord, { acknowledged: ackSeq, storedThrough, hasStore });
  }

  /** Accepts the newest report, also a lower one: a cloud may lose frames. */
  #note(
    epochWord: number,
    { acknowledged, storedThrough, hasStore }: {
      acknowledged: number;
      storedThrough: number | undefined;
      hasStore: boolean;
    },
  ): void {
    const before = this.#epochs.get(epochWord);
    const { through: beforeThrough, lost, declared } = before ?? nothing();
    const through = storedThrough ?? (hasStore ? beforeThrough : acknowledged);
    const isUrgent = before === undefined || through < beforeThrough || hasStore !== this.#hasStore;
    this.#hasStore = hasStore;
    this.#set(epochWord, { through, acknowledged, lost, declared });
    this.#save({ isUrgent });
  }

  /** Accepts the former epochs of which the boat has frames. @param current the epoch that is not among them */
  noteFormer(current: number, formers: readonly FormerProgress[]): void {
    const words = new Set([current, ...formers.map(({ epochWord }) => epochWord)]);
    const before = JSON.stringify(this.#content());
    for (const word of [...this.#epochs.keys()]) if (!words.has(word)) this.#epochs.delete(word);
    for (const { epochWord, holes, isHeld } of formers) {
      const { through, ...rest } = this.#epochs.get(epochWord) ?? nothing();
      const [hole] = holes ?? [];
      const known = through === Infinity ? 0 : Math.min(through, hole ? hole.start - 1 : Infinity);
      this.#set(epochWord, { ...rest, through: isHeld ? Infinity : known });
    }
    if (before !== JSON.stringify(this.#content())) this.#save({ isUrgent: true });
  }

  /** See {@linkcode StoredFrames}. */
  noteDeleted({ epochWord, ranges }: EpochRanges): void {
    const progress = this.#epochs.get(epochWord) ?? nothing();
    for (const { start, end } of ranges) progress.lost.add(start, end);
    this.#set(epochWord, progress);
    this.#save({ isUrgent: true });
  }

  /** Saves the progress. */
  async close(): Promise<void> {
    this.#file?.changed();
    await this.#file?.close();
  }

  #set(epochWord: number, progress: Progress): void {
    const { through, lost } = progress;
    if (through > 0) lost.remove(0, Math.min(through, Number.MAX_SAFE_INTEGER - 1) + 1);
    this.#epochs.delete(epochWord);
    this.#epochs.set(epochWord, progress);
    const [oldest] = this.#epochs.keys();
    if (this.#epochs.size > MAX_EPOCHS && oldest !== undefined) this.#epochs.delete(oldest);
  }

  #save({ isUrgent }: { isUrgent: boolean }): void {
    const nowMs = this.#options.clock.monoMs();
    if (!isUrgent && nowMs - this.#savedMs < SAVE_EVERY_MS) return;
    this.#savedMs = nowMs;
    this.#file?.changed();
  }

  #content(): unknown {
    return {
      has_store: this.#hasStore,
      epochs: Array.from(this.#epochs, ([word, { through, acknowledged, lost, declared }]) => ({
        ...{ word, acknowledged },
        ...(through === Infinity ? { complete: true } : { through }),
        lost: [...lost].slice(0, MAX_SAVED_RANGES),
        ...(declared.count > 0 && { declared: [...declared].slice(0, MAX_SAVED_RANGES) }),
      })),
    };
  }
}

/** @throws {SyntaxError | TypeError} not saved by {@linkcode StoredProgress} */
function parseSaved(text: string): Saved {
  const { has_store: hasStore, epochs } = recordOf(JSON.parse(text));
  if (!Array.isArray(epochs)) throw new TypeError("epochs are not a list");
  return {
    hasStore: typeof hasStore === "boolean" ? hasStore : undefined,
    epochs: epochs.slice(-MAX_EPOCHS).map((each: unknown) => {
      const { word, through, complete, acknowledged, lost, declared = [] } = recordOf(each);
      return [numberOf(word), {
        through: complete === true ? Infinity : numberOf(through),
        acknowledged: numberOf(acknowledged),
        lost: rangesOf(lost),
        declared: rangesOf(declared),
      }];
    }),
  };
}

function rangesOf(value: unknown): Ranges {
  try {
    return Ranges.fromJSON(value);
  } catch (error) {
    if (error instanceof RangeError) throw new TypeError(error.message);
    throw error;
  }
}

function recordOf(value: unknown): Record<string, unknown> {
  if (typeof value !== "object" || value === null) throw new TypeError("not an object");
  return { ...value };
}

function numberOf(value: unknown): number {
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) return value;
  throw new TypeError(`not a number: ${value}`);
}

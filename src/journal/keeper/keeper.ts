import { type Clock, type Logger, systemClock } from "../../base/mod.ts";
import { BelievedClock } from "./clock_sanity.ts";
import { DirectoryKeeper, type KeeperStatus } from "./directory_keeper.ts";
import type { RetentionSettings } from "./retention.ts";

/** How often the directory is looked through when nothing else is said. */
export const SCAN_MS = 5 * 60_000;

/** How often it is looked for room while recording is paused. */
const ROOM_EVERY_MS = 2000;

/** How a keeper is made. */
export interface KeeperOptions {
  /** Where the journal files are; of one boat. */
  directory: string;
  /** Which files are kept, and when they are archived. */
  settings: RetentionSettings;
  /** Program that archives; without it nothing is archived. */
  command?: string | undefined;
  /** Whose files these are, for the command. */
  instanceId: string;
  /** Whether another file system is in the directory's place now: nothing is done there. Default never. */
  isAway?: () => Promise<boolean>;
  /** Whether a file, by its name, is still written. Must be true before the file is created. */
  isOpen: (name: string) => boolean;
  /** Whether a file, by its name, can be read as a journal; default: all. Of those that cannot, others warn. */
  isReadable?: (name: string) => boolean;
  /** Told when recording should pause, and when it may go on. */
  onPause?: (isPaused: boolean) => void;
  /** Told the name of every file that is deleted. */
  onRemoved?: (name: string) => void;
  /** Gets what is deleted and archived, and faults. */
  log: Logger;
  /** Default: the machine's. */
  clock?: Clock;
  /** Whether the wall clock can be believed; default: always. As long as it cannot, nothing is too old. */
  isClockRight?: () => boolean;
  /** From 0 up to 1, default Math.random. */
  random?: () => number;
  /** How often the directory is looked through, whatever happens, milliseconds; default 5 minutes. */
  lookEveryMs?: number | undefined;
  /** Longest time for one run of the command, milliseconds. */
  commandTimeoutMs?: number;
}

/**
 * Keeps a directory of journal files within its limits, and has files archived. It looks at what is there rather than at
 * what it was told: a notice only makes it look now, so that none can be lost, and a start finds what the last one left.
 */
export class Keeper {
  readonly #keeper: DirectoryKeeper;
  readonly #clock: Clock;
  readonly #lookEveryMs: number;
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;
  #isDue = false;
  #wakeUp: () => void = () => {};

  /** Makes a keeper that does nothing yet. */
  constructor(options: KeeperOptions) {
    const { directory, instanceId, isOpen, isReadable, onPause, onRemoved, clock = systemClock, log } = options;
    this.#clock = clock;
    this.#lookEveryMs = options.lookEveryMs ?? SCAN_MS;
    const believed = new BelievedClock(clock, { isRight: options.isClockRight, log });
    this.#keeper = new DirectoryKeeper({ id: instanceId, directory }, {
      settings: options.settings,
      command: options.command,
      ...(options.isAway && { isAway: options.isAway }),
      isOpen: (_id, name) => isOpen(name),
      isReadable: (_id, name) => isReadable?.(name) ?? true,
      onPause: (_id, isPaused) => onPause?.(isPaused),
      onRemoved: (_id, name) => onRemoved?.(name),
      log,
      clock,
      nowMs: () => believed.nowMs(),
      random: options.random,
      commandTimeoutMs: options.commandTimeoutMs,
      signal: this.#stop.signal,
      isNamed: false,
    });
  }

  /** What it knows. */
  get status(): KeeperStatus {
    return this.#keeper.status;
  }

  /** Looks now, and from then on now and then and when woken. */
  start(): void {
    this.#running ??= this.#run();
  }

  /** A file was finished, or anything else changed: looks soon. May be called at any time, as often as one likes. */
  wake(): void {
    this.#isDue = true;
    this.#wakeUp();
  }

  /** Ends; a command that runs is ended, too. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#wakeUp();
    await this.#running;
  }

  /** Looks once and does what is to be done. Not to be called while the keeper runs by itself. */
  async look(): Promise<void> {
    // The command may take long, and there may be room before it has ended.
    const timer = setInterval(() => void this.#keeper.lookForRoom(), Math.min(this.#lookEveryMs, ROOM_EVERY_MS));
    try {
      const hasMore = await this.#keeper.look({ archiveMs: SCAN_MS });
      this.#isDue ||= hasMore;
    } finally {
      clearInterval(timer);
    }
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      this.#isDue = false;
      await this.look();
      if (!this.#isDue) await this.#sleep();
    }
  }

  async #sleep(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const untilRetryMs = this.#keeper.retryAtMs - this.#clock.monoMs();
    const everyMs = this.#keeper.status.isPaused ? Math.min(this.#lookEveryMs, ROOM_EVERY_MS) : this.#lookEveryMs;
    const timer = setTimeout(resolve, untilRetryMs > 0 ? Math.min(everyMs, untilRetryMs) : everyMs);
    this.#wakeUp = resolve;
    if (this.#stop.signal.aborted) resolve();
    await promise;
    clearTimeout(timer);
  }
}

import { type Clock, type Logger, systemClock } from "../../base/mod.ts";
import { BelievedClock } from "./clock_sanity.ts";
import { DirectoryKeeper, type KeeperStatus } from "./directory_keeper.ts";
import type { RetentionSettings } from "./retention.ts";

/** Default interval between checks of the directory. */
export const SCAN_MS = 5 * 60_000;

/** Interval between checks for free space while recording is paused. */
const ROOM_EVERY_MS = 2000;

/** Options of a {@linkcode Keeper}. */
export interface KeeperOptions {
  /** Directory of one boat's journal files. */
  directory: string;
  /** Retention limits, and when files are archived. */
  settings: RetentionSettings;
  /** Archive program; default none: nothing is archived. */
  command?: string | undefined;
  /** Id of the instance (boat), passed to the archive command. */
  instanceId: string;
  /** Returns true if another file system is mounted in place of the directory: it is left alone. Default never. */
  isAway?: () => Promise<boolean>;
  /** Whether the named file is still being written. Must be true before the file is created. */
  isOpen: (name: string) => boolean;
  /** Whether the named file is readable as a journal; default all. Other code warns of unreadable files. */
  isReadable?: (name: string) => boolean;
  /** Called when recording should pause, and when it may resume. */
  onPause?: (isPaused: boolean) => void;
  /** Called with the name of each deleted file. */
  onRemoved?: (name: string) => void;
  /** Logs deletions, archived files and faults. */
  log: Logger;
  /** Default: the machine's. */
  clock?: Clock;
  /** Whether the wall clock is trusted; default always. While it is not, nothing is too old. */
  isClockRight?: () => boolean;
  /** Random source from 0 up to 1, default `Math.random`. */
  random?: () => number;
  /** Interval between checks of the directory, milliseconds; default 5 minutes. */
  lookEveryMs?: number | undefined;
  /** Timeout of one run of the command, milliseconds. */
  commandTimeoutMs?: number;
}

/**
 * Enforces the retention limits of a journal directory, and archives files. It reads the directory instead of relying
 * on events: an event only triggers a check, so none can be lost, and a restart finds pending work.
 */
export class Keeper {
  readonly #keeper: DirectoryKeeper;
  readonly #clock: Clock;
  readonly #lookEveryMs: number;
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;
  #isDue = false;
  #wakeUp: () => void = () => {};

  /** Does nothing before `start`. */
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

  /** Checks now, then periodically and when woken. */
  start(): void {
    this.#running ??= this.#run();
  }

  /** Requests a check soon, after a file was completed. May be called at any time. */
  wake(): void {
    this.#isDue = true;
    this.#wakeUp();
  }

  /** Stops, and ends a running command. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#wakeUp();
    await this.#running;
  }

  /** Checks once, deletes and archives. Must not be called after `start`. */
  async look(): Promise<void> {
    // The command may run long, and space may be freed meanwhile.
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

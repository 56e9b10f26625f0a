import { type Clock, systemClock } from "../../base/mod.ts";
import { TrustedClock } from "./clock_sanity.ts";
import {
  DirectoryRetention,
  type RetentionContext,
  type RetentionOptions,
  type RetentionStatus,
} from "./directory_retention.ts";
import { WakeUp } from "./waits.ts";

/** Default interval between checks of a directory, milliseconds. */
export const SCAN_MS = 5 * 60_000;

/** Interval between checks for free space while recording is paused, milliseconds. */
const PAUSED_SCAN_MS = 2000;

/** Options of a {@linkcode JournalRetention}. */
export interface JournalRetentionOptions
  extends RetentionOptions, Pick<RetentionContext, "isUnmounted" | "unstored" | "diskSpace" | "isPending"> {
  /** Directory of the journal files. */
  directory: string;
  /** Id of the instance (boat), passed to the archive command. */
  instanceId: string;
  /** Whether the named file is being written. Must be true before the file is created. */
  isOpen: (name: string) => boolean;
  /** Whether the named file is readable as a journal; default all. Other code warns of unreadable files. */
  isReadable?: (name: string) => boolean;
  /** The true time of the named file's first frame, milliseconds since 1970, if another was recorded; default never. */
  correctedMs?: (name: string) => number | undefined;
  /** Called when recording should pause, and when it may resume. */
  onPause?: (isPaused: boolean) => void;
  /** Called with the name of each deleted file. */
  onRemoved?: (name: string) => void;
}

/**
 * Retention and archiving of one journal directory. It reads the directory instead of relying on events: an event only
 * triggers a check, so none can be lost, and a restart finds pending work.
 */
export class JournalRetention {
  readonly #directory: DirectoryRetention;
  readonly #clock: Clock;
  readonly #checkEveryMs: number;
  readonly #stop = new AbortController();
  readonly #wakeUp = new WakeUp();
  #running: Promise<void> | undefined;

  /** Does nothing before `start`. */
  constructor(options: JournalRetentionOptions) {
    const { directory, instanceId, isOpen, isReadable, onPause, onRemoved, checkIntervalMs = SCAN_MS, ...shared } =
      options;
    const { clock = systemClock, log } = shared;
    const trusted = new TrustedClock(clock, log);
    this.#clock = clock;
    this.#checkEveryMs = checkIntervalMs;
    this.#directory = new DirectoryRetention({ id: instanceId, directory }, {
      ...shared,
      isOpen: (_id, name) => isOpen(name),
      isReadable: (_id, name) => isReadable?.(name) ?? true,
      onPause: (_id, isPaused) => onPause?.(isPaused),
      onRemoved: (_id, name) => onRemoved?.(name),
      clock,
      nowMs: () => trusted.nowMs(),
      signal: this.#stop.signal,
      isNamed: false,
    });
  }

  /** Result of the last check. */
  get status(): RetentionStatus {
    return this.#directory.status;
  }

  /** Checks now, then periodically and when woken. */
  start(): void {
    this.#running ??= this.#run();
  }

  /** Requests a check soon, after a file was completed. May be called at any time. */
  wake(): void {
    this.#wakeUp.wake();
  }

  /** Stops, and ends a running command. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#wakeUp.wake();
    await this.#running;
  }

  /** Checks once, deletes and archives. Must not be called after `start`. Returns true if more work is due now. */
  async check(): Promise<boolean> {
    // The command may run long, and space may be freed meanwhile.
    const timer = setInterval(() => void this.#directory.checkPause(), Math.min(this.#checkEveryMs, PAUSED_SCAN_MS));
    try {
      return await this.#directory.check({ archiveMs: SCAN_MS });
    } finally {
      clearInterval(timer);
    }
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      const hasMore = await this.check();
      if (!hasMore) await this.#wakeUp.wait(this.#restMs);
    }
  }

  get #restMs(): number {
    const everyMs = this.status.isPaused ? Math.min(this.#checkEveryMs, PAUSED_SCAN_MS) : this.#checkEveryMs;
    const untilRetryMs = this.#directory.retryAtMs - this.#clock.monoMs();
    return untilRetryMs > 0 ? Math.min(everyMs, untilRetryMs) : everyMs;
  }
}

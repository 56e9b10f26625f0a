import { systemClock } from "../../base/mod.ts";
import { TrustedClock } from "./clock_sanity.ts";
import {
  DirectoryRetention,
  type InstanceDirectory,
  type RetentionContext,
  type RetentionOptions,
  type RetentionStatus,
} from "./directory_retention.ts";
import { SCAN_MS } from "./journal_retention.ts";
import { waitAtMost, WakeUp } from "./waits.ts";

/** Options of {@linkcode FleetRetention}. `checkIntervalMs` is the duration of a round through all directories. */
export interface FleetRetentionOptions
  extends RetentionOptions, Pick<RetentionContext, "isOpen" | "onPause" | "onRemoving" | "onRemoved"> {
  /** Returns the current directories. Called by a sweep, once per round, and for an unknown id. */
  directories: () => Iterable<InstanceDirectory>;
}

/**
 * Retention and archiving of thousands of journal directories, each within its own limits. Directories are checked one at a
 * time, evenly over a round. One archive command runs at a time, concurrently with the checks, so that a slow one delays no
 * limit. Directories with files to archive queue; each gets one batch per turn. Failures are retried at the check of the
 * directory after its retry interval.
 */
export class FleetRetention {
  readonly #options: FleetRetentionOptions;
  readonly #context: RetentionContext;
  readonly #stop = new AbortController();
  readonly #directories = new Map<string, DirectoryRetention>();
  /** Instances to check before their turn. */
  readonly #woken = new Set<string>();
  /** Instances with files to archive, longest wait first. */
  readonly #waiting = new Set<string>();
  /** Instances with a check or a batch in progress: never both at once. */
  readonly #busy = new Map<string, Promise<unknown>>();
  readonly #checkWakeUp = new WakeUp();
  readonly #archiveWakeUp = new WakeUp();
  #running: Promise<unknown> = Promise.resolve();
  #isStarted = false;
  #archiving: Promise<void> | undefined;
  /** Called when no instance waits for archiving. */
  #onArchived: () => void = () => {};

  /** Does nothing before `start`. */
  constructor(options: FleetRetentionOptions) {
    const { clock = systemClock, log } = options;
    const trusted = new TrustedClock(clock, log);
    this.#options = options;
    this.#context = { ...options, clock, nowMs: () => trusted.nowMs(), signal: this.#stop.signal, isNamed: true };
  }

  /** Result of the last check of an instance's directory; undefined before the first. */
  status(id: string): RetentionStatus | undefined {
    return this.#directories.get(id)?.status;
  }

  /**
   * Checks all directories once, one at a time, before they are written: deletes files, and determines which recordings
   * pause. Then archives every unarchived file once, whatever the trigger.
   *
   * @param options.archiveMs longest time to wait for archiving, which continues after {@linkcode FleetRetention.start}; default 0
   * @param options.signal ends the wait
   * @returns true if all files were tried
   * @throws the signal's reason
   */
  async sweep({ archiveMs = 0, signal }: { archiveMs?: number; signal?: AbortSignal } = {}): Promise<boolean> {
    const checked = this.#round({ pauseMs: () => 0, isSweep: true });
    this.#running = Promise.all([this.#running, checked]);
    await checked;
    if (this.#waiting.size === 0 || archiveMs <= 0) return this.#waiting.size === 0;
    const archived = new Promise<void>((resolve) => this.#onArchived = resolve);
    this.#startArchive();
    const ended = await waitAtMost(archived, { ms: archiveMs, signal });
    if (ended === "aborted") throw signal?.reason;
    return ended === "done";
  }

  /** Starts periodic checks, checks on request, and archiving. */
  start(): void {
    if (this.#isStarted) return;
    this.#isStarted = true;
    this.#running = Promise.all([this.#running, this.#runChecks()]);
    this.#startArchive();
  }

  /** Requests a check of an instance soon, after a file was completed. May be called at any time. */
  wake(id: string): void {
    this.#woken.add(id);
    this.#checkWakeUp.wake();
  }

  /** Stops, and ends a running command. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#checkWakeUp.wake();
    this.#archiveWakeUp.wake();
    await this.#running;
  }

  #startArchive(): void {
    this.#archiving ??= this.#runArchive();
    this.#running = Promise.all([this.#running, this.#archiving]);
  }

  get #isStopped(): boolean {
    return this.#stop.signal.aborted;
  }

  async #runChecks(): Promise<void> {
    const { checkIntervalMs = SCAN_MS } = this.#options;
    while (!this.#isStopped) await this.#round({ pauseMs: (count) => checkIntervalMs / Math.max(1, count) });
  }

  /** Checks each directory once, and those requested meanwhile. */
  async #round(
    { pauseMs, isSweep = false }: { pauseMs: (directories: number) => number; isSweep?: boolean },
  ): Promise<void> {
    const locations = [...this.#options.directories()];
    const ids = new Set(locations.map(({ id }) => id));
    for (const id of this.#directories.keys()) if (!ids.has(id)) this.#directories.delete(id);
    const restMs = pauseMs(locations.length);
    if (locations.length === 0 && restMs > 0) await this.#rest(restMs);
    for (const location of locations) {
      if (this.#isStopped) return;
      await this.#check(location, { isSweep });
      if (restMs > 0) await this.#rest(restMs);
    }
  }

  async #rest(ms: number): Promise<void> {
    if (this.#woken.size === 0 && !this.#isStopped) await this.#checkWakeUp.wait(ms);
    // A copy: instances woken meanwhile come after the next directory of the round.
    for (const id of [...this.#woken]) {
      if (this.#isStopped) return;
      this.#woken.delete(id);
      const location = this.#locationOf(id);
      if (location) await this.#check(location);
    }
  }

  #locationOf(id: string): InstanceDirectory | undefined {
    const known = this.#directories.get(id);
    return known?.location ?? [...this.#options.directories()].find((each) => each.id === id);
  }

  async #check(location: InstanceDirectory, { isSweep = false } = {}): Promise<void> {
    const { id } = location;
    // Archiving a batch includes a check.
    if (this.#busy.has(id)) return;
    const directory = this.#directories.get(id) ?? new DirectoryRetention(location, this.#context);
    this.#directories.set(id, directory);
    if (isSweep) await directory.sweep();
    if (!await this.#exclusively(id, () => directory.check())) return;
    this.#waiting.add(id);
    this.#archiveWakeUp.wake();
  }

  async #runArchive(): Promise<void> {
    while (!this.#isStopped) {
      const [id] = this.#waiting;
      if (id === undefined) {
        this.#onArchived();
        await this.#archiveWakeUp.wait();
      } else {
        this.#waiting.delete(id);
        await this.#busy.get(id);
        const directory = this.#directories.get(id);
        if (directory === undefined) continue;
        if (await this.#exclusively(id, () => directory.check({ archiveMs: 0 }))) this.#waiting.add(id);
        // Archived files may be deleted now.
        this.wake(id);
      }
    }
  }

  async #exclusively(id: string, work: () => Promise<boolean>): Promise<boolean> {
    const done = work();
    this.#busy.set(id, done);
    try {
      return await done;
    } finally {
      this.#busy.delete(id);
    }
  }
}

import { type Clock, type Logger, pause, systemClock } from "../../base/mod.ts";
import { BelievedClock } from "./clock_sanity.ts";
import { DirectoryKeeper, type KeeperContext, type KeeperStatus, type KeptDirectory } from "./directory_keeper.ts";
import { SCAN_MS } from "./keeper.ts";
import type { RetentionSettings } from "./retention.ts";

/** Options of {@linkcode Keepers}. */
export interface KeepersOptions {
  /** The directories that there are now; asked at the sweep, once a round, and for an id that is not known yet. */
  directories: () => Iterable<KeptDirectory>;
  /** Retention limits per directory, and when files are archived. */
  settings: RetentionSettings;
  /** Archive program; default none: nothing is archived. */
  command?: string | undefined;
  /** Whether a file of an instance, by its name, is still written. Must be true before the file is created. */
  isOpen: (id: string, name: string) => boolean;
  /** Called when recording of an instance should pause, and when it may resume. */
  onPause?: (id: string, isPaused: boolean) => void;
  /** Called with the name of each file before deletion, which waits for it. */
  onRemoving?: (id: string, name: string) => Promise<void>;
  /** Called with the name of each deleted file. */
  onRemoved?: (id: string, name: string) => void;
  /** Logs deletions, archived files and faults. */
  log: Logger;
  /** Default: the machine's. */
  clock?: Clock;
  /** Whether the wall clock is trusted; default always. */
  isClockRight?: () => boolean;
  /** Random source from 0 up to 1, default `Math.random`. */
  random?: () => number;
  /** How long a round through all directories takes, milliseconds; default 5 minutes. */
  lookEveryMs?: number | undefined;
  /** Timeout of one run of the command, milliseconds. */
  commandTimeoutMs?: number;
}

/**
 * Keeps thousands of directories of journal files, each within its own limits. One directory is looked at after the other,
 * evenly over a round; one archive command runs at a time, beside the looks, so that a slow one delays no limit. What has
 * to be archived waits in a line, and each directory gets a batch in turn. What failed is tried again, at the earliest
 * after the pause of its directory, when its directory is looked at.
 */
export class Keepers {
  readonly #options: KeepersOptions;
  readonly #around: KeeperContext;
  readonly #stop = new AbortController();
  readonly #keepers = new Map<string, DirectoryKeeper>();
  /** Instances to check before their turn. */
  readonly #woken = new Set<string>();
  /** Instances with files to archive, longest wait first. */
  readonly #waiting = new Set<string>();
  /** Who is looked at now, and until when: nobody is by both the looks and the archive at a time. */
  readonly #busy = new Map<string, Promise<unknown>>();
  readonly #looks = new Pause();
  readonly #archive = new Pause();
  #running: Promise<unknown> = Promise.resolve();
  #isStarted = false;
  #archiving: Promise<void> | undefined;
  /** Told when nothing waits to be archived. */
  #onArchived: () => void = () => {};

  /** Does nothing before `start`. */
  constructor(options: KeepersOptions) {
    const { settings, command, isOpen, onPause, onRemoving, onRemoved, log, random, commandTimeoutMs } = options;
    const { clock = systemClock } = options;
    this.#options = options;
    const believed = new BelievedClock(clock, { isRight: options.isClockRight, log });
    this.#around = {
      ...{ settings, command, isOpen, log, clock, random, commandTimeoutMs },
      onPause: (id, isPaused) => onPause?.(id, isPaused),
      ...(onRemoving && { onRemoving }),
      onRemoved: (id, name) => onRemoved?.(id, name),
      nowMs: () => believed.nowMs(),
      signal: this.#stop.signal,
      isNamed: true,
    };
  }

  /** What is known of an instance's directory; undefined before it was looked at. */
  status(id: string): KeeperStatus | undefined {
    return this.#keepers.get(id)?.status;
  }

  /**
   * Looks at all directories once, one after the other, before anybody writes into them: deletes what is to be deleted,
   * and finds who has to pause. Then every file that was not archived is, whatever the trigger.
   *
   * @param options.archiveMs longest time to wait for that; it goes on after {@linkcode Keepers.start}. Default 0
   * @param options.signal ends the wait
   * @returns whether all of them were tried
   * @throws the signal's reason
   */
  async sweep({ archiveMs = 0, signal }: { archiveMs?: number; signal?: AbortSignal } = {}): Promise<boolean> {
    const looking = this.#round({ pauseMs: () => 0, isSweep: true });
    this.#running = Promise.all([this.#running, looking]);
    await looking;
    if (this.#waiting.size === 0 || archiveMs <= 0) return this.#waiting.size === 0;
    const archived = new Promise<true>((resolve) => this.#onArchived = () => resolve(true));
    this.#startArchive();
    const over = new AbortController();
    const timedOut = pause(archiveMs, AbortSignal.any([over.signal, ...signal ? [signal] : []])).then(() => false);
    try {
      return await Promise.race([archived, timedOut]);
    } finally {
      over.abort();
      timedOut.catch(() => {});
    }
  }

  /** Starts periodic checks, checks on request, and archiving. */
  start(): void {
    if (this.#isStarted) return;
    this.#isStarted = true;
    this.#running = Promise.all([this.#running, this.#runLooks()]);
    this.#startArchive();
  }

  /** Requests a check of an instance soon, after a file was completed. May be called at any time. */
  wake(id: string): void {
    this.#woken.add(id);
    this.#looks.end();
  }

  /** Stops, and ends a running command. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#looks.end();
    this.#archive.end();
    await this.#running;
  }

  #startArchive(): void {
    this.#archiving ??= this.#runArchive();
    this.#running = Promise.all([this.#running, this.#archiving]);
  }

  get #isStopped(): boolean {
    return this.#stop.signal.aborted;
  }

  async #runLooks(): Promise<void> {
    const { lookEveryMs = SCAN_MS } = this.#options;
    while (!this.#isStopped) await this.#round({ pauseMs: (count) => lookEveryMs / Math.max(1, count) });
  }

  /** Checks each directory once, and those requested meanwhile. */
  async #round(
    { pauseMs, isSweep = false }: { pauseMs: (directories: number) => number; isSweep?: boolean },
  ): Promise<void> {
    const places = [...this.#options.directories()];
    const ids = new Set(places.map(({ id }) => id));
    for (const id of this.#keepers.keys()) if (!ids.has(id)) this.#keepers.delete(id);
    const restMs = pauseMs(places.length);
    if (places.length === 0 && restMs > 0) await this.#rest(restMs);
    for (const place of places) {
      if (this.#isStopped) return;
      await this.#look(place, { isSweep });
      if (restMs > 0) await this.#rest(restMs);
    }
  }

  async #rest(ms: number): Promise<void> {
    if (this.#woken.size === 0 && !this.#isStopped) await this.#looks.wait(ms);
    // Those of now: who is woken meanwhile comes after the next of the round.
    for (const id of [...this.#woken]) {
      if (this.#isStopped) return;
      this.#woken.delete(id);
      const place = this.#placeOf(id);
      if (place) await this.#look(place);
    }
  }

  #placeOf(id: string): KeptDirectory | undefined {
    const known = this.#keepers.get(id);
    return known?.place ?? [...this.#options.directories()].find((place) => place.id === id);
  }

  async #look(place: KeptDirectory, { isSweep = false } = {}): Promise<void> {
    const { id } = place;
    // When a batch is archived the directory is looked at anyway.
    if (this.#busy.has(id)) return;
    const keeper = this.#keepers.get(id) ?? new DirectoryKeeper(place, this.#around);
    this.#keepers.set(id, keeper);
    if (isSweep) await keeper.sweep();
    if (!await this.#alone(id, () => keeper.look())) return;
    this.#waiting.add(id);
    this.#archive.end();
  }

  async #runArchive(): Promise<void> {
    while (!this.#isStopped) {
      const [id] = this.#waiting;
      if (id === undefined) {
        this.#onArchived();
        await this.#archive.wait();
      } else {
        this.#waiting.delete(id);
        await this.#busy.get(id);
        const keeper = this.#keepers.get(id);
        if (keeper === undefined) continue;
        if (await this.#alone(id, () => keeper.look({ archiveMs: 0 }))) this.#waiting.add(id);
        // What is archived may go now, and there may be another batch.
        this.wake(id);
      }
    }
  }

  async #alone(id: string, work: () => Promise<boolean>): Promise<boolean> {
    const working = work();
    this.#busy.set(id, working);
    try {
      return await working;
    } finally {
      this.#busy.delete(id);
    }
  }
}

/** A wait that can be ended, also before it began. */
class Pause {
  #isOver = false;
  #resolve: () => void = () => {};

  /** Waits until it is ended, at most so long. */
  async wait(ms?: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#resolve = resolve;
    const timer = ms === undefined ? undefined : setTimeout(resolve, ms);
    if (this.#isOver) resolve();
    await promise;
    clearTimeout(timer);
    this.#isOver = false;
  }

  end(): void {
    this.#isOver = true;
    this.#resolve();
  }
}

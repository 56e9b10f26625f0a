import { backoffMs, type Clock, errorText, type Logger, systemClock } from "../../base/mod.ts";
import { runArchiveCommand } from "./archive_command.ts";
import { type ArchiveFile, batchesOf } from "./archive_protocol.ts";
import { ClockDoubt } from "./clock_doubt.ts";
import { type Listing, listJournalFiles, markArchived, removeJournalFile, removeMarker } from "./journal_folder.ts";
import {
  planRetention,
  type RetentionFile,
  type RetentionPlan,
  type RetentionSettings,
  type StrangeFile,
} from "./retention.ts";

/** How often the directory is looked through when nothing else is said. */
const SCAN_MS = 5 * 60_000;
const RETRY = { firstMs: 60_000, capMs: 3_600_000 };
/** A pause before another try is so much longer or shorter, so that a fleet does not come back at once. */
const RETRY_SPREAD = 0.2;

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

/** What a keeper knows, for health and metrics. */
export interface KeeperStatus {
  /** Journal files in the directory. */
  files: number;
  /** Bytes of all that are ours. */
  bytes: number;
  /** Files whose last try to be archived failed. */
  failed: number;
  /** Files that are left alone. */
  strange: readonly StrangeFile[];
  /** Recording should pause: there is no room. */
  isPaused: boolean;
  /** Why the last look or one of its deeds failed. */
  error?: string;
}

/**
 * Keeps a directory of journal files within its limits, and has files archived. It looks at what is there rather than at
 * what it was told: a notice only makes it look now, so that none can be lost, and a start finds what the last one left.
 */
export class Keeper {
  readonly #options: KeeperOptions;
  readonly #settings: RetentionSettings;
  readonly #clock: Clock;
  readonly #doubt: ClockDoubt;
  #isDoubting = false;
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;
  #isDue = false;
  #wakeUp: () => void = () => {};
  /** Names of files that could not be archived. */
  #failed = new Set<string>();
  #retry = { tries: 0, atMs: 0 };
  #status: KeeperStatus = { files: 0, bytes: 0, failed: 0, strange: [], isPaused: false };
  /** What was logged of a fault that lasts. */
  #told = new Set<string>();

  /** Makes a keeper that does nothing yet. */
  constructor(options: KeeperOptions) {
    this.#options = options;
    this.#settings = options.command ? options.settings : { ...options.settings, archive: "off" };
    this.#clock = options.clock ?? systemClock;
    this.#doubt = new ClockDoubt(this.#clock);
  }

  /** What it knows. */
  get status(): KeeperStatus {
    return this.#status;
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
    let error: string | undefined;
    const attempt = async (work: () => Promise<void>): Promise<boolean> => {
      try {
        await work();
        return true;
      } catch (cause) {
        error = errorText(cause);
        this.#tellOnce(error);
        return false;
      }
    };
    await attempt(async () => {
      const listing = await listJournalFiles(this.#options.directory);
      const plan = this.#plan(listing);
      this.#note(plan, listing);
      for (const marker of listing.orphans) await attempt(() => removeMarker(this.#options.directory, marker));
      for (const removal of plan.remove) await attempt(() => this.#remove(removal));
      await this.#archive(plan, attempt);
    });
    this.#status = { ...this.#status, failed: this.#failed.size, ...(error === undefined ? {} : { error }) };
    if (error === undefined) this.#told.clear();
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
    const untilRetryMs = this.#retry.atMs - this.#clock.monoMs();
    const { lookEveryMs = SCAN_MS } = this.#options;
    const timer = setTimeout(resolve, untilRetryMs > 0 ? Math.min(lookEveryMs, untilRetryMs) : lookEveryMs);
    this.#wakeUp = resolve;
    if (this.#stop.signal.aborted) resolve();
    await promise;
    clearTimeout(timer);
  }

  #plan({ files }: Listing): RetentionPlan {
    const waiting = new Set(files.filter(({ isArchived }) => !isArchived).map(({ name }) => name));
    this.#failed = new Set([...this.#failed].filter((name) => waiting.has(name)));
    const { isOpen, isClockRight = () => true } = this.#options;
    const described = files.map(({ name, bytes, isArchived }): RetentionFile => ({
      name,
      bytes,
      isOpen: isOpen(name),
      archive: isArchived ? "done" : this.#failed.has(name) ? "failed" : "new",
    }));
    const nowMs = isClockRight() ? this.#nowMs() : undefined;
    return planRetention(described, { settings: this.#settings, nowMs });
  }

  #nowMs(): number | undefined {
    const nowMs = this.#doubt.nowMs();
    const isDoubting = nowMs === undefined;
    if (isDoubting && !this.#isDoubting) {
      this.#options.log.warn("the clock has jumped: for a day no journal file is deleted for its age");
    }
    this.#isDoubting = isDoubting;
    return nowMs;
  }

  #note({ strange, isPaused, totalBytes }: RetentionPlan, { files }: Listing): void {
    const { onPause = () => {}, isReadable = () => true, log } = this.#options;
    const known = new Set(this.#status.strange.map(({ name }) => name));
    const why = { name: "its name is none of ours", clock: "its time cannot be true" };
    for (const file of strange) {
      if (!known.has(file.name) && isReadable(file.name)) {
        log.warn("journal file is left alone", { file: file.name, reason: why[file.why] });
      }
    }
    const wasPaused = this.#status.isPaused;
    this.#status = { files: files.length, bytes: totalBytes, failed: this.#failed.size, strange, isPaused };
    if (isPaused === wasPaused) return;
    if (isPaused) log.error("recording should pause: no room, and files are not archived", { bytes: totalBytes });
    else log.info("recording may go on");
    onPause(isPaused);
  }

  async #remove({ file, why }: RetentionPlan["remove"][number]): Promise<void> {
    const { directory, isOpen, log } = this.#options;
    if (isOpen(file.name)) return;
    await removeJournalFile(directory, file.name);
    const isLost = this.#settings.archive !== "off" && file.archive !== "done";
    log[isLost ? "warn" : "info"]("journal file deleted", { file: file.name, reason: why, archived: !isLost });
    this.#failed.delete(file.name);
    this.#options.onRemoved?.(file.name);
  }

  async #archive(plan: RetentionPlan, attempt: (work: () => Promise<void>) => Promise<boolean>): Promise<void> {
    const startMs = this.#clock.monoMs();
    const isRetry = plan.retry.length > 0 && startMs >= this.#retry.atMs;
    const wanted = isRetry ? [...plan.archive, ...plan.retry] : plan.archive;
    const { directory, isOpen } = this.#options;
    const files = wanted.filter(({ name }) => !isOpen(name))
      .map(({ name, bytes }): ArchiveFile => ({ name, bytes, path: `${directory}/${name}` }));
    let isFailing = false;
    for (const batch of batchesOf(files)) {
      if (this.#stop.signal.aborted) return;
      if (this.#clock.monoMs() - startMs > SCAN_MS) {
        // The limits are looked after meanwhile.
        this.#isDue = true;
        break;
      }
      const failed = await this.#archiveBatch(batch, attempt);
      isFailing ||= failed > 0;
    }
    if (this.#failed.size === 0) this.#retry = { tries: 0, atMs: 0 };
    else if (isFailing && startMs >= this.#retry.atMs) this.#retryLater();
  }

  /** Archives a batch, marks what is archived, and gives the number of files that are not. */
  async #archiveBatch(
    batch: readonly ArchiveFile[],
    attempt: (work: () => Promise<void>) => Promise<boolean>,
  ): Promise<number> {
    const { command = "", instanceId, directory, log, commandTimeoutMs: timeoutMs } = this.#options;
    const outcomes = await runArchiveCommand(batch, {
      command,
      instanceId,
      signal: this.#stop.signal,
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    });
    const done = batch.filter(({ path }) => outcomes.get(path)?.status === "ok").map(({ name }) => name);
    const isMarked = await attempt(() => markArchived(directory, done));
    if (isMarked) { for (const name of done) this.#failed.delete(name); }
    // What waits for room does not wait for the next look.
    if (isMarked && done.length > 0 && this.#status.isPaused) this.#isDue = true;
    // Whoever was told to end has not failed.
    if (this.#stop.signal.aborted) return 0;
    const failed = batch.filter(({ name }) => !isMarked || !done.includes(name));
    for (const { name, path } of failed) {
      this.#failed.add(name);
      const outcome = outcomes.get(path);
      if (outcome?.status === "error") log.warn("journal file not archived", { file: name, error: outcome.error });
    }
    return failed.length;
  }

  #retryLater(): void {
    const tries = this.#retry.tries + 1;
    const spread = 1 + RETRY_SPREAD * (2 * (this.#options.random ?? Math.random)() - 1);
    this.#retry = { tries, atMs: this.#clock.monoMs() + backoffMs(tries, RETRY) * spread };
  }

  #tellOnce(error: string): void {
    if (!this.#told.has(error)) this.#options.log.warn("journal files cannot be looked after", { error });
    this.#told.add(error);
  }
}

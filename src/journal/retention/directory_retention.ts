import {
  backoffMs,
  type Clock,
  type DiskSpace,
  errorText,
  type LogFields,
  type Logger,
  removeIfExists,
} from "../../base/mod.ts";
import { parseFileName } from "../file/name.ts";
import { runArchiveCommand } from "./archive_command.ts";
import { type ArchiveFile, batchesOf } from "./archive_protocol.ts";
import { dateFile, type Listing, listJournalFiles, markArchived, removeJournalFile } from "./listing.ts";
import {
  planRetention,
  type RetentionFile,
  type RetentionPlan,
  type RetentionSettings,
  type StrangeFile,
} from "./plan.ts";
import type { EpochRanges, UnstoredFiles } from "./unstored_files.ts";

/** Runs an action; returns true if it succeeded. */
type Attempt = (work: () => Promise<void>) => Promise<boolean>;

const RETRY = { firstMs: 60_000, capMs: 3_600_000 };
/** Maximum retry interval while recording is paused: space may have been freed. */
const PAUSED_RETRY_MS = 15_000;
/** Jitter of the retry interval, so that a fleet does not retry at once. */
const RETRY_SPREAD = 0.2;

/** State of retention and archiving, for health and metrics. */
export interface RetentionStatus {
  /** Journal files in the directory. */
  files: number;
  /** Total bytes of the journal's own files and their sidecars. */
  bytes: number;
  /** Files whose last archiving attempt failed. */
  failed: number;
  /** Failed archiving attempts since the start. */
  archiveFailures: number;
  /** Files that are neither archived nor deleted. */
  strange: readonly StrangeFile[];
  /** True if recording should pause for lack of space. */
  isPaused: boolean;
  /** Files that are too old, and kept because the cloud has not stored all of their frames. */
  kept: number;
  /** Frames deleted since the start that the cloud had not stored. */
  deletedUnstored: number;
  /** Reason why the last check, or one of its actions, failed. */
  error?: string;
}

/** The journal directory of an instance (boat). */
export interface InstanceDirectory {
  /** Id of the instance, passed to the archive command. */
  id: string;
  directory: string;
}

/** Options of retention and archiving, for one directory or many. */
export interface RetentionOptions {
  /** Limits for each directory, and when files are archived. */
  settings: RetentionSettings;
  /** Archive program; default none: nothing is archived. */
  command?: string | undefined;
  /** Gets deletions, archived files and faults. */
  log: Logger;
  /** Default: the system's clock. */
  clock?: Clock;
  /** Random source from 0 up to 1, default `Math.random`. */
  random?: (() => number) | undefined;
  /** Interval between checks of a directory, milliseconds; default 5 minutes. */
  checkIntervalMs?: number | undefined;
}

/** Options and state that all directories share. */
export interface RetentionContext extends Omit<RetentionOptions, "clock" | "checkIntervalMs"> {
  /** Returns true if another file system is mounted in place of the directory: then nothing is done. Default never. */
  isUnmounted?: () => Promise<boolean>;
  /** Whether the named file is being written. Must be true before the file is created. */
  isOpen: (id: string, name: string) => boolean;
  /** Whether the named file will have its signature soon, with which it is archived; default never. */
  isPending?: (name: string) => boolean;
  /** Whether the named file is readable as a journal; default all. Other code warns of unreadable files. */
  isReadable?: (id: string, name: string) => boolean;
  /** The true time of the named file's first frame, milliseconds since 1970, if another was recorded; default never. */
  correctedMs?: (name: string) => number | undefined;
  /** Called when recording should pause, and when it may resume. */
  onPause?: (id: string, isPaused: boolean) => void;
  /** Called with the name of each file before deletion, which waits for it. */
  onRemoving?: (id: string, name: string) => Promise<void>;
  /** Called with the name of each deleted file. */
  onRemoved?: (id: string, name: string) => void;
  /** Finds files with frames that the cloud has not stored; absent: files are deleted regardless. */
  unstored?: UnstoredFiles | undefined;
  /** Reads the space of a directory's file system, which limits how many such files are kept; absent: nothing does. */
  diskSpace?: ((directory: string) => Promise<DiskSpace>) | undefined;
  /** Clock for retry intervals. */
  clock: Clock;
  /** Time of day, milliseconds since 1970; undefined while it is not trusted: then no file is too old. */
  nowMs: () => number | undefined;
  /** Aborts the command and running checks. */
  signal: AbortSignal;
  /** Whether log lines name the instance. */
  isNamed: boolean;
}

/** Files to archive now. */
interface Waiting {
  files: readonly ArchiveFile[];
  /** True if earlier failures are among them. */
  isRetry: boolean;
  /** Names of files that are archived early. */
  early: ReadonlySet<string>;
}

/** One shared object: of thousands of directories, few have any names. */
const NO_NAMES: ReadonlySet<string> = new Set();
const NOTHING: RetentionStatus = {
  ...{ files: 0, bytes: 0, failed: 0, archiveFailures: 0, strange: [], isPaused: false },
  ...{ kept: 0, deletedUnstored: 0 },
};

/**
 * Enforces the retention limits of one directory and archives its files, at each {@linkcode DirectoryRetention.check}.
 * Between checks it keeps no file open, only the list of failed files.
 */
export class DirectoryRetention {
  readonly location: InstanceDirectory;
  readonly #context: RetentionContext;
  readonly #settings: RetentionSettings;
  /** Names of files that could not be archived. */
  #failed = NO_NAMES;
  #archiveFailures = 0;
  #deletedUnstored = 0;
  /** Names of files that a sweep has yet to archive, due or not. */
  #toSweep = NO_NAMES;
  #retry = { tries: 0, triedMs: 0, atMs: 0 };
  #status = NOTHING;
  /** Messages of persistent faults that were logged already. */
  #reported = NO_NAMES;

  constructor(location: InstanceDirectory, context: RetentionContext) {
    this.location = location;
    this.#context = context;
    this.#settings = context.command ? context.settings : { ...context.settings, archive: "off" };
  }

  /** Result of the last check. */
  get status(): RetentionStatus {
    return this.#status;
  }

  /** Time of the next retry, monotonic milliseconds; 0: nothing failed. */
  get retryAtMs(): number {
    const { triedMs, atMs } = this.#retry;
    return this.#status.isPaused ? Math.min(atMs, triedMs + PAUSED_RETRY_MS) : atMs;
  }

  /** Schedules one archiving attempt for every present file that is not archived. */
  async sweep(): Promise<void> {
    if (this.#settings.archive === "off") return;
    // The next check reports an unreadable directory.
    const { files } = await listJournalFiles(this.location.directory).catch(() => ({ files: [] }));
    this.#toSweep = new Set(
      files.filter((file) => !file.isArchived && parseFileName(file.name)).map(({ name }) => name),
    );
  }

  /**
   * Checks the directory once, and deletes files. Must not run concurrently.
   *
   * @param options.archiveMs also archives: starts batches, at least one, until this time has passed; default no archiving
   * @returns true if more work is due now
   */
  async check({ archiveMs }: { archiveMs?: number } = {}): Promise<boolean> {
    const { directory } = this.location;
    let error: string | undefined;
    let hasMore = false;
    const attempt: Attempt = async (work) => {
      try {
        await work();
        return true;
      } catch (cause) {
        error = errorText(cause);
        this.#warnOnce(error);
        return false;
      }
    };
    await attempt(async () => {
      if (await this.#context.isUnmounted?.()) {
        throw new Error(`"${directory}" is not mounted: another file system is in its place`);
      }
      const listing = await listJournalFiles(directory);
      const plan = await this.#plan(listing);
      this.#note(plan, listing);
      const nowMs = this.#context.nowMs();
      for (const { name } of plan.undated) {
        if (nowMs !== undefined) await attempt(() => dateFile(directory, { name, nowMs }));
      }
      for (const marker of listing.orphans) await attempt(() => removeIfExists(`${directory}/${marker}`));
      for (const removal of plan.remove) await attempt(() => this.#remove(removal));
      hasMore = await this.#archive(this.#waiting(plan, listing), { archiveMs, attempt });
    });
    const [failed, archiveFailures, deletedUnstored] = [
      this.#failed.size,
      this.#archiveFailures,
      this.#deletedUnstored,
    ];
    this.#status = { ...this.#status, failed, archiveFailures, deletedUnstored, ...(error !== undefined && { error }) };
    if (error === undefined) this.#reported = NO_NAMES;
    return hasMore;
  }

  /** Checks only whether a pause may end. May be called while {@linkcode DirectoryRetention.check} archives. */
  async checkPause(): Promise<void> {
    if (!this.#status.isPaused) return;
    try {
      if (await this.#context.isUnmounted?.()) return;
      const listing = await listJournalFiles(this.location.directory);
      const plan = await this.#plan(listing);
      if (!plan.isPaused) this.#note(plan, listing);
    } catch {
      // Reported by the next check.
    }
  }

  async #plan({ files }: Listing): Promise<RetentionPlan> {
    const waiting = new Set(files.filter(({ isArchived }) => !isArchived).map(({ name }) => name));
    if (this.#failed.size > 0) this.#failed = this.#failed.intersection(waiting);
    const { isOpen, nowMs } = this.#context;
    // A file that is completed during this check is left to the next one, which knows whether it is stored.
    const open = new Set(files.filter(({ name }) => isOpen(this.location.id, name)).map(({ name }) => name));
    const { unstored, disk } = await this.#unstored(files.filter(({ name }) => !open.has(name)));
    const described = files.map(({ name, bytes, sidecarBytes, evidence, modifiedMs, isArchived }): RetentionFile => ({
      name,
      bytes,
      sidecarBytes,
      evidence,
      modifiedMs,
      correctedMs: this.#context.correctedMs?.(name),
      isOpen: open.has(name),
      archive: isArchived ? "done" : this.#failed.has(name) ? "failed" : "new",
      isStored: !unstored.has(name),
    }));
    return planRetention(described, { settings: this.#settings, nowMs: nowMs(), disk });
  }

  /** Names of those complete files that have frames which are not stored, and the space to keep them. */
  async #unstored(
    complete: Listing["files"],
  ): Promise<{ unstored: ReadonlySet<string>; disk?: DiskSpace | undefined }> {
    const { unstored, diskSpace } = this.#context;
    const { directory } = this.location;
    if (!unstored?.isKept) return { unstored: NO_NAMES };
    // Files are kept also where the space is unknown: the size limit still applies.
    const disk = await diskSpace?.(directory).catch((error: unknown) => {
      this.#warnOnce(`free space is unknown: ${errorText(error)}`);
      return undefined;
    });
    return { unstored: await unstored.among(complete.map(({ name }) => name)), disk };
  }

  #note({ strange, isPaused, totalBytes, kept }: RetentionPlan, { files }: Listing): void {
    const { onPause, isReadable, log } = this.#context;
    const { id } = this.location;
    const known = new Set(this.#status.strange.map(({ name }) => name));
    const why = { name: "its name has another form", clock: "its time is implausible" };
    for (const file of strange) {
      if (!known.has(file.name) && isReadable?.(id, file.name) !== false) {
        log.warn("journal file is left alone", this.#fields({ file: file.name, reason: why[file.why] }));
      }
    }
    const wasPaused = this.#status.isPaused;
    this.#status = {
      ...{ files: files.length, bytes: totalBytes, kept: kept.length, strange, isPaused },
      ...{ failed: this.#failed.size, archiveFailures: this.#archiveFailures, deletedUnstored: this.#deletedUnstored },
    };
    if (isPaused === wasPaused) return;
    if (isPaused) {
      log.error("recording should pause: no space, and files are not archived", this.#fields({ bytes: totalBytes }));
    } else log.info("recording may resume", this.#fields());
    onPause?.(id, isPaused);
  }

  async #remove({ file, why }: RetentionPlan["remove"][number]): Promise<void> {
    const { id, directory } = this.location;
    const { isOpen, onRemoving, onRemoved, unstored, log } = this.#context;
    if (isOpen(id, file.name)) return;
    const lost = file.isStored === false ? await unstored?.framesOf(file.name) : undefined;
    await onRemoving?.(id, file.name);
    await removeJournalFile(directory, file.name);
    const isLost = this.#settings.archive !== "off" && file.archive !== "done";
    const fields = this.#fields({ file: file.name, reason: why, archived: file.archive === "done" });
    if (lost) this.#noteUnstored(lost, fields);
    else log[isLost ? "warn" : "info"]("journal file deleted", fields);
    this.#failed = this.#failed.difference(new Set([file.name]));
    onRemoved?.(id, file.name);
  }

  #noteUnstored(lost: EpochRanges, fields: LogFields): void {
    const { unstored, log } = this.#context;
    const frames = lost.ranges.reduce((sum, { start, end }) => sum + end - start, 0);
    const [first, last] = [lost.ranges[0]?.start, (lost.ranges.at(-1)?.end ?? NaN) - 1];
    this.#deletedUnstored += frames;
    log.warn("journal file deleted before the cloud stored it", {
      ...fields,
      frames,
      ...(first !== undefined && { firstSeq: first, lastSeq: last }),
    });
    unstored?.noteDeleted(lost);
  }

  /** Files to archive now, oldest first. */
  #waiting({ archive, retry, remove }: RetentionPlan, listing: Listing): Waiting {
    const isRetry = retry.length > 0 && this.#context.clock.monoMs() >= this.retryAtMs;
    const { id, directory } = this.location;
    const due = isRetry ? [...archive, ...retry] : archive;
    const planned = new Set([...archive, ...retry, ...remove.map(({ file }) => file)].map(({ name }) => name));
    const swept = this.#toSweep.size === 0 ? [] : listing.files
      .filter(({ name, isArchived }) => this.#toSweep.has(name) && !isArchived && !planned.has(name))
      .sort((one, other) => one.name < other.name ? -1 : 1);
    const { isOpen, isPending } = this.#context;
    const files = [...due, ...swept].filter(({ name }) => !isOpen(id, name) && !isPending?.(name))
      .map(({ name, bytes, evidence }): ArchiveFile => ({ name, bytes, path: `${directory}/${name}`, evidence }));
    return { files, isRetry, early: new Set(swept.map(({ name }) => name)) };
  }

  /** Archives waiting files within the time limit. Returns true if more work is due now. */
  async #archive(
    { files, isRetry, early }: Waiting,
    { archiveMs, attempt }: { archiveMs: number | undefined; attempt: Attempt },
  ): Promise<boolean> {
    if (archiveMs === undefined) return files.length > 0;
    const { clock, signal } = this.#context;
    const startMs = clock.monoMs();
    let [isFailing, hasMore] = [false, false];
    for (const [i, batch] of [...batchesOf(files)].entries()) {
      if (signal.aborted) return false;
      if (clock.monoMs() - startMs >= archiveMs && i > 0) {
        // The limits are enforced before the next batch.
        hasMore = true;
        break;
      }
      const failed = await this.#archiveBatch(batch, { early, attempt });
      isFailing ||= failed > 0;
      // While recording is paused, archived files are deleted at once.
      hasMore ||= failed < batch.length && this.#status.isPaused;
    }
    if (this.#failed.size === 0) this.#retry = { tries: 0, triedMs: 0, atMs: 0 };
    else if (isFailing && (isRetry || startMs >= this.retryAtMs)) this.#retryLater();
    return hasMore;
  }

  /** Archives a batch and marks archived files. Returns the number of due files that failed. */
  async #archiveBatch(
    batch: readonly ArchiveFile[],
    { early, attempt }: { early: ReadonlySet<string>; attempt: Attempt },
  ): Promise<number> {
    const { id, directory } = this.location;
    const { command = "", log, signal } = this.#context;
    const outcomes = await runArchiveCommand(batch, { command, instanceId: id, signal });
    const done = batch.filter(({ path }) => outcomes.get(path)?.status === "ok").map(({ name }) => name);
    const isMarked = await attempt(() => markArchived(directory, done));
    if (isMarked) this.#failed = this.#failed.difference(new Set(done));
    // An aborted command is no failure.
    if (signal.aborted) return 0;
    this.#toSweep = this.#toSweep.difference(new Set(batch.map(({ name }) => name)));
    const failed = batch.filter(({ name }) => !isMarked || !done.includes(name));
    this.#archiveFailures += failed.length;
    for (const { name, path } of failed) {
      const outcome = outcomes.get(path);
      // Logged once: while recording is paused, retries follow every few seconds.
      if (outcome?.status !== "error" || this.#failed.has(name)) continue;
      log.warn("journal file not archived", this.#fields({ file: name, error: outcome.error }));
    }
    // Only due files count as failed: others are tried again before they are deleted.
    const due = failed.filter(({ name }) => !early.has(name));
    this.#failed = this.#failed.union(new Set(due.map(({ name }) => name)));
    return due.length;
  }

  #retryLater(): void {
    const tries = this.#retry.tries + 1;
    const spread = 1 + RETRY_SPREAD * (2 * (this.#context.random ?? Math.random)() - 1);
    const triedMs = this.#context.clock.monoMs();
    this.#retry = { tries, triedMs, atMs: triedMs + backoffMs(tries, RETRY) * spread };
  }

  #warnOnce(error: string): void {
    if (this.#reported.has(error)) return;
    this.#context.log.warn("journal retention failed", this.#fields({ error }));
    this.#reported = this.#reported.union(new Set([error]));
  }

  #fields(fields: LogFields = {}): LogFields {
    return this.#context.isNamed ? { id: this.location.id, ...fields } : fields;
  }
}

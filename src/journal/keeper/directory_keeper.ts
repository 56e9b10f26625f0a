import { backoffMs, type Clock, errorText, type LogFields, type Logger } from "../../base/mod.ts";
import { parseFileName } from "../file/name.ts";
import { runArchiveCommand } from "./archive_command.ts";
import { type ArchiveFile, batchesOf } from "./archive_protocol.ts";
import {
  dateFile,
  type Listing,
  listJournalFiles,
  markArchived,
  removeJournalFile,
  removeMarker,
} from "./journal_folder.ts";
import {
  planRetention,
  type RetentionFile,
  type RetentionPlan,
  type RetentionSettings,
  type StrangeFile,
} from "./retention.ts";

/** Runs an action; returns true if it succeeded. */
type Attempt = (work: () => Promise<void>) => Promise<boolean>;

const RETRY = { firstMs: 60_000, capMs: 3_600_000 };
/** Maximum retry interval while recording is paused: space may have been freed. */
const PAUSED_RETRY_MS = 15_000;
/** Jitter of the retry interval, so that a fleet does not retry at once. */
const RETRY_SPREAD = 0.2;

/** State of retention and archiving, for health and metrics. */
export interface KeeperStatus {
  /** Journal files in the directory. */
  files: number;
  /** Total bytes of the journal's own files. */
  bytes: number;
  /** Files whose last archiving attempt failed. */
  failed: number;
  /** Failed archiving attempts since the start. */
  archiveFailures: number;
  /** Files that are neither archived nor deleted. */
  strange: readonly StrangeFile[];
  /** True if recording should pause for lack of space. */
  isPaused: boolean;
  /** Reason why the last check, or one of its actions, failed. */
  error?: string;
}

/** A directory of journal files, and the boat it belongs to. */
export interface KeptDirectory {
  /** Id of the instance (boat), passed to the archive command. */
  id: string;
  directory: string;
}

/** Options that directories share. */
export interface KeeperContext {
  /** Retention limits, and when files are archived. */
  settings: RetentionSettings;
  /** Archive program; default none: nothing is archived. */
  command?: string | undefined;
  /** Returns true if another file system is mounted in place of the directory: it is left alone. Default never. */
  isAway?: () => Promise<boolean>;
  /** Whether the named file is still being written. Must be true before the file is created. */
  isOpen: (id: string, name: string) => boolean;
  /** Whether the named file is readable as a journal; default all. Other code warns of unreadable files. */
  isReadable?: (id: string, name: string) => boolean;
  /** Called when recording should pause, and when it may resume. */
  onPause?: (id: string, isPaused: boolean) => void;
  /** Called with the name of each file before deletion, which waits for it. */
  onRemoving?: (id: string, name: string) => Promise<void>;
  /** Called with the name of each deleted file. */
  onRemoved?: (id: string, name: string) => void;
  /** Logs deletions, archived files and faults. */
  log: Logger;
  /** Clock for retry intervals. */
  clock: Clock;
  /** Time of day, milliseconds since 1970; undefined while it is not trusted: then nothing is too old. */
  nowMs: () => number | undefined;
  /** Random source from 0 up to 1, default `Math.random`. */
  random?: (() => number) | undefined;
  /** Timeout of one run of the command, milliseconds. */
  commandTimeoutMs?: number | undefined;
  /** Aborts the command and running checks. */
  signal: AbortSignal;
  /** Whether log lines name the boat. */
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

/** Shared: few of thousands of directories have any. */
const NO_NAMES: ReadonlySet<string> = new Set();
const NOTHING: KeeperStatus = { files: 0, bytes: 0, failed: 0, archiveFailures: 0, strange: [], isPaused: false };

/**
 * Enforces the retention limits of one directory and archives its files when `look` is called. Between two checks it has
 * nothing open, and remembers what failed.
 */
export class DirectoryKeeper {
  /** Where it looks. */
  readonly place: KeptDirectory;
  readonly #around: KeeperContext;
  readonly #settings: RetentionSettings;
  /** Names of files that could not be archived. */
  #failed = NO_NAMES;
  #archiveFailures = 0;
  /** Names of files that a sweep has yet to archive, due or not. */
  #toSweep = NO_NAMES;
  #retry = { tries: 0, triedMs: 0, atMs: 0 };
  #status = NOTHING;
  /** Texts of persistent faults that were logged already. */
  #told = NO_NAMES;

  constructor(place: KeptDirectory, around: KeeperContext) {
    this.place = place;
    this.#around = around;
    this.#settings = around.command ? around.settings : { ...around.settings, archive: "off" };
  }

  /** What it knows. */
  get status(): KeeperStatus {
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
    const { files } = await listJournalFiles(this.place.directory).catch(() => ({ files: [] }));
    this.#toSweep = new Set(
      files.filter((file) => !file.isArchived && parseFileName(file.name)).map(({ name }) => name),
    );
  }

  /**
   * Checks the directory once, and deletes files. Must not run concurrently.
   *
   * @param options.archiveMs archives, too: batches are begun as long as so much time has not passed, at least one;
   *   left out: nothing is archived
   * @returns true if more work is due now
   */
  async look({ archiveMs }: { archiveMs?: number } = {}): Promise<boolean> {
    const { directory } = this.place;
    let error: string | undefined;
    let hasMore = false;
    const attempt: Attempt = async (work) => {
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
      if (await this.#around.isAway?.()) {
        throw new Error(`"${directory}" is not there: another file system is in its place`);
      }
      const listing = await listJournalFiles(directory);
      const plan = this.#plan(listing);
      this.#note(plan, listing);
      const nowMs = this.#around.nowMs();
      for (const { name } of plan.undated) {
        if (nowMs !== undefined) await attempt(() => dateFile(directory, { name, nowMs }));
      }
      for (const marker of listing.orphans) await attempt(() => removeMarker(directory, marker));
      for (const removal of plan.remove) await attempt(() => this.#remove(removal));
      hasMore = await this.#archive(this.#waiting(plan, listing), { archiveMs, attempt });
    });
    const [failed, archiveFailures] = [this.#failed.size, this.#archiveFailures];
    this.#status = { ...this.#status, failed, archiveFailures, ...(error === undefined ? {} : { error }) };
    if (error === undefined) this.#told = NO_NAMES;
    return hasMore;
  }

  /** Looks whether a pause may end, and does nothing else: also while {@linkcode DirectoryKeeper.look} archives. */
  async lookForRoom(): Promise<void> {
    if (!this.#status.isPaused) return;
    try {
      if (await this.#around.isAway?.()) return;
      const listing = await listJournalFiles(this.place.directory);
      const plan = this.#plan(listing);
      if (!plan.isPaused) this.#note(plan, listing);
    } catch {
      // The next look reports it.
    }
  }

  #plan({ files }: Listing): RetentionPlan {
    const waiting = new Set(files.filter(({ isArchived }) => !isArchived).map(({ name }) => name));
    if (this.#failed.size > 0) this.#failed = this.#failed.intersection(waiting);
    const { isOpen, nowMs } = this.#around;
    const described = files.map(({ name, bytes, modifiedMs, isArchived }): RetentionFile => ({
      name,
      bytes,
      modifiedMs,
      isOpen: isOpen(this.place.id, name),
      archive: isArchived ? "done" : this.#failed.has(name) ? "failed" : "new",
    }));
    return planRetention(described, { settings: this.#settings, nowMs: nowMs() });
  }

  #note({ strange, isPaused, totalBytes }: RetentionPlan, { files }: Listing): void {
    const { onPause, isReadable, log } = this.#around;
    const { id } = this.place;
    const known = new Set(this.#status.strange.map(({ name }) => name));
    const why = { name: "its name is none of ours", clock: "its time cannot be true" };
    for (const file of strange) {
      if (!known.has(file.name) && isReadable?.(id, file.name) !== false) {
        log.warn("journal file is left alone", this.#fields({ file: file.name, reason: why[file.why] }));
      }
    }
    const wasPaused = this.#status.isPaused;
    const [failed, archiveFailures] = [this.#failed.size, this.#archiveFailures];
    this.#status = { files: files.length, bytes: totalBytes, failed, archiveFailures, strange, isPaused };
    if (isPaused === wasPaused) return;
    if (isPaused) {
      log.error("recording should pause: no room, and files are not archived", this.#fields({ bytes: totalBytes }));
    } else log.info("recording may go on", this.#fields());
    onPause?.(id, isPaused);
  }

  async #remove({ file, why }: RetentionPlan["remove"][number]): Promise<void> {
    const { id, directory } = this.place;
    const { isOpen, onRemoving, onRemoved, log } = this.#around;
    if (isOpen(id, file.name)) return;
    await onRemoving?.(id, file.name);
    await removeJournalFile(directory, file.name);
    const isLost = this.#settings.archive !== "off" && file.archive !== "done";
    const fields = this.#fields({ file: file.name, reason: why, archived: !isLost });
    log[isLost ? "warn" : "info"]("journal file deleted", fields);
    this.#failed = this.#failed.difference(new Set([file.name]));
    onRemoved?.(id, file.name);
  }

  /** Files to archive now, oldest first. */
  #waiting({ archive, retry, remove }: RetentionPlan, listing: Listing): Waiting {
    const isRetry = retry.length > 0 && this.#around.clock.monoMs() >= this.retryAtMs;
    const { id, directory } = this.place;
    const due = isRetry ? [...archive, ...retry] : archive;
    const planned = new Set([...archive, ...retry, ...remove.map(({ file }) => file)].map(({ name }) => name));
    const swept = this.#toSweep.size === 0 ? [] : listing.files
      .filter(({ name, isArchived }) => this.#toSweep.has(name) && !isArchived && !planned.has(name))
      .sort((one, other) => one.name < other.name ? -1 : 1);
    const files = [...due, ...swept].filter(({ name }) => !this.#around.isOpen(id, name))
      .map(({ name, bytes }): ArchiveFile => ({ name, bytes, path: `${directory}/${name}` }));
    return { files, isRetry, early: new Set(swept.map(({ name }) => name)) };
  }

  /** Archives waiting files within the time limit. Returns true if more work is due now. */
  async #archive(
    { files, isRetry, early }: Waiting,
    { archiveMs, attempt }: { archiveMs: number | undefined; attempt: Attempt },
  ): Promise<boolean> {
    if (archiveMs === undefined) return files.length > 0;
    const { clock, signal } = this.#around;
    const startMs = clock.monoMs();
    let [isFailing, hasMore] = [false, false];
    for (const [i, batch] of [...batchesOf(files)].entries()) {
      if (signal.aborted) return false;
      if (clock.monoMs() - startMs >= archiveMs && i > 0) {
        // The limits are looked after meanwhile.
        hasMore = true;
        break;
      }
      const failed = await this.#archiveBatch(batch, { early, attempt });
      isFailing ||= failed > 0;
      // What waits for room does not wait for the next look.
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
    const { id, directory } = this.place;
    const { command = "", log, signal, commandTimeoutMs: timeoutMs } = this.#around;
    const outcomes = await runArchiveCommand(batch, {
      command,
      instanceId: id,
      signal,
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    });
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
      // Tried again every few seconds while recording is paused: once is enough.
      if (outcome?.status !== "error" || this.#failed.has(name)) continue;
      log.warn("journal file not archived", this.#fields({ file: name, error: outcome.error }));
    }
    // One that is not due has not failed yet: it is tried again before it may be deleted.
    const due = failed.filter(({ name }) => !early.has(name));
    this.#failed = this.#failed.union(new Set(due.map(({ name }) => name)));
    return due.length;
  }

  #retryLater(): void {
    const tries = this.#retry.tries + 1;
    const spread = 1 + RETRY_SPREAD * (2 * (this.#around.random ?? Math.random)() - 1);
    const triedMs = this.#around.clock.monoMs();
    this.#retry = { tries, triedMs, atMs: triedMs + backoffMs(tries, RETRY) * spread };
  }

  #tellOnce(error: string): void {
    if (this.#told.has(error)) return;
    this.#around.log.warn("journal files cannot be looked after", this.#fields({ error }));
    this.#told = this.#told.union(new Set([error]));
  }

  #fields(fields: LogFields = {}): LogFields {
    return this.#around.isNamed ? { id: this.place.id, ...fields } : fields;
  }
}

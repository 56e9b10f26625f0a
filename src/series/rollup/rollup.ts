import { basename } from "node:path";
import { BackgroundTurns, errorText, type Logger, pathExists, pause, tryRemoveSync } from "../../base/mod.ts";
import type { Decoder } from "../../broker/mod.ts";
import { type JournalFileInfo, type JournalIndex, parseFileName, type WrittenBlock } from "../../journal/mod.ts";
import { type SeriesField, seriesFieldsOf } from "../fields.ts";
import type { TimeRange } from "../scan.ts";
import { Slices } from "../slices.ts";
import {
  type OutsideSidecars,
  RolledFile,
  type RolledFileContext,
  type RolledPart,
  sidecarPathOf,
  type WantedSeries,
} from "./rolled_file.ts";
import { RollupError } from "./rollup_file.ts";
import { signatureOf } from "./signature.ts";

/** Options of a {@linkcode SeriesRollup}. */
export interface SeriesRollupOptions {
  index: JournalIndex;
  /** PGNs whose fields are kept in sidecars. */
  pgns: readonly number[];
  /** Names of the buses by index. */
  buses: readonly string[];
  decoder: Pick<Decoder, "decode">;
  log: Logger;
  /** Pause after a failure, milliseconds; default a minute. */
  retryMs?: number;
  /** Resolves when a previous instance for the same files has ended; default: there was none. */
  after?: Promise<void> | undefined;
  /** Pause after each slice of work, milliseconds; default 8. */
  restMs?: number;
  /** Sidecars of files outside the directory of the journal, made when a request needs them; default: there are none. */
  outside?: OutsideSidecars | undefined;
  /** Shared by all journals of a server; default: this is the only one. */
  turns?: BackgroundTurns | undefined;
}

/** The usable buckets of one journal file. */
export interface RolledBlocks {
  path: string;
  epochWord: number;
  /** True if every block of the file is in them. */
  isComplete: boolean;
  parts: readonly RolledPart[];
}

/** Duration of a slice of work and of the pause after it, milliseconds: recording and clients come first. */
const SLICE_MS = 4;
const REST_MS = 8;
const RETRY_MS = 60_000;
/** Maximum number of remembered reasons of failures; each is logged once. */
const MAX_REPORTED = 1000;
/** Maximum number of sidecars whose directories are in memory, some kilobytes each: half a year of hourly files. */
const MAX_LOADED_FILES = 4096;
/** Sidecars whose directories a request reads at once. */
const LOADS_AT_ONCE = 16;
/** Prefix of files with backfilled blocks. Several of them are written at once. */
const BACKFILL_PREFIX = "backfill";
const MAX_OPEN_BACKFILL_FILES = 4;
/** Fields that only count messages. */
const COUNTERS: ReadonlySet<string> = new Set(["sid"]);

/**
 * Maintains a sidecar beside each journal file, with the buckets of the configured fields. Works in the background, newest
 * file first: adds the blocks that are written, and builds sidecars that are missing, damaged or of other settings. Recording
 * never waits for it. Failures are logged and counted; readers then read the frames themselves.
 */
export class SeriesRollup {
  readonly #options: SeriesRollupOptions;
  readonly #fields: ReadonlyMap<string, SeriesField>;
  readonly #context: RolledFileContext;
  readonly #stop = new AbortController();
  /** Loaded sidecars by the path of their journal file, least recently used first. */
  readonly #files = new Map<string, Promise<RolledFile>>();
  /** Files with new blocks, and files to be rebuilt. */
  readonly #fresh = new Set<string>();
  /** Files that existed at the start, the newest last. */
  readonly #backlog: string[];
  /** Files that failed, with the reason. They are tried again when no other file is due. */
  readonly #failed = new Map<string, string>();
  /** Files whose sidecar was found to be damaged. */
  readonly #discarded = new Set<string>();
  /** Reasons of failures that were logged. */
  readonly #reported = new Set<string>();
  /** Files that are being written, by prefix. */
  readonly #open = new Map<string, string[]>();
  readonly #turns: BackgroundTurns;
  readonly #unlisten: () => void;
  #wake: () => void = () => {};
  readonly #working: Promise<void>;
  #isWorking = false;
  #failures = 0;

  constructor(options: SeriesRollupOptions) {
    this.#options = options;
    const { index, pgns, buses, decoder } = options;
    const fields = [...new Set(pgns)].flatMap(seriesFieldsOf).filter(({ name }) => !COUNTERS.has(name));
    this.#fields = new Map(fields.map((field) => [field.text, field]));
    const { restMs = REST_MS } = options;
    const rest = async () => {
      await pause(restMs);
      return performance.now() + SLICE_MS;
    };
    const slices = new Slices({ turns: { slice: rest }, signal: this.#stop.signal });
    this.#context = { index, outside: options.outside, fields, signature: signatureOf(fields), buses, decoder, slices };
    this.#turns = options.turns ?? new BackgroundTurns();
    this.#backlog = index.files.flatMap(({ path, isOutside }) => isOutside ? [] : [path]);
    const unlisten = [
      index.onWritten((block) => this.#noteWritten(block)),
      index.clock.onChange((paths) => this.#noteCorrected(paths)),
    ];
    this.#unlisten = () => unlisten.forEach((stop) => stop());
    this.#working = (options.after ?? Promise.resolve()).then(() => this.#run());
  }

  /** Failed attempts since the start. */
  get failures(): number {
    return this.#failures;
  }

  /** Reason of a present failure; undefined if there is none. */
  get fault(): string | undefined {
    const [reason] = this.#failed.values();
    return reason;
  }

  /** State for health: a failure makes requests slower, and loses no frames. */
  health(): { status: "ok" | "degraded"; message?: string } {
    const { fault } = this;
    if (fault === undefined) return { status: "ok" };
    return { status: "degraded", message: `sidecars of the journal cannot be built: ${fault}` };
  }

  /** True while buckets of known blocks are missing. */
  get isBehind(): boolean {
    return this.#isWorking || this.#fresh.size > 0 || this.#backlog.length > 0 || this.#failed.size > 0;
  }

  /** True if a field is kept in sidecars. */
  has({ text }: SeriesField): boolean {
    return this.#fields.has(text);
  }

  /** Reports that the sidecar of a file cannot be read. It is rebuilt if it is damaged or missing. */
  noteUnreadable(path: string, error: unknown): void {
    if (error instanceof RollupError) this.#discarded.add(path);
    else if (error instanceof Deno.errors.NotFound) this.#files.delete(path);
    else this.#noteFailure(path, errorText(error));
    this.#fresh.add(path);
    this.#wake();
  }

  /** The usable buckets of the files that may hold frames of a range: a snapshot. @throws the reason of the signal */
  async lookUp(
    range: TimeRange,
    { signal, ...wanted }: WantedSeries & { signal: AbortSignal },
  ): Promise<RolledBlocks[]> {
    await this.#options.after;
    const infos = this.#options.index.filesIn(range).filter((info) => this.#hasSidecar(info));
    const files: RolledFile[] = [];
    for (let at = 0; at < infos.length; at += LOADS_AT_ONCE) {
      signal.throwIfAborted();
      const loaded = await Promise.all(infos.slice(at, at + LOADS_AT_ONCE).map((info) => this.#tryLoad(info)));
      files.push(...loaded.filter((file) => file !== undefined));
    }
    this.#build(files.filter(({ isComplete, isOutside }) => isOutside && !isComplete));
    return files.filter(({ path }) => !this.#discarded.has(path) && this.#options.index.has(basename(path)))
      .map((file) => ({
        path: file.path,
        epochWord: file.epochWord,
        isComplete: file.isComplete,
        parts: file.parts(wanted),
      }));
  }

  #hasSidecar({ epochWord, isOutside, bytes }: JournalFileInfo): boolean {
    return epochWord !== 0 && (!isOutside || bytes >= (this.#options.outside?.minFileBytes ?? Infinity));
  }

  /** Builds the sidecars of files, which are in the order of time, after those that are due. */
  #build(files: readonly RolledFile[]): void {
    if (files.length === 0) return;
    const known = new Set(this.#backlog);
    for (const { path } of files) if (!known.has(path) && !this.#failed.has(path)) this.#backlog.push(path);
    this.#wake();
  }

  /** Resolves when all known blocks are in the sidecars; for tests. @internal */
  async caughtUp(): Promise<void> {
    while (this.isBehind) await pause(2, this.#stop.signal);
  }

  /** Writes the buckets that are in memory only, and ends. Safe to call twice. */
  async stop(): Promise<void> {
    if (this.#stop.signal.aborted) return await this.#working;
    this.#unlisten();
    this.#stop.abort();
    this.#wake();
    await this.#working;
    for (const [path, loading] of this.#files) {
      try {
        await (await loading).write(new Slices({ turns: { slice: () => Promise.resolve(Infinity) } }));
      } catch (error) {
        this.#noteFailure(path, errorText(error));
      }
    }
  }

  #noteWritten({ path, header: { epochWord } }: WrittenBlock): void {
    if (epochWord === 0) return;
    this.#fresh.add(path);
    const prefix = parseFileName(basename(path))?.prefix ?? "";
    const open = this.#open.get(prefix) ?? [];
    this.#open.set(prefix, open);
    if (!open.includes(path)) open.push(path);
    // The writer ends a file before it begins the next one.
    const most = prefix === BACKFILL_PREFIX ? MAX_OPEN_BACKFILL_FILES : 1;
    for (const ended of open.splice(0, open.length - most)) this.#fresh.add(ended);
    this.#wake();
  }

  #noteCorrected(paths: readonly string[]): void {
    for (const path of paths) {
      this.#discarded.add(path);
      this.#fresh.add(path);
      // Before the corrections are stored: after a crash in between, nothing may have the former times.
      const info = this.#options.index.infoOf(path);
      if (info) tryRemoveSync(sidecarPathOf(info, this.#context));
    }
    this.#wake();
  }

  #isOpen(path: string): boolean {
    return this.#open.values().some((open) => open.includes(path));
  }

  async #tryLoad(info: JournalFileInfo): Promise<RolledFile | undefined> {
    try {
      return await this.#load(info);
    } catch (error) {
      this.noteUnreadable(info.path, error);
      return undefined;
    }
  }

  async #load(info: JournalFileInfo): Promise<RolledFile> {
    const { path } = info;
    const known = this.#files.get(path);
    const loading = known ?? RolledFile.load(info, this.#context);
    this.#files.delete(path);
    this.#files.set(path, loading);
    if (known) return await known;
    try {
      const file = await loading;
      await this.#evict();
      return file;
    } catch (error) {
      if (this.#files.get(path) === loading) this.#files.delete(path);
      throw error;
    }
  }

  async #evict(): Promise<void> {
    for (const [path, loading] of this.#files) {
      if (this.#files.size <= MAX_LOADED_FILES) return;
      const file = await loading.catch(() => undefined);
      if (file?.isComplete) this.#files.delete(path);
    }
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      const path = this.#next();
      if (path === undefined) {
        this.#forgetDeleted();
        const { promise, resolve } = Promise.withResolvers<void>();
        this.#wake = resolve;
        await promise;
        continue;
      }
      this.#isWorking = true;
      try {
        await this.#work(path);
        this.#noteSuccess(path);
      } catch (error) {
        if (signal.aborted) break;
        if (await this.#isDeleted(path)) this.#noteSuccess(path);
        else {
          const reason = errorText(error);
          this.#noteFailure(path, reason);
          // At the end of the queue.
          this.#failed.delete(path);
          this.#failed.set(path, reason);
          this.#isWorking = false;
          // A full disk fails for all files: do not try them one after another without a pause.
          await pause(this.#options.retryMs ?? RETRY_MS, signal).catch(() => {});
        }
      }
      this.#isWorking = false;
    }
  }

  /** The next file to work on: first files with new blocks, then those that existed at the start, then failed ones. */
  #next(): string | undefined {
    const [fresh] = this.#fresh;
    const [failed] = this.#failed.keys();
    const path = fresh ?? this.#backlog.pop() ?? failed;
    if (path !== undefined) this.#fresh.delete(path);
    return path;
  }

  async #work(path: string): Promise<void> {
    const { index } = this.#options;
    const { signal } = this.#stop;
    const giveBack = await this.#turns.take(signal);
    try {
      const info = index.infoOf(path);
      if (info === undefined || info.epochWord === 0) return;
      if (await index.isUnmounted()) throw new Error("the journal directory is not mounted");
      await this.#context.slices.pause();
      const file = await this.#load(info);
      if (this.#discarded.delete(path)) file.forget();
      const isEnded = !this.#isOpen(path);
      if (file.isComplete && isEnded) return;
      try {
        await file.extend({ isEnded, signal });
      } catch (error) {
        // While the disk is full, each file would otherwise keep its buckets in memory.
        if (isEnded) file.forgetUnwritten();
        throw error;
      }
    } finally {
      giveBack();
    }
  }

  async #isDeleted(path: string): Promise<boolean> {
    const { index } = this.#options;
    const info = index.infoOf(path);
    if (info === undefined || info.isOutside) return info === undefined;
    return !await pathExists(path).catch(() => true) && !await index.isUnmounted();
  }

  #noteSuccess(path: string): void {
    if (this.#failed.delete(path) && this.#failed.size === 0) this.#reported.clear();
  }

  #noteFailure(path: string, reason: string): void {
    this.#failures++;
    if (this.#reported.has(reason)) return;
    if (this.#reported.size >= MAX_REPORTED) this.#reported.clear();
    this.#reported.add(reason);
    this.#options.log.warn("series sidecar failed", { path, reason });
  }

  /** Releases the memory for files that were deleted. */
  #forgetDeleted(): void {
    const { index } = this.#options;
    for (const path of this.#files.keys()) if (!index.has(basename(path))) this.#files.delete(path);
    for (const path of this.#discarded) if (!index.has(basename(path))) this.#discarded.delete(path);
  }
}

import { basename } from "node:path";
import { BackgroundTurns, errorText, type Logger, pathExists, pause } from "../base/mod.ts";
import {
  type BlockError,
  type EpochBlock,
  type JournalFileInfo,
  type JournalIndex,
  SourceUnavailableError,
  tablesOf,
  UNORDERED_PREFIX,
  type WrittenBlock,
} from "../journal/mod.ts";
import { PastTables, type PastTablesOptions } from "./tables.ts";
import { readTablesFile, removeTablesFile, writeTablesFile } from "./tables_file.ts";

/** Options of a {@linkcode Past}. */
export interface PastOptions extends Omit<PastTablesOptions, "deviceIdleTimeoutMs"> {
  index: JournalIndex;
  /** See {@linkcode PastTablesOptions.deviceIdleTimeoutMs}; may change while running. */
  deviceIdleTimeoutMs: () => number;
  /** Shared by the journals of a server, of which one makes tables at a time; default its own. */
  turns?: BackgroundTurns | undefined;
  /** Tables are stored if at least so many frames came since those before; for tests. @internal */
  framesBetweenTables?: number;
  log: Logger;
}

/** How a reader shares the event loop. */
export interface PastReader {
  /** Waits until other work has run. Returns the end of the new slice in `performance.now()` time. */
  slice: () => Promise<number>;
  /** @throws its reason ends the reading */
  signal?: AbortSignal | undefined;
}

/** Tables are stored at the start of a file if at least so many frames came since those before: fewer are read in 50 ms. */
const FRAMES_BETWEEN_TABLES = 131_072;
/** Most frames before a file that are read for one request if no tables are stored; it then begins with the devices of a block. */
const MAX_REPLAY_FRAMES = 1_000_000;
/** Of a boat in the cloud, tables at the start of files that begin so long after a backfilled block are made again, microseconds. */
const OUTDATED_US = 24 * 3600 * 1e6;
/** Frames between two looks at the time; a power of two. */
const CHECK_EVERY = 64;
/** Earlier times are those of a clock that was never set. */
const EARLIEST_US = Date.UTC(2000, 0, 1) * 1000;
/** Slices of work in the background, and the pauses after them, milliseconds: recording and clients come first. */
const SLICE_MS = 4;
const REST_MS = 8;
/** Tables of the last requests that are kept: a page asks for devices and values of the same time. */
const MAX_KEPT = 4;

/** A file in the order of recording. */
type NumberedFile = JournalFileInfo & { firstSeq: number };

/**
 * What a server showed at any time that its journal has: devices, with what was known of them, and the newest message of each
 * device and PGN. It reads the frames again, from tables that are stored beside the journal's files. Those are written in the
 * background, each from the ones before, and can be made again.
 */
export class Past {
  readonly #options: PastOptions;
  readonly #stop = new AbortController();
  readonly #unlisten: () => void;
  /** By time, microseconds; the one that was asked for last is last. */
  readonly #kept = new Map<number, Promise<PastTables>>();
  /** Id of the start that has recorded a file, hex, by the file's path. */
  readonly #boots = new Map<string, string | undefined>();
  /** Files before which tables are stored, or not needed. */
  readonly #done = new Set<string>();
  #working: Promise<void> | undefined;
  #isDue = false;
  readonly #turns: BackgroundTurns;
  /** Grows when stored tables are outdated. */
  #generation = 0;
  #lastPath: string | undefined;
  #failure: string | undefined;

  constructor(options: PastOptions) {
    this.#options = options;
    const { index, turns = new BackgroundTurns() } = options;
    this.#turns = turns;
    const unlisten = [
      index.onWritten((block) => this.#noteWritten(block)),
      index.clock.onChange((paths) => this.#noteCorrected(paths)),
    ];
    this.#unlisten = () => unlisten.forEach((stop) => stop());
    this.#beginStoring();
  }

  /**
   * The tables at a time. Undefined if the journal has nothing from before it.
   *
   * @param timeUs microseconds since 1970
   * @throws {SourceUnavailableError} frames cannot be read now
   */
  async at(timeUs: number, { slice }: Pick<PastReader, "slice">): Promise<PastTables | undefined> {
    const files = this.#filesInOrder();
    const last = files.findLastIndex(({ firstTimeUs }) => firstTimeUs <= timeUs && isPlausible(firstTimeUs, timeUs));
    // The first file of a journal is created with its first full block.
    if (last < 0 && files.length > 0) return undefined;
    // The newest file goes on.
    const known = last === files.length - 1 ? undefined : this.#kept.get(timeUs);
    // Others may ask for the same time: no request ends the reading.
    const tables = known ?? this.#read({ files, last, timeUs }, { slice });
    this.#kept.delete(timeUs);
    this.#kept.set(timeUs, tables);
    tables.catch(() => this.#kept.delete(timeUs));
    for (const oldest of this.#kept.keys()) if (this.#kept.size > MAX_KEPT) this.#kept.delete(oldest);
    return (await tables).position && await tables;
  }

  /** State for health: a failure makes requests slower, and loses nothing. */
  health(): { status: "ok" | "degraded"; message?: string } {
    if (this.#failure === undefined) return { status: "ok" };
    return { status: "degraded", message: `devices and values of the past cannot be stored: ${this.#failure}` };
  }

  /** Resolves when all tables are stored; for tests. @internal */
  async caughtUp(): Promise<void> {
    while (this.#working) await this.#working;
  }

  /** Ends the work in the background. */
  async stop(): Promise<void> {
    this.#unlisten();
    this.#stop.abort();
    await this.#working;
  }

  get #tablesOptions(): PastTablesOptions & { log: Logger } {
    return { ...this.#options, deviceIdleTimeoutMs: this.#options.deviceIdleTimeoutMs() };
  }

  /** Files with numbers, epoch by epoch; without those of backfills, which are not in order. */
  #filesInOrder(): NumberedFile[] {
    const { index } = this.#options;
    const order = index.epochOrder();
    const files = index.files.flatMap((file) =>
      file.epochWord === 0 || file.firstSeq === undefined || basename(file.path).startsWith(UNORDERED_PREFIX)
        ? []
        : [{ ...file, firstSeq: file.firstSeq }]
    );
    const places = new Map(order.map((epochWord, at) => [epochWord, at]));
    const placeOf = ({ epochWord }: NumberedFile) => places.get(epochWord) ?? Infinity;
    return files.sort((a, b) => placeOf(a) - placeOf(b) || a.firstSeq - b.firstSeq);
  }

  async #read(
    { files, last, timeUs }: { files: readonly NumberedFile[]; last: number; timeUs: number },
    reader: PastReader,
  ): Promise<PastTables> {
    const tables = await this.#tablesBefore(files, { last, timeUs });
    const isOver = ({ block: { baseSeq = 0 }, epochWord }: EpochBlock) => {
      const next = files[last + 1];
      // Later files may have the same times again, because a clock was set.
      return epochWord === next?.epochWord && baseSeq >= next.firstSeq;
    };
    await this.#replay(tables, { toUs: timeUs, isOver, reader });
    tables.endAt(timeUs);
    if (await this.#isCutAfter(tables, files.slice(last, last + 2))) tables.noteMissing();
    return tables;
  }

  /** True if the frame after the newest one of the tables is missing, and later ones are there. */
  async #isCutAfter({ position }: PastTables, [file, next]: readonly NumberedFile[]): Promise<boolean> {
    if (!position || file?.epochWord !== position.epochWord) return false;
    const blocks = await this.#options.index.blocksOf(file.path);
    const later = blocks.map(({ seq }) => seq).filter((seq) => seq > position.seq);
    if (next?.epochWord === position.epochWord) later.push(next.firstSeq);
    return later.length > 0 && Math.min(...later) > position.seq + 1;
  }

  /** The newest stored tables that are from before a time; else empty ones before the file with which to begin. */
  async #tablesBefore(
    files: readonly NumberedFile[],
    { last, timeUs = Infinity }: { last: number; timeUs?: number },
  ): Promise<PastTables> {
    const end = files[last];
    for (let at = last; at >= 0; at--) {
      const file = files[at];
      if (!file || !end) break;
      const stored = file.isOutside ? undefined : await readTablesFile(file.path, this.#tablesOptions);
      if (stored && stored.latestUs <= timeUs) return stored;
      const isFirst = await this.#isFirst(files, at);
      const isFar = file.epochWord === end.epochWord && end.firstSeq - file.firstSeq > MAX_REPLAY_FRAMES;
      if (isFirst || isFar || at === 0) return PastTables.before(file, { ...this.#tablesOptions, isFirst });
    }
    return new PastTables(this.#tablesOptions);
  }

  /** True if another start, or another epoch, has recorded the file than the one before it. */
  async #isFirst(files: readonly NumberedFile[], at: number): Promise<boolean> {
    const [before, file] = [files[at - 1], files[at]];
    if (!before || !file) return file?.firstSeq === 1;
    if (before.epochWord !== file.epochWord) return true;
    return this.#options.forgets === "start" && await this.#bootOf(before) !== await this.#bootOf(file);
  }

  async #bootOf({ path }: NumberedFile): Promise<string | undefined> {
    if (this.#boots.has(path)) return this.#boots.get(path);
    const { index } = this.#options;
    const [location] = await index.blocksOf(path);
    using reader = index.reader();
    try {
      const boot = location && (await reader.read(path, location)).metadata.boot?.bootId.toHex();
      this.#boots.set(path, boot);
      return boot;
    } catch (error) {
      if (error instanceof SourceUnavailableError) throw error;
      return undefined;
    }
  }

  async #replay(
    tables: PastTables,
    { toUs, isOver, reader: { slice, signal } }: {
      toUs?: number;
      isOver: (block: EpochBlock) => boolean;
      reader: PastReader;
    },
  ): Promise<void> {
    const { index } = this.#options;
    let sliceEndMs = await slice();
    let count = 0;
    for await (const located of index.epochBlocks({ after: tables.position, toUs, isCorrected: true })) {
      if (isOver(located)) return;
      const { block, epochWord } = located;
      const damaged = (error: BlockError) => index.noteDamaged(block, error);
      for (const _ of tables.apply(block, { epochWord, toUs, damaged })) {
        if ((++count & (CHECK_EVERY - 1)) !== 0 || performance.now() < sliceEndMs) continue;
        signal?.throwIfAborted();
        sliceEndMs = await slice();
      }
    }
  }

  #noteWritten({ path, firstTimeUs, header: { epochWord } }: WrittenBlock): void {
    if (basename(path).startsWith(UNORDERED_PREFIX)) {
      const isLater = (file: NumberedFile) =>
        file.epochWord === epochWord && file.firstTimeUs > firstTimeUs && file.firstTimeUs < firstTimeUs + OUTDATED_US;
      this.#outdate(this.#filesInOrder().filter(isLater));
    }
    if (path === this.#lastPath) return;
    this.#lastPath = path;
    this.#beginStoring();
  }

  /** Tables before a file have the times of the files before, since the start of the server or of the epoch. */
  #noteCorrected(paths: readonly string[]): void {
    const files = this.#filesInOrder();
    const first = files.findIndex(({ path }) => paths.includes(path));
    const isLater = ({ epochWord }: NumberedFile, at: number) => at >= first && epochWord === files[first]?.epochWord;
    this.#outdate(first < 0 ? [] : files.filter(isLater));
    this.#beginStoring();
  }

  /** What is stored before files, or is being made, is of frames that are others now. */
  #outdate(files: readonly NumberedFile[]): void {
    this.#generation++;
    this.#kept.clear();
    for (const { path } of files) {
      this.#done.delete(path);
      removeTablesFile(path);
    }
  }

  #beginStoring(): void {
    this.#isDue = true;
    this.#working ??= this.#store().finally(() => this.#working = undefined);
  }

  async #store(): Promise<void> {
    const { signal } = this.#stop;
    try {
      while (this.#isDue && !signal.aborted) {
        this.#isDue = false;
        const files = this.#filesInOrder().filter(({ isOutside }) => !isOutside);
        this.#forgetDeleted(files);
        let base = files[0];
        for (const [at, file] of files.entries()) {
          if (signal.aborted) return;
          if (base && await this.#isStored(files, { at, base })) base = file;
        }
      }
      this.#failure = undefined;
    } catch (error) {
      if (signal.aborted) return;
      this.#failure = errorText(error);
      this.#options.log.warn("tables of the past not stored", { error: this.#failure });
    }
  }

  #forgetDeleted(files: readonly NumberedFile[]): void {
    const paths = new Set(files.map(({ path }) => path));
    for (const path of this.#done) if (!paths.has(path)) this.#done.delete(path);
    for (const path of this.#boots.keys()) if (!paths.has(path)) this.#boots.delete(path);
  }

  /** Stores the tables before a file, if they are needed. False: they are not, as few frames came since those before `base`. */
  async #isStored(
    files: readonly NumberedFile[],
    { at, base }: { at: number; base: NumberedFile },
  ): Promise<boolean> {
    const file = files[at];
    if (!file || this.#done.has(file.path)) return file !== undefined;
    const { framesBetweenTables = FRAMES_BETWEEN_TABLES } = this.#options;
    if (file.epochWord === base.epochWord && file.firstSeq - base.firstSeq < framesBetweenTables) return false;
    const isKnown = await pathExists(tablesOf(file.path)) || await this.#isFirst(files, at);
    if (!isKnown) {
      const generation = this.#generation;
      const tables = await this.#tablesBefore(files, { last: at - 1 });
      const isOver = ({ block: { baseSeq = 0 }, epochWord }: EpochBlock) =>
        epochWord === file.epochWord && baseSeq >= file.firstSeq;
      const { signal } = this.#stop;
      const slice = async () => {
        await pause(REST_MS, signal);
        return performance.now() + SLICE_MS;
      };
      const giveBack = await this.#turns.take(signal);
      try {
        await this.#replay(tables, { isOver, reader: { slice, signal } });
      } finally {
        giveBack();
      }
      if (generation !== this.#generation) {
        this.#isDue = true;
        return false;
      }
      await writeTablesFile(file.path, tables);
    }
    this.#done.add(file.path);
    return true;
  }
}

/** True if a clock may have been right, or the time that is asked for is from before clocks were set. */
function isPlausible(fileUs: number, timeUs: number): boolean {
  return fileUs >= EARLIEST_US || timeUs < EARLIEST_US;
}

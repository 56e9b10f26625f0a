import { asRecord, readCount, readList, readNumber, readText } from "../base/mod.ts";
import { Broker, type Decoder, encodeTables, readTables, restoreTables } from "../broker/mod.ts";
import type { Block, BlockError } from "../journal/mod.ts";
import { FrameClock } from "./frame_clock.ts";
import { replayBlock, type ReplayProgress } from "./replay.ts";

/** What a server would show. */
export interface PastTablesOptions {
  decoder: Decoder;
  /** Names of the buses by index, for blocks that name none. */
  buses: readonly string[];
  /** (Device, PGN) pairs kept as last values. */
  maxValues: number;
  /** A device is removed when it has sent nothing for this time, milliseconds; 0: never. */
  deviceIdleTimeoutMs: number;
  /**
   * `start`: the server forgot everything at each of its starts, and its clock went on while nothing was received, as on a
   * boat. `epoch`: only at a new epoch, and idle time is measured by the frames, as in a cloud.
   */
  forgets: "start" | "epoch";
}

const VERSION = 1;
/** Idle devices are looked for at this interval of the frames' time, milliseconds, as a server does. */
const EXPIRE_EVERY_MS = 1000;

/** A run of frames that one start of a server, or one epoch, has recorded. */
interface Run {
  epochWord: number;
  /** Hex; undefined: the block does not say. */
  boot: string | undefined;
  buses: readonly string[];
}

/** The device table and the last values after the frames that were applied. */
export class PastTables {
  readonly #options: PastTablesOptions;
  readonly #progress: ReplayProgress = { throughSeq: 0, isWhole: false };
  #clock: FrameClock;
  #broker: Broker;
  #run: Run | undefined;
  /** With which frame they begin, before the first block. */
  #start: { epochWord: number; seq: number; isFirst: boolean } | undefined;
  /** Times of the first frame and of the latest one, microseconds since 1970. */
  #sinceUs: number | undefined;
  #latestUs = -Infinity;
  #monoMs = 0;
  #expiredMs = 0;

  /** Without frames. */
  constructor(options: PastTablesOptions) {
    this.#options = options;
    this.#clock = new FrameClock({ maxStepMs: maxStepOf(options) });
    this.#broker = this.#newBroker(options.buses);
  }

  /**
   * Restores what {@linkcode PastTables.encode} gave.
   *
   * @throws {SyntaxError} invalid JSON
   * @throws {TypeError} invalid or contradictory content
   */
  static restore(text: string, options: PastTablesOptions): PastTables {
    const found = asRecord(JSON.parse(text));
    if (found["version"] !== VERSION) throw new TypeError(`expected tables of version ${VERSION}`);
    const buses = readList(found, "buses").map(String);
    const tables = new PastTables({ ...options, buses });
    const throughSeq = readCount(found, "seq");
    const boot = found["boot"] === null ? undefined : readText(found, "boot");
    tables.#run = { epochWord: readCount(found, "epoch_word"), boot, buses };
    tables.#monoMs = tables.#expiredMs = readNumber(found, "mono_ms");
    tables.#sinceUs = readCount(found, "since_us");
    tables.#latestUs = readCount(found, "latest_us");
    const [newestMs, ms] = [tables.#latestUs / 1000, tables.#monoMs];
    tables.#clock = new FrameClock({ maxStepMs: maxStepOf(options), newestMs, ms });
    Object.assign(tables.#progress, { throughSeq, isWhole: found["whole"] === true });
    restoreTables(tables.#broker, readTables(found, { buses, head: throughSeq }), tables.#monoMs);
    return tables;
  }

  /** Empty ones, which begin with a file. @param options.isFirst see {@linkcode PastTables.apply} */
  static before(
    { epochWord, firstSeq }: { epochWord: number; firstSeq: number },
    { isFirst, ...options }: PastTablesOptions & { isFirst: boolean },
  ): PastTables {
    const tables = new PastTables(options);
    tables.#start = { epochWord, seq: firstSeq - 1, isFirst };
    return tables;
  }

  /** Devices and values; its ring is empty. */
  get broker(): Broker {
    return this.#broker;
  }

  /** Epoch and number of the newest frame that was applied, or left out because of its time; undefined: the very first follows. */
  get position(): { epochWord: number; seq: number } | undefined {
    return this.#run ? { epochWord: this.#run.epochWord, seq: this.#progress.throughSeq } : this.#start;
  }

  /** True if every frame since the start of the server, or of the epoch, is in them: then the counters of devices are right. */
  get isWhole(): boolean {
    return this.#progress.isWhole;
  }

  /** Frames after the newest one are missing. */
  noteMissing(): void {
    this.#progress.isWhole = false;
  }

  /** Time of the first frame in them, microseconds since 1970; undefined: none. */
  get sinceUs(): number | undefined {
    return this.#sinceUs;
  }

  /** Latest time of a frame in them, microseconds since 1970; -Infinity: none. */
  get latestUs(): number {
    return this.#latestUs;
  }

  /**
   * Applies a block of the journal. Yields after each frame.
   *
   * @param options.toUs latest time, inclusive
   */
  *apply(
    block: Block,
    { epochWord, toUs, damaged }: {
      epochWord: number;
      toUs?: number | undefined;
      damaged: (error: BlockError) => void;
    },
  ): Generator<void> {
    if (this.#isCutBy(block, epochWord)) this.#begin(block, epochWord);
    const { boot } = block.metadata;
    const anchor = this.#options.forgets === "start" ? boot : undefined;
    const anchorUs = block.timeOf(anchor?.timeUs ?? 0);
    const monoMsOf = (timeUs: number) => {
      this.#sinceUs ??= timeUs;
      this.#latestUs = Math.max(this.#latestUs, timeUs);
      const measuredMs = this.#clock.advance(timeUs / 1000);
      this.#advanceTo(anchor ? anchor.monoMs + (timeUs - anchorUs) / 1000 : measuredMs);
      return this.#monoMs;
    };
    yield* replayBlock(this.#broker, block, {
      ...{ progress: this.#progress, monoMsOf, damaged },
      ...(toUs !== undefined && { toUs }),
    });
  }

  /** Removes the devices that had been idle for too long at a time, microseconds since 1970. */
  endAt(timeUs: number): void {
    if (this.#options.forgets !== "start" || this.#latestUs === -Infinity) return;
    this.#advanceTo(this.#monoMs + Math.max(0, timeUs - this.#latestUs) / 1000);
  }

  /** The tables as text. */
  encode(): string {
    const { epochWord = 0, boot = null } = this.#run ?? {};
    return JSON.stringify({
      ...{ version: VERSION, epoch_word: epochWord, boot, seq: this.#progress.throughSeq, whole: this.isWhole },
      ...{ since_us: this.#sinceUs ?? 0, latest_us: Math.max(0, this.#latestUs), mono_ms: this.#monoMs },
      buses: this.#broker.buses,
      ...encodeTables(this.#broker, this.#monoMs),
    });
  }

  /** True if the tables start again with a block, because another start or epoch has recorded it. */
  #isCutBy(block: Block, epochWord: number): boolean {
    const { metadata: { boot, buses = this.#options.buses } } = block;
    const run = this.#run;
    if (!run || run.epochWord !== epochWord || run.buses.join("\n") !== buses.join("\n")) return true;
    return this.#options.forgets === "start" && run.boot !== boot?.bootId.toHex();
  }

  #begin({ baseSeq = 1, metadata }: Block, epochWord: number): void {
    const { boot, buses = this.#options.buses } = metadata;
    const isOtherStart = this.#run !== undefined && (boot !== undefined || this.#run.epochWord !== epochWord);
    const isFirst = this.#run ? isOtherStart : this.#start?.isFirst ?? baseSeq === 1;
    this.#run = { epochWord, boot: boot?.bootId.toHex(), buses };
    this.#broker = this.#newBroker(buses);
    const isKnown = this.#options.forgets === "epoch" ? baseSeq === 1 : boot !== undefined;
    // Where frames before are missing, the devices come from the block.
    Object.assign(this.#progress, { throughSeq: isFirst ? baseSeq - 1 : -1, isWhole: isFirst && isKnown });
    this.#sinceUs = undefined;
    this.#latestUs = -Infinity;
    this.#monoMs = this.#expiredMs = boot?.monoMs ?? this.#clock.ms;
  }

  #advanceTo(monoMs: number): void {
    this.#monoMs = Math.max(this.#monoMs, monoMs);
    if (this.#monoMs - this.#expiredMs < EXPIRE_EVERY_MS) return;
    this.#expiredMs = this.#monoMs;
    this.#broker.registry.expire(this.#monoMs, this.#options.deviceIdleTimeoutMs);
  }

  #newBroker(buses: readonly string[]): Broker {
    const { maxValues, decoder } = this.#options;
    return new Broker({ buses, ringFrames: 1, maxValues, decoder });
  }
}

/** A silence of a boat counts for at most half of the time after which devices are removed. */
function maxStepOf({ deviceIdleTimeoutMs }: PastTablesOptions): number {
  return deviceIdleTimeoutMs / 2 || Infinity;
}

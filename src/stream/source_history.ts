import { type Clock, errorText, LineLog, type Logger, turn } from "../base/mod.ts";
import type { Broker } from "../broker/mod.ts";
import type { SourceDevice } from "../quantities/mod.ts";
import type { SourceWatch } from "./live/source_watch.ts";
import {
  CHANGE,
  deviceKey,
  type LoggedDevice,
  newerHalf,
  type QuantityHistory,
  type SourceLine,
  SourceReplay,
} from "./source_spans.ts";

/** Name of the log in the state directory. */
const FILE = "sources.log";
/** Default size of the log, bytes: some years of a usual boat. */
export const DEFAULT_SOURCE_HISTORY_BYTES = 8_000_000;
/** Lines that are read before other work gets its turn. */
const LINES_A_TURN = 1000;
/** Interval of checking which values are fresh, milliseconds. */
const LOOK_MS = 10_000;
/** A device that is silent for less has not stopped, milliseconds. */
const PAUSE_MS = 60_000;
/** Shorter times without a preferred device are not logged: when a bus pauses, that concerns all quantities. Milliseconds. */
const MIN_LOSS_MS = 10_000;
/** Interval of writing, milliseconds: each write wears the boat's SD card. */
const WRITE_MS = 60_000;
/** Longest time without a line while the server runs, milliseconds. */
const ALIVE_MS = 600_000;
/** A larger step of the clock ends all spans, milliseconds. */
const STEP_MS = 60_000;
/** Devices and changes that wait for the disk; beyond it the oldest ones are lost. */
const MAX_WAITING = 10_000;

/** Options of a {@linkcode SourceHistory}. */
export interface SourceHistoryOptions {
  /** Existing directory of the log. */
  directory: string;
  /** Longest log, bytes; beyond it the older half is dropped. */
  maxBytes: number;
  sources: SourceWatch;
  broker: Pick<Broker, "buses" | "registry">;
  clock: Clock;
  log: Logger;
}

/** What a request gets. */
export interface SourceHistoryReply {
  /** Since when changes are logged, milliseconds since 1970; undefined: nothing is logged yet. */
  sinceMs: number | undefined;
  quantities: Map<string, QuantityHistory>;
}

interface Giving {
  id: number;
  quantity: string;
  lastMs: number;
}

/**
 * Which device gave each quantity when, and which was preferred. Which one is preferred depends on settings and on what the
 * server knew, so that the journal alone does not tell it: changes are kept in a log of their own, some of them a day.
 */
export class SourceHistory {
  readonly #options: SourceHistoryOptions;
  readonly #file: LineLog;
  readonly #unlisten: () => void;
  #waiting: SourceLine[] = [[null]];
  readonly #known = new Map<string, { id: number; model: string | undefined }>();
  readonly #giving = new Map<string, Giving>();
  /** Number of the preferred device by quantity, as the log has it. */
  readonly #preferred = new Map<string, number>();
  /** By quantity, since when no device is preferred, which is not logged yet, monotonic milliseconds. */
  readonly #lostMs = new Map<string, number>();
  /** Difference of wall and monotonic time, milliseconds. */
  #offsetMs: number;
  #lookedMs = -Infinity;
  #writtenMs: number;
  #lineMs = -Infinity;
  #working: Promise<void>;
  #failure: string | undefined;

  /** Begins a run. The log is read before the first line is written. */
  constructor(options: SourceHistoryOptions) {
    this.#options = options;
    const { directory, maxBytes, sources, clock } = options;
    this.#file = new LineLog(directory, { name: FILE, maxBytes: 4 * maxBytes });
    this.#offsetMs = this.#offset();
    this.#writtenMs = clock.monoMs();
    this.#unlisten = sources.listen(({ quantity, to }) => this.#prefer(quantity, to ?? undefined));
    this.#working = this.#open().catch((error) => this.#fail(error));
  }

  /** Degraded while the log cannot be written. */
  health(): { status: "ok" } | { status: "degraded"; message: string } {
    return this.#failure === undefined ? { status: "ok" } : { status: "degraded", message: this.#failure };
  }

  /** Looks for changes every ten seconds, and writes them once a minute. Call it once a second. */
  runHousekeeping(): void {
    const { clock } = this.#options;
    const nowMs = clock.monoMs();
    if (nowMs - this.#lookedMs >= LOOK_MS) this.#look(nowMs);
    if (nowMs - this.#lineMs >= ALIVE_MS) this.#add([this.#wallMs(nowMs)]);
    if (nowMs - this.#writtenMs >= WRITE_MS) this.#write(nowMs);
  }

  /** All of the log. @throws {FileError} it cannot be read */
  async read(): Promise<SourceHistoryReply> {
    const { clock } = this.#options;
    this.#write(clock.monoMs());
    const replay = new SourceReplay();
    const reading = this.#working.then(async () => (await this.#file.read())?.values ?? []);
    this.#working = reading.then(() => {}, () => {});
    let added = 0;
    for (const line of [...await reading, ...this.#waiting]) {
      replay.add(line);
      if (++added % LINES_A_TURN === 0) await turn();
    }
    const { sinceMs } = replay;
    return {
      sinceMs: Number.isFinite(sinceMs) ? sinceMs : undefined,
      quantities: replay.end(this.#wallMs(clock.monoMs())),
    };
  }

  /** Writes what is known, and ends. */
  async stop(): Promise<void> {
    this.#unlisten();
    const nowMs = this.#options.clock.monoMs();
    this.#look(nowMs);
    this.#add([this.#wallMs(nowMs)]);
    this.#write(nowMs);
    await this.#working;
  }

  async #open(): Promise<void> {
    const lines = await this.#file.read();
    if (this.#file.bytes === undefined) await this.#file.replace(lines?.values ?? []);
  }

  #look(nowMs: number): void {
    this.#lookedMs = nowMs;
    const offsetMs = this.#offset();
    if (Math.abs(offsetMs - this.#offsetMs) > STEP_MS) this.#clockSet(offsetMs);
    this.#offsetMs = offsetMs;
    for (const { key: quantity, sources, preferred } of this.#options.sources.list()) {
      this.#prefer(quantity, preferred?.device);
      for (const { device, ageMs, isStale } of sources) this.#note(quantity, device, { atMs: nowMs - ageMs, isStale });
    }
    for (const [key, { id, quantity, lastMs }] of this.#giving) {
      if (nowMs - lastMs <= PAUSE_MS) continue;
      this.#giving.delete(key);
      this.#add([this.#wallMs(lastMs), quantity, id, CHANGE.ends]);
    }
  }

  #note(quantity: string, device: SourceDevice, { atMs, isStale }: { atMs: number; isStale: boolean }): void {
    const id = this.#idOf(device);
    const key = `${quantity} ${id}`;
    const isKnown = this.#giving.has(key);
    if (!isKnown && isStale) return;
    this.#giving.set(key, { id, quantity, lastMs: atMs });
    if (!isKnown) this.#add([this.#wallMs(atMs), quantity, id, CHANGE.begins]);
  }

  #prefer(quantity: string, device: SourceDevice | undefined): void {
    const nowMs = this.#options.clock.monoMs();
    const lostMs = this.#lostMs.get(quantity) ?? nowMs;
    if (nowMs - lostMs >= MIN_LOSS_MS && this.#preferred.delete(quantity)) {
      this.#add([this.#wallMs(lostMs), quantity, -1, CHANGE.nonePreferred]);
    }
    if (!device) {
      this.#lostMs.set(quantity, lostMs);
      return;
    }
    this.#lostMs.delete(quantity);
    const id = this.#idOf(device);
    if (id === this.#preferred.get(quantity)) return;
    this.#preferred.set(quantity, id);
    this.#add([this.#wallMs(nowMs), quantity, id, CHANGE.preferred]);
  }

  /** Everything ends and begins again, with times of the clock as it is now. */
  #clockSet(offsetMs: number): void {
    this.#add([null]);
    this.#offsetMs = offsetMs;
    this.#giving.clear();
    this.#preferred.clear();
    this.#lostMs.clear();
    this.#known.clear();
  }

  /** The number of a device, which the log has with the model that is known. */
  #idOf({ name, src, bus: given }: SourceDevice): number {
    const { buses, registry } = this.#options.broker;
    const bus = given ?? buses[0] ?? "";
    const model = registry.get(buses.indexOf(bus), src)?.product?.modelId;
    const device: LoggedDevice = { bus, src, name, ...(model !== undefined && { model }) };
    const key = deviceKey(device);
    const known = this.#known.get(key);
    if (known && (model === undefined || known.model === model)) return known.id;
    const id = known?.id ?? this.#known.size;
    this.#known.set(key, { id, model });
    this.#add([id, device]);
    return id;
  }

  #offset(): number {
    const { clock } = this.#options;
    return clock.wallUs() / 1000 - clock.monoMs();
  }

  #wallMs(monoMs: number): number {
    return Math.round(this.#offsetMs + monoMs);
  }

  #add(line: SourceLine): void {
    this.#lineMs = this.#options.clock.monoMs();
    this.#waiting.push(line);
    if (this.#waiting.length > MAX_WAITING) this.#waiting.splice(0, this.#waiting.length - MAX_WAITING);
  }

  #write(nowMs: number): void {
    this.#writtenMs = nowMs;
    this.#working = this.#working.then(() => this.#append()).catch((error) => this.#fail(error));
  }

  async #append(): Promise<void> {
    const lines = [...this.#waiting];
    if (lines.length === 0) return;
    const { maxBytes } = this.#options;
    // After a failure the end of the file is unknown.
    if (this.#file.bytes === undefined) await this.#open();
    await this.#file.append(lines);
    // Lines that came meanwhile stay.
    this.#waiting = this.#waiting.slice(lines.length);
    this.#failure = undefined;
    if ((this.#file.bytes ?? 0) > maxBytes) await this.#shorten();
  }

  /** Drops the older half of the lines, but for the devices that the others name. */
  async #shorten(): Promise<void> {
    const values = (await this.#file.read())?.values ?? [];
    await this.#file.replace(newerHalf(values));
  }

  #fail(error: unknown): void {
    const message = errorText(error);
    if (this.#failure !== message) this.#options.log.error("source history not written", { error: message });
    this.#failure = message;
  }
}

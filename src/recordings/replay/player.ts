import { setTimeout } from "node:timers/promises";
import { type Clock, errorText, type Logger } from "../../base/mod.ts";
import { type Broker, DEFAULT_DEVICE_IDLE_TIMEOUT_MS } from "../../broker/mod.ts";
import { RecordedMonotonic } from "../../can/mod.ts";
import { formatTimeUs, newStoredFrame, type StoredFrame } from "../../frame/mod.ts";
import { ActiveDevices, type Block, type BlockDevice, BlockError, BlockReader } from "../../journal/mod.ts";
import type { PlayedBlocks } from "./played_blocks.ts";
import type { Playlist, PlaylistBlock } from "./playlist.ts";

/** How a recording is played. */
export interface PlayerOptions {
  playlist: Playlist;
  /** Notes what was played. */
  played: PlayedBlocks;
  broker: Broker;
  /** Times as fast as it was recorded; 0: as fast as can be. Default 1. */
  speed?: number;
  /** Begins again at the end. */
  loop?: boolean;
  /** A device that says nothing for so long, in the time of the recording, is removed, milliseconds; 0 keeps all. */
  deviceIdleTimeoutMs?: number;
  /** At full speed: resolves when those who cannot be kept waiting have what there is. */
  caughtUp?: () => Promise<void>;
  clock: Clock;
  /** Resolves after so many milliseconds of the clock, or at once when the signal is aborted; default a timer. */
  sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
  log: Logger;
}

/** How a replay stands. `damaged`: blocks that could not be played, or not to their end. */
export type PlayerState =
  | { kind: "playing" | "stopped" }
  | { kind: "ended"; damaged: number }
  | { kind: "failed"; reason: string };

/** Publishing holds the event loop for so long at most. */
const SLICE_MS = 4;
/** Frames in a row at full speed. */
const BURST_FRAMES = 512;
/** Timers are not made for longer. */
const MAX_SLEEP_MS = 3_600_000;
/** A pause longer than this is told. */
const TOLD_PAUSE_MS = 60_000;
/** How often idle devices are looked for, in the time of the recording. */
const HOUSEKEEPING_MS = 1000;

/** Plays blocks to a broker: each frame when it is due, with the time that it was recorded at. */
export class Player {
  readonly #options: PlayerOptions;
  readonly #speed: number;
  readonly #idleTimeoutMs: number;
  readonly #sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly #timeline = new RecordedMonotonic();
  readonly #frame = newStoredFrame();
  readonly #message = { ...newStoredFrame(), monoMs: 0 };
  /** Monotonic time at which the first frame was due. */
  #startMs: number | undefined;
  /** Time on the recording's own monotonic clock. */
  #nowMs = 0;
  #houseKeptMs = 0;
  /** Addresses that the recording gave to NAMEs, by bus and NAME. */
  readonly #addresses = new Map<string, number>();
  #sliceEndMs = 0;
  #burst = 0;
  #damaged: number;
  /** Frames of before the start are passed over until the first that is not. */
  #isSeeking = true;
  #state: PlayerState = { kind: "playing" };
  readonly #stopped = new AbortController();

  constructor(options: PlayerOptions) {
    this.#options = options;
    const { speed = 1 } = options;
    if (!(speed >= 0)) throw new RangeError(`Cannot play at speed ${speed}: expected 0 or more`);
    this.#speed = speed;
    this.#idleTimeoutMs = options.deviceIdleTimeoutMs ?? DEFAULT_DEVICE_IDLE_TIMEOUT_MS;
    this.#sleep = options.sleep ?? sleepReally;
    this.#damaged = options.playlist.damaged;
  }

  get state(): PlayerState {
    return this.#state;
  }

  /** Blocks that could not be played so far, or not to their end. */
  get damaged(): number {
    return this.#damaged;
  }

  /** Plays until the end, or until stopped. Nothing is thrown: the state tells how it ended. */
  async run(): Promise<PlayerState> {
    const { playlist, loop, log } = this.#options;
    try {
      do {
        this.#isSeeking = true;
        this.#timeline.restart();
        this.#addresses.clear();
        const before = this.#options.broker.head;
        using reader = new BlockReader();
        for (const place of playlist.blocks) {
          if (this.#isStopped) return this.#state;
          await this.#playPlace(place, reader);
        }
        if (this.#options.broker.head === before) throw new Error("none of its frames can be read");
        await this.#turn();
      } while (loop && !this.#isStopped);
      if (!this.#isStopped) this.#state = { kind: "ended", damaged: this.#damaged };
    } catch (error) {
      const reason = errorText(error);
      log.error("replay failed", { reason, stack: error instanceof Error ? error.stack : undefined });
      this.#state = { kind: "failed", reason };
    }
    return this.#state;
  }

  /** Ends it at once. */
  stop(): void {
    if (this.#state.kind === "playing") this.#state = { kind: "stopped" };
    this.#stopped.abort();
  }

  get #isStopped(): boolean {
    return this.#state.kind === "stopped";
  }

  async #playPlace(place: PlaylistBlock, reader: BlockReader): Promise<void> {
    const { log } = this.#options;
    try {
      await this.#playBlock(await reader.read(place.path, place), place);
    } catch (error) {
      if (!(error instanceof BlockError)) throw error;
      this.#damaged++;
      log.warn("damaged block passed over", { path: place.path, offset: place.offset, reason: error.message });
    }
  }

  async #playBlock(block: Block, place: PlaylistBlock): Promise<void> {
    const { played, broker, playlist } = this.#options;
    const buses = this.#busesOf(block, place);
    const devices = new ActiveDevices(block.devices);
    const learn = (device: BlockDevice) => this.#learn(device, { buses, timeUs: frame.timeUs });
    const frames = block.frames();
    const frame = this.#frame;
    const before = broker.head;
    try {
      while (!this.#isStopped && frames.next(frame)) {
        if (this.#isSeeking && frame.timeUs < playlist.startUs) continue;
        this.#isSeeking = false;
        this.#nowMs = this.#timeline.at(frame.timeUs);
        if (!this.#isDue()) await this.#untilDue(frame);
        if (this.#isStopped) break;
        const skipped = frames.index - 1;
        if (broker.head === before) played.begin(block, { place, skipped, timeUs: frame.timeUs });
        devices.advance(skipped, learn);
        this.#publish(frame, buses);
      }
    } finally {
      if (broker.head > before && !this.#isStopped) played.end(frame.timeUs);
    }
  }

  #publish(frame: StoredFrame, buses: readonly number[]): void {
    const { broker } = this.#options;
    if (this.#nowMs - this.#houseKeptMs >= HOUSEKEEPING_MS) {
      broker.registry.expire(this.#nowMs, this.#idleTimeoutMs);
      this.#houseKeptMs = this.#nowMs;
    }
    const message = this.#message;
    const { id, pgn, timeUs, data, offset, length } = frame;
    message.bus = buses[frame.bus] ?? frame.bus;
    broker.publish(Object.assign(message, { id, pgn, timeUs, data, offset, length, monoMs: this.#nowMs }));
  }

  /** Index in the broker of each bus of a block. */
  #busesOf({ notes }: Block, { path, offset }: PlaylistBlock): readonly number[] {
    const { buses } = this.#options.broker;
    return (notes.buses ?? []).map((name) => {
      const index = buses.indexOf(name);
      if (index < 0) {
        throw new Error(`"${path}" has the bus "${name}" at ${offset}, and not in its first or last block`);
      }
      return index;
    });
  }

  /** Reports a device of the recording to the registry. */
  #learn(device: BlockDevice, { buses, timeUs }: { buses: readonly number[]; timeUs: number }): void {
    const { registry } = this.#options.broker;
    const { bus: index, src, name, activeFrom: _, ...product } = device;
    const bus = buses[index] ?? index;
    const key = `${bus} ${name}`;
    // Each block tells of all devices: one that was removed for its silence stays so until it is heard.
    if (this.#addresses.get(key) === src && !registry.get(bus, src)) return;
    this.#addresses.set(key, src);
    const isKnown = product.productCode !== 0 || product.modelId !== "";
    const known = { bus, src, name, product: isKnown ? product : undefined };
    registry.learn(known, { timeUs, monoMs: this.#nowMs });
  }

  /** Whether the next frame may be published without more ado. */
  #isDue(): boolean {
    const { clock } = this.#options;
    if (this.#speed === 0) return this.#burst++ < BURST_FRAMES;
    const nowMs = clock.monoMs();
    this.#startMs ??= nowMs;
    return nowMs >= this.#dueMs() && nowMs < this.#sliceEndMs;
  }

  #dueMs(): number {
    return (this.#startMs ?? 0) + this.#nowMs / this.#speed;
  }

  async #untilDue(frame: StoredFrame): Promise<void> {
    const { clock, log, caughtUp } = this.#options;
    if (this.#speed === 0) {
      await this.#turn();
      await caughtUp?.();
      this.#burst = 0;
      return;
    }
    const pauseMs = this.#dueMs() - clock.monoMs();
    if (pauseMs > TOLD_PAUSE_MS) {
      log.info("a pause was recorded", { seconds: Math.round(pauseMs / 1000), until: formatTimeUs(frame.timeUs) });
    }
    do {
      await this.#turn(Math.min(MAX_SLEEP_MS, Math.max(0, this.#dueMs() - clock.monoMs())));
    } while (!this.#isStopped && clock.monoMs() < this.#dueMs());
    this.#sliceEndMs = clock.monoMs() + SLICE_MS;
  }

  /** Lets others have their turn, or sleeps until `stop` ends it. */
  async #turn(ms = 0): Promise<void> {
    if (!this.#isStopped) await this.#sleep(ms, this.#stopped.signal);
  }
}

async function sleepReally(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await setTimeout(ms, undefined, { signal });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

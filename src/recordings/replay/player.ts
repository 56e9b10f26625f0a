import { setTimeout } from "node:timers/promises";
import { type Clock, errorText, type Logger } from "../../base/mod.ts";
import { type Broker, DEFAULT_DEVICE_IDLE_TIMEOUT_MS } from "../../broker/mod.ts";
import { RecordedMonotonic } from "../../can/mod.ts";
import { formatTimeUs, newStoredFrame, type StoredFrame } from "../../frame/mod.ts";
import { ActiveDevices, type Block, type BlockDevice, BlockError, BlockReader } from "../../journal/mod.ts";
import type { PlayedBlocks } from "./played_blocks.ts";
import type { Playlist, PlaylistBlock } from "./playlist.ts";

/** Options of a {@linkcode Player}. */
export interface PlayerOptions {
  playlist: Playlist;
  /** Records the played blocks. */
  played: PlayedBlocks;
  broker: Broker;
  /** Multiple of the recorded speed; 0: as fast as possible. Default 1. */
  speed?: number;
  /** Starts again at the end; default false. */
  loop?: boolean;
  /** Removes a device that is silent for longer, in the time of the recording, milliseconds; 0: never. Default 5 minutes. */
  deviceIdleTimeoutMs?: number;
  /** At full speed: resolves when all consumers without a queue of their own have caught up. */
  caughtUp?: () => Promise<void>;
  clock: Clock;
  /** Resolves after this time, or when the signal is aborted; default a timer. */
  sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
  log: Logger;
}

/** State of a replay. `damaged`: number of blocks that could not be played completely. */
export type PlayerState =
  | { kind: "playing" | "stopped" }
  | { kind: "ended"; damaged: number }
  | { kind: "failed"; reason: string };

/** Longest time of publishing before yielding to other tasks. */
const SLICE_MS = 4;
/** Frames published before yielding at full speed. */
const BURST_FRAMES = 512;
/** Longest timer. */
const MAX_SLEEP_MS = 3_600_000;
/** Recorded pauses longer than this are logged. */
const LOGGED_PAUSE_MS = 60_000;
/** Interval between checks for idle devices, in the time of the recording. */
const HOUSEKEEPING_MS = 1000;

/** Plays blocks to a broker: each frame when it is due, with its recorded time. */
export class Player {
  readonly #options: PlayerOptions;
  readonly #speed: number;
  readonly #idleTimeoutMs: number;
  readonly #sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly #timeline = new RecordedMonotonic();
  readonly #frame = newStoredFrame();
  readonly #message = { ...newStoredFrame(), monoMs: 0 };
  /** Monotonic time when the first frame was due. */
  #startMs: number | undefined;
  /** Monotonic time of the recording. */
  #nowMs = 0;
  #lastHousekeepingMs = 0;
  /** Recorded addresses by bus and NAME. */
  readonly #addresses = new Map<string, number>();
  #sliceEndMs = 0;
  #burst = 0;
  #damaged: number;
  /** True until the first frame after the start time. */
  #isSeeking = true;
  #state: PlayerState = { kind: "playing" };
  readonly #stopped = new AbortController();

  constructor(options: PlayerOptions) {
    this.#options = options;
    const { speed = 1 } = options;
    if (!(speed >= 0)) throw new RangeError(`Cannot play at speed ${speed}: expected 0 or more`);
    this.#speed = speed;
    this.#idleTimeoutMs = options.deviceIdleTimeoutMs ?? DEFAULT_DEVICE_IDLE_TIMEOUT_MS;
    this.#sleep = options.sleep ?? sleepWithTimer;
    this.#damaged = options.playlist.damaged;
  }

  get state(): PlayerState {
    return this.#state;
  }

  /** Number of blocks that could not be played completely so far. */
  get damaged(): number {
    return this.#damaged;
  }

  /** Plays until the end or a stop. Returns the final state; does not throw. */
  async run(): Promise<PlayerState> {
    const { playlist, loop, log } = this.#options;
    try {
      do {
        this.#isSeeking = true;
        this.#timeline.restart();
        this.#addresses.clear();
        const before = this.#options.broker.head;
        using reader = new BlockReader();
        for (const location of playlist.blocks) {
          if (this.#isStopped) return this.#state;
          await this.#readAndPlay(location, reader);
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

  /** Ends the replay at once. */
  stop(): void {
    if (this.#state.kind === "playing") this.#state = { kind: "stopped" };
    this.#stopped.abort();
  }

  get #isStopped(): boolean {
    return this.#state.kind === "stopped";
  }

  async #readAndPlay(location: PlaylistBlock, reader: BlockReader): Promise<void> {
    const { path, offset } = location;
    try {
      await this.#play(await reader.read(path, location), location);
    } catch (error) {
      if (!(error instanceof BlockError)) throw error;
      this.#damaged++;
      this.#options.log.warn("damaged block skipped", { path, offset, reason: error.message });
    }
  }

  async #play(block: Block, location: PlaylistBlock): Promise<void> {
    const { played, broker, playlist } = this.#options;
    const buses = this.#busesOf(block, location);
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
        if (broker.head === before) played.begin(block, { location, skipped, timeUs: frame.timeUs });
        devices.advance(skipped, learn);
        this.#publish(frame, buses);
      }
    } finally {
      if (broker.head > before && !this.#isStopped) played.end(frame.timeUs);
    }
  }

  #publish(frame: StoredFrame, buses: readonly number[]): void {
    const { broker } = this.#options;
    if (this.#nowMs - this.#lastHousekeepingMs >= HOUSEKEEPING_MS) {
      broker.registry.expire(this.#nowMs, this.#idleTimeoutMs);
      this.#lastHousekeepingMs = this.#nowMs;
    }
    const message = this.#message;
    const { id, pgn, timeUs, data, offset, length } = frame;
    message.bus = buses[frame.bus] ?? frame.bus;
    broker.publish(Object.assign(message, { id, pgn, timeUs, data, offset, length, monoMs: this.#nowMs }));
  }

  /** Indexes in the broker of the buses of a block. */
  #busesOf({ metadata }: Block, { path, offset }: PlaylistBlock): readonly number[] {
    const { buses } = this.#options.broker;
    return (metadata.buses ?? []).map((name) => {
      const index = buses.indexOf(name);
      if (index < 0) {
        throw new Error(`"${path}" names the bus "${name}" at byte ${offset}, but not in its first or last block`);
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
    // Each block lists all devices: a device that was removed as idle returns only when it sends again.
    if (this.#addresses.get(key) === src && !registry.get(bus, src)) return;
    this.#addresses.set(key, src);
    const isKnown = product.productCode !== 0 || product.modelId !== "";
    const known = { bus, src, name, product: isKnown ? product : undefined };
    registry.learn(known, { timeUs, monoMs: this.#nowMs });
  }

  /** True if the next frame may be published without waiting or yielding. */
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
    if (pauseMs > LOGGED_PAUSE_MS) {
      log.info("pause in the recording", { seconds: Math.round(pauseMs / 1000), until: formatTimeUs(frame.timeUs) });
    }
    do {
      await this.#turn(Math.min(MAX_SLEEP_MS, Math.max(0, this.#dueMs() - clock.monoMs())));
    } while (!this.#isStopped && clock.monoMs() < this.#dueMs());
    this.#sliceEndMs = clock.monoMs() + SLICE_MS;
  }

  /** Yields to other tasks, or sleeps until {@linkcode Player.stop}. */
  async #turn(ms = 0): Promise<void> {
    if (!this.#isStopped) await this.#sleep(ms, this.#stopped.signal);
  }
}

async function sleepWithTimer(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await setTimeout(ms, undefined, { signal });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

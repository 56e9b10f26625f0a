import { Buffer } from "node:buffer";
import { createRequire } from "node:module";
import { join } from "node:path";
import { type Clock, errorText, systemClock } from "../../base/mod.ts";
import { CAN_ID_MASK, type CanFrame, MAX_CAN_BYTES } from "../../frame/mod.ts";
import {
  type BusCounters,
  BusError,
  type BusSink,
  type BusState,
  type CanBus,
  type InterfaceCount,
  newCounters,
} from "../bus.ts";
import { BusStatus } from "../bus_status.ts";
import { controllerAfter, countErrorFrame } from "./error_frame.ts";
import {
  INTERFACE_POLL_MS,
  InterfaceDrops,
  type InterfaceStatus,
  readInterface,
  readInterfaceCount,
} from "./interface_watch.ts";
import { ReceiveTime } from "./receive_time.ts";
import { BUSY, type SendLimits, type SendOutcome, SendQueue, SENT } from "../send_queue.ts";

/** Options of a {@linkcode SocketCanAddonBus}. */
export interface SocketCanAddonOptions extends SendLimits {
  /** Clock of monotonic times, and of time stamps that the kernel does not supply; default: the system's. */
  clock?: Clock;
}

const PACKAGE = "socketcan";
const INSTALL_COMMAND = "npm install -g socketcan@4.3.1";
const GLOBAL_FOLDERS = ["/usr/local/lib/node_modules", "/usr/lib/node_modules"];
/** A filter that rejects every frame: the inverse of one that accepts every frame. */
const REJECT_ALL = [{ id: 0, mask: 0, invert: true }];
/** Polls in which a channel of a deleted interface may stop by itself before it is stopped. */
const POLLS_TO_STOP = 4;

/** The part of the package's API that is used. */
interface AddonMessage {
  id: number;
  data: Uint8Array;
  ext?: boolean;
  rtr?: boolean;
  err?: boolean;
  ts_sec?: number;
  ts_usec?: number;
}
interface Channel {
  addListener(event: "onMessage", listener: (message: AddonMessage) => void): void;
  addListener(event: "onStopped", listener: () => void): void;
  start(): void;
  stop(): void;
  send(message: AddonMessage): number;
  setRxFilters(filters: { id: number; mask: number; invert: boolean }[]): void;
  setErrorFilters(mask: number): void;
}
interface Addon {
  createRawChannelWithOptions(name: string, options: { timestamps?: boolean; non_block_send?: boolean }): Channel;
}

/** A receiving channel. Stopping it twice would crash the addon. */
class Reader {
  readonly channel: Channel;
  isStopped = false;
  pollsToStop = POLLS_TO_STOP;

  constructor(channel: Channel) {
    this.channel = channel;
    channel.addListener("onStopped", () => this.isStopped = true);
  }

  stop(): void {
    if (this.isStopped) return;
    this.isStopped = true;
    this.channel.stop();
  }
}

/** Channels that are open while the interface exists. */
interface Channels {
  reader: Reader;
  /** Sends frames. A channel does not receive its own frames, so the reader receives them. */
  sender: Channel;
  index: number | undefined;
}

/**
 * A CAN interface of Linux by the npm package `socketcan`, a native addon that the user installs. Needs `--allow-all`.
 *
 * The package has no count of the frames that the kernel dropped: `counters.kernelDropped` stays 0 while frames are
 * lost. It cannot enlarge the kernel's buffer or report why sending failed. {@linkcode SocketCanBus} can, and is
 * therefore the default. Closing blocks the event loop for up to 100 ms, because the addon waits for its thread.
 */
export class SocketCanAddonBus implements CanBus {
  readonly name: string;
  readonly #clock: Clock;
  readonly #times: ReceiveTime;
  readonly #counters: BusCounters = newCounters();
  readonly #status = new BusStatus();
  readonly #queue: SendQueue;
  #drops: InterfaceDrops;
  #sink: BusSink | undefined;
  #addon: Addon | undefined;
  #channels: Channels | undefined;
  /** Readers of deleted interfaces; the addon stops them itself, a little later. */
  #dying: Reader[] = [];
  #timer: ReturnType<typeof setInterval> | undefined;
  readonly #frame: CanFrame = { id: 0, timeUs: 0, monoMs: 0, data: new Uint8Array(0), offset: 0, length: 0 };

  /**
   * @param name the interface, for example `can0`
   * @param options see {@linkcode SocketCanAddonOptions}
   */
  constructor(name: string, options: SocketCanAddonOptions = {}) {
    const { clock = systemClock } = options;
    this.name = name;
    this.#clock = clock;
    this.#times = new ReceiveTime(clock);
    this.#drops = new InterfaceDrops(name, { clock });
    this.#queue = new SendQueue(name, {
      ...options,
      clock,
      counters: this.#counters,
      trySend: (id, data) => this.#trySend(id, data),
    });
  }

  get state(): BusState {
    return this.#status.state;
  }

  get interfaceCount(): InterfaceCount | undefined {
    return readInterfaceCount(this.name);
  }

  get counters(): Readonly<BusCounters> {
    if (this.#addon) this.#counters.interfaceDropped = this.#drops.total();
    return this.#counters;
  }

  open(sink: BusSink): Promise<void> {
    try {
      if (this.#addon) throw new BusError("it is open");
      const seen = readInterface(this.name);
      if (seen.type === "missing") throw new BusError("no such interface");
      const addon = loadAddon();
      this.#channels = this.#openChannels(addon, seen);
      this.#addon = addon;
    } catch (error) {
      const reason = errorText(error);
      return Promise.reject(new BusError(`Cannot open bus "${this.name}": ${reason}`, { cause: error }));
    }
    this.#sink = sink;
    this.#status.attach(sink);
    Object.assign(this.#counters, newCounters());
    this.#drops = new InterfaceDrops(this.name, { clock: this.#clock });
    this.#begin();
    this.#timer = setInterval(() => this.#guard(() => this.#poll()), INTERFACE_POLL_MS);
    return Promise.resolve();
  }

  send(id: number, data: Uint8Array): Promise<void> {
    return this.#queue.push(id, data);
  }

  close(): Promise<void> {
    if (!this.#addon) return Promise.resolve();
    this.#counters.interfaceDropped = this.#drops.totalNow();
    clearInterval(this.#timer);
    this.#addon = undefined;
    this.#sink = undefined;
    this.#queue.clear("it is closed");
    this.#status.closed();
    this.#retire();
    for (const reader of this.#dying.splice(0)) reader.stop();
    return Promise.resolve();
  }

  #openChannels(addon: Addon, seen: InterfaceStatus): Channels {
    const sender = openChannel(addon, this.name);
    sender.setRxFilters(REJECT_ALL);
    sender.setErrorFilters(0);
    const reader = new Reader(openChannel(addon, this.name));
    reader.channel.addListener("onMessage", (message) => {
      if (this.#channels?.reader === reader) this.#guard(() => this.#deliver(message));
    });
    reader.channel.addListener("onStopped", () => {
      if (this.#channels?.reader === reader) this.#guard(() => this.#interfaceLost("no such interface"));
    });
    reader.channel.start();
    return { reader, sender, index: "index" in seen ? seen.index : undefined };
  }

  #begin(): void {
    this.#drops.rebase();
    this.#status.forgetCarrier();
    const seen = readInterface(this.name);
    if (seen.type === "down") this.#status.down("the interface is down");
    else this.#status.up();
  }

  /** Catches exceptions in callbacks of the addon and of timers, which would end the process. The next poll recovers. */
  #guard(step: () => void): void {
    try {
      step();
    } catch (error) {
      this.#status.failed(error);
    }
  }

  #deliver(message: AddonMessage): void {
    if (message.err) {
      const frame = { classes: message.id, controller: message.data[1] ?? 0 };
      countErrorFrame(this.#counters, frame);
      if (this.#status.state.type !== "up") return;
      this.#status.up(controllerAfter(this.#status.controller, frame));
      return;
    }
    if (!message.ext || message.rtr) {
      this.#counters.ignored++;
      return;
    }
    const frame = this.#frame;
    frame.id = message.id & CAN_ID_MASK;
    // The addon delivers one frame at a time, so each is a batch.
    this.#times.read();
    frame.timeUs = message.ts_sec ? message.ts_sec * 1e6 + (message.ts_usec ?? 0) : this.#times.readWallUs;
    frame.monoMs = this.#times.monoMs(frame.timeUs);
    frame.data = message.data;
    frame.length = Math.min(message.data.length, MAX_CAN_BYTES);
    this.#counters.received++;
    this.#sink?.frame(frame);
  }

  /** Polls the interface, because the addon does not report when it goes down or comes back. */
  #poll(): void {
    this.#counters.interfaceDropped = this.#drops.total();
    this.#dying = this.#dying.filter((reader) => !reader.isStopped);
    for (const reader of this.#dying) if (--reader.pollsToStop <= 0) reader.stop();
    const seen = readInterface(this.name);
    if (seen.type === "missing") return this.#interfaceLost("no such interface");
    const index = this.#channels?.index;
    if (index !== undefined && "index" in seen && seen.index !== index) {
      this.#interfaceLost("it is another interface now");
    }
    if (!this.#channels) this.#reopen(seen);
    else if (seen.type === "down") this.#status.down("the interface is down");
    else if (seen.type === "up") this.#status.seenUp(seen.carrier);
  }

  #interfaceLost(reason: string): void {
    this.#counters.interfaceDropped = this.#drops.totalNow();
    this.#retire();
    this.#queue.clear("it is missing");
    this.#status.missing(reason);
  }

  #retire(): void {
    if (this.#channels) this.#dying.push(this.#channels.reader);
    this.#channels = undefined;
  }

  #reopen(seen: InterfaceStatus): void {
    if (!this.#addon) return;
    try {
      this.#channels = this.#openChannels(this.#addon, seen);
    } catch {
      // The interface has disappeared again; the next poll tries again.
      return;
    }
    this.#begin();
  }

  #trySend(id: number, data: Uint8Array): SendOutcome {
    if (!this.#channels) return { type: "failed", message: `it is ${this.#status.state.type}` };
    try {
      const sent = this.#channels.sender.send({ id: id & CAN_ID_MASK, ext: true, data: Buffer.from(data) });
      if (sent >= 0) return SENT;
    } catch (error) {
      return { type: "failed", message: errorText(error) };
    }
    // The addon does not report why.
    const seen = readInterface(this.name);
    if (seen.type === "down" || seen.type === "missing") return { type: "failed", message: `it is ${seen.type}` };
    return BUSY;
  }
}

/** Finds the reason: the addon reports "Error while creating channel" for every failure. */
function openChannel(addon: Addon, name: string): Channel {
  try {
    return addon.createRawChannelWithOptions(name, { timestamps: true, non_block_send: true });
  } catch (error) {
    const reason = 'the package "socketcan" cannot open it: it is no CAN interface, or this kernel has no CAN';
    throw new BusError(reason, { cause: error });
  }
}

function isAddon(value: unknown): value is Addon {
  return typeof value === "object" && value !== null && "createRawChannelWithOptions" in value &&
    typeof value.createRawChannelWithOptions === "function";
}

/**
 * Loads the package from `node_modules` of the current folder, or from npm's global folder.
 *
 * @throws {BusError} the package is not installed or cannot be loaded
 */
export function loadAddon(): Addon {
  for (const folder of [join(Deno.cwd(), "node_modules"), ...GLOBAL_FOLDERS]) {
    if (!exists(join(folder, PACKAGE, "package.json"))) continue;
    try {
      const addon: unknown = createRequire(join(folder, "noop.js"))(join(folder, PACKAGE));
      if (isAddon(addon)) return addon;
    } catch (error) {
      const reason = error instanceof Error ? error.message.split("\n")[0] : String(error);
      throw new BusError(`the package "${join(folder, PACKAGE)}" cannot be loaded (${reason})`, { cause: error });
    }
  }
  throw new BusError(`the package "${PACKAGE}" is not installed; install it with "${INSTALL_COMMAND}"`);
}

function exists(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}

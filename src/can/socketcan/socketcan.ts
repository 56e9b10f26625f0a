import { type Clock, errorText, pause, systemClock } from "../../base/mod.ts";
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
import { CAN_EFF_FLAG, CAN_ERR_FLAG, CAN_RTR_FLAG, controllerAfter, countErrorFrame } from "./error_frame.ts";
import {
  INTERFACE_POLL_MS,
  InterfaceDrops,
  type InterfaceStatus,
  readInterface,
  readInterfaceCount,
} from "./interface_watch.ts";
import { EAGAIN, EINTR, ENETDOWN, ENOBUFS, type Libc, POLLERR, POLLHUP, POLLNVAL, reasonOf } from "./libc.ts";
import { ReceiveTime } from "./receive_time.ts";
import { BUSY, type SendLimits, type SendOutcome, SendQueue, SENT } from "../send_queue.ts";
import { SocketCanBatch } from "./batch.ts";
import { CanSocket, openLibc, probeInterface, SocketCanWaiter, SystemError } from "./socket.ts";

/** Options of a {@linkcode SocketCanBus}. */
export interface SocketCanOptions extends SendLimits {
  /** Clock of monotonic times, and of time stamps that the kernel does not supply; default: the system's. */
  clock?: Clock;
  /**
   * Size of the kernel's receive buffer, default 4 MB: some 5000 frames, 2.5 s of a full NMEA 2000 bus. Without
   * CAP_NET_ADMIN the kernel limits it to net.core.rmem_max.
   */
  receiveBytes?: number;
}

const RECEIVE_BYTES = 4 * 1024 * 1024;
/** Frames read by one system call. */
const BATCH_FRAMES = 64;
/** Longest time of reading before other work gets its turn. */
const TURN_MS = 3;

/** Resources of an open bus. */
interface Opened {
  libc: Libc;
  waiter: SocketCanWaiter;
  /** Undefined while the interface is missing. */
  socket: CanSocket | undefined;
}

/**
 * A CAN interface of Linux, by SocketCAN through the C library, with kernel time stamps and a count of every frame the
 * kernel dropped. Needs `--allow-ffi`; with `--allow-all` it also reads the interface's own counters in /sys.
 *
 * It waits with poll in another thread and receives with recvmmsg in this one: the error number of a call in another
 * thread would be lost.
 */
export class SocketCanBus implements CanBus {
  readonly name: string;
  readonly #clock: Clock;
  readonly #times: ReceiveTime;
  readonly #receiveBytes: number;
  readonly #counters: BusCounters = newCounters();
  readonly #status = new BusStatus();
  readonly #queue: SendQueue;
  #drops: InterfaceDrops;
  #sink: BusSink | undefined;
  #opened: Opened | undefined;
  #running: Promise<void> = Promise.resolve();
  #batch: SocketCanBatch | undefined;
  readonly #frame: CanFrame = { id: 0, timeUs: 0, monoMs: 0, data: new Uint8Array(0), offset: 0, length: 0 };
  /** Why the socket is dead; its waiting frames are read before it is closed. */
  #lost: string | undefined;
  /** The last value of the socket's drop counter, u32. */
  #socketDrops = 0;
  #polledAtMs = -Infinity;

  /**
   * @param name the interface, for example `can0`
   * @param options see {@linkcode SocketCanOptions}
   */
  constructor(name: string, options: SocketCanOptions = {}) {
    const { clock = systemClock, receiveBytes = RECEIVE_BYTES } = options;
    this.name = name;
    this.#clock = clock;
    this.#times = new ReceiveTime(clock);
    this.#receiveBytes = receiveBytes;
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
    if (this.#opened) this.#readDrops(this.#opened);
    return this.#counters;
  }

  open(sink: BusSink): Promise<void> {
    if (this.#opened) return Promise.reject(new BusError(`Cannot open bus "${this.name}": it is open`));
    try {
      this.#opened = this.#openAll();
    } catch (error) {
      return Promise.reject(new BusError(`Cannot open bus "${this.name}": ${explain(error)}`, { cause: error }));
    }
    this.#sink = sink;
    this.#status.attach(sink);
    this.#batch = new SocketCanBatch(BATCH_FRAMES);
    Object.assign(this.#counters, newCounters());
    this.#drops = new InterfaceDrops(this.name, { clock: this.#clock });
    this.#polledAtMs = -Infinity;
    if (this.#opened.socket) this.#begin(this.#opened.socket);
    this.#running = this.#run(this.#opened);
    return Promise.resolve();
  }

  send(id: number, data: Uint8Array): Promise<void> {
    return this.#queue.push(id, data);
  }

  async close(): Promise<void> {
    const opened = this.#opened;
    if (opened) {
      this.#readDrops(opened, { isLast: true });
      this.#opened = undefined;
      this.#sink = undefined;
      this.#queue.clear("it is closed");
      this.#status.closed();
      opened.waiter.wake();
      // Not awaited here: a second call waits below for the same end.
      this.#running = this.#running.finally(() => {
        opened.socket?.close();
        opened.waiter.close();
        opened.libc.close();
      });
    }
    await this.#running;
  }

  #openAll(): Opened {
    const libc = openLibc();
    try {
      const socket = CanSocket.open(libc, this.name, { receiveBytes: this.#receiveBytes });
      return { libc, socket, waiter: new SocketCanWaiter(libc) };
    } catch (error) {
      libc.close();
      throw error;
    }
  }

  /** Resets the state for a new socket, which has its own drop counter and may have another interface. */
  #begin(socket: CanSocket): void {
    this.#lost = undefined;
    this.#socketDrops = 0;
    this.#drops.rebase();
    this.#status.forgetCarrier();
    if (socket.takeError() === ENETDOWN) this.#status.down("the interface is down");
    else this.#status.up();
  }

  /**
   * Runs until the bus is closed. An exception is reported as a state, and after a pause the bus tries again. The socket stays
   * open meanwhile, so that arriving frames wait in the kernel's buffer and every lost frame is counted.
   */
  async #run(opened: Opened): Promise<void> {
    while (this.#opened === opened) {
      try {
        await this.#round(opened);
      } catch (error) {
        if (this.#opened !== opened) return;
        this.#status.failed(error);
        await pause(INTERFACE_POLL_MS);
      }
    }
  }

  /** Waits for an event and handles it. */
  async #round(opened: Opened): Promise<void> {
    // A dead socket is read without delay until it is empty, and then closed.
    const events = await opened.waiter.wait(opened.socket, this.#lost === undefined ? INTERFACE_POLL_MS : 0);
    if (this.#opened !== opened) return;
    if (opened.socket) this.#serve(opened, opened.socket, events);
    if (this.#opened !== opened) return;
    const nowMs = this.#clock.monoMs();
    if (events !== 0 && nowMs - this.#polledAtMs < INTERFACE_POLL_MS) return;
    this.#polledAtMs = nowMs;
    this.#poll(opened);
  }

  #serve(opened: Opened, socket: CanSocket, events: number): void {
    if (events & POLLERR) this.#onError(opened, socket.takeError());
    if (events & (POLLHUP | POLLNVAL)) this.#lost ??= "the socket was hung up";
    const hasMore = events !== 0 && this.#receive(opened, socket);
    if (this.#lost !== undefined && !hasMore && this.#opened === opened) this.#interfaceLost(opened, this.#lost);
  }

  /** Reads frames until there are none or the turn is over. Returns whether there may be more. */
  #receive(opened: Opened, socket: CanSocket): boolean {
    const batch = this.#batch;
    if (!batch) return false;
    const startMs = this.#times.read();
    let hadError = false;
    for (let nowMs = startMs; nowMs - startMs < TURN_MS; nowMs = this.#times.read()) {
      const count = socket.receive(batch);
      if (count < 0) {
        this.#onError(opened, -count);
        // An error is reported once, before the frames that arrived earlier, which can still be read.
        if (hadError || -count === EAGAIN) return false;
        hadError = true;
        continue;
      }
      this.#deliverAll(batch, count);
      if (!this.#sink || count < batch.frames) return false;
    }
    return true;
  }

  /** Delivers the whole batch even if one delivery throws: the kernel no longer has these frames. */
  #deliverAll(batch: SocketCanBatch, count: number): void {
    let failure: { error: unknown } | undefined;
    for (let i = 0; i < count && this.#sink; i++) {
      try {
        this.#deliver(batch, i);
      } catch (error) {
        failure ??= { error };
      }
    }
    if (failure) throw failure.error;
  }

  #deliver(batch: SocketCanBatch, i: number): void {
    const drops = batch.drops(i);
    if (drops !== 0) this.#countDrops(drops);
    const canId = batch.canId(i);
    if (canId & CAN_ERR_FLAG) {
      this.#handleErrorFrame(canId, batch.bytes[batch.dataOffset(i) + 1] ?? 0);
      return;
    }
    if ((canId & CAN_EFF_FLAG) === 0 || (canId & CAN_RTR_FLAG) !== 0 || !batch.isWhole(i)) {
      this.#counters.ignored++;
      return;
    }
    const frame = this.#frame;
    frame.id = canId & CAN_ID_MASK;
    frame.timeUs = batch.timeUs(i) || this.#times.readWallUs;
    frame.monoMs = this.#times.monoMs(frame.timeUs);
    frame.data = batch.bytes;
    frame.offset = batch.dataOffset(i);
    frame.length = Math.min(batch.length(i), MAX_CAN_BYTES);
    this.#counters.received++;
    this.#sink?.frame(frame);
  }

  #handleErrorFrame(canId: number, controller: number): void {
    countErrorFrame(this.#counters, { classes: canId, controller });
    // An error frame that waited in the buffer while the interface went down is outdated.
    if (this.#status.state.type !== "up") return;
    this.#status.up(controllerAfter(this.#status.controller, { classes: canId, controller }));
  }

  #onError({ libc }: Opened, errno: number): void {
    if (errno === 0 || errno === EAGAIN || errno === EINTR || errno === ENOBUFS) return;
    if (errno === ENETDOWN) this.#status.down(reasonOf(libc, errno));
    else this.#lost ??= reasonOf(libc, errno);
  }

  /**
   * Polls the interface itself, because a silent bus shows nothing. Frames of a deleted interface may still wait
   * in the socket: the socket is only marked as dead here.
   */
  #poll(opened: Opened): void {
    this.#readDrops(opened);
    const seen = this.#inspect(opened.libc);
    if (seen.type === "unknown") return;
    if (seen.type === "missing") {
      if (opened.socket) this.#lost ??= "no such interface";
      else this.#status.missing("no such interface");
      return;
    }
    if (!opened.socket) this.#reopen(opened);
    else if (opened.socket.index !== seen.index) this.#lost ??= "it is another interface now";
    else if (seen.type === "down") this.#status.down("the interface is down");
    else this.#status.seenUp(seen.carrier);
  }

  #inspect(libc: Libc): InterfaceStatus {
    const seen = readInterface(this.name);
    return seen.type === "unknown" ? probeInterface(libc, this.name) : seen;
  }

  #interfaceLost(opened: Opened, reason: string): void {
    this.#readDrops(opened, { isLast: true });
    const socket = opened.socket;
    opened.socket = undefined;
    this.#lost = undefined;
    socket?.close();
    this.#queue.clear("it is missing");
    this.#status.missing(reason);
  }

  #reopen(opened: Opened): void {
    try {
      opened.socket = CanSocket.open(opened.libc, this.name, { receiveBytes: this.#receiveBytes });
    } catch (error) {
      if (error instanceof SystemError) return;
      throw error;
    }
    this.#begin(opened.socket);
  }

  #trySend(id: number, data: Uint8Array): SendOutcome {
    const opened = this.#opened;
    if (!opened?.socket) return { type: "failed", message: `it is ${this.#status.state.type}` };
    const errno = opened.socket.send(((id & CAN_ID_MASK) | CAN_EFF_FLAG) >>> 0, data);
    if (errno === 0) return SENT;
    if (errno === EAGAIN || errno === ENOBUFS || errno === EINTR) return BUSY;
    return { type: "failed", message: reasonOf(opened.libc, errno) };
  }

  /** Reads both counters of lost frames. The socket's is queried, because no later frame may arrive to carry it. */
  #readDrops({ socket }: Opened, { isLast = false }: { isLast?: boolean } = {}): void {
    const drops = socket?.drops();
    if (drops !== undefined) this.#countDrops(drops);
    this.#counters.interfaceDropped = isLast ? this.#drops.totalNow() : this.#drops.total();
  }

  /** Processes the drop counter, which arrives by two ways in any order and wraps: only increases count. */
  #countDrops(drops: number): void {
    const delta = (drops - this.#socketDrops) | 0;
    if (delta <= 0) return;
    this.#counters.kernelDropped += delta;
    this.#socketDrops = drops;
  }
}

function explain(error: unknown): string {
  if (error instanceof Deno.errors.NotCapable) return "it needs --allow-ffi";
  return errorText(error);
}

import { CAN_ERR_MASK } from "./error_frame.ts";
import type { InterfaceStatus } from "./interface_watch.ts";
import * as c from "./libc.ts";
import type { SocketCanBatch } from "./batch.ts";

/** A call of the C library failed. */
export class SystemError extends Error {
  override name = "SystemError";
  /** Error number of the system. */
  readonly errno: number;

  /** @param errno error number of the C library */
  constructor(errno: number, reason: string) {
    super(reason);
    this.errno = errno;
  }
}

/** Opens the C library. The caller closes it. */
export function openLibc(): c.Libc {
  return Deno.dlopen(c.LIBC_FILE, c.LIBC_SYMBOLS);
}

/** Error number of the preceding synchronous call. */
function errnoOf(libc: c.Libc): number {
  const location = libc.symbols.__errno_location();
  return location ? new Deno.UnsafePointerView(location).getInt32() : 0;
}

function fail(libc: c.Libc): SystemError {
  const errno = errnoOf(libc);
  return new SystemError(errno, c.reasonOf(libc, errno));
}

function indexOf(libc: c.Libc, name: string): number {
  return libc.symbols.if_nametoindex(new TextEncoder().encode(`${name}\0`));
}

/** Reads the status of an interface without /sys, by binding a socket to it. */
export function probeInterface(libc: c.Libc, name: string): InterfaceStatus {
  try {
    const socket = CanSocket.open(libc, name);
    const errno = socket.takeError();
    socket.close();
    return errno === c.ENETDOWN
      ? { type: "down", index: socket.index }
      : { type: "up", index: socket.index, carrier: true };
  } catch (error) {
    if (error instanceof SystemError) return { type: error.errno === c.ENODEV ? "missing" : "unknown" };
    throw error;
  }
}

/** A raw CAN socket, bound to one interface. All calls are non-blocking. */
export class CanSocket {
  readonly #libc: c.Libc;
  /** File descriptor, for poll. */
  readonly fd: number;
  /** Index of the interface it is bound to. */
  readonly index: number;
  readonly #outgoing = new DataView(new ArrayBuffer(c.CAN_FRAME.bytes));
  readonly #outgoingData = new Uint8Array(this.#outgoing.buffer, c.CAN_FRAME.data);
  readonly #option = new Uint32Array(c.MEMINFO_VALUES);
  readonly #optionLength = new Uint32Array(1);

  private constructor(libc: c.Libc, { fd, index }: { fd: number; index: number }) {
    this.#libc = libc;
    this.fd = fd;
    this.index = index;
  }

  /**
   * Opens a socket that receives all frames of an interface, including our own and error frames.
   *
   * @param options.receiveBytes size of the kernel's buffer; default: the system's
   * @throws {SystemError} there is no such interface, it is not a CAN interface, or the system refuses
   */
  static open(libc: c.Libc, name: string, { receiveBytes }: { receiveBytes?: number } = {}): CanSocket {
    const index = indexOf(libc, name);
    if (index === 0) throw new SystemError(c.ENODEV, c.reasonOf(libc, c.ENODEV));
    const fd = libc.symbols.socket(c.AF_CAN, c.SOCK_RAW | c.SOCK_NONBLOCK | c.SOCK_CLOEXEC, c.CAN_RAW);
    if (fd < 0) throw fail(libc);
    const socket = new CanSocket(libc, { fd, index });
    try {
      socket.#setUp(receiveBytes);
    } catch (error) {
      socket.close();
      if (error instanceof SystemError && error.errno === c.ENODEV && indexOf(libc, name) !== 0) {
        throw new SystemError(c.ENODEV, "it is not a CAN interface");
      }
      throw error;
    }
    return socket;
  }

  #setUp(receiveBytes: number | undefined): void {
    this.#set(c.SOL_CAN_RAW, c.CAN_RAW_ERR_FILTER, CAN_ERR_MASK);
    this.#set(c.SOL_CAN_RAW, c.CAN_RAW_RECV_OWN_MSGS, 1);
    this.#set(c.SOL_SOCKET, c.SO_TIMESTAMPNS, 1);
    this.#set(c.SOL_SOCKET, c.SO_RXQ_OVFL, 1);
    if (receiveBytes !== undefined) {
      try {
        this.#set(c.SOL_SOCKET, c.SO_RCVBUFFORCE, receiveBytes);
      } catch {
        // Needs CAP_NET_ADMIN; the plain option is limited to net.core.rmem_max.
        this.#set(c.SOL_SOCKET, c.SO_RCVBUF, receiveBytes);
      }
    }
    const address = new DataView(new ArrayBuffer(c.SOCKADDR_CAN.bytes));
    address.setUint16(c.SOCKADDR_CAN.family, c.AF_CAN, true);
    address.setInt32(c.SOCKADDR_CAN.ifindex, this.index, true);
    if (this.#libc.symbols.bind(this.fd, address, c.SOCKADDR_CAN.bytes) < 0) throw fail(this.#libc);
  }

  #set(level: number, option: number, value: number): void {
    const status = this.#libc.symbols.setsockopt(this.fd, level, option, new Uint32Array([value]), 4);
    if (status < 0) throw fail(this.#libc);
  }

  /** Returns and clears the pending error of the socket; 0 is none. */
  takeError(): number {
    return this.#get(c.SO_ERROR, 1) ? this.#option[0] ?? 0 : errnoOf(this.#libc);
  }

  /** Frames that the kernel has dropped at this socket, u32; undefined on kernels before 4.12. */
  drops(): number | undefined {
    return this.#get(c.SO_MEMINFO, c.MEMINFO_VALUES) ? this.#option[c.MEMINFO_DROPS] : undefined;
  }

  #get(option: number, values: number): boolean {
    this.#optionLength[0] = values * 4;
    const { getsockopt } = this.#libc.symbols;
    return getsockopt(this.fd, c.SOL_SOCKET, option, this.#option, this.#optionLength) === 0;
  }

  /** Reads waiting frames into the batch. Returns the number of frames, or minus the error number. */
  receive(batch: SocketCanBatch): number {
    batch.prepare();
    const count = this.#libc.symbols.recvmmsg(this.fd, batch.pointer, batch.frames, c.MSG_DONTWAIT, null);
    return count < 0 ? -errnoOf(this.#libc) : count;
  }

  /** Passes a frame to the kernel. Returns 0 or the error number. */
  send(canId: number, data: Uint8Array): number {
    this.#outgoing.setUint32(c.CAN_FRAME.id, canId, true);
    this.#outgoing.setUint8(c.CAN_FRAME.length, data.length);
    this.#outgoingData.fill(0);
    this.#outgoingData.set(data);
    const sent = this.#libc.symbols.send(this.fd, this.#outgoing, BigInt(c.CAN_FRAME.bytes), c.MSG_DONTWAIT);
    return sent < 0 ? errnoOf(this.#libc) : 0;
  }

  close(): void {
    this.#libc.symbols.close(this.fd);
  }
}

/** Waits for frames in another thread, and can be woken. */
export class SocketCanWaiter {
  readonly #libc: c.Libc;
  readonly #wakeFd: number;
  /** Two pollfds: the wake-up and the socket. Outside the JavaScript heap, because another thread uses it. */
  readonly #pollfds = new DataView(new ArrayBuffer(2 * c.POLLFD.bytes));

  /** @throws {SystemError} no file descriptor is available */
  constructor(libc: c.Libc) {
    this.#libc = libc;
    this.#wakeFd = libc.symbols.eventfd(0, c.EFD_NONBLOCK | c.EFD_CLOEXEC);
    if (this.#wakeFd < 0) throw fail(libc);
    this.#pollfds.setInt32(c.POLLFD.fd, this.#wakeFd, true);
    this.#pollfds.setInt16(c.POLLFD.events, c.POLLIN, true);
  }

  /** Waits until the socket has an event, {@linkcode wake} is called, or the time is over. Returns the poll events. */
  async wait(socket: CanSocket | undefined, timeoutMs: number): Promise<number> {
    // poll ignores negative descriptors.
    this.#pollfds.setInt32(c.POLLFD.bytes + c.POLLFD.fd, socket?.fd ?? -1, true);
    this.#pollfds.setInt16(c.POLLFD.bytes + c.POLLFD.events, c.POLLIN, true);
    this.#pollfds.setInt16(c.POLLFD.bytes + c.POLLFD.revents, 0, true);
    await this.#libc.symbols.poll(this.#pollfds, 2n, timeoutMs);
    return this.#pollfds.getInt16(c.POLLFD.bytes + c.POLLFD.revents, true);
  }

  /** Ends the current wait and every later one. */
  wake(): void {
    this.#libc.symbols.write(this.#wakeFd, new BigUint64Array([1n]), 8n);
  }

  close(): void {
    this.#libc.symbols.close(this.#wakeFd);
  }
}

/**
 * Functions, constants and layouts of the C library for SocketCAN. Constants are from linux/can.h, linux/can/raw.h and
 * asm-generic/{socket,errno,poll}.h, layouts of 64-bit little-endian Linux (x86_64 and aarch64 have the same).
 *
 * @module
 */

/** The functions, for Deno.dlopen. Small results are declared i32, which avoids bigint. */
export const LIBC_SYMBOLS = {
  __errno_location: { parameters: [], result: "pointer" },
  bind: { parameters: ["i32", "buffer", "u32"], result: "i32" },
  close: { parameters: ["i32"], result: "i32" },
  eventfd: { parameters: ["u32", "i32"], result: "i32" },
  getsockopt: { parameters: ["i32", "i32", "i32", "buffer", "buffer"], result: "i32" },
  if_nametoindex: { parameters: ["buffer"], result: "u32" },
  poll: { parameters: ["buffer", "usize", "i32"], result: "i32", nonblocking: true },
  recvmmsg: { parameters: ["i32", "pointer", "u32", "i32", "pointer"], result: "i32" },
  send: { parameters: ["i32", "buffer", "usize", "i32"], result: "i32" },
  setsockopt: { parameters: ["i32", "i32", "i32", "buffer", "u32"], result: "i32" },
  socket: { parameters: ["i32", "i32", "i32"], result: "i32" },
  strerror: { parameters: ["i32"], result: "pointer" },
  write: { parameters: ["i32", "buffer", "usize"], result: "i32" },
} as const satisfies Deno.ForeignLibraryInterface;

/** The opened library. */
export type Libc = Deno.DynamicLibrary<typeof LIBC_SYMBOLS>;

/** File of glibc, which the Deno process has loaded already. */
export const LIBC_FILE = "libc.so.6";

export const AF_CAN = 29;
export const SOCK_RAW = 3;
export const SOCK_NONBLOCK = 0x800;
export const SOCK_CLOEXEC = 0x80000;
export const EFD_NONBLOCK = SOCK_NONBLOCK;
export const EFD_CLOEXEC = SOCK_CLOEXEC;
export const CAN_RAW = 1;

export const SOL_SOCKET = 1;
export const SO_ERROR = 4;
export const SO_RCVBUF = 8;
export const SO_RCVBUFFORCE = 33;
/** Option and control message: time of reception, struct timespec. */
export const SO_TIMESTAMPNS = 35;
/** Option and control message: frames dropped by this socket so far, u32. */
export const SO_RXQ_OVFL = 40;
/** Option: memory use, an array of u32. */
export const SO_MEMINFO = 55;
/** Length of the array, and index of the drop counter (linux/sock_diag.h: SK_MEMINFO_VARS, SK_MEMINFO_DROPS). */
export const MEMINFO_VALUES = 9;
export const MEMINFO_DROPS = 8;

export const SOL_CAN_RAW = 101;
export const CAN_RAW_ERR_FILTER = 2;
export const CAN_RAW_RECV_OWN_MSGS = 4;

export const MSG_DONTWAIT = 0x40;
export const POLLIN = 0x1;
export const POLLERR = 0x8;
export const POLLHUP = 0x10;
export const POLLNVAL = 0x20;

export const EINTR = 4;
export const EAGAIN = 11;
export const ENODEV = 19;
export const EAFNOSUPPORT = 97;
export const ENETDOWN = 100;
export const ENOBUFS = 105;

/** struct sockaddr_can: u16 family, then int ifindex at 4. */
export const SOCKADDR_CAN = { bytes: 24, family: 0, ifindex: 4 } as const;
/** struct can_frame: u32 can_id with flags, u8 length, data. */
export const CAN_FRAME = { bytes: 16, id: 0, length: 4, data: 8 } as const;
/** struct pollfd. */
export const POLLFD = { bytes: 8, fd: 0, events: 4, revents: 6 } as const;
/** struct iovec. */
export const IOVEC = { bytes: 16, base: 0, length: 8 } as const;
/** struct mmsghdr: a struct msghdr of 56 bytes, then u32 msg_len. */
export const MMSGHDR = { bytes: 64, iov: 16, iovCount: 24, control: 32, controlLength: 40, received: 56 } as const;
/** struct cmsghdr: u64 length with header, int level, int type; the data follows. Messages start at multiples of 8. */
export const CMSGHDR = { level: 8, type: 12, data: 16, alignment: 8 } as const;
/** Size of both control messages: time 16 + 16, drops 16 + 8. */
export const CONTROL_BYTES = 64;

/** Reasons that are clearer than those of the C library. */
const REASONS: Record<number, string> = {
  [ENODEV]: "no such interface",
  [EAFNOSUPPORT]: "this kernel has no CAN (address family not supported)",
  [ENETDOWN]: "the interface is down",
};

/** Text of an errno. */
export function reasonOf(libc: Libc, errno: number): string {
  const known = REASONS[errno];
  if (known) return known;
  const text = libc.symbols.strerror(errno);
  return text ? `${Deno.UnsafePointerView.getCString(text).toLowerCase()} (errno ${errno})` : `errno ${errno}`;
}

/** Sockets through libc: constants of Linux on x86_64 and aarch64. */
const AF_INET = 2;
const SOCK_STREAM = 1;
const MSG_DONTWAIT = 0x40;
const READ_EVERY_MS = 50;

const libcSymbols = {
  socket: { parameters: ["i32", "i32", "i32"], result: "i32" },
  connect: { parameters: ["i32", "buffer", "u32"], result: "i32" },
  send: { parameters: ["i32", "buffer", "usize", "i32"], result: "isize" },
  recv: { parameters: ["i32", "buffer", "usize", "i32"], result: "isize" },
  close: { parameters: ["i32"], result: "i32" },
} as const;

/**
 * Clients of an event stream that throw the bytes away. They read now and then without waiting for the socket: a client
 * elsewhere on the network does not make the server's kernel wake a process for every write, and these must not either.
 */
export class Drains {
  readonly #libc = Deno.dlopen("libc.so.6", libcSymbols);
  readonly #sockets: number[] = [];
  readonly #buffer = new Uint8Array(1024 * 1024);
  readonly #timer = setInterval(() => this.#read(), READ_EVERY_MS);
  #bytes = 0;

  /** Bytes received since the last call. */
  takeBytes(): number {
    const bytes = this.#bytes;
    this.#bytes = 0;
    return bytes;
  }

  /** Opens one more stream on this machine; `query` begins with a question mark. */
  open(port: number, query = ""): void {
    const { socket, connect, send } = this.#libc.symbols;
    const fd = socket(AF_INET, SOCK_STREAM, 0);
    const address = Uint8Array.of(AF_INET, 0, port >> 8, port & 0xff, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0);
    const request = new TextEncoder().encode(`GET /events${query} HTTP/1.1\r\nHost: boat\r\n\r\n`);
    if (fd < 0 || connect(fd, address, address.length) !== 0) throw new Error(`Cannot connect to port ${port}`);
    send(fd, request, BigInt(request.length), 0);
    this.#sockets.push(fd);
  }

  /** Leaves. */
  close(): void {
    clearInterval(this.#timer);
    for (const fd of this.#sockets) this.#libc.symbols.close(fd);
    this.#libc.close();
  }

  #read(): void {
    for (const fd of this.#sockets) {
      const read = Number(this.#libc.symbols.recv(fd, this.#buffer, BigInt(this.#buffer.length), MSG_DONTWAIT));
      if (read > 0) this.#bytes += read;
    }
  }
}

// Holds event streams open and throws their bytes away: `drains_program.ts <port> <path> <discard>`. Prints the port where
// it takes orders: GET /open/<n> opens n more streams, GET /take says what has come since the last call. With `discard` the
// kernel drops the bytes without copying them.

/** Sockets through libc: constants of Linux on x86_64 and aarch64. */
const AF_INET = 2;
const SOCK_STREAM = 1;
const MSG_DONTWAIT = 0x40;
/** For TCP: the bytes are removed from the socket and not copied (tcp(7)). */
const MSG_TRUNC = 0x20;
/** A client elsewhere on the network does not make the server's kernel wake a process for every write. */
const READ_EVERY_MS = 50;

const libc = Deno.dlopen("libc.so.6", {
  socket: { parameters: ["i32", "i32", "i32"], result: "i32" },
  connect: { parameters: ["i32", "buffer", "u32"], result: "i32" },
  send: { parameters: ["i32", "buffer", "usize", "i32"], result: "isize" },
  recv: { parameters: ["i32", "buffer", "usize", "i32"], result: "isize" },
});
const [port, path = "/events", discard] = Deno.args;
const upgrade = path.startsWith("/signalk")
  ? "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
  : "";
const flags = discard === "true" ? MSG_DONTWAIT | MSG_TRUNC : MSG_DONTWAIT;
const buffer = new Uint8Array(1024 * 1024);
const streams: { fd: number; bytes: number }[] = [];
/** Streams that the server has ended. */
let ended = 0;

function open(): void {
  const { socket, connect, send } = libc.symbols;
  const fd = socket(AF_INET, SOCK_STREAM, 0);
  const address = new Uint8Array(16);
  const view = new DataView(address.buffer);
  address[0] = AF_INET;
  view.setUint16(2, Number(port));
  address.set([127, 0, 0, 1], 4);
  const request = new TextEncoder().encode(`GET ${path} HTTP/1.1\r\nHost: boat\r\n${upgrade}\r\n`);
  if (fd < 0 || connect(fd, address, address.length) !== 0) throw new Error(`Cannot connect to port ${port}`);
  send(fd, request, BigInt(request.length), 0);
  streams.push({ fd, bytes: 0 });
}

function readAll(): void {
  for (const stream of streams) {
    const read = Number(libc.symbols.recv(stream.fd, buffer, BigInt(buffer.length), flags));
    if (read > 0) stream.bytes += read;
    if (read === 0) ended++;
  }
}

function take(): { bytes: number; fewest: number; ended: number } {
  readAll();
  const counts = streams.map(({ bytes }) => bytes);
  for (const stream of streams) stream.bytes = 0;
  return { bytes: counts.reduce((sum, each) => sum + each, 0), fewest: counts.length && Math.min(...counts), ended };
}

setInterval(readAll, READ_EVERY_MS);
Deno.serve({
  hostname: "127.0.0.1",
  port: 0,
  onListen: ({ port }) => console.log(port),
}, ({ url }) => {
  const [, order, count] = new URL(url).pathname.split("/");
  if (order === "open") { for (let i = 0; i < Number(count); i++) open(); }
  return Response.json(take());
});

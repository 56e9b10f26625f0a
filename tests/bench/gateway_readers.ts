// Clients of the gateway server: PORT FRAMES CLIENTS. Prints the port where `GET /` answers when all frames are read: how
// many different contents the clients have, and how many frames the first one read as they were fed.

/** Sockets through libc, as in drains_program.ts: constants of Linux on x86_64 and aarch64. */
const AF_INET = 2;
const SOCK_STREAM = 1;
const MSG_DONTWAIT = 0x40;
const READ_EVERY_MS = 50;
/** Length of a line of RAW mode with 8 bytes. */
const LINE_BYTES = "00:00:00.000 R 09F11200 00 00 00 00 00 00 00 00\r\n".length;
const PRIME = 0x01000193;

const libc = Deno.dlopen("libc.so.6", {
  socket: { parameters: ["i32", "i32", "i32"], result: "i32" },
  connect: { parameters: ["i32", "buffer", "u32"], result: "i32" },
  recv: { parameters: ["i32", "buffer", "usize", "i32"], result: "isize" },
});
const [port = 0, frames = 0, clients = 0] = Deno.args.map(Number);
const buffer = new Uint8Array(1024 * 1024);
const readers = Array.from({ length: clients }, () => ({ fd: open(), bytes: 0, hash: 0 }));
let firstText = "";

function open(): number {
  const fd = libc.symbols.socket(AF_INET, SOCK_STREAM, 0);
  const address = new Uint8Array(16);
  const view = new DataView(address.buffer);
  address[0] = AF_INET;
  view.setUint16(2, port);
  address.set([127, 0, 0, 1], 4);
  if (fd < 0 || libc.symbols.connect(fd, address, address.length) !== 0) throw new Error(`Cannot connect to ${port}`);
  return fd;
}

function readAll(): void {
  for (const [index, reader] of readers.entries()) {
    const read = Number(libc.symbols.recv(reader.fd, buffer, BigInt(buffer.length), MSG_DONTWAIT));
    if (read <= 0) continue;
    for (let i = 0; i < read; i++) reader.hash = Math.imul(reader.hash ^ (buffer[i] ?? 0), PRIME);
    reader.bytes += read;
    if (index === 0) firstText += new TextDecoder().decode(buffer.subarray(0, read));
  }
}

/** Lines with the identifier and payload that were fed, in order. */
function rightLines(): number {
  const lines = firstText.split("\r\n").slice(0, -1);
  return lines.filter((line, index) => {
    const id = ((2 << 26) | (127250 << 8) | (index % 30)).toString(16).toUpperCase().padStart(8, "0");
    const payload = index.toString(16).toUpperCase().padStart(16, "0").match(/../g)?.join(" ");
    return line.slice(12) === ` R ${id} ${payload}`;
  }).length;
}

setInterval(readAll, READ_EVERY_MS);
Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: ({ port }) => console.log(port) }, async () => {
  while (readers.some(({ bytes }) => bytes < frames * LINE_BYTES)) await new Promise((done) => setTimeout(done, 100));
  const contents = new Set(readers.map(({ bytes, hash }) => `${bytes} ${hash}`)).size;
  return Response.json({ contents, right: rightLines() });
});

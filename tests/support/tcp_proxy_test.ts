import assert from "node:assert/strict";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { eventually } from "./eventually.ts";
import { needs } from "./needs.ts";
import { TcpProxy } from "./tcp_proxy.ts";

const NET = needs({ permissions: ["net"] });

/** A server that says everything again, and what its connections met. */
class Echo implements AsyncDisposable {
  readonly sockets: Socket[] = [];
  /** How connections ended, in words. */
  readonly ends: string[] = [];
  heard = 0;
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((socket) => {
      this.sockets.push(socket);
      note(socket, this.ends);
      socket.on("data", (bytes) => {
        this.heard += bytes.length;
        socket.write(bytes);
      });
    });
  }

  static async start(): Promise<Echo> {
    const echo = new Echo();
    await new Promise<void>((resolve) => echo.#server.listen(0, "127.0.0.1", resolve));
    return echo;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }
}

function note(socket: Socket, ends: string[]): void {
  let how = "none";
  socket.on("end", () => how = "FIN");
  socket.on("error", (error: NodeJS.ErrnoException) => how = error.code ?? "error");
  socket.on("close", () => ends.push(how));
}

/** A client of a proxy in front of an echo. */
async function client(proxy: TcpProxy) {
  const socket = connect(proxy.port, "127.0.0.1");
  const ends: string[] = [];
  note(socket, ends);
  let heard = "";
  socket.on("data", (bytes) => heard += bytes.toString("latin1"));
  await new Promise<void>((resolve) => socket.on("connect", resolve));
  return { socket, ends, heard: () => heard };
}

function test(claim: string, run: (echo: Echo, proxy: TcpProxy) => Promise<void>): void {
  Deno.test(`proxy: ${claim}`, NET, async () => {
    await using echo = await Echo.start();
    await using proxy = await TcpProxy.start(echo.port);
    await run(echo, proxy);
  });
}

test("bytes go there and back and are counted, and an end is passed on", async (echo, proxy) => {
  const { socket, heard, ends } = await client(proxy);
  socket.write("hello");
  await eventually("the echo", () => heard() === "hello");
  assert.deepEqual([proxy.bytesUp, proxy.bytesDown, proxy.open, proxy.connections], [5, 5, 1, 1]);
  socket.end();
  await eventually("both ends", () => echo.ends.length === 1 && ends.length === 1);
  assert.deepEqual([echo.ends, ends], [["FIN"], ["FIN"]]);
  await eventually("no connection", () => proxy.open === 0);
});

for (const [how, met] of [["fin", "FIN"], ["rst", "ECONNRESET"]] as const) {
  test(`a cut by ${how} is seen as such on both sides, and others may connect`, async (echo, proxy) => {
    const first = await client(proxy);
    first.socket.write("x");
    await eventually("the echo", () => first.heard() === "x");
    proxy.cut(how);
    await eventually("both ends", () => echo.ends.length === 1 && first.ends.length === 1);
    assert.deepEqual([echo.ends, first.ends], [[met], [met]]);
    const second = await client(proxy);
    second.socket.write("y");
    await eventually("the echo", () => second.heard() === "y");
    second.socket.destroy();
  });
}

test("a black hole swallows bytes of old and new connections for ever, and ends neither", async (echo, proxy) => {
  const old = await client(proxy);
  old.socket.write("1");
  await eventually("the echo", () => old.heard() === "1");
  proxy.mode = "swallow";
  old.socket.write("2");
  const late = await client(proxy);
  late.socket.write("3");
  await eventually("two connections at the server", () => echo.sockets.length === 2);
  proxy.mode = "pass";
  const fresh = await client(proxy);
  fresh.socket.write("4");
  await eventually("the echo", () => fresh.heard() === "4");
  assert.deepEqual([echo.heard, old.heard(), late.heard(), echo.ends, old.ends], [2, "1", "", [], []]);
  old.socket.destroy();
  fresh.socket.destroy();
  await eventually("the end of the one that lives", () => echo.ends.length === 1);
  late.socket.destroy();
});

test("what is held goes on afterwards, whole and in order", async (echo, proxy) => {
  const { socket, heard } = await client(proxy);
  socket.write("1");
  await eventually("the echo", () => heard() === "1");
  proxy.mode = "hold";
  socket.write("2");
  await new Promise<void>((resolve) => void socket.write("3", () => resolve()));
  assert.equal(echo.heard, 1);
  proxy.mode = "pass";
  await eventually("the echo", () => heard() === "123");
  socket.destroy();
});

test("delayed and slow bytes come whole and in order", async (echo, proxy) => {
  const { socket, heard } = await client(proxy);
  const text = Array.from({ length: 500 }, (_, i) => `${i},`).join("");
  proxy.delayMs = 20;
  for (let at = 0; at < text.length; at += 100) socket.write(text.slice(at, at + 100));
  await eventually("the echo", () => heard() === text);
  proxy.bytesPerSecond = 100_000;
  socket.write(text);
  await eventually("the echo", () => heard() === text + text);
  assert.equal(echo.heard, 2 * text.length);
  socket.destroy();
});

Deno.test("proxy: where nobody listens, clients are hung up on", NET, async () => {
  const gone = await Echo.start();
  const { port } = gone;
  await gone[Symbol.asyncDispose]();
  await using proxy = await TcpProxy.start(port);
  const { ends } = await client(proxy);
  await eventually("the end", () => ends.length === 1);
  await eventually("no connection", () => proxy.open === 0);
});

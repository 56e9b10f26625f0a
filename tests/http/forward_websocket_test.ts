import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { joinSockets } from "../../src/http/cloud/join_sockets.ts";
import { acceptSocket } from "../../src/http/streams/websocket.ts";
import { Connections } from "../../src/listen/mod.ts";
import { eventually, pause } from "../support/eventually.ts";
import { ForwardLab, NET } from "./forward_lab.ts";

/** What the other node does with an open WebSocket. */
type Serve = (socket: WebSocket) => void;

/** A lab whose other node has the whole HTTP server, too. */
async function open(serve: Serve): Promise<{ lab: ForwardLab; url: string; there: Connections; closed: number[] }> {
  const lab = await ForwardLab.open();
  const there = new Connections();
  const closed: number[] = [];
  lab.node = await lab.listen((request) => {
    if (request.headers.get("X-API-Key") !== "key") return Promise.resolve(new Response("no token", { status: 401 }));
    const { socket, response, closed: end } = acceptSocket(request);
    socket.onopen = () => serve(socket);
    socket.onclose = ({ code }) => {
      end?.();
      closed.push(code);
    };
    return Promise.resolve(response);
  }, there);
  return { lab, url: `${lab.url.replace("http", "ws")}/instances/aurora/ws`, there, closed };
}

/** A client, and what it gets. */
class Client {
  readonly socket: WebSocket;
  readonly messages: unknown[] = [];
  closed: { code: number; reason: string } | undefined;

  constructor(url: string, key = "key") {
    this.socket = new WebSocket(url, { headers: { "X-API-Key": key } });
    this.socket.onmessage = ({ data }) => this.messages.push(data);
    this.socket.onclose = ({ code, reason }) => this.closed = { code, reason };
  }
}

Deno.test(
  "a WebSocket reaches the boat's node: messages both ways, and the close code of either side",
  NET,
  async () => {
    const { lab, url, there, closed } = await open((socket) => {
      socket.send("welcome");
      socket.onmessage = ({ data }) => data === "bye" ? socket.close(4001, "as asked") : socket.send(`echo ${data}`);
    });
    await using _ = lab;
    const first = new Client(url);
    await eventually("the welcome", () => first.messages.length === 1);
    const long = "x".repeat(200_000);
    for (const message of ["a", long]) first.socket.send(message);
    await eventually("the echo", () => first.messages.length === 3);
    assert.deepEqual(first.messages, ["welcome", "echo a", `echo ${long}`]);
    first.socket.send("bye");
    await eventually("the end", () => first.closed);
    assert.deepEqual(first.closed, { code: 4001, reason: "as asked" });
    const second = new Client(url);
    await eventually("the welcome", () => second.messages.length === 1);
    second.socket.close(4002);
    await eventually("the end at the node", () => closed.length === 2);
    assert.deepEqual(closed, [4001, 4002]);
    for (const each of [there, lab.connections]) {
      await eventually("all connections to close", () => each.counts.active + each.counts.idle === 0);
    }
    assert.deepEqual(lab.lines, []);
  },
);

/** Both ends of a connection. */
async function connection(stack: AsyncDisposableStack): Promise<[near: Socket, far: Socket]> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const accepted = once(server, "connection");
  const far = connect({ host: "127.0.0.1", port: (server.address() as AddressInfo).port });
  const [near] = await accepted;
  stack.defer(() => {
    for (const each of [near, far]) each.destroy();
    server.close();
  });
  return [near, far];
}

Deno.test("a client that reads late gets all that the boat's node sent before it closed", NET, async () => {
  await using stack = new AsyncDisposableStack();
  const [[client, reader], [socket, node]] = [await connection(stack), await connection(stack)];
  let [sent, received, closed] = [0, 0, false];
  const away = new AbortController().signal;
  joinSockets({ socket: client, head: new Uint8Array(), closed: () => closed = true }, {
    socket,
    head: new Uint8Array(),
    away,
  });
  // The kernel holds so much: the rest waits in the process.
  while (client.writableLength === 0) {
    node.write(new Uint8Array(8192));
    sent += 8192;
    await pause();
  }
  node.end();
  await eventually("the end of the node", () => socket.closed || socket.isPaused());
  reader.on("data", (bytes: Uint8Array) => received += bytes.length);
  await eventually("the end", () => closed);
  assert.equal(received, sent);
});

Deno.test("a WebSocket that the boat's node refuses is refused with its status", NET, async () => {
  const { lab, url } = await open(() => {});
  await using _ = lab;
  const client = new Client(url, "wrong");
  await eventually("the end", () => client.closed);
  assert.deepEqual(client.messages, []);
  const upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\n";
  const { promise, resolve } = Promise.withResolvers<string>();
  const socket = await lab.silent(`GET /instances/aurora/ws HTTP/1.1\r\nHost: a\r\n${upgrade}\r\n`);
  socket.on("data", (bytes: Uint8Array) => resolve(new TextDecoder().decode(bytes))).resume();
  assert.match(await promise, /^HTTP\/1\.1 401 Unauthorized\r\n/);
});

Deno.test("a WebSocket closes when its node is away, and at its node when the client has gone", NET, async () => {
  const { lab, url, closed } = await open((socket) => socket.send("welcome"));
  await using _ = lab;
  const first = new Client(url);
  await eventually("the welcome", () => first.messages.length === 1);
  lab.away.abort();
  await eventually("the end", () => first.closed);
  await eventually("the end at the node", () => closed.length === 1);
  lab.away = new AbortController();
  const gone = await lab.silent(
    `GET /instances/aurora/ws HTTP/1.1\r\nHost: a\r\nX-API-Key: key\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
      "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
  );
  const welcomed = once(gone, "data");
  gone.resume();
  await welcomed;
  gone.destroy();
  await eventually("the end at the node", () => closed.length === 2);
  await eventually("all connections to close", () => lab.connections.counts.active === 0);
});

Deno.test("a WebSocket to a node that does not answer fails", NET, async () => {
  const { lab, url } = await open(() => {});
  await using _ = lab;
  lab.away.abort();
  const client = new Client(url);
  await eventually("the end", () => client.closed);
  assert.match(lab.lines.join("\n"), /WARN .*request for a boat not answered/);
});

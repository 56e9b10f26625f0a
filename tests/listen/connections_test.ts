import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { type Connection, type ConnectionLimits, Connections } from "../../src/listen/mod.ts";
import { eventually } from "../support/eventually.ts";
import { FakeClock } from "../support/fake_clock.ts";

const MINUTE_MS = 60_000;

/** Connections that a real port has accepted, under limits, in a time of their own. */
class Lab implements AsyncDisposable {
  readonly clock = new FakeClock();
  readonly connections: Connections;
  readonly #server = createServer();
  readonly #clients: Socket[] = [];
  readonly #accepted: Socket[] = [];

  private constructor(limits: Partial<ConnectionLimits>) {
    this.connections = new Connections({ handshakeTimeoutMs: 100, ...limits }, this);
  }

  static async open(limits: Partial<ConnectionLimits> = {}): Promise<Lab> {
    const lab = new Lab(limits);
    lab.#server.listen(0, "127.0.0.1");
    await once(lab.#server, "listening");
    return lab;
  }

  /** Connects and is judged. */
  async come(): Promise<{ socket: Socket; connection: Connection | undefined }> {
    const { port } = this.#server.address() as AddressInfo;
    const accepted = once(this.#server, "connection");
    this.#clients.push(connect(port, "127.0.0.1").on("error", () => {}));
    const [socket]: Socket[] = await accepted;
    assert.ok(socket);
    this.#accepted.push(socket.on("error", () => {}));
    return { socket, connection: this.connections.admit(socket) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, "close");
    for (const socket of [...this.#clients, ...this.#accepted]) socket.destroy();
    this.#server.close();
    await closed;
    await eventually("the count of open ones to be 0", () => {
      const { handshake, active, idle } = this.connections.counts;
      return handshake + active + idle === 0;
    });
  }
}

Deno.test("a connection is in handshake, active while requests are under way, then idle", async () => {
  await using lab = await Lab.open();
  const { connection } = await lab.come();
  assert.deepEqual(lab.connections.counts, { handshake: 1, active: 0, idle: 0 });
  const ends = [connection?.begin(), connection?.begin()];
  assert.deepEqual(lab.connections.counts, { handshake: 0, active: 1, idle: 0 });
  ends[0]?.();
  ends[0]?.();
  assert.deepEqual(lab.connections.counts, { handshake: 0, active: 1, idle: 0 });
  ends[1]?.();
  assert.deepEqual(lab.connections.counts, { handshake: 0, active: 0, idle: 1 });
});

Deno.test("a handshake has its time, an idle connection has its own, and a request as much as it takes", async () => {
  await using lab = await Lab.open({ handshakeTimeoutMs: 400, connectionIdleTimeoutMs: MINUTE_MS });
  const [silent, idle, active] = [await lab.come(), await lab.come(), await lab.come()];
  active.connection?.begin();
  idle.connection?.begin()();
  lab.clock.advance(400);
  await eventually("the handshake to be ended", () => silent.socket.destroyed);
  assert.deepEqual([idle.socket.destroyed, active.socket.destroyed], [false, false]);
  lab.clock.advance(MINUTE_MS);
  await eventually("the idle one to be ended", () => idle.socket.destroyed);
  assert.equal(active.socket.destroyed, false);
  assert.equal(lab.connections.refused.handshake_timeout, 1);
});

Deno.test("a full server closes what has been quiet the longest, and refuses the new one when all are active", async () => {
  await using lab = await Lab.open({ maxConnections: 3, handshakeTimeoutMs: MINUTE_MS });
  const [first, second, third] = [await lab.come(), await lab.come(), await lab.come()];
  first.connection?.begin();
  second.connection?.begin()();
  assert.ok(lab.connections.isFull);
  const fourth = await lab.come();
  assert.deepEqual([first, second, third, fourth].map(({ socket }) => socket.destroyed), [false, true, false, false]);
  third.connection?.begin();
  fourth.connection?.begin();
  const fifth = await lab.come();
  assert.equal(fifth.connection, undefined);
  assert.ok(fifth.socket.destroyed);
  assert.equal(lab.connections.refused.max_connections, 2);
});

Deno.test("a connection that needs more descriptors takes the room of more connections, until it closes", async () => {
  await using lab = await Lab.open({ maxConnections: 3, handshakeTimeoutMs: MINUTE_MS });
  const { connection, socket } = await lab.come();
  connection?.begin();
  connection?.grow(2);
  assert.ok(lab.connections.isFull);
  socket.destroy();
  await eventually("room", () => !lab.connections.isFull);
  assert.deepEqual(lab.connections.counts, { handshake: 0, active: 0, idle: 0 });
});

Deno.test("one address has so many handshakes with their whole time; further ones that do not finish soon are closed", async () => {
  await using lab = await Lab.open({ maxHandshakesPerAddress: 2, handshakeTimeoutMs: MINUTE_MS });
  const burst = [await lab.come(), await lab.come(), await lab.come(), await lab.come()];
  burst[3]?.connection?.begin();
  lab.clock.advance(2000);
  await eventually("the third to be ended", () => burst[2]?.socket.destroyed);
  assert.deepEqual(burst.map(({ socket }) => socket.destroyed), [false, false, true, false]);
  assert.equal(lab.connections.refused.max_handshakes_per_address, 1);
});

Deno.test("clients of a trusted proxy are not counted together", async () => {
  await using lab = await Lab.open({
    maxHandshakesPerAddress: 1,
    handshakeTimeoutMs: MINUTE_MS,
    trustedProxies: ["127.0.0.0/8"],
  });
  const clients = [await lab.come(), await lab.come(), await lab.come()];
  lab.clock.advance(MINUTE_MS);
  await eventually("all to have had their whole time", () => clients.every(({ socket }) => socket.destroyed));
  assert.equal(lab.connections.refused.max_handshakes_per_address, 0);
  assert.equal(lab.connections.refused.handshake_timeout, 3);
});

// Clients and addresses of a line server that do not behave.
import assert from "node:assert/strict";
import { Logger, pause } from "../../src/base/mod.ts";
import {
  type ClientInput,
  INPUT_BYTES_PER_SECOND,
  LineServer,
  type LineServerOptions,
} from "../../src/integrations/line_server.ts";
import { eventually } from "../support/eventually.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { RawClient } from "../support/gateway_clients.ts";
import { allowed, needs } from "../support/needs.ts";

/** Whether a namespace with a network of its own may be made. */
function mayUnshare(): boolean {
  if (!allowed("run") || !allowed("sys")) return false;
  try {
    return new Deno.Command("unshare", { args: ["-n", "true"], stderr: "null" }).outputSync().success;
  } catch {
    return false;
  }
}

const LINE = `${"x".repeat(48)}\r\n`;

/** A server with one TCP port. */
class Server implements Disposable {
  readonly clock = new FakeClock();
  readonly logged: { message: string; client?: string; reason?: string }[] = [];
  readonly lines: LineServer;

  constructor(options: Partial<LineServerOptions> = {}) {
    this.lines = new LineServer({
      name: "test",
      targets: [{ protocol: "tcp", hostname: "127.0.0.1", port: 0 }],
      limits: { maxClients: 1, bufferBytes: 65_536 },
      clock: this.clock,
      log: new Logger({ format: "json", write: (line) => this.logged.push(JSON.parse(line)) }),
      ...options,
    });
    this.lines.maintain();
  }

  get port(): number {
    return this.lines.addresses[0]!.port;
  }

  async connected(count: number): Promise<void> {
    await eventually(`${count} clients`, () => this.lines.clients === count);
  }

  [Symbol.dispose](): void {
    this.lines.stop();
  }
}

Deno.test(
  "a client that resets its connection gives its place to the next one, though nothing is sent",
  needs({ permissions: ["net"], programs: ["bash"] }),
  async () => {
    using server = new Server();
    const script = `exec 3<>/dev/tcp/127.0.0.1/${server.port}; read line`;
    await using child = new Deno.Command("bash", { args: ["-c", script], stdin: "piped", stderr: "null" }).spawn();
    await server.connected(1);
    server.lines.send([LINE]);
    await eventually("the line", () => server.lines.counters.sent === 1);
    // The system resets a connection with unread data.
    child.kill("SIGKILL");
    await server.connected(0);
    using next = await RawClient.open(server.port);
    await server.connected(1);
    server.lines.send([LINE]);
    await eventually("the line", () => next.text === LINE);
  },
);

Deno.test("a client that closed its connection gives its place to the next one, though nothing is sent", async () => {
  using server = new Server();
  const client = await RawClient.open(server.port);
  await server.connected(1);
  client[Symbol.dispose]();
  await eventually("its place", () => {
    server.clock.advance(1000);
    server.lines.maintain();
    return server.lines.clients === 0;
  });
});

Deno.test("a client that ended only its own side stays connected while lines are sent", async () => {
  using server = new Server();
  using client = await RawClient.open(server.port);
  await server.connected(1);
  await client.connection.closeWrite();
  for (let count = 1; count <= 10; count++) {
    server.lines.send([LINE]);
    await eventually("the line", () => client.text === LINE.repeat(count));
    server.clock.advance(20_000);
    server.lines.maintain();
  }
  assert.equal(server.lines.clients, 1);
});

Deno.test("a batch larger than the buffer of a client reaches one that reads, whole", async () => {
  using server = new Server({ limits: { maxClients: 1, bufferBytes: 100 } });
  using client = await RawClient.open(server.port);
  await server.connected(1);
  for (let count = 1; count <= 3; count++) {
    server.lines.send(Array(50).fill(LINE));
    await eventually("the lines", () => client.text === LINE.repeat(50 * count));
  }
  assert.equal(server.lines.counters.dropped, 0);
});

Deno.test("of a batch that does not fit in the buffer, the first lines are sent, and the others counted", async () => {
  using server = new Server({ limits: { maxClients: 1, bufferBytes: 1000 } });
  using client = await RawClient.open(server.port);
  await server.connected(1);
  // In one go: the first batch is still being written.
  server.lines.send([LINE]);
  server.lines.send(Array(50).fill(LINE));
  await eventually("the lines", () => client.text === LINE.repeat(1 + 19));
  assert.deepEqual([server.lines.counters.sent, server.lines.counters.dropped], [20, 31]);
});

Deno.test("what clients write is read no faster than 128 KiB a second, with what their readers add", async () => {
  let [read, cost] = [0, 0];
  const connected = (): ClientInput => ({
    received: (piece) => {
      read += piece.length;
      cost += piece.length + 1000;
      return 1000;
    },
    closed: () => {},
  });
  using server = new Server({ connected, limits: { maxClients: 2, bufferBytes: 1000 } });
  using client = await RawClient.open(server.port);
  using other = await RawClient.open(server.port);
  await server.connected(2);
  const written = Promise.all([client, other].map((each) => each.writeBytes(new Uint8Array(100_000))));
  // The clock stands still: the burst, and of each client the piece that goes beyond.
  await eventually("the burst", () => cost >= INPUT_BYTES_PER_SECOND);
  await pause(50);
  assert.ok(cost < INPUT_BYTES_PER_SECOND + 2 * 2100, `${cost}`);
  await eventually("the rest", () => {
    server.clock.advance(20);
    return read === 200_000;
  });
  await written;
  const leastMs = 1000 * (cost - INPUT_BYTES_PER_SECOND - 2 * 2100) / INPUT_BYTES_PER_SECOND;
  assert.ok(server.clock.monoMs() >= leastMs, `${server.clock.monoMs()} ms for ${cost} bytes`);
});

Deno.test(
  "an address whose socket cannot be opened at first is tried again, and gets what is sent from then on",
  needs({ permissions: ["read", "run", "net"], programs: ["unshare", "ip"], extras: { root: mayUnshare() } }),
  async () => {
    const child = new URL("line_server_child.ts", import.meta.url).pathname;
    // Without a free port no socket can be bound.
    const script = `ip link set lo up && echo "40000 40001" >/proc/sys/net/ipv4/ip_local_port_range && exec "$@"`;
    const args = ["-n", "sh", "-c", script, "sh", Deno.execPath(), "run", "-A", "--no-check", child];
    const { code, stdout, stderr } = await new Deno.Command("unshare", { args }).output();
    assert.equal(code, 0, new TextDecoder().decode(stderr));
    assert.deepEqual(JSON.parse(new TextDecoder().decode(stdout)), {
      before: { status: "degraded", address: null, dropped: 1 },
      after: { status: "ok", received: "line 2\r\n", sent: 1, dropped: 1 },
      logged: ["test port failed", "test port open"],
    });
  },
);

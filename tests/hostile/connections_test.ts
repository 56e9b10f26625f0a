import assert from "node:assert/strict";
import { eventually } from "../support/eventually.ts";
import { ATTACK, Crowd, IS_FULL, Target } from "./target.ts";

/** Files that a server may open in these tests. */
const OPEN_FILES = 256;
/** More than that. */
const IDLE_CONNECTIONS = IS_FULL ? 1000 : 400;
const UNREAD_REPLIES = 1000;
const HEAD = "GET /livez HTTP/1.1\r\nHost: a\r\n";

/** A connection that asks again and again. */
class Kept implements Disposable {
  readonly #connection: Deno.Conn;

  private constructor(connection: Deno.Conn) {
    this.#connection = connection;
  }

  static async open({ port, ca }: { port: number; ca?: string }): Promise<Kept> {
    const to = { hostname: "127.0.0.1", port };
    const kept = new Kept(ca === undefined ? await Deno.connect(to) : await Deno.connectTls({ ...to, caCerts: [ca] }));
    assert.equal(await kept.status(), 200);
    return kept;
  }

  /** Status of one more reply; 0 when the connection has ended. */
  async status(): Promise<number> {
    await this.#connection.write(new TextEncoder().encode(`${HEAD}\r\n`));
    let text = "";
    const buffer = new Uint8Array(4096);
    while (!text.endsWith("}")) {
      const length = await this.#connection.read(buffer);
      if (length === null) return 0;
      text += new TextDecoder().decode(buffer.subarray(0, length));
    }
    return Number(text.split(" ")[1]);
  }

  [Symbol.dispose](): void {
    this.#connection.close();
  }
}

/** A stream of a boat's frames, and how often something has come on it. */
class Stream implements AsyncDisposable {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  #chunks = 0;
  #isOver = false;

  private constructor(reader: ReadableStreamDefaultReader<Uint8Array>) {
    this.#reader = reader;
    void this.#read();
  }

  static async open(target: Target): Promise<Stream> {
    const { body } = await target.get("/events");
    assert.ok(body);
    const stream = new Stream(body.getReader());
    await stream.goesOn();
    return stream;
  }

  /** Resolves when something more has come. */
  async goesOn(): Promise<void> {
    const before = this.#chunks;
    await eventually("more frames", () => this.#chunks > before || this.#isOver);
    assert.ok(!this.#isOver, "the stream goes on");
  }

  async #read(): Promise<void> {
    try {
      while (!(await this.#reader.read()).done) this.#chunks++;
    } catch {
      // The server has closed it.
    }
    this.#isOver = true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#reader.cancel().catch(() => {});
  }
}

const idleAttacks: [name: string, open: () => Promise<Target & { ca?: string }>][] = [
  ["a boat", () => Target.boat([], { openFiles: OPEN_FILES })],
  ["a cloud with one port", () => Target.cloud("single", [], { openFiles: OPEN_FILES })],
  ["a cloud with two ports", () => Target.cloud("dual", [], { openFiles: OPEN_FILES })],
];

for (const [name, open] of idleAttacks) {
  Deno.test(
    `${name} under more idle connections than it may open files answers new connections and kept ones`,
    ATTACK,
    async () => {
      await using target = await open();
      const ca = target.url.startsWith("https") ? target.ca : undefined;
      using kept = await Kept.open({ port: target.port, ...ca !== undefined && { ca } });
      await using stream = name === "a boat" ? await Stream.open(target) : undefined;
      using crowd = new Crowd();
      await crowd.add(target.port, { count: IDLE_CONNECTIONS });
      assert.equal(await kept.status(), 200, "a kept connection answers");
      await eventually("a new connection to be answered", () => target.lives());
      await stream?.goesOn();
      await eventually("connections to be refused", () => crowd.closed >= IDLE_CONNECTIONS - OPEN_FILES / 2);
      crowd[Symbol.dispose]();
      await eventually("a new connection to be answered afterwards", () => target.lives());
      assert.equal(await kept.status(), 200, "a kept connection answers afterwards");
      await stream?.goesOn();
      assert.ok(await target.metric(`vbg_connections_refused_total{reason="max_connections"}`) > 0);
    },
  );
}

Deno.test(
  "a boat that has run out of file descriptors lives, keeps its streams, and accepts again",
  ATTACK,
  async () => {
    const limitless = ["-max-connections", "10000", "-max-handshakes", "10000", "-max-handshakes-per-address", "10000"];
    await using target = await Target.boat([...limitless, "-handshake-timeout", "PT1H"], { openFiles: OPEN_FILES });
    await using stream = await Stream.open(target);
    using crowd = new Crowd();
    await crowd.add(target.port, { count: OPEN_FILES + 50 });
    await eventually("every file descriptor in use", () => target.openFiles >= OPEN_FILES);
    // Which takes turns of its event loop, in which it accepts no more.
    await stream.goesOn();
    crowd[Symbol.dispose]();
    await eventually("a new connection to be answered", () => target.lives());
    assert.ok(await target.metric("vbg_accept_errors_total") >= 1);
    assert.match(target.log, /connections not accepted/);
    await stream.goesOn();
  },
);

Deno.test(
  "a connection must finish its first header in time, then must not idle; a stream is not idle",
  ATTACK,
  async () => {
    const limits = ["-handshake-timeout", "PT1S", "-connection-idle-timeout", "PT1S"];
    await using target = await Target.boat(limits);
    await using stream = await Stream.open(target);
    using half = new Crowd();
    await half.add(target.port, { count: 3, first: HEAD });
    await eventually("half headers to be closed", () => half.closed === 3);
    assert.equal(await target.metric(`vbg_connections_refused_total{reason="handshake_timeout"}`), 3);
    using idle = new Crowd();
    await idle.add(target.port, { count: 3, first: `${HEAD}\r\n${HEAD}` });
    await eventually("idle connections to be closed", () => idle.closed === 3);
    assert.equal(await target.metric(`vbg_connections_refused_total{reason="handshake_timeout"}`), 3);
    await stream.goesOn();
  },
);

Deno.test("who takes nothing of a reply keeps the connection no longer than who asks nothing", ATTACK, async () => {
  await using target = await Target.boat(["-connection-idle-timeout", "PT1S"]);
  await using stream = await Stream.open(target);
  const deaf = await Deno.connect({ hostname: "127.0.0.1", port: target.port });
  // More than the buffers of both kernels hold.
  const asked = "GET /openapi.json HTTP/1.1\r\nHost: a\r\n\r\n".repeat(UNREAD_REPLIES);
  await deaf.write(new TextEncoder().encode(asked));
  await deaf.read(new Uint8Array(1));
  const open = async () =>
    await target.metric(`vbg_connections{state="active"}`) + await target.metric(`vbg_connections{state="idle"}`);
  // The stream, and the one that asks for the metric.
  await eventually("it to be closed", async () => await open() === 2);
  deaf.close();
  await stream.goesOn();
});

Deno.test("one address holds no more unfinished connections than it may, a trusted proxy does", ATTACK, async () => {
  const limits = ["-max-handshakes-per-address", "4", "-handshake-timeout", "PT1H"];
  await using target = await Target.boat(limits);
  using crowd = new Crowd();
  await crowd.add(target.port, { count: 10 });
  await eventually("the others to be closed", () => crowd.closed === 6);
  assert.equal(await target.metric(`vbg_connections_refused_total{reason="max_handshakes_per_address"}`), 6);
  assert.equal(await target.metric(`vbg_connections{state="handshake"}`), 4);
  await using trusting = await Target.boat([...limits, "-trusted-proxies", "10.0.0.0/8,127.0.0.0/8"]);
  using clients = new Crowd();
  await clients.add(trusting.port, { count: 10 });
  using others = new Crowd();
  await others.add(target.port, { count: 1 });
  await eventually("a later one elsewhere to be closed", () => others.closed === 1);
  assert.equal(clients.closed, 0);
  assert.equal(await trusting.metric(`vbg_connections{state="handshake"}`), 10);
});

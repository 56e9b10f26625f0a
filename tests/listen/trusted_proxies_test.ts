import assert from "node:assert/strict";
import { silentLogger, StallDetector } from "../../src/base/mod.ts";
import { type ConnectionLimits, Connections, listen, type Listener } from "../../src/listen/mod.ts";
import { networksProblem, TrustedProxies } from "../../src/listen/trusted_proxies.ts";
import { eventually, pause } from "../support/eventually.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { needs, rounds } from "../support/needs.ts";
import { ipv4Header, ipv6Header, LOCAL, PROXY_SIGNATURE, proxyHeader } from "../support/proxy_header.ts";
import { Random } from "../support/random.ts";

const NETWORK = needs({ permissions: ["net"] });
const HERE = { hostname: "127.0.0.1", port: 0 };
const TRUSTED = { trustedProxies: ["127.0.0.1", "10.0.0.0/8", "fd00::/8"] };
const NOTHING = new Uint8Array();

/** What the server has made of a request. */
interface Answer {
  client: string;
  url: string;
  body: number;
}

/** A server that answers with who has asked, and how long the body was. */
class Lab implements AsyncDisposable {
  readonly clock = new FakeClock();
  readonly connections: Connections;
  readonly #stall = new StallDetector(silentLogger);
  readonly #clients: Deno.TcpConn[] = [];
  #listener: Listener | undefined;

  private constructor(limits: Partial<ConnectionLimits>) {
    this.connections = new Connections(limits, this);
  }

  static async open(limits: Partial<ConnectionLimits>): Promise<Lab> {
    const lab = new Lab(limits);
    const handler = async (request: Request, from: { hostname: string }) => {
      const body = (await request.arrayBuffer()).byteLength;
      return Response.json({ client: from.hostname, url: request.url, body });
    };
    const options = { handler, stall: lab.#stall, connections: lab.connections, log: silentLogger };
    lab.#listener = await listen(HERE, options);
    return lab;
  }

  /** Connects, and sends these parts one after the other, each in a segment of its own. */
  async send(...parts: readonly Uint8Array[]): Promise<Deno.TcpConn> {
    const connection = await Deno.connect({ ...HERE, port: this.#listener?.address.port ?? 0 });
    this.#clients.push(connection);
    connection.setNoDelay(true);
    for (const part of parts) {
      await connection.write(part);
      await pause();
    }
    return connection;
  }

  /** Sends and reads the answers until the server closes; the last request asks for that. */
  async ask(...parts: readonly Uint8Array[]): Promise<Answer[]> {
    const text = await readAll(await this.send(...parts));
    return [...text.matchAll(/\{.*?\}/g)].map(([json]) => JSON.parse(json));
  }

  /** Sends and waits until the server has closed the connection. */
  async refused(...parts: readonly Uint8Array[]): Promise<void> {
    assert.doesNotMatch(await readAll(await this.send(...parts)), /"client"/);
  }

  async stop(): Promise<void> {
    await this.#listener?.stop();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.#clients) client.close();
    await this.stop();
    this.#stall.stop();
  }
}

async function readAll(connection: Deno.TcpConn): Promise<string> {
  const decoder = new TextDecoder();
  const buffer = new Uint8Array(65_536);
  let text = "";
  for (;;) {
    const count = await connection.read(buffer).catch(() => null);
    if (count === null) return text;
    text += decoder.decode(buffer.subarray(0, count), { stream: true });
  }
}

function request(headers: readonly string[] = [], { bodyBytes = 0, isLast = true } = {}): Uint8Array {
  const lines = ["POST /x HTTP/1.1", "Host: boat", `Content-Length: ${bodyBytes}`, ...headers];
  if (isLast) lines.push("Connection: close");
  return join(new TextEncoder().encode(`${lines.join("\r\n")}\r\n\r\n`), new Uint8Array(bodyBytes).fill(120));
}

function join(...parts: readonly Uint8Array[]): Uint8Array {
  return Uint8Array.from(parts.flatMap((part) => [...part]));
}

/** The same bytes in parts of random lengths. */
function cut(bytes: Uint8Array, random: Random): Uint8Array[] {
  const parts: Uint8Array[] = [];
  for (let at = 0; at < bytes.length;) {
    const length = random.chance(0.5) ? random.between(1, 20) : random.between(1, 20_000);
    parts.push(bytes.subarray(at, at + length));
    at += length;
  }
  return parts;
}

Deno.test("the client is the rightmost forwarded address that is not a trusted proxy", () => {
  const proxies = new TrustedProxies(TRUSTED.trustedProxies);
  const cases: [peer: string, header: string | null, client: string][] = [
    ["10.0.0.1", null, "10.0.0.1"],
    ["10.0.0.1", "", "10.0.0.1"],
    ["10.0.0.1", "203.0.113.7", "203.0.113.7"],
    ["10.0.0.1", "1.2.3.4, 203.0.113.7", "203.0.113.7"],
    ["10.0.0.1", "203.0.113.7,10.9.9.9 , fd00::1", "203.0.113.7"],
    ["10.0.0.1", "10.0.0.3, 10.0.0.2", "10.0.0.3"],
    ["10.0.0.1", "2001:DB8:0:0::7", "2001:db8::7"],
    ["10.0.0.1", "::ffff:203.0.113.7", "203.0.113.7"],
    ["10.0.0.1", "203.0.113.7:4711", "203.0.113.7"],
    ["10.0.0.1", "[2001:db8::7]:4711", "2001:db8::7"],
    ["10.0.0.1", "203.0.113.7, unknown", "10.0.0.1"],
    ["10.0.0.1", "fe80::1%eth0", "fe80::1"],
    ["192.0.2.1", "1.2.3.4, 203.0.113.7", "203.0.113.7"],
  ];
  for (const [hostname, header, client] of cases) {
    assert.equal(proxies.clientOf({ hostname, port: 1 }, header).hostname, client, `${hostname}: ${header}`);
  }
});

Deno.test("trusted proxies are addresses and networks of both families, and nothing else", () => {
  for (const text of ["10.0.0.1", "10.0.0.0/8", "::1", "fd00::/8"]) assert.equal(networksProblem(text), undefined);
  for (const text of ["", "proxy.example", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/x", "fd00::/129"]) {
    assert.match(networksProblem(text) ?? "", /expected an address or a network/);
  }
});

Deno.test("a request is the client's that a trusted proxy names before it, of any family", NETWORK, async () => {
  await using lab = await Lab.open(TRUSTED);
  const cases: [what: string, header: Uint8Array, client: string][] = [
    ["IPv4", ipv4Header("203.0.113.7"), "203.0.113.7"],
    ["IPv4 with TLVs", ipv4Header("203.0.113.7", { more: [4, 0, 2, 0, 0] }), "203.0.113.7"],
    ["IPv6", ipv6Header("2001:db8:0:0:0:0:0:7"), "2001:db8::7"],
    ["LOCAL", proxyHeader([], { command: LOCAL, family: 0 }), "127.0.0.1"],
    ["AF_UNSPEC", proxyHeader([1, 2, 3], { family: 0 }), "127.0.0.1"],
    ["AF_UNIX", proxyHeader(new Uint8Array(216), { family: 0x31 }), "127.0.0.1"],
    ["no header", NOTHING, "127.0.0.1"],
    ["an empty line", new TextEncoder().encode("\r\n"), "127.0.0.1"],
  ];
  for (const [what, header, client] of cases) {
    const expected = [{ client, url: "http://boat/x", body: 0 }];
    assert.deepEqual(await lab.ask(join(header, request())), expected, `${what} in one segment`);
    if (header.length === 0) continue;
    assert.deepEqual(await lab.ask(header, request()), expected, `${what} in two segments`);
    const bytes = [...join(header, request())].map((byte) => Uint8Array.of(byte));
    assert.deepEqual(await lab.ask(...bytes), expected, `${what} byte by byte`);
  }
  assert.equal(lab.connections.refused.proxy_header, 0);
});

Deno.test("requests after a header come whole and in order, however they are cut", NETWORK, async () => {
  await using lab = await Lab.open(TRUSTED);
  const random = new Random(11);
  for (let round = 0; round < rounds(20, 4); round++) {
    const connections = Array.from({ length: 10 }, async () => {
      const lengths = [1, 2, 3].map(() => random.int(60_000));
      const requests = lengths.map((bodyBytes, index) => request([], { bodyBytes, isLast: index === 2 }));
      const answers = await lab.ask(...cut(join(ipv4Header("203.0.113.7"), ...requests), random));
      assert.deepEqual(answers, lengths.map((body) => ({ client: "203.0.113.7", url: "http://boat/x", body })));
    });
    await Promise.all(connections);
  }
});

Deno.test("who is not a trusted proxy cannot name a client", NETWORK, async () => {
  await using lab = await Lab.open({ trustedProxies: ["10.0.0.0/8"] });
  await lab.refused(join(ipv4Header("203.0.113.7"), request()));
  const forged = ["X-Forwarded-For: 203.0.113.7", "X-Forwarded-Proto: https"];
  assert.deepEqual(await lab.ask(request(forged)), [{ client: "127.0.0.1", url: "http://boat/x", body: 0 }]);
  assert.equal(lab.connections.refused.proxy_header, 0);
});

Deno.test(
  "headers of HTTP count when the client that a PROXY header names is a trusted proxy, too",
  NETWORK,
  async () => {
    await using lab = await Lab.open(TRUSTED);
    const headers = ["X-Forwarded-For: 1.2.3.4", "X-Forwarded-For: 203.0.113.7", "X-Forwarded-Proto: https"];
    const cases: [header: Uint8Array, client: string, scheme: string][] = [
      [NOTHING, "203.0.113.7", "https"],
      [ipv4Header("10.1.1.1"), "203.0.113.7", "https"],
      [ipv4Header("198.51.100.1"), "198.51.100.1", "http"],
    ];
    for (const [header, client, scheme] of cases) {
      const expected = [{ client, url: `${scheme}://boat/x`, body: 0 }];
      assert.deepEqual(await lab.ask(join(header, request(headers))), expected);
    }
  },
);

Deno.test("a bad header closes the connection and is counted", NETWORK, async () => {
  await using lab = await Lab.open(TRUSTED);
  const bad = [
    proxyHeader(new Uint8Array(12), { command: 0x2f }),
    proxyHeader(new Uint8Array(12), { family: 0xff }),
    proxyHeader(new Uint8Array(11)),
    proxyHeader(NOTHING, { length: 65_535 }),
  ];
  for (const header of bad) await lab.refused(join(header, request()));
  await lab.refused(join(ipv4Header("203.0.113.7"), ipv4Header("203.0.113.8"), request()));
  assert.equal(lab.connections.refused.proxy_header, bad.length);
});

Deno.test("a header has the time of the handshake", NETWORK, async () => {
  await using lab = await Lab.open({ ...TRUSTED, handshakeTimeoutMs: 1000 });
  for (const part of [NOTHING, PROXY_SIGNATURE, ipv4Header("203.0.113.7").subarray(0, 20)]) {
    const connection = await lab.send(part);
    await eventually("the connection", () => lab.connections.counts.handshake === 1);
    lab.clock.advance(1000);
    assert.equal(await readAll(connection), "");
  }
  assert.equal(lab.connections.refused.handshake_timeout, 3);
});

Deno.test("a connection that ends in its header is forgotten", NETWORK, async () => {
  await using lab = await Lab.open(TRUSTED);
  const connection = await lab.send(PROXY_SIGNATURE);
  await eventually("the connection", () => lab.connections.counts.handshake === 1);
  await connection.closeWrite();
  await eventually("the end", () => lab.connections.counts.handshake === 0);
});

Deno.test("a port that closes ends connections that have not sent their header", NETWORK, async () => {
  await using lab = await Lab.open(TRUSTED);
  const connection = await lab.send(PROXY_SIGNATURE);
  await eventually("the connection", () => lab.connections.counts.handshake === 1);
  await lab.stop();
  assert.equal(await readAll(connection), "");
});

Deno.test("handshakes are limited for the client that a proxy names, not for the proxy", NETWORK, async () => {
  await using lab = await Lab.open({ ...TRUSTED, maxHandshakesPerAddress: 2, handshakeTimeoutMs: 60_000 });
  const [busy, other] = [ipv4Header("203.0.113.7"), ipv6Header("2001:db8:0:0:0:0:0:7")];
  const first = [await lab.send(busy), await lab.send(busy)];
  await eventually("the first", () => lab.connections.counts.handshake === 2);
  const others = [await lab.send(other), await lab.send(NOTHING), await lab.send(NOTHING), await lab.send(NOTHING)];
  await eventually("the others", () => lab.connections.counts.handshake === 6);
  const third = await lab.send(busy);
  await eventually("the third", () => lab.connections.counts.handshake === 7);
  // Until its header has been read.
  await eventually("the third to have its shorter time", () => {
    lab.clock.advance(100);
    return lab.connections.refused.max_handshakes_per_address === 1;
  });
  assert.equal(await readAll(third), "");
  assert.equal(lab.connections.counts.handshake, first.length + others.length);
});

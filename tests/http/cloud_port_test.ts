import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { connect as connectHttp2 } from "node:http2";
import { type AddressInfo, connect as connectTcp, createServer } from "node:net";
import { connect, type ConnectionOptions, TLSSocket } from "node:tls";
import { once } from "node:events";
import { silentLogger } from "../../src/base/mod.ts";
import { peerChain } from "../../src/pki/mod.ts";
import { checkTlsPair, Connections, ListenError, listenGrpc, listenGrpcInsecure } from "../../src/listen/mod.ts";
import { upgradeOf } from "../../src/http/streams/upgrades.ts";
import { identify, ReplicationClient, ReplicationServer } from "../../src/replication/mod.ts";
import { openssl } from "../cloud/openssl.ts";
import { REQUEST, RESPONSE, service, TIMEOUT } from "../replication/fixture.ts";
import { eventually, pause } from "../support/eventually.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";
import { CloudPort, PortAuthority } from "./cloud_port.ts";

const OPENSSL = needs({ permissions: ["env", "net", "write"], programs: ["openssl"] });
const CURL = needs({ permissions: ["env", "net", "write"], programs: ["openssl", "curl"] });
const NETWORK = needs({ permissions: ["env", "net", "read"] });
const MODES = ["single", "dual"] as const;

async function curl(...args: string[]): Promise<string> {
  const { stdout, stderr } = await new Deno.Command("curl", { args: ["-sS", "--max-time", "60", ...args] }).output();
  return new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
}

/** What a TLS client agrees on with a port; why it does not. */
async function greet(port: number, options: ConnectionOptions): Promise<{ protocol: string | null; alpn: unknown }> {
  const socket: TLSSocket = connect({ host: "127.0.0.1", port, ...options });
  try {
    await once(socket, "secureConnect");
    return { protocol: socket.getProtocol(), alpn: socket.alpnProtocol };
  } finally {
    socket.destroy();
  }
}

for (const mode of MODES) {
  Deno.test(`${mode} port: HTTPS needs no certificate, and takes any`, CURL, () =>
    inFolder(async (folder) => {
      await using port = await CloudPort.open(folder, { mode });
      const rogue = await PortAuthority.make(folder, "rogue-ca");
      const url = `https://localhost:${port.webPort}/`;
      const trust = ["--cacert", port.paths.cloudCaPath];
      const certificates: [what: string, args: string[]][] = [["none", []]];
      for (const [what, authority] of [["good", port.parts.boats], ["rogue", rogue]] as const) {
        const { cert, key } = await authority.boat("boat-001");
        await Deno.writeTextFile(`${folder}/${what}.pem`, cert + key);
        certificates.push([what, ["--cert", `${folder}/${what}.pem`]]);
      }
      for (const [what, args] of certificates) {
        for (const version of ["--http1.1", "--http2"]) {
          const told = await curl(...trust, ...args, version, "-w", "%{http_code} %{http_version}", url);
          assert.equal(told, "hello\n200 1.1", `${what} ${version}`);
        }
      }
    }));

  Deno.test(`${mode} port: TLS 1.2 and 1.3 are spoken, nothing older`, OPENSSL, () =>
    inFolder(async (folder) => {
      await using port = await CloudPort.open(folder, { mode });
      const ca = port.parts.cloud.pem;
      for (const [at, ALPNProtocols] of [[port.grpcPort, ["h2"]], [port.webPort, ["http/1.1"]]] as const) {
        for (const version of ["TLSv1.2", "TLSv1.3"] as const) {
          const options = { ca, ALPNProtocols: [...ALPNProtocols], minVersion: version, maxVersion: version };
          assert.deepEqual(await greet(at, options), { protocol: version, alpn: ALPNProtocols[0] });
        }
        for (const version of ["-tls1", "-tls1_1"]) {
          const weak = ["-cipher", "ALL:@SECLEVEL=0", "-alpn", ALPNProtocols[0]];
          const { text } = await openssl("s_client", version, ...weak, "-connect", `127.0.0.1:${at}`);
          assert.match(text, /alert (?:protocol version|handshake failure)/, version);
        }
      }
    }));
}

Deno.test(
  "single port: who offers both protocols, or none, gets HTTPS; who offers HTTP/2 alone gets gRPC",
  CURL,
  () =>
    inFolder(async (folder) => {
      await using port = await CloudPort.open(folder, { mode: "single" });
      const ca = port.parts.cloud.pem;
      const alpnOf = async (...ALPNProtocols: string[]) =>
        (await greet(port.grpcPort, { ca, ...ALPNProtocols.length > 0 && { ALPNProtocols } })).alpn;
      assert.equal(await alpnOf("h2", "http/1.1"), "http/1.1");
      assert.equal(await alpnOf("http/1.1"), "http/1.1");
      assert.equal(await alpnOf("h2"), "h2");
      assert.equal(await alpnOf(), false);
      const plain = await curl("--cacert", port.paths.cloudCaPath, "--no-alpn", `https://localhost:${port.webPort}/`);
      assert.equal(plain, "hello\n");
      const session = connectHttp2(`https://localhost:${port.grpcPort}`, { ca });
      const request = session.request({ ":path": "/" });
      const page: unknown[] = [];
      request.on("data", (bytes) => page.push(bytes));
      await once(request, "end");
      assert.deepEqual(page, [], "an HTTPS client that knows HTTP/2 alone finds no web pages");
      session.destroy();
    }),
);

Deno.test("gRPC port: who offers no HTTP/2 is not served", OPENSSL, () =>
  inFolder(async (folder) => {
    await using port = await CloudPort.open(folder, { mode: "dual" });
    const ca = port.parts.cloud.pem;
    await assert.rejects(greet(port.grpcPort, { ca, ALPNProtocols: ["http/1.1"] }));
    const socket = connect({ host: "127.0.0.1", port: port.grpcPort, ca });
    socket.on("error", () => {});
    await once(socket, "close");
  }));

Deno.test("boats are told whose certificates are asked for", OPENSSL, () =>
  inFolder(async (folder) => {
    await using port = await CloudPort.open(folder, { mode: "single" });
    const ask = () => openssl("s_client", "-alpn", "h2", "-tls1_2", "-connect", `127.0.0.1:${port.grpcPort}`);
    assert.match((await ask()).text, /Acceptable client certificate CA names\s+CN = boat-ca/);
    const other = await PortAuthority.make(folder, "other-ca");
    await port.putAuthorities(other.pem);
    await port.parts.authorities.look();
    assert.match((await ask()).text, /Acceptable client certificate CA names\s+CN = other-ca/);
    await port.putServer(await port.parts.cloud.server());
    await port.parts.tls.check();
    assert.match((await ask()).text, /Acceptable client certificate CA names\s+CN = other-ca/);
  }));

Deno.test(
  "single port: event streams and WebSockets go on while certificates are replaced",
  OPENSSL,
  () =>
    inFolder(async (folder) => {
      let push: (text: string) => void = () => {};
      await using port = await CloudPort.open(folder, {
        mode: "single",
        handler: (request) => {
          if (request.headers.get("Upgrade") === "websocket") {
            const { socket, response } = Deno.upgradeWebSocket(request, upgradeOf(request));
            socket.onmessage = ({ data }) => socket.send(`heard ${data}`);
            return Promise.resolve(response);
          }
          const body = new ReadableStream<Uint8Array>({
            start: (controller) => {
              push = (text) => controller.enqueue(new TextEncoder().encode(`data: ${text}\n\n`));
              push("begin");
            },
          });
          return Promise.resolve(new Response(body, { headers: { "Content-Type": "text/event-stream" } }));
        },
      });
      const { cloud, tls } = port.parts;
      using client = Deno.createHttpClient({ caCerts: [cloud.pem] });
      const abort = new AbortController();
      const events = await fetch(`https://localhost:${port.webPort}/`, { client, signal: abort.signal });
      const reader = events.body!.pipeThrough(new TextDecoderStream()).getReader();
      assert.equal((await reader.read()).value, "data: begin\n\n");
      const socket = new WebSocket(`wss://localhost:${port.webPort}/`, { client });
      const heard: string[] = [];
      socket.onmessage = ({ data }) => heard.push(data);
      await eventually("the socket to open", () => socket.readyState === WebSocket.OPEN);
      await port.putServer(await cloud.server());
      await tls.check();
      push("after");
      socket.send("after");
      assert.equal((await reader.read()).value, "data: after\n\n");
      await eventually("the answer", () => heard[0] === "heard after");
      abort.abort();
      await reader.read().catch(() => {});
      socket.close();
      await eventually("the socket to close", () => socket.readyState === WebSocket.CLOSED);
    }),
);

for (const mode of MODES) {
  Deno.test(
    `${mode} port: who is slow to greet is sent away, and one too many sends the oldest away`,
    OPENSSL,
    () =>
      inFolder(async (folder) => {
        const limits = { maxHandshakes: 3, handshakeTimeoutMs: 600_000 };
        await using port = await CloudPort.open(folder, { mode, limits });
        const boat = await port.parts.boats.boat("boat-001");
        const silent: { connection: Deno.TcpConn; end: Promise<number | null> }[] = [];
        for (let count = 0; count < 5; count++) {
          const connection = await Deno.connect({ hostname: "127.0.0.1", port: port.grpcPort });
          silent.push({ connection, end: connection.read(new Uint8Array(1)).catch(() => null) });
        }
        await Promise.all([silent[0]!.end, silent[1]!.end]);
        await (await port.client(boat)).handshake(REQUEST, TIMEOUT);
        assert.equal(await silent[2]!.end, null);
        await using hasty = await CloudPort.open(folder, { mode, limits: { handshakeTimeoutMs: 50 } });
        using slow = await Deno.connect({ hostname: "127.0.0.1", port: hasty.grpcPort });
        await slow.write(Uint8Array.of(22, 3, 1));
        assert.equal(await slow.read(new Uint8Array(1)).catch(() => null), null);
        for (const { connection } of silent) connection.close();
      }),
  );

  Deno.test(
    `${mode} port: a stop ends what was opened, whether it speaks or not`,
    OPENSSL,
    () =>
      inFolder(async (folder) => {
        const port = await CloudPort.open(folder, { mode });
        const ca = port.parts.cloud.pem;
        const talking = await Promise.all(
          ([[port.grpcPort, "h2"], [port.webPort, "http/1.1"]] as const).map(async ([at, protocol]) => {
            const options = { hostname: "127.0.0.1", port: at, caCerts: [ca], alpnProtocols: [protocol] };
            const connection = await Deno.connectTls(options);
            await connection.handshake();
            return { end: new Response(connection.readable).bytes().catch(() => {}) };
          }),
        );
        using silent = await Deno.connect({ hostname: "127.0.0.1", port: port.grpcPort });
        const said = silent.read(new Uint8Array(1)).catch(() => null);
        const call = (await port.client(await port.parts.boats.boat("boat-001"))).live();
        const failed = assert.rejects(Array.fromAsync(call));
        await eventually("the call", () => port.callers.length === 1);
        await port[Symbol.asyncDispose]();
        await Promise.all([...talking.map(({ end }) => end), failed]);
        assert.equal(await said, null);
      }),
  );
}

Deno.test("gRPC without TLS is for this machine alone", NETWORK, async () => {
  const server = await ReplicationServer.create({
    service: service(),
    identify: (credentials) => identify(credentials, "insecure"),
    onFault: (error) => assert.fail(String(error)),
  });
  const accept = (socket: Parameters<typeof server.accept>[0]) => server.accept(socket);
  const options = { accept, connections: new Connections(), log: silentLogger };
  for (const hostname of ["::", "0.0.0.0", "192.168.0.7", "boat.example"]) {
    const tried = listenGrpcInsecure({ hostname, port: 0 }, options);
    await assert.rejects(
      tried,
      (error) => error instanceof ListenError && /only local addresses are allowed/.test(error.message),
    );
  }
  const listener = await listenGrpcInsecure({ hostname: "127.0.0.1", port: 0 }, options);
  const target = `127.0.0.1:${listener.address.port}`;
  const client = await ReplicationClient.create({ target, instanceId: "boat-001", security: { kind: "insecure" } });
  assert.deepEqual((await client.handshake(REQUEST, TIMEOUT)).response, RESPONSE);
  const taken = listenGrpcInsecure(listener.address, options);
  await assert.rejects(taken, (error) => error instanceof ListenError && /the port is taken/.test(error.message));
  client.close();
  await server.stop({ graceMs: 1000 });
  await listener.stop();
});

Deno.test(
  "hellos are read only while somebody waits for one, and go on to TLS when nobody takes them",
  OPENSSL,
  () =>
    inFolder(async (folder) => {
      const seen: (readonly string[])[] = [];
      let isWaiting = false;
      const helloPeek = {
        get isWaiting() {
          return isWaiting;
        },
        take: ({ protocols }: { protocols: readonly string[] }) => {
          seen.push(protocols);
          return false;
        },
      };
      await using port = await CloudPort.open(folder, { mode: "single", helloPeek });
      const boat = await port.parts.boats.boat("boat-001");
      await (await port.client(boat)).handshake(REQUEST, TIMEOUT);
      assert.deepEqual(seen, []);
      isWaiting = true;
      await (await port.client(boat)).handshake(REQUEST, TIMEOUT);
      assert.deepEqual(seen, [["h2"]]);
      await greet(port.grpcPort, { ca: port.parts.cloud.pem, ALPNProtocols: ["http/1.1"] });
      assert.deepEqual(seen, [["h2"], ["http/1.1"]]);
      using plain = await Deno.connect({ hostname: "127.0.0.1", port: port.grpcPort });
      await plain.write(Buffer.from("GET / HTTP/1.1\r\n\r\n"));
      const reply = await new Response(plain.readable).text().catch(() => "");
      assert.doesNotMatch(reply, /HTTP/);
      assert.equal(seen.length, 2);
    }),
);

Deno.test("a hello that comes byte by byte is read, and TLS gets all of it", OPENSSL, () =>
  inFolder(async (folder) => {
    const seen: (readonly string[])[] = [];
    const take = ({ protocols }: { protocols: readonly string[] }) => {
      seen.push(protocols);
      return false;
    };
    await using port = await CloudPort.open(folder, { mode: "single", helloPeek: { isWaiting: true, take } });
    const slow = createServer((near) => {
      const far = connectTcp({ port: port.grpcPort, host: "127.0.0.1", noDelay: true });
      far.pipe(near);
      near.on("data", async (bytes: Uint8Array) => {
        for (const byte of bytes) {
          far.write(Uint8Array.of(byte));
          await pause();
        }
      });
      for (const socket of [near, far]) {
        socket.on("error", () => {}).on("close", () => {
          near.destroy();
          far.destroy();
        });
      }
    });
    slow.listen(0, "127.0.0.1");
    await once(slow, "listening");
    const { port: slowPort } = slow.address() as AddressInfo;
    const agreed = await greet(slowPort, { ca: port.parts.cloud.pem, ALPNProtocols: ["h2"] });
    assert.deepEqual([agreed.alpn, seen], ["h2", [["h2"]]]);
    const closed = once(slow, "close");
    slow.close();
    await closed;
  }));

Deno.test(
  "a boat that takes up its session of TLS 1.2 again shows its certificate all the same",
  OPENSSL,
  () =>
    inFolder(async (folder) => {
      const authority = await PortAuthority.make(folder, "ca");
      const server = await authority.server();
      const boat = await authority.boat("boat-001");
      await Deno.writeTextFile(`${folder}/boat.pem`, boat.cert + boat.key);
      const chains: number[] = [];
      const listener = await listenGrpc({ hostname: "127.0.0.1", port: 0 }, {
        tls: { pair: checkTlsPair(server.cert, server.key), follow: () => () => {} },
        clientCa: { pem: authority.pem, follow: () => () => {} },
        accept: (socket) => {
          assert.ok(socket instanceof TLSSocket);
          chains.push(peerChain(socket.getPeerCertificate(true)).length);
          socket.end();
        },
        connections: new Connections(),
        log: silentLogger,
      });
      const greeted = async (...session: string[]) => {
        const to = ["-connect", `127.0.0.1:${listener.address.port}`, "-tls1_2", "-alpn", "h2"];
        const { text } = await openssl("s_client", ...to, "-cert", `${folder}/boat.pem`, ...session);
        return /^(?:New|Reused)/m.exec(text)?.[0];
      };
      assert.equal(await greeted("-sess_out", `${folder}/session`), "New");
      assert.equal(await greeted("-sess_in", `${folder}/session`), "Reused");
      assert.deepEqual(chains, [2, 2]);
      await listener.stop();
    }),
);

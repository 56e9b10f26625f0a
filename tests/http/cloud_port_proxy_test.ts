import assert from "node:assert/strict";
import type { CertificatePair } from "../../src/pki/certificates_make.ts";
import { silentLogger } from "../../src/base/mod.ts";
import { Connections, listenGrpcInsecure } from "../../src/listen/mod.ts";
import { identify, ReplicationClient, ReplicationServer } from "../../src/replication/mod.ts";
import { code, frame, REQUEST, RESPONSE, service, TIMEOUT } from "../replication/fixture.ts";
import { pause } from "../support/eventually.ts";
import { inFolder } from "../support/folder.ts";
import { HeaderBalancer } from "../support/header_balancer.ts";
import { needs } from "../support/needs.ts";
import { ipv4Header, ipv6Header, LOCAL, proxyHeader } from "../support/proxy_header.ts";
import { CloudPort, type PortOptions } from "./cloud_port.ts";

const NETWORK = needs({ permissions: ["env", "net", "write"] });
const MODES = ["single", "dual"] as const;

/** Believes proxies of this machine, and answers HTTPS with the client's address. */
const TRUSTING = {
  limits: { trustedProxies: ["127.0.0.1"] },
  handler: (request, from) => Promise.resolve(new Response(`${new URL(request.url).protocol}//${from.hostname}`)),
} satisfies Partial<PortOptions>;

/** What a port answers over TLS after these parts of a header, each in a segment of its own. */
async function answer(port: CloudPort, ...header: readonly Uint8Array[]): Promise<string> {
  const plain = await Deno.connect({ hostname: "127.0.0.1", port: port.webPort });
  plain.setNoDelay(true);
  for (const part of header) {
    await plain.write(part);
    await pause();
  }
  const caCerts = [port.parts.cloud.pem];
  const connection = await Deno.startTls(plain, { hostname: "localhost", caCerts, alpnProtocols: ["http/1.1"] });
  await connection.write(new TextEncoder().encode("GET / HTTP/1.1\r\nHost: cloud\r\nConnection: close\r\n\r\n"));
  return await new Response(connection.readable).text();
}

for (const mode of MODES) {
  Deno.test(
    `${mode} port: HTTPS after a PROXY header is the named client's`,
    NETWORK,
    () =>
      inFolder(async (folder) => {
        await using port = await CloudPort.open(folder, { mode, ...TRUSTING });
        const header = ipv4Header("203.0.113.7", { more: [4, 0, 1, 0] });
        assert.match(await answer(port, header), /https:\/\/203\.0\.113\.7$/);
        assert.match(await answer(port, header.subarray(0, 5), header.subarray(5)), /https:\/\/203\.0\.113\.7$/);
        assert.match(await answer(port, ipv6Header("2001:db8:0:0:0:0:0:7")), /https:\/\/2001:db8::7$/);
        assert.match(await answer(port, proxyHeader([], { command: LOCAL, family: 0 })), /https:\/\/127\.0\.0\.1$/);
        assert.match(await answer(port), /https:\/\/127\.0\.0\.1$/);
      }),
  );

  Deno.test(
    `${mode} port: boats of one named address and port are told apart`,
    NETWORK,
    () =>
      inFolder(async (folder) => {
        await using port = await CloudPort.open(folder, { mode, ...TRUSTING });
        const { boats, cloud, identity, revoked } = port.parts;
        await using balancer = await HeaderBalancer.start(port.grpcPort, ipv4Header("203.0.113.7", { port: 40_001 }));
        const ids = ["boat-001", "boat-002", "boat-003"];
        const pairs: CertificatePair[] = [];
        const clients: ReplicationClient[] = [];
        using stack = new DisposableStack();
        for (const instanceId of ids) {
          const pair = await boats.boat(instanceId);
          const security = { kind: "tls", cert: pair.cert, key: pair.key, ca: cloud.pem } as const;
          const target = `127.0.0.1:${balancer.port}`;
          const client = await ReplicationClient.create({ target, instanceId, security });
          stack.defer(() => client.close());
          pairs.push(pair);
          clients.push(client);
          await client.handshake({ ...REQUEST, instanceId }, TIMEOUT);
        }
        for (const client of clients) {
          const live = client.live();
          await live.send({ kind: "frame", frame: frame(3) });
          live.end();
          assert.deepEqual(await Array.fromAsync(live), [{ ackSeq: 3, receivedThrough: 0 }]);
        }
        assert.deepEqual(port.callers.map(({ instanceId }) => instanceId), [...ids, ...ids]);
        assert.deepEqual(new Set(port.callers.map(({ address }) => address)), new Set(["203.0.113.7:40001"]));
        assert.equal(new Set(port.callers.map(({ connection }) => connection)).size, ids.length);
        await port.putRevoked(pairs[1]!.serial);
        await revoked.check();
        assert.deepEqual(port.callers.map(identity.isAllowed), [true, false, true, true, false, true]);
        const again = clients[1]!.handshake({ ...REQUEST, instanceId: "boat-002" }, TIMEOUT);
        await assert.rejects(again, code("UNAUTHENTICATED", /revoked/));
      }),
  );
}

Deno.test(
  "a hello is read after a PROXY header, and goes on to TLS when nobody takes it",
  NETWORK,
  () =>
    inFolder(async (folder) => {
      const seen: (string | undefined)[] = [];
      const helloPeek = {
        isWaiting: true,
        take: ({ serverName }: { serverName: string | undefined }) => {
          seen.push(serverName);
          return false;
        },
      };
      await using port = await CloudPort.open(folder, { mode: "single", helloPeek, ...TRUSTING });
      assert.match(await answer(port, ipv4Header("203.0.113.7")), /https:\/\/203\.0\.113\.7$/);
      assert.match(await answer(port), /https:\/\/127\.0\.0\.1$/);
      assert.deepEqual(seen, ["localhost", "localhost"]);
    }),
);

Deno.test("gRPC without TLS is for this machine alone, also for clients that a proxy names", NETWORK, async () => {
  const server = await ReplicationServer.create({
    service: service(),
    identify: (credentials) => identify(credentials, "insecure"),
    onFault: (error) => assert.fail(String(error)),
  });
  const accept: Parameters<typeof listenGrpcInsecure>[1]["accept"] = (...args) => server.accept(...args);
  const connections = new Connections(TRUSTING.limits);
  const listener = await listenGrpcInsecure({ hostname: "127.0.0.1", port: 0 }, {
    accept,
    connections,
    log: silentLogger,
  });
  const tried = async (header: Uint8Array) => {
    await using balancer = await HeaderBalancer.start(listener.address.port, header);
    const target = `127.0.0.1:${balancer.port}`;
    const client = await ReplicationClient.create({ target, instanceId: "boat-001", security: { kind: "insecure" } });
    try {
      return (await client.handshake(REQUEST, TIMEOUT)).response;
    } finally {
      client.close();
    }
  };
  assert.deepEqual(await tried(ipv4Header("127.0.0.1")), RESPONSE);
  await assert.rejects(tried(ipv4Header("203.0.113.7")), code("UNAUTHENTICATED", /no verified client certificate/));
  await server.stop({ graceMs: 1000 });
  await listener.stop();
});

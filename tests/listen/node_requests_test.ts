import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { acceptSocket } from "../../src/http/streams/websocket.ts";
import type { Handler, NodeRequests } from "../../src/listen/mod.ts";
import { eventually } from "../support/eventually.ts";
import { inFolder } from "../support/folder.ts";

import { ask, AT, type Files, hello, ISSUE, NET, NodePort, Parts, Streams } from "./node_port.ts";

/** Sends the handshake of a WebSocket (RFC 6455 §4.1). */
async function openSocket(
  requests: NodeRequests,
  url: string,
  headers: Record<string, string> = {},
): Promise<{ status: number | undefined; socket: Socket; received: () => string }> {
  const handshake = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
  };
  const outgoing = requests.open(url, { method: "GET", path: "/", headers: { ...handshake, ...headers } });
  const upgraded = once(outgoing.end(), "upgrade");
  const [{ statusCode: status }, socket, head] = await upgraded;
  let received = new TextDecoder().decode(head);
  socket.on("data", (bytes: Uint8Array) => received += new TextDecoder().decode(bytes));
  socket.on("error", () => {});
  return { status, socket, received: () => received };
}

Deno.test("nodes answer each other's requests", NET, () =>
  inFolder(async (folder) => {
    await using port = await NodePort.open(folder, hello);
    const { requests } = await port.client(await port.issue("n1"));
    assert.equal(await text(await ask(requests, port.url)), "GET ");
    const body = "x".repeat(100_000);
    assert.equal(await text(await ask(requests, port.url, { method: "POST", body })), `POST ${body}`);
    assert.deepEqual(port.refusals, []);
  }));

Deno.test("a request that a node forwards is that of the client that it names", NET, () =>
  inFolder(async (folder) => {
    const who: Handler = (request, { hostname }) =>
      Promise.resolve(new Response(`${new URL(request.url).protocol} ${hostname}`));
    await using port = await NodePort.open(folder, who);
    const { requests } = await port.client(await port.issue("n1"));
    const answerTo = async (headers: Record<string, string>) => await text(await ask(requests, port.url, { headers }));
    assert.equal(await answerTo({}), "https: 127.0.0.1");
    assert.equal(await answerTo({ "X-Forwarded-For": "203.0.113.7" }), "https: 203.0.113.7");
    assert.equal(
      await answerTo({ "X-Forwarded-For": "2001:db8::7", "X-Forwarded-Proto": "http" }),
      "http: 2001:db8::7",
    );
  }));

Deno.test(
  "nodes open WebSockets to each other, with headers, until the certificate is revoked",
  NET,
  () =>
    inFolder(async (folder) => {
      await using port = await NodePort.open(folder, (request) => {
        const { socket, response, closed } = acceptSocket(request);
        socket.onopen = () => socket.send(`hello ${request.headers.get("X-API-Key")}`);
        socket.onclose = () => closed?.();
        return Promise.resolve(response);
      });
      const { requests } = await port.client(await port.issue("n1"));
      const { status, received, socket } = await openSocket(requests, port.url, { "X-API-Key": "key" });
      assert.equal(status, 101);
      await eventually("a message", () => received().includes("hello key"));
      await port.revoke("n1");
      await eventually("the socket to close", () => socket.destroyed);
    }),
);

Deno.test(
  "a streamed reply arrives part by part, and its abort reaches the other node",
  NET,
  () =>
    inFolder(async (folder) => {
      const streams = new Streams();
      await using port = await NodePort.open(folder, streams.handler);
      const { requests } = await port.client(await port.issue("n1"));
      const stream = await Parts.open(requests, port.url);
      for (const part of ["first", "second"]) {
        streams.write(part);
        assert.equal(await stream.next(), part);
      }
      stream.incoming.destroy();
      assert.equal(await stream.next(), undefined);
      await eventually("the abort", () => streams.aborted === 1);
    }),
);

Deno.test(
  "a node's replaced certificate is used for new requests, and those in progress continue",
  NET,
  () =>
    inFolder(async (folder) => {
      const streams = new Streams();
      await using port = await NodePort.open(folder, streams.handler);
      const old = await port.issue("n1");
      const { tls, requests } = await port.client(old);
      const before = await Parts.open(requests, port.url);
      await port.issue("n1");
      await tls.check();
      streams.write("a");
      assert.equal(await before.next(), "a");
      await port.revoke("n1", old.certificate.serial);
      const again = await Parts.open(requests, port.url);
      assert.equal(await before.next(), undefined);
      streams.write("b");
      assert.equal(await again.next(), "b");
      again.incoming.destroy();
    }),
);

Deno.test(
  "a replaced certificate closes idle connections to other nodes at once and those in use after their reply",
  NET,
  () =>
    inFolder(async (folder) => {
      const replies: ReadableStreamDefaultController<Uint8Array>[] = [];
      await using port = await NodePort.open(folder, (request) => {
        if (!request.url.endsWith("/stream")) return hello(request, AT);
        const start = (controller: ReadableStreamDefaultController<Uint8Array>) => void replies.push(controller);
        return Promise.resolve(new Response(new ReadableStream<Uint8Array>({ start })));
      });
      const { tls, requests } = await port.client(await port.issue("n1"));
      const inUse = await ask(requests, `${port.url}/stream`);
      const reply = await ask(requests, port.url);
      const idle = reply.socket;
      await text(reply);
      await text(await ask(requests, port.url));
      assert.equal(port.counts.idle + port.counts.active, 2, "a connection is used again");
      await port.issue("n1");
      await tls.check();
      await eventually("the idle connection to close", () => idle.destroyed);
      replies[0]!.enqueue(new TextEncoder().encode("still"));
      replies[0]!.close();
      assert.equal(await text(inUse), "still");
      await eventually("all connections to close", () => port.counts.idle + port.counts.active === 0);
    }),
);

Deno.test(
  "a stopped client closes its connections, those of WebSockets included",
  NET,
  () =>
    inFolder(async (folder) => {
      const streams = new Streams();
      await using port = await NodePort.open(folder, (request, from) => {
        if (!request.headers.has("Upgrade")) return streams.handler(request, from);
        const { response, closed, socket } = acceptSocket(request);
        socket.onclose = () => closed?.();
        return Promise.resolve(response);
      });
      const { tls, requests } = await port.client(await port.issue("n1"));
      const { socket } = await openSocket(requests, port.url);
      const stream = await Parts.open(requests, port.url);
      await port.issue("n1");
      await tls.check();
      requests.stop();
      assert.equal(await stream.next(), undefined);
      await eventually("the WebSocket to close", () => socket.destroyed);
      await eventually("the abort", () => streams.aborted === 1);
    }),
);

Deno.test(
  "a port that refuses connections or never answers TLS is an error soon",
  NET,
  () =>
    inFolder(async (folder) => {
      await using port = await NodePort.open(folder, hello);
      const { requests } = await port.client(await port.issue("n1"));
      const accepted: Socket[] = [];
      const silent = createServer((socket) => accepted.push(socket.on("error", () => {})));
      silent.listen(0, AT.hostname);
      await once(silent, "listening");
      const url = `https://127.0.0.1:${(silent.address() as AddressInfo).port}`;
      await assert.rejects(ask(requests, url), /no connection within/);
      for (const socket of accepted) socket.destroy();
      silent.close();
      await once(silent, "close");
      await assert.rejects(ask(requests, url), /ECONNREFUSED/);
    }),
);

Deno.test(
  "a node requests nothing from a server with the certificate of another authority, host or usage",
  NET,
  () =>
    inFolder(async (folder) => {
      let served = 0;
      await using port = await NodePort.open(folder, () => Promise.resolve(new Response(`${++served}`)));
      const { authority, rogue, tls } = port;
      const { requests } = await port.client(await port.issue("n1"));
      const elsewhere = { hosts: ["n2.internal"], ips: ["127.0.0.2"] };
      // The runtime has one message for a wrong authority and a wrong usage.
      const cases: [reason: RegExp, files: Files][] = [
        [/unable to verify/, await port.issue("n2", rogue)],
        [/IP: 127\.0\.0\.1 is not in/, await authority.issueNode("n3", { ...ISSUE, names: elsewhere })],
        [/unable to verify/, await authority.issueBoat("aurora", ISSUE)],
      ];
      for (const [reason, { certPath, keyPath }] of cases) {
        await Deno.copyFile(certPath, `${folder}/ca/nodes/n2/cert.pem`);
        await Deno.copyFile(keyPath, `${folder}/ca/nodes/n2/key.pem`);
        await tls.check();
        await assert.rejects(ask(requests, port.url), reason);
      }
      assert.equal(served, 0);
    }),
);

Deno.test(
  "the server of a forwarded request is verified by the node's URL, whatever Host the request has",
  NET,
  () =>
    inFolder(async (folder) => {
      await using port = await NodePort.open(folder, hello);
      const { authority } = port;
      const files = await port.issue("n1");
      const statusOf = async () => {
        const { requests } = await port.client(files);
        return (await ask(requests, port.url, { headers: { host: "cloud.example.com" } })).resume().statusCode;
      };
      assert.equal(await statusOf(), 200);
      const other = await authority.issueNode("n3", { ...ISSUE, names: { hosts: ["cloud.example.com"], ips: [] } });
      await Deno.copyFile(other.certPath, `${folder}/ca/nodes/n2/cert.pem`);
      await Deno.copyFile(other.keyPath, `${folder}/ca/nodes/n2/key.pem`);
      await port.tls.check();
      await assert.rejects(statusOf(), /altnames: IP: 127\.0\.0\.1/);
    }),
);

Deno.test("a client trusts all authorities of its file", NET, () =>
  inFolder(async (folder) => {
    await using port = await NodePort.open(folder, hello);
    await Deno.copyFile(`${folder}/rogue/ca.pem`, `${folder}/authorities.pem`);
    await port.authorities.look();
    const { requests } = await port.client(await port.issue("n1"));
    await assert.rejects(ask(requests, port.url), /unable to verify/);
    const pems = await Promise.all(["rogue", "ca"].map((name) => Deno.readTextFile(`${folder}/${name}/ca.pem`)));
    await Deno.writeTextFile(`${folder}/authorities.pem`, pems.join(""));
    await port.authorities.look();
    assert.equal(await text(await ask(requests, port.url)), "GET ");
  }));

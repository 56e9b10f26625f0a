import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type TLSSocket } from "node:tls";
import { Logger, StallDetector } from "../../src/base/mod.ts";
import { acceptSocket } from "../../src/http/streams/websocket.ts";
import {
  Connections,
  type Handler,
  type Listener,
  listenNodes,
  NodeHttpClient,
  NodeRequests,
  TlsFiles,
} from "../../src/listen/mod.ts";
import {
  Authority,
  type CertificateFolder,
  ClientAuthorities,
  initAuthority,
  RevocationFile,
} from "../../src/pki/mod.ts";
import { eventually } from "../support/eventually.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";

const NET = needs({ permissions: ["net", "read", "write"] });
const DAY_MS = 86_400_000;
const ISSUE = { days: 30, isForced: true };
const NAMES = { hosts: [], ips: ["127.0.0.1"] };
const AT = { hostname: "127.0.0.1", port: 0 };

type Files = Pick<CertificateFolder, "certPath" | "keyPath">;

/** An authority in a folder of its own. */
async function makeAuthority(directory: string, clock: FakeClock): Promise<Authority> {
  await initAuthority(directory, { name: "Fleet", days: 3650, clock });
  return await Authority.open(directory, { clock });
}

/** The port of the node `n2`, with files of certificates that a test may replace. */
class NodePort implements AsyncDisposable {
  readonly clock = new FakeClock();
  readonly lines: string[] = [];
  readonly log = new Logger({ write: (line) => this.lines.push(line) });
  readonly #stack = new AsyncDisposableStack();
  readonly folder: string;
  authority!: Authority;
  rogue!: Authority;
  authorities!: ClientAuthorities;
  revoked!: RevocationFile;
  tls!: TlsFiles;
  listener!: Listener;

  private constructor(folder: string) {
    this.folder = folder;
    this.clock.jump(Date.now() - this.clock.wallUs() / 1000);
  }

  static async open(folder: string, handler: Handler): Promise<NodePort> {
    const port = new NodePort(folder);
    const { clock, log } = port;
    const [ca, stack] = [`${folder}/ca`, port.#stack];
    const authority = port.authority = stack.use(await makeAuthority(ca, clock));
    port.rogue = stack.use(await makeAuthority(`${folder}/rogue`, clock));
    await Deno.copyFile(`${ca}/ca.pem`, `${folder}/authorities.pem`);
    const authorities = port.authorities = await ClientAuthorities.open({
      path: `${folder}/authorities.pem`,
      clock,
      log,
    });
    const options = { path: `${ca}/revoked.txt`, authorities: () => authorities.pem, log };
    const revoked = port.revoked = await RevocationFile.open(options);
    const tls = port.tls = await port.files(await authority.issueNode("n2", { ...ISSUE, names: NAMES }));
    const stall = new StallDetector(log);
    stack.defer(() => [authorities, revoked, stall].forEach((each) => each.stop()));
    const connections = new Connections();
    const parts = { tls, authorities, revoked, clock, handler, stall, connections, log };
    port.listener = await listenNodes(AT, parts);
    stack.defer(() => port.listener.stop());
    return port;
  }

  get url(): string {
    return `https://127.0.0.1:${this.listener.address.port}`;
  }

  async files({ certPath, keyPath }: Files): Promise<TlsFiles> {
    const tls = await TlsFiles.open({ certPath, keyPath, clock: this.clock, log: this.log });
    this.#stack.defer(() => tls.stop());
    return tls;
  }

  /** The client of another node. */
  async client(files: Files): Promise<{ tls: TlsFiles; http: NodeHttpClient }> {
    const tls = await this.files(files);
    const http = new NodeHttpClient({ tls, authorities: this.authorities });
    this.#stack.defer(() => http.stop());
    return { tls, http };
  }

  /** Issues a certificate for a node. */
  issue(name: string, authority = this.authority): Promise<CertificateFolder> {
    return authority.issueNode(name, { ...ISSUE, names: NAMES });
  }

  /** Revokes a node's certificates, or the one with a serial number. */
  async revoke(name: string, serial?: string): Promise<void> {
    await this.authority.revoke(name, { kind: "node", serial });
    await this.revoked.check();
  }

  /** Log lines of refused connections. */
  get refusals(): string[] {
    return this.lines.filter((line) => line.includes("node connection refused"));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }
}

const hello: Handler = async (request) => new Response(`${request.method} ${await request.text()}`);

/** Streams that a test writes. */
class Streams {
  readonly #open = new Set<ReadableStreamDefaultController<Uint8Array>>();
  aborted = 0;

  readonly handler: Handler = (request) => {
    request.signal.addEventListener("abort", () => this.aborted++);
    let sink: ReadableStreamDefaultController<Uint8Array>;
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => void this.#open.add(sink = controller),
      cancel: () => void this.#open.delete(sink),
    });
    return Promise.resolve(new Response(body));
  };

  write(text: string): void {
    for (const sink of this.#open) sink.enqueue(new TextEncoder().encode(text));
  }
}

/** Reads the next part of a streamed reply as text; undefined: the reply has ended or failed. */
async function next(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<string | undefined> {
  const part = await reader.read().catch(() => undefined);
  return part?.value && new TextDecoder().decode(part.value);
}

async function openStream(url: string, client: Deno.HttpClient): Promise<ReadableStreamDefaultReader<Uint8Array>> {
  const { body } = await fetch(url, { client });
  return body!.getReader();
}

Deno.test("nodes answer each other's requests", NET, () =>
  inFolder(async (folder) => {
    await using port = await NodePort.open(folder, hello);
    const { http } = await port.client(await port.issue("n1"));
    assert.equal(await (await fetch(port.url, { client: http.current })).text(), "GET ");
    const body = "x".repeat(100_000);
    const posted = await fetch(port.url, { client: http.current, method: "POST", body: new Blob([body]).stream() });
    assert.equal(await posted.text(), `POST ${body}`);
    assert.deepEqual(port.refusals, []);
  }));

Deno.test("a request that a node forwards is that of the client that it names", NET, () =>
  inFolder(async (folder) => {
    const who: Handler = (request, { hostname }) =>
      Promise.resolve(new Response(`${new URL(request.url).protocol} ${hostname}`));
    await using port = await NodePort.open(folder, who);
    const { http } = await port.client(await port.issue("n1"));
    const ask = async (headers: Record<string, string>) =>
      await (await fetch(port.url, { client: http.current, headers })).text();
    assert.equal(await ask({}), "https: 127.0.0.1");
    assert.equal(await ask({ "X-Forwarded-For": "203.0.113.7" }), "https: 203.0.113.7");
    assert.equal(await ask({ "X-Forwarded-For": "2001:db8::7", "X-Forwarded-Proto": "http" }), "http: 2001:db8::7");
  }));

Deno.test(
  "nodes open WebSockets to each other, with headers, until the certificate is revoked",
  NET,
  () =>
    inFolder(async (folder) => {
      await using port = await NodePort.open(folder, (request) => {
        const { socket, response, closed } = acceptSocket(request);
        socket.onmessage = ({ data }) => socket.send(`${request.headers.get("X-API-Key")} ${data}`);
        socket.onclose = () => closed?.();
        return Promise.resolve(response);
      });
      const { http } = await port.client(await port.issue("n1"));
      const url = port.url.replace("https", "wss");
      const socket = new WebSocket(url, { client: http.current, headers: { "X-API-Key": "key" } });
      const received: string[] = [];
      socket.onopen = () => socket.send("hello");
      socket.onmessage = ({ data }) => received.push(data);
      await eventually("a message", () => received.length > 0);
      assert.deepEqual(received, ["key hello"]);
      await port.revoke("n1");
      await eventually("the socket to close", () => socket.readyState === WebSocket.CLOSED);
    }),
);

Deno.test(
  "a client without the valid certificate of a node is served nothing, and logged once for each reason",
  NET,
  () =>
    inFolder(async (folder) => {
      let served = 0;
      await using port = await NodePort.open(folder, () => Promise.resolve(new Response(`${++served}`)));
      const { authority, clock } = port;
      const old = await port.issue("n3");
      await port.revoke("n3");
      clock.jump(-60 * DAY_MS);
      const expired = await port.issue("n4");
      clock.jump(60 * DAY_MS);
      const cases: [reason: RegExp, files?: Files][] = [
        [/CN=aurora.* is not that of a node/, await authority.issueBoat("aurora", ISSUE)],
        [/CN=vbg-cloud.* is not for clients/, await authority.issueServer(NAMES, ISSUE)],
        [/there is no client certificate/],
        [/CN=node:n3.* is revoked/, old],
        [/CN=node:n4.* expired 20/, expired],
        [/CN=node:n1.* is not signed by a trusted authority/, await port.issue("n1", port.rogue)],
      ];
      for (const [reason, files] of cases) {
        const before = port.refusals.length;
        const pair = files &&
          { cert: Deno.readTextFileSync(files.certPath), key: Deno.readTextFileSync(files.keyPath) };
        using client = Deno.createHttpClient({ caCerts: [port.authorities.pem], ...pair });
        for (let attempt = 0; attempt < 2; attempt++) await assert.rejects(fetch(port.url, { client }), TypeError);
        const [line = "", ...others] = port.refusals.slice(before);
        assert.deepEqual(others, []);
        assert.match(line, reason);
        assert.match(line, /WARN +node connection refused address=127\.0\.0\.1 reason=/);
      }
      assert.equal(served, 0);
    }),
);

Deno.test(
  "a streamed reply arrives part by part, and its abort reaches the other node",
  NET,
  () =>
    inFolder(async (folder) => {
      const streams = new Streams();
      await using port = await NodePort.open(folder, streams.handler);
      const { http } = await port.client(await port.issue("n1"));
      const abort = new AbortController();
      const { body } = await fetch(port.url, { client: http.current, signal: abort.signal });
      const reader = body!.getReader();
      for (const text of ["first", "second"]) {
        streams.write(text);
        assert.equal(await next(reader), text);
      }
      abort.abort();
      await assert.rejects(reader.read(), { name: "AbortError" });
      await eventually("the abort", () => streams.aborted === 1);
    }),
);

Deno.test(
  "open connections are closed when their certificate is no longer valid, others stay",
  NET,
  () =>
    inFolder(async (folder) => {
      const streams = new Streams();
      await using port = await NodePort.open(folder, streams.handler);
      const { clock } = port;
      const streamOf = async (name: string) => {
        const { http } = await port.client(await port.issue(name));
        return await openStream(`${port.url}/${name}`, http.current);
      };
      const [first, second] = [await streamOf("n1"), await streamOf("n3")];
      clock.jump(10 * DAY_MS);
      const third = await streamOf("n4");
      await port.revoke("n1");
      assert.equal(await next(first), undefined, "revoked");
      streams.write("a");
      assert.deepEqual([await next(second), await next(third)], ["a", "a"]);
      clock.jump(25 * DAY_MS);
      await port.issue("n5");
      await port.revoke("n5");
      assert.equal(await next(second), undefined, "expired");
      streams.write("b");
      assert.equal(await next(third), "b");
      await Deno.copyFile(`${folder}/rogue/ca.pem`, `${folder}/authorities.pem`);
      await port.authorities.look();
      assert.equal(await next(third), undefined, "its authority was removed");
      assert.deepEqual(port.refusals.map((line) => /revoked|expired|not signed/.exec(line)?.[0]), [
        "revoked",
        "expired",
        "not signed",
      ]);
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
      const { tls, http } = await port.client(old);
      const before = http.current;
      const reader = await openStream(port.url, before);
      await port.issue("n1");
      await tls.check();
      assert.notEqual(http.current, before);
      streams.write("a");
      assert.equal(await next(reader), "a");
      await port.revoke("n1", old.certificate.serial);
      const again = await openStream(port.url, http.current);
      assert.equal(await next(reader), undefined);
      streams.write("b");
      assert.equal(await next(again), "b");
      await again.cancel();
    }),
);

Deno.test("a port's replaced certificate is used for new connections", NET, () =>
  inFolder(async (folder) => {
    await using port = await NodePort.open(folder, hello);
    const serial = async () => {
      const { cert, key } = port.tls.pair;
      const { hostname: host, port: at } = port.listener.address;
      const socket: TLSSocket = connect({ host, port: at, ca: [port.authorities.pem], cert, key });
      await once(socket, "secureConnect");
      const { serialNumber } = socket.getPeerCertificate();
      socket.destroy();
      return serialNumber.toLowerCase();
    };
    const before = await serial();
    const { certificate } = await port.issue("n2");
    assert.notEqual(certificate.serial, before);
    await port.tls.check();
    assert.equal(await serial(), certificate.serial);
  }));

Deno.test(
  "a node requests nothing from a server with the certificate of another authority, host or usage",
  NET,
  () =>
    inFolder(async (folder) => {
      let requests = 0;
      await using port = await NodePort.open(folder, () => Promise.resolve(new Response(`${++requests}`)));
      const { authority, rogue, tls } = port;
      const { http } = await port.client(await port.issue("n1"));
      const elsewhere = { hosts: ["n2.internal"], ips: ["127.0.0.2"] };
      const cases: [reason: RegExp, files: Files][] = [
        [/BadSignature|UnknownIssuer/, await port.issue("n2", rogue)],
        [/not valid for name/, await authority.issueNode("n3", { ...ISSUE, names: elsewhere })],
        [/extended key usage/, await authority.issueBoat("aurora", ISSUE)],
      ];
      for (const [reason, { certPath, keyPath }] of cases) {
        await Deno.copyFile(certPath, `${folder}/ca/nodes/n2/cert.pem`);
        await Deno.copyFile(keyPath, `${folder}/ca/nodes/n2/key.pem`);
        await tls.check();
        await assert.rejects(fetch(port.url, { client: http.current }), ({ cause }) => reason.test(String(cause)));
      }
      assert.equal(requests, 0);
    }),
);

Deno.test(
  "the server of a forwarded request is verified by the node's URL, whatever Host the request has",
  NET,
  () =>
    inFolder(async (folder) => {
      await using port = await NodePort.open(folder, hello);
      const { authority, authorities } = port;
      const tls = await port.files(await port.issue("n1"));
      const statusOf = async () => {
        const requests = new NodeRequests({ tls, authorities });
        try {
          const headers = { host: "cloud.example.com" };
          const request = requests.open(port.url, { method: "GET", path: "/", headers });
          const response = once(request.end(), "response");
          return (await response)[0].resume().statusCode;
        } finally {
          requests.stop();
        }
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
    const { http } = await port.client(await port.issue("n1"));
    const pems = await Promise.all(["rogue", "ca"].map((name) => Deno.readTextFile(`${folder}/${name}/ca.pem`)));
    await Deno.writeTextFile(`${folder}/authorities.pem`, pems.join(""));
    const before = http.current;
    await port.authorities.look();
    assert.notEqual(http.current, before);
    assert.equal(await (await fetch(port.url, { client: http.current })).text(), "GET ");
  }));

import assert from "node:assert/strict";
import { Logger, silentLogger, StallDetector } from "../../src/base/mod.ts";
import { Connections, ListenError, listenTls, TlsError, TlsFiles } from "../../src/listen/mod.ts";
import { type CertificateFiles, TestAuthority } from "../support/certificates.ts";
import { eventually } from "../support/eventually.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { inFolder } from "../support/folder.ts";
import { message } from "../support/messages.ts";
import { needs } from "../support/needs.ts";
import { GuardedServer, tokenOf } from "../http/auth_server.ts";

const OPENSSL = needs({ permissions: ["write"], programs: ["openssl"] });
const DAY_MS = 86_400_000;

/** A server over TLS whose certificate a test may replace. */
class Fixture implements AsyncDisposable {
  readonly clock = new FakeClock();
  readonly lines: string[] = [];
  readonly log = new Logger({ write: (line) => this.lines.push(line) });
  readonly authority: TestAuthority;
  readonly files: CertificateFiles;
  #tls: TlsFiles | undefined;

  private constructor(authority: TestAuthority, files: CertificateFiles) {
    this.authority = authority;
    this.files = files;
    this.clock.jump(Date.now() - this.clock.wallUs() / 1000);
  }

  static async make(folder: string): Promise<Fixture> {
    const authority = await TestAuthority.make(folder);
    await authority.issue("first");
    const fixture = new Fixture(authority, authority.files("served"));
    await fixture.put("first");
    return fixture;
  }

  /** Puts a certificate, and the key of this one or of another, where the server looks. */
  async put(certificate: string, key = certificate): Promise<void> {
    await Deno.copyFile(this.authority.files(certificate).certPath, this.files.certPath);
    await Deno.copyFile(this.authority.files(key).keyPath, this.files.keyPath);
  }

  async open(): Promise<TlsFiles> {
    return this.#tls = await TlsFiles.open({ ...this.files, clock: this.clock, log: this.log });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.resolve(this.#tls?.stop());
  }
}

/** Opens an event stream and counts its frames. */
async function stream(url: string, client: Deno.HttpClient) {
  const abort = new AbortController();
  const response = await fetch(url, { client, signal: abort.signal });
  const state = { frames: 0, ended: false, close: () => abort.abort() };
  const read = async () => {
    const decoder = new TextDecoderStream();
    for await (const text of response.body!.pipeThrough(decoder)) state.frames += text.split("data:").length - 1;
  };
  void read().catch(() => {}).finally(() => state.ended = true);
  return state;
}

function portOf({ url }: GuardedServer): number {
  return Number(new URL(url).port);
}

Deno.test("a certificate that is replaced is used for new connections, and open streams go on", OPENSSL, async () => {
  await inFolder(async (folder) => {
    await using fixture = await Fixture.make(folder);
    const { authority } = fixture;
    const tls = await fixture.open();
    await using server = await GuardedServer.start({ tls });
    using client = Deno.createHttpClient({ caCerts: [authority.pem] });
    const events = await stream(`${server.url}/events`, client);
    const socket = new WebSocket(`${server.url.replace("https", "wss")}/ws`, { client });
    let envelopes = 0;
    socket.onmessage = ({ data }) => envelopes += JSON.parse(data).type === "frame" ? 1 : 0;
    await eventually("the socket to open", () => socket.readyState === WebSocket.OPEN);
    const publish = () => server.broker.publish(message());
    publish();
    await eventually("frames", () => events.frames === 1 && envelopes === 1);
    assert.equal(await authority.nameAt(portOf(server)), "first");
    await authority.issue("second");
    await fixture.put("second");
    await tls.check();
    assert.equal(await authority.nameAt(portOf(server)), "second");
    publish();
    await eventually("frames on the streams of before", () => events.frames === 2 && envelopes === 2);
    assert.deepEqual([events.ended, socket.readyState], [false, WebSocket.OPEN]);
    assert.match(fixture.lines.at(-1) ?? "", /INFO +certificate replaced expires=/);
    events.close();
    socket.close();
    await eventually("the streams to end", () => events.ended && socket.readyState === WebSocket.CLOSED);
  });
});

Deno.test(
  "a pair that cannot be used leaves the old one in use, is logged once, and degrades health",
  OPENSSL,
  async (t) => {
    await inFolder(async (folder) => {
      await using fixture = await Fixture.make(folder);
      const { authority, files, lines } = fixture;
      const tls = await fixture.open();
      await using server = await GuardedServer.start({ tls });
      await authority.issue("second");
      const bad: [what: string, spoil: () => Promise<void>, reason: RegExp][] = [
        ["the key of another", () => fixture.put("second", "first"), /the key is not the one of the certificate/],
        ["half a certificate", () => Deno.truncate(files.certPath, 200), /the certificate cannot be read/],
        ["an empty key", () => Deno.truncate(files.keyPath), /the key cannot be read/],
        ["no file", () => Deno.remove(files.certPath), /No such file/],
      ];
      for (const [what, spoil, reason] of bad) {
        await t.step(what, async () => {
          await fixture.put("second");
          await spoil();
          const before = lines.length;
          await tls.check();
          await tls.check();
          assert.equal(lines.length, before + 1);
          assert.match(lines.at(-1) ?? "", /ERROR certificate refused, the old one stays/);
          assert.match(lines.at(-1) ?? "", reason);
          const { status, message = "" } = tls.health();
          assert.equal(status, "degraded");
          assert.match(message, reason);
          assert.match(message, /; the old one ends 20\d\d-/);
          assert.equal(await authority.nameAt(portOf(server)), "first");
        });
      }
      await fixture.put("second");
      await tls.check();
      assert.deepEqual(tls.health(), { status: "ok" });
      assert.equal(await authority.nameAt(portOf(server)), "second");
    });
  },
);

Deno.test("the end of a certificate is told 30 days before", OPENSSL, async () => {
  await inFolder(async (folder) => {
    await using fixture = await Fixture.make(folder);
    const tls = await fixture.open();
    const { clock } = fixture;
    assert.deepEqual(tls.health(), { status: "ok" });
    clock.advance(59 * DAY_MS);
    assert.deepEqual(tls.health(), { status: "ok" });
    clock.advance(1.5 * DAY_MS);
    assert.match(tls.health().message ?? "", /^certificate ends 20\d\d-/);
    clock.advance(30 * DAY_MS);
    assert.match(tls.health().message ?? "", /^certificate ended 20\d\d-/);
    assert.equal(tls.health().status, "degraded");
  });
});

Deno.test("a server does not begin with a pair that cannot be used", OPENSSL, async () => {
  await inFolder(async (folder) => {
    await using fixture = await Fixture.make(folder);
    await fixture.authority.issue("second");
    await fixture.put("second", "first");
    const isTold = (error: unknown) =>
      error instanceof TlsError &&
      /^Cannot use the certificate ".*" with the key ".*": the key is not/.test(error.message);
    await assert.rejects(fixture.open(), isTold);
  });
});

Deno.test("who asks over TLS is known by address, token and origin as without", OPENSSL, async () => {
  await inFolder(async (folder) => {
    await using fixture = await Fixture.make(folder);
    const tls = await fixture.open();
    await using server = await GuardedServer.start({ tls, tokens: [tokenOf("pilot", "secret", ["send"])] });
    using client = Deno.createHttpClient({ caCerts: [fixture.authority.pem] });
    const send = (headers: Record<string, string>) =>
      fetch(`${server.url}/who/send`, {
        method: "POST",
        body: "1",
        client,
        headers: { "X-API-Key": "secret", ...headers },
      });
    const caller = { name: "pilot", scopes: ["send"], originAllowed: true, address: "127.0.0.1" };
    assert.deepEqual(await (await send({ Origin: server.url })).json(), caller);
    for (const Origin of [`https://127.0.0.1`, "https://evil.example", "null"]) {
      const reply = await send({ Origin });
      assert.equal(reply.status, 403);
      await reply.body?.cancel();
    }
    assert.deepEqual(server.asked, [{ ...caller, instances: undefined }]);
  });
});

Deno.test("who says nothing does not hold up the stop", OPENSSL, () =>
  inFolder(async (folder) => {
    await using fixture = await Fixture.make(folder);
    const server = await GuardedServer.start({ tls: await fixture.open() });
    const silent = await Promise.all([1, 2].map(() => Deno.connect({ hostname: "127.0.0.1", port: portOf(server) })));
    const said = silent.map((each) => each.read(new Uint8Array(1)).catch(() => null));
    // Connections are taken in order: by this answer the silent ones are, too.
    assert.equal(await fixture.authority.nameAt(portOf(server)), "first");
    const { promise: later, resolve } = Promise.withResolvers<string>();
    const timer = setTimeout(resolve, 9000, "the handshake was waited for");
    assert.equal(await Promise.race([server[Symbol.asyncDispose]().then(() => "stopped"), later]), "stopped");
    clearTimeout(timer);
    assert.deepEqual(await Promise.all(said), [null, null]);
    for (const each of silent) each.close();
  }));

Deno.test("what speaks no TLS, or nothing, is turned away and holds up nobody", OPENSSL, async () => {
  await inFolder(async (folder) => {
    await using fixture = await Fixture.make(folder);
    const tls = await fixture.open();
    await using server = await GuardedServer.start({ tls });
    using silent = await Deno.connect({ hostname: "127.0.0.1", port: portOf(server) });
    using plain = await Deno.connect({ hostname: "127.0.0.1", port: portOf(server) });
    await plain.write(new TextEncoder().encode("GET /livez HTTP/1.1\r\nHost: boat\r\n\r\n"));
    const reply = new TextDecoder().decode(await new Response(plain.readable).bytes().catch(() => new Uint8Array()));
    assert.doesNotMatch(reply, /HTTP/);
    assert.equal(await fixture.authority.nameAt(portOf(server)), "first");
    assert.ok(silent);
  });
});

Deno.test("a taken port is told, and what was opened before is closed again", OPENSSL, async () => {
  await inFolder(async (folder) => {
    await using fixture = await Fixture.make(folder);
    const tls = await fixture.open();
    await using server = await GuardedServer.start({ tls });
    const stall = new StallDetector(silentLogger);
    const address = { hostname: "127.0.0.1", port: portOf(server) };
    const handler = () => Promise.resolve(new Response());
    const again = listenTls(address, { handler, stall, connections: new Connections(), log: silentLogger, tls });
    await assert.rejects(again, (error) => {
      return error instanceof ListenError &&
        error.message === `Cannot listen on 127.0.0.1:${address.port}: the port is taken`;
    });
    stall.stop();
  });
});

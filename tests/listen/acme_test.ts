import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { Logger, StallDetector } from "../../src/base/mod.ts";
import {
  AcmeCertificate,
  AcmeError,
  type AcmeOptions,
  Connections,
  type Listener,
  listenSingle,
} from "../../src/listen/mod.ts";
import { TestAuthority } from "../support/certificates.ts";
import { eventually } from "../support/eventually.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { inFolder } from "../support/folder.ts";
import { freePort } from "../support/held_port.ts";
import { needs } from "../support/needs.ts";
import { Pebble } from "../support/pebble.ts";

const PEBBLE = needs({
  permissions: ["env", "net", "write", "sys"],
  programs: ["pebble", "pebble-challtestsrv", "openssl", "curl"],
});
const DOMAIN = "cloud.example";
const HOUR_MS = 3_600_000;

/** A server with a certificate from an authority of the test. */
class Site implements AsyncDisposable {
  readonly clock: FakeClock;
  readonly lines: string[];
  readonly certificate: AcmeCertificate;
  readonly listener: Listener;
  readonly #stall: StallDetector;

  private constructor(
    { clock, lines, certificate, listener, stall }:
      & Pick<Site, "clock" | "lines" | "certificate" | "listener">
      & { stall: StallDetector },
  ) {
    this.clock = clock;
    this.lines = lines;
    this.certificate = certificate;
    this.listener = listener;
    this.#stall = stall;
  }

  static async open(
    folder: string,
    { pebble, clock = newClock(), ...over }:
      & { pebble: Pick<Pebble, "directoryUrl" | "ca" | "httpPort" | "tlsPort">; clock?: FakeClock }
      & Partial<AcmeOptions>,
  ): Promise<Site> {
    const lines: string[] = [];
    const log = new Logger({ write: (line) => lines.push(line) });
    const stall = new StallDetector(log);
    const connections = new Connections();
    const { directoryUrl, ca, httpPort, tlsPort } = pebble;
    const certificate = await AcmeCertificate.open({
      domain: DOMAIN,
      email: "captain@cloud.example",
      directory: `${folder}/.acme`,
      directoryUrl,
      ca,
      httpListen: { hostname: "127.0.0.1", port: httpPort },
      httpsPort: tlsPort,
      random: () => 0.5,
      ...{ clock, connections, stall, log, ...over },
    });
    const listener = await listenSingle({ hostname: "127.0.0.1", port: tlsPort }, {
      tls: certificate,
      clientCa: { pem: ca, follow: () => () => {} },
      accept: (socket) => socket.destroy(),
      handler: () => Promise.resolve(new Response("hello\n")),
      helloPeek: certificate.helloPeek,
      connections,
      stall,
      log,
    });
    return new Site({ clock, lines, certificate, listener, stall });
  }

  /** Waits for what is under way, and looks again. */
  async served(): Promise<string> {
    await this.certificate.check();
    return this.certificate.pair?.cert ?? assert.fail(this.certificate.health().message);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.listener.stop();
    await this.certificate.stop();
    this.#stall.stop();
  }
}

function newClock(): FakeClock {
  const clock = new FakeClock();
  clock.jump(Date.now() - clock.wallUs() / 1000);
  return clock;
}

async function curl(...args: string[]): Promise<string> {
  const { stdout, stderr } = await new Deno.Command("curl", { args: ["-sS", "--max-time", "20", ...args] }).output();
  return new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
}

/** Asks the site as anybody would who trusts the authority. */
async function ask(folder: string, pebble: Pebble): Promise<string> {
  return await askBy(folder, { root: await pebble.root(), port: pebble.tlsPort });
}

async function askBy(folder: string, { root, port }: { root: string; port: number }): Promise<string> {
  const rootPath = `${folder}/root.pem`;
  await Deno.writeTextFile(rootPath, root);
  const to = ["--resolve", `${DOMAIN}:${port}:127.0.0.1`];
  return await curl("--cacert", rootPath, ...to, `https://${DOMAIN}:${port}/`);
}

/** An authority that nobody has started. */
function nobody(): Pick<Pebble, "directoryUrl" | "ca" | "httpPort" | "tlsPort"> & { ca: string } {
  const [port, httpPort, tlsPort] = [freePort(), freePort(), freePort()];
  return { directoryUrl: `https://127.0.0.1:${port}/dir`, ca: "", httpPort, tlsPort };
}

for (const challenge of ["http-01", "tls-alpn-01"] as const) {
  Deno.test(
    `${challenge}: a certificate is received, served, renewed without a restart, and kept`,
    PEBBLE,
    () =>
      inFolder(async (folder) => {
        const clock = newClock();
        let second: string;
        {
          await using pebble = await Pebble.start(folder, { validityS: 3 * HOUR_MS / 1000 });
          await using site = await Site.open(folder, { pebble, challenge, clock });
          const first = await site.served();
          assert.equal(await ask(folder, pebble), "hello\n");
          assert.deepEqual(site.certificate.health(), { status: "ok" });
          clock.advance(1.9 * HOUR_MS);
          assert.equal(await site.served(), first, "more than a third of its life is left");
          clock.advance(0.2 * HOUR_MS);
          second = await site.served();
          assert.notEqual(second, first);
          assert.equal(await ask(folder, pebble), "hello\n");
          assert.equal(site.lines.filter((line) => /certificate received/.test(line)).length, 2);
        }
        const away = nobody();
        for await (const { name, isFile } of Deno.readDir(`${folder}/.acme`)) assert.ok(!isFile, name);
        const [authority] = await Array.fromAsync(Deno.readDir(`${folder}/.acme`));
        const kept = `${folder}/.acme/${authority!.name}`;
        for (const file of ["account.pem", `${DOMAIN}.pem`]) {
          assert.equal((await Deno.stat(`${kept}/${file}`)).mode! & 0o777, 0o600);
        }
        await Deno.rename(kept, `${folder}/.acme/${new URL(away.directoryUrl).host.replace(":", "_")}`);
        await using site = await Site.open(folder, { pebble: { ...away, ca: second } });
        assert.equal(await site.served(), second, "nobody was asked, for nobody is there");
        assert.deepEqual(site.certificate.health(), { status: "ok" });
      }),
  );
}

Deno.test(
  "an authority that refuses many requests at first is asked again",
  PEBBLE,
  () =>
    inFolder(async (folder) => {
      await using pebble = await Pebble.start(folder, { refusedNonces: 40 });
      await using site = await Site.open(folder, { pebble });
      // It refuses by chance: one order in twenty meets six refusals in a row, and is placed again later.
      for (const waitMs of [120_000, 240_000, 480_000]) {
        await site.certificate.check();
        if (site.certificate.pair) break;
        site.clock.advance(waitMs);
      }
      await site.served();
      assert.equal(await ask(folder, pebble), "hello\n");
    }),
);

Deno.test(
  "a server starts while its authority is away, says so, and tries again",
  PEBBLE,
  () =>
    inFolder(async (folder) => {
      const away = nobody();
      const { pem: ca } = await TestAuthority.make(folder);
      await using site = await Site.open(folder, { pebble: { ...away, ca } });
      await site.certificate.check();
      const { status, message = "" } = site.certificate.health();
      assert.equal(status, "unhealthy");
      const host = new URL(away.directoryUrl).host;
      assert.match(message, /^there is no certificate for "cloud\.example" yet; Cannot get a certificate for /);
      assert.ok(message.includes(`from ${host} by http-01: `) && /refused/i.test(message), message);
      const told = await curl("-k", `https://127.0.0.1:${away.tlsPort}/`);
      assert.match(told, /alert internal error/);
      const health = await (await fetch(`http://127.0.0.1:${away.httpPort}/healthz`)).json();
      assert.deepEqual(health, { status, components: { certificate: { status, message } } });
      const tries = () => site.lines.filter((line) => /certificate order failed/.test(line)).length;
      for (const [afterMs, count] of [[119_000, 1], [1000, 2], [239_000, 2], [1000, 3]] as const) {
        site.clock.advance(afterMs);
        await site.certificate.check();
        assert.equal(tries(), count);
      }
    }),
);

Deno.test(
  "a domain that is not ours is told by health, and a certificate comes once it is",
  PEBBLE,
  () =>
    inFolder(async (folder) => {
      await using pebble = await Pebble.start(folder);
      // Nobody listens there.
      await pebble.setAddress(DOMAIN, "127.0.0.9");
      await using site = await Site.open(folder, { pebble });
      const health = async () => {
        await site.certificate.check();
        return site.certificate.health();
      };
      const first = await health();
      assert.equal(first.status, "unhealthy");
      assert.match(first.message ?? "", /"cloud\.example" from 127\.0\.0\.1:\d+ by http-01: .*127\.0\.0\.9/);
      site.clock.advance(120_000);
      assert.match((await health()).message ?? "", /by tls-alpn-01: .*127\.0\.0\.9/, "the other way is tried in turn");
      await pebble.setAddress(DOMAIN, "127.0.0.1");
      site.clock.advance(240_000);
      assert.deepEqual(await health(), { status: "ok" });
      assert.equal(await ask(folder, pebble), "hello\n");
    }),
);

Deno.test(
  "where port 80 is not to be had, the authority is answered on the port for TLS",
  PEBBLE,
  () =>
    inFolder(async (folder) => {
      await using pebble = await Pebble.start(folder);
      using _taken = Deno.listen({ hostname: "127.0.0.1", port: pebble.httpPort });
      await using site = await Site.open(folder, { pebble });
      await site.served();
      assert.equal(site.certificate.httpAddress, undefined);
      assert.match(site.lines.join("\n"), /HTTP redirect unavailable error=.*the port is taken/);
      assert.equal(await ask(folder, pebble), "hello\n");
    }),
);

Deno.test(
  "a certificate that was kept and is spoiled, or another's, is replaced",
  PEBBLE,
  () =>
    inFolder(async (folder) => {
      await using pebble = await Pebble.start(folder);
      const directory = `${folder}/.acme/${new URL(pebble.directoryUrl).host.replace(":", "_")}`;
      await Deno.mkdir(directory, { recursive: true });
      const other = await (await TestAuthority.make(folder)).issue("other");
      const files = [
        ["the file has no private key", "nonsense"],
        ["is not for", Deno.readTextFileSync(other.keyPath) + Deno.readTextFileSync(other.certPath)],
      ] as const;
      for (const [why, text] of files) {
        await Deno.writeTextFile(`${directory}/${DOMAIN}.pem`, text);
        await using site = await Site.open(folder, { pebble });
        assert.equal(site.certificate.pair, undefined);
        assert.match(site.lines.join("\n"), new RegExp(`stored certificate unusable .*${why}`));
        assert.ok(new X509Certificate(await site.served()).checkHost(DOMAIN));
      }
    }),
);

Deno.test(
  "the plain port sends people to HTTPS on the domain, whatever host they name",
  PEBBLE,
  () =>
    inFolder(async (folder) => {
      const away = nobody();
      const { pem: ca } = await TestAuthority.make(folder);
      await using site = await Site.open(folder, { pebble: { ...away, ca }, challenge: "http-01" });
      const url = `http://127.0.0.1:${away.httpPort}`;
      const look = async (path: string, init: RequestInit = {}) => {
        const reply = await fetch(url + path, { redirect: "manual", ...init });
        await reply.body?.cancel();
        return [reply.status, reply.headers.get("Location")];
      };
      const to = `https://${DOMAIN}:${away.tlsPort}`;
      assert.deepEqual(await look("/instances?x=1"), [302, `${to}/instances?x=1`]);
      assert.deepEqual(await look("/", { method: "HEAD" }), [302, `${to}/`]);
      assert.deepEqual(await look("//evil.example/"), [302, `${to}//evil.example/`]);
      assert.deepEqual(await look("/send", { method: "POST", body: "{}" }), [400, null]);
      assert.deepEqual(await look("/.well-known/acme-challenge/unknown"), [404, null]);
      assert.deepEqual(await look("/healthz"), [200, null]);
      assert.equal(
        await curl("-o", "/dev/null", "-w", "%{redirect_url}", "-H", "Host: evil.example", `${url}/a`),
        `${to}/a`,
      );
      await eventually("the try to end", () => site.lines.some((line) => /certificate order failed/.test(line)));
    }),
);

Deno.test("an authority expected an https URL alone", PEBBLE, () =>
  inFolder(async (folder) => {
    const opened = Site.open(folder, { pebble: { ...nobody(), directoryUrl: "http://127.0.0.1/dir" } });
    await assert.rejects(opened, (error) => error instanceof AcmeError && /expected an https URL/.test(error.message));
  }));

Deno.test(
  "a certificate that cannot be renewed is served to its end, and health says when that is",
  PEBBLE,
  () =>
    inFolder(async (folder) => {
      const pebble = await Pebble.start(folder, { validityS: 3 * HOUR_MS / 1000 });
      await using site = await Site.open(folder, { pebble });
      const first = await site.served();
      const root = await pebble.root();
      await pebble[Symbol.asyncDispose]();
      site.clock.advance(2.1 * HOUR_MS);
      assert.equal(await site.served(), first);
      const expires = new Date(site.certificate.pair!.expiresMs).toISOString();
      const { status, message = "" } = site.certificate.health();
      assert.equal(status, "degraded");
      assert.ok(message.startsWith(`the certificate expires ${expires}; Cannot get a certificate for `), message);
      assert.equal(await askBy(folder, { root, port: pebble.tlsPort }), "hello\n");
      site.clock.advance(HOUR_MS);
      assert.equal(site.certificate.health().status, "unhealthy");
      assert.match(site.certificate.health().message ?? "", /^the certificate expired /);
    }),
);

Deno.test("waits between tries are a fifth longer or shorter", PEBBLE, () =>
  inFolder(async (folder) => {
    const { pem: ca } = await TestAuthority.make(folder);
    for (const [random, waitS] of [[0, 96], [0.5, 120], [1, 144]] as const) {
      await using site = await Site.open(folder, { pebble: { ...nobody(), ca }, random: () => random });
      await site.certificate.check();
      assert.match(site.lines.join("\n"), new RegExp(`certificate order failed .*nextTryS=${waitS}\\b`));
    }
  }));

Deno.test("a server is stopped while its authority thinks", PEBBLE, () =>
  inFolder(async (folder) => {
    const authority = await TestAuthority.make(folder);
    const { certPath, keyPath } = await authority.issue("silent");
    const [asked, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const [cert, key] = await Promise.all([certPath, keyPath].map((path) => Deno.readTextFile(path)));
    const at = { hostname: "127.0.0.1", port: 0, cert: cert!, key: key!, onListen: () => {} };
    const server = Deno.serve(at, async () => {
      asked.resolve();
      await answer.promise;
      return new Response("too late", { status: 503 });
    });
    const directoryUrl = `https://127.0.0.1:${server.addr.port}/dir`;
    const site = await Site.open(folder, { pebble: { ...nobody(), ca: authority.pem, directoryUrl } });
    await asked.promise;
    const underWay = site.certificate.check();
    await site[Symbol.asyncDispose]();
    answer.resolve();
    await underWay;
    await server.shutdown();
    assert.doesNotMatch(site.lines.join("\n"), /certificate order failed/, "nobody waits for it any more");
  }));

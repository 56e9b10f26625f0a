// Programs run as their tasks of deno.json start them: with named permissions. What a program needs is used here, most of
// it by other programs, which count what they were told. TestProgram and others run by tasks, too.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { connect } from "node:tls";
import { TestAuthority } from "../support/certificates.ts";
import { eventually } from "../support/eventually.ts";
import { inFolder } from "../support/folder.ts";
import { needs, SLOW } from "../support/needs.ts";
import { Pebble } from "../support/pebble.ts";
import { TestProgram } from "../support/program.ts";
import { Manager } from "../support/systemd.ts";
import { taskArgs } from "../support/task.ts";

const NEEDS = needs({
  permissions: ["env", "net", "write", "run", "read"],
  programs: ["sh", "python3", "systemd-notify", "ip", "openssl"],
  extras: SLOW,
});
const ACME = needs({
  permissions: ["env", "net", "write", "sys"],
  programs: ["pebble", "pebble-challtestsrv", "openssl"],
  extras: SLOW,
});
const DOMAIN = "cloud.example";
const LOG = "(1700000000.000000) can0 09F11203#00E8030000000000\n";

/** Runs a command of `vbg` to its end. */
async function vbg(
  words: readonly string[],
  { env = {}, input = "" }: { env?: Record<string, string>; input?: string } = {},
) {
  const command = new Deno.Command(Deno.execPath(), {
    args: taskArgs("cli", ...words),
    env,
    ...{ stdin: "piped", stdout: "piped", stderr: "piped" },
  });
  const child = command.spawn();
  const writer = child.stdin.getWriter();
  // A command that reads nothing may have ended.
  await writer.write(new TextEncoder().encode(input)).then(() => writer.close()).catch(() => {});
  const { code, stdout, stderr } = await child.output();
  const text = new TextDecoder();
  return { code, out: text.decode(stdout), err: text.decode(stderr) };
}

/** A collector of OpenTelemetry that counts what it is sent. */
function collector() {
  const seen = { requests: 0 };
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, async (request) => {
    await request.arrayBuffer();
    seen.requests++;
    return new Response();
  });
  const endpoint = `http://127.0.0.1:${server.addr.port}`;
  return { seen, endpoint, [Symbol.asyncDispose]: () => server.shutdown() };
}

Deno.test(
  "every program reads a configuration file with the permissions of its task",
  NEEDS,
  () =>
    inFolder(async (folder) => {
      const path = `${folder}/mine.conf`;
      for (const task of ["boat", "cloud", "demo"]) {
        await Deno.writeTextFile(path, "log-level = warn, no-such-key = 1");
        const args = taskArgs(task, "-config", path, "-validate-config");
        const { stdout, stderr } = await new Deno.Command(Deno.execPath(), { args }).output();
        const text = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
        assert.match(text, /log-level +warn/, task);
      }
      await Deno.writeTextFile(path, "boats { a { mdns = a } }");
      const { code, err } = await vbg(["devices", "-boat", "b", "-config", path, "-mdns-timeout", "1ms"]);
      assert.equal(code, 1);
      assert.match(err, /the configuration does not know it, but "a"/);
    }),
);

Deno.test(
  "vbg doctor looks at disks, interfaces and the network with the permissions of its task",
  NEEDS,
  () =>
    inFolder(async (folder) => {
      const { out } = await vbg(["doctor", "-state-dir", folder, "-mdns-timeout", "100ms", "-json"]);
      const { checks }: { checks: { name: string; state: string; text: string }[] } = JSON.parse(out);
      // No server need be there.
      assert.deepEqual(checks.filter(({ name, state }) => name !== "server" && state === "fail"), []);
      assert.doesNotMatch(out, /Requires|may not open|cannot be asked/);
      assert.match(checks.find(({ name }) => name === "state directory")?.text ?? "", /can be written, .* free$/);
    }),
);

Deno.test(
  "vbg archive-s3 asks the program of an AWS profile, and speaks TLS, with the permissions of its task",
  NEEDS,
  () =>
    inFolder(async (folder) => {
      const seen: string[] = [];
      const authority = await TestAuthority.make(folder);
      const { certPath, keyPath } = await authority.issue("store");
      const pair = { cert: await Deno.readTextFile(certPath), key: await Deno.readTextFile(keyPath) };
      const at = { hostname: "127.0.0.1", port: 0, ...pair, onListen: () => {} };
      await using store = Deno.serve(at, async (request) => {
        const digest = createHash("md5").update(await request.bytes()).digest("hex");
        seen.push(request.headers.get("authorization") ?? "");
        return new Response(null, { status: request.method === "PUT" ? 200 : 404, headers: { etag: `"${digest}"` } });
      });
      const key = '{"Version": 1, "AccessKeyId": "AKIATASK", "SecretAccessKey": "secret"}';
      await Deno.writeTextFile(`${folder}/config`, `[default]\ncredential_process = echo '${key}'\n`);
      const path = `${folder}/a.lpj`;
      await Deno.writeTextFile(path, "frames");
      const env = {
        AWS_CONFIG_FILE: `${folder}/config`,
        AWS_REGION: "eu-west-1",
        AWS_ACCESS_KEY_ID: "",
        NODE_EXTRA_CA_CERTS: authority.files("authority").certPath,
      };
      const words = ["-bucket", "boats", "-endpoint", `https://127.0.0.1:${store.addr.port}`, "-path-style"];
      const input = `${JSON.stringify({ path, instance_id: "aurora" })}\n`;
      const { code, out, err } = await vbg(["archive-s3", ...words, path], { env, input });
      assert.deepEqual([code, JSON.parse(out)], [0, { path, status: "ok" }], err);
      assert.match(seen[0] ?? "", /Credential=AKIATASK\//, out + err);
    }),
);

Deno.test("a recording that is a special file is refused in words that help", NEEDS, async () => {
  const { code, err } = await vbg(["convert", "/dev/stdin", "-out", "/nowhere"]);
  assert.equal(code, 2);
  assert.match(err, /this program may not open "\/dev\/stdin": files of \/dev, \/proc and \/sys need all permissions/);
});

Deno.test(
  "vbg simulate is traced, and speaks to systemd, with the permissions of its task",
  NEEDS,
  () =>
    inFolder(async (folder) => {
      await using manager = await Manager.at(`${folder}/notify`);
      await using traces = collector();
      await Deno.writeTextFile(`${folder}/a.log`, LOG);
      const words = [
        "-file",
        `${folder}/a.log`,
        "-speed",
        "0",
        "-listen",
        "127.0.0.1:0",
        "-otel-endpoint",
        traces.endpoint,
      ];
      const args = taskArgs("simulate", ...words, "-exit-when-done");
      const env = { NOTIFY_SOCKET: `${folder}/notify` };
      const { code, stderr } = await new Deno.Command(Deno.execPath(), { args, env }).output();
      assert.equal(code, 0, new TextDecoder().decode(stderr));
      assert.deepEqual(manager.told, ["READY=1 STATUS=running", "STOPPING=1 STATUS=stopping"]);
      assert.ok(traces.seen.requests > 0);
    }),
);

Deno.test(
  "the cloud server archives, and tells systemd of a reload with the permissions of its task",
  NEEDS,
  () =>
    inFolder(async (folder) => {
      await using manager = await Manager.at(`${folder}/notify`);
      const archived = `${folder}/archived`;
      await Deno.writeTextFile(
        `${folder}/archive`,
        `#!/bin/sh\nfor path; do echo "$path" >>${archived}; echo "{\\"path\\":\\"$path\\",\\"status\\":\\"ok\\"}"; done\n`,
        { mode: 0o755 },
      );
      await using cloud = await TestProgram.start("cloud", (own) => [
        ...["-data-dir", `${own}/boats`, "-http-listen", "127.0.0.1:0", "-grpc-listen", "127.0.0.1:0", "-insecure"],
        ...["-journal-archive-command", `${folder}/archive`, "-journal-archive-trigger", "on-rotate"],
        ...["-journal-rotate-duration", "1s"],
      ], { NOTIFY_SOCKET: `${folder}/notify` });
      await cloud.url();
      const [, port] = await eventually("its gRPC", () => /"listening for boats".*?"port":(\d+)/.exec(cloud.log));
      await using boat = await TestProgram.start("boat", (own) => [
        ...["-demo", "-listen", "127.0.0.1:0", "-state-dir", `${own}/state`, "-journal-dir", `${own}/journal`],
        ...["-replication-target", `127.0.0.1:${port}`, "-replication-instance-id", "aurora", "-replication-insecure"],
      ]);
      const lines = () => Deno.readTextFile(archived).catch(() => "");
      const first = await eventually("an archived file", async () => (await lines()).split("\n")[0]);
      assert.ok(first.startsWith(`${cloud.folder}/boats/aurora/`), first);
      cloud.signal("SIGHUP");
      await eventually("the reload", () => manager.told.some((line) => /^RELOADING=1 MONOTONIC_USEC=\d+$/.test(line)));
      boat.signal("SIGTERM");
      await boat.exitCode();
      cloud.signal("SIGTERM");
      assert.equal(await cloud.exitCode(), 0, cloud.log);
      assert.doesNotMatch(cloud.log, /Requires|NotCapable|may not open/);
    }),
);

Deno.test(
  "the cloud server gets a certificate by openssl with the permissions of its task",
  ACME,
  () =>
    inFolder(async (folder) => {
      await using pebble = await Pebble.start(folder);
      const caPath = `${folder}/pebble-ca.pem`;
      await Deno.writeTextFile(caPath, pebble.ca);
      await using cloud = await TestProgram.start("cloud", (own) => [
        ...["-data-dir", `${own}/boats`, "-listen", `127.0.0.1:${pebble.tlsPort}`, "-tls-client-ca", caPath],
        ...["-acme-domain", DOMAIN, "-acme-email", `captain@${DOMAIN}`, "-acme-challenge", "tls-alpn-01"],
        ...["-acme-directory", pebble.directoryUrl, "-acme-ca", caPath],
      ]);
      const root = await pebble.root();
      const answer = () => {
        const { promise, resolve } = Promise.withResolvers<boolean>();
        const at = {
          host: "127.0.0.1",
          port: pebble.tlsPort,
          servername: DOMAIN,
          ca: root,
          ALPNProtocols: ["http/1.1"],
        };
        const socket = connect(at, () => resolve(socket.authorized)).on("error", () => resolve(false));
        return promise.finally(() => socket.destroy());
      };
      await eventually("TLS with a certificate of the authority", answer);
      cloud.signal("SIGTERM");
      assert.equal(await cloud.exitCode(), 0, cloud.log);
    }),
);

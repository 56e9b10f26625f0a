import assert from "node:assert/strict";
import { flattenConfig, parseHocon } from "../../cli/settings/hocon.ts";
import { parseCommandLine, resolveSettings } from "../../cli/settings/options.ts";
import {
  replicationChecks,
  replicationLimitsOf,
  replicationOf,
  replicationOptions,
  type ReplicationSettings,
} from "../../cli/settings/replication_options.ts";
import { TestAuthority } from "../support/certificates.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";

const HOCON = needs({ permissions: ["env", "read", "sys"] });
const OPENSSL = needs({ permissions: ["read", "write"], programs: ["openssl"] });

function resolve(args: string[], { interfaces = ["can0"], archiveCommand = "" } = {}) {
  const { flags, error } = parseCommandLine(args, replicationOptions);
  assert.equal(error, undefined);
  const checks = replicationChecks.map((check) => ({
    ...check,
    settings: check.settings.filter((name) => name in replicationOptions) as [keyof ReplicationSettings],
    test: (settings: ReplicationSettings) => check.test({ ...settings, interfaces, archiveCommand }, () => false),
  }));
  return resolveSettings<ReplicationSettings>(replicationOptions, { ...flags && { flags }, checks });
}

/** What is wrong with a command line, in words. */
function problemsOf(args: string[], options?: { interfaces?: string[]; archiveCommand?: string }): string[] {
  return resolve(args, options).problems.map(({ severity, message }) => `${severity}: ${message}`);
}

const HERE = ["-replication-target", "127.0.0.1:9443", "-replication-instance-id", "aurora"];

Deno.test("nothing is replicated unless a target is named", () => {
  const { settings, problems } = resolve([]);
  assert.deepEqual(problems, []);
  assert.equal(settings && replicationOf(settings), undefined);
});

Deno.test("a target needs an instance id, and the other way round", () => {
  assert.deepEqual(problemsOf(["-replication-target", "localhost:1", "-replication-insecure"]), [
    "error: Cannot replicate without -replication-instance-id",
  ]);
  assert.deepEqual(problemsOf(["-replication-instance-id", "aurora"]), [
    "error: Cannot replicate without -replication-target",
  ]);
});

Deno.test("a boat that archives without a cloud may have an instance id", () => {
  assert.deepEqual(problemsOf(["-replication-instance-id", "aurora"], { archiveCommand: "/etc/vbg/archive" }), []);
});

Deno.test("targets and instance ids that can be none are refused", () => {
  for (const target of ["cloud", ":443", "cloud:0", "0.0.0.0:443", "cloud:x", "https://cloud:443"]) {
    assert.equal(
      problemsOf(["-replication-target", target])[0],
      `error: Cannot replicate to "${target}": expected host:port such as cloud.example.com:9443`,
    );
  }
  for (const id of ["../etc", ".", "-", "a b", "x".repeat(65)]) {
    assert.match(problemsOf(["-replication-instance-id", id])[0] ?? "", /^error: Cannot use the instance id/, id);
  }
});

Deno.test("without certificates only this machine is a target, and only when it is said", () => {
  assert.deepEqual(problemsOf(HERE), [
    'error: Cannot replicate to "127.0.0.1:9443" without -replication-tls-cert and -replication-tls-key',
  ]);
  const { settings } = resolve([...HERE, "-replication-insecure"]);
  assert.deepEqual(settings && replicationOf(settings), {
    target: "127.0.0.1:9443",
    instanceId: "aurora",
    insecure: true,
  });
  const far = ["-replication-target", "cloud.example:443", "-replication-instance-id", "aurora"];
  assert.deepEqual(problemsOf([...far, "-replication-insecure"]), [
    'error: Cannot replicate to "cloud.example:443" with -replication-insecure: it is another machine',
  ]);
});

Deno.test("more buses than a frame can tell apart are refused", () => {
  const interfaces = ["can0", "can1", "can2", "can3", "can4"];
  assert.deepEqual(problemsOf([...HERE, "-replication-insecure"], { interfaces }), [
    "error: Cannot replicate 5 interfaces: a replicated frame distinguishes 4",
  ]);
});

Deno.test("files that cannot be used, or are another boat's, are refused with the reason", OPENSSL, async () => {
  await inFolder(async (folder) => {
    const authority = await TestAuthority.make(folder);
    const [own, other] = [await authority.issue("aurora"), await authority.issue("borealis")];
    const ca = authority.files("authority").certPath;
    const files = (cert: string, key: string, authorities = ca) => [
      ...["-replication-tls-cert", cert, "-replication-tls-key", key, "-replication-tls-ca", authorities],
    ];
    const { settings, problems } = resolve([...HERE, ...files(own.certPath, own.keyPath)]);
    assert.deepEqual(problems, []);
    assert.deepEqual(settings && replicationOf(settings)?.tls, { ...own, caPath: ca });
    assert.match(
      problemsOf([...HERE, ...files(own.certPath, other.keyPath)])[0] ?? "",
      /not the one of the certificate/,
    );
    assert.match(problemsOf([...HERE, ...files(own.certPath, "")])[0] ?? "", /without -replication-tls-key/);
    assert.match(problemsOf([...HERE, ...files(own.certPath, own.keyPath, own.keyPath)])[0] ?? "", /authorities in/);
    assert.deepEqual(problemsOf([...HERE, ...files(other.certPath, other.keyPath)]), [
      `error: The certificate "${other.certPath}" is for "borealis", and -replication-instance-id is "aurora"`,
    ]);
    const noPem = `${folder}/no.pem`;
    await Deno.writeTextFile(noPem, "garbage");
    for (const cert of [noPem, `${folder}/nowhere.pem`]) {
      const [problem, ...others] = problemsOf([...HERE, ...files(cert, own.keyPath)]);
      assert.match(problem ?? "", /^error: Cannot use the certificate "/);
      assert.deepEqual(others, []);
    }
  });
});

Deno.test("the file has a block of replication", HOCON, async () => {
  const text = `replication {
    target = "localhost:9443", instance-id = aurora, insecure = true
    max-live-lag = 5000, lag-check-interval = 100, min-lag-reconnect-interval = PT10S
    max-reconnect-delay = PT5S
  }`;
  const { values, unknown } = flattenConfig(await parseHocon(text), replicationOptions);
  assert.deepEqual(unknown, []);
  const { settings } = resolveSettings<ReplicationSettings>(replicationOptions, { config: values });
  assert.ok(settings);
  assert.equal(replicationOf(settings)?.target, "localhost:9443");
  assert.deepEqual(replicationLimitsOf(settings), {
    maxLiveLagFrames: 5000,
    lagCheckFrames: 100,
    minLagReconnectMs: 10_000,
    maxReconnectMs: 5000,
  });
  assert.match(problemsOf([...HERE, "-replication-max-reconnect-delay", "PT0.9S"])[0] ?? "", /expected 1s or longer/);
});

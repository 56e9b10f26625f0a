import assert from "node:assert/strict";
import { cloudAsyncChecks, cloudChecks, cloudOptions } from "../../cli/settings/cloud_options.ts";
import { flattenConfig, parseHocon } from "../../cli/settings/hocon.ts";
import { parseCommandLine, resolveSettings } from "../../cli/settings/options.ts";
import { loadSettings } from "../../cli/settings/settings.ts";
import { Authority, formatRevocations, initAuthority } from "../../src/pki/mod.ts";
import { systemClock } from "../../src/base/mod.ts";
import { TestAuthority } from "../support/certificates.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";

const HOCON = needs({ permissions: ["env", "read", "sys"] });
const FILES = needs({ permissions: ["env", "read", "write"] });
const CERTIFICATES = needs({ permissions: ["env", "read", "write"], programs: ["openssl"] });

function read(...args: string[]) {
  const { flags, error } = parseCommandLine(args, cloudOptions);
  assert.equal(error, undefined);
  const { settings, problems } = resolveSettings(cloudOptions, { flags, checks: cloudChecks });
  return { settings, errors: problems.map(({ message }) => message) };
}

/** The errors that are blamed on a flag, with what only files tell. */
async function errorsOf(flag: string, ...args: string[]): Promise<string[]> {
  const { flags } = parseCommandLine(args, cloudOptions);
  const subject = { options: cloudOptions, checks: cloudChecks, asyncChecks: cloudAsyncChecks };
  const { problems } = await loadSettings(subject, { flags, environment: {} });
  return problems.filter(({ name }) => `-${name}` === flag).map(({ message }) => message);
}

Deno.test("without certificates a cloud says how to make them, and without an authority the same", () => {
  const { errors } = read();
  assert.equal(errors.length, 2);
  assert.match(errors[0] ?? "", /^Cannot accept boats without -tls-cert and -tls-key: `vbg-cloud ca init`/);
  assert.match(errors[1] ?? "", /^Cannot verify boats without -tls-client-ca/);
});

Deno.test("boats without certificates are taken from this machine alone, at a port that only it reaches", () => {
  const { errors, settings } = read("-insecure", "-grpc-listen", "127.0.0.1:9443", "-http-listen", ":8080");
  assert.deepEqual(errors, []);
  assert.deepEqual(settings?.grpcListen, { hostname: "127.0.0.1", port: 9443 });
  assert.deepEqual(read("-insecure", "-grpc-listen", "[::1]:1").errors, []);
  assert.deepEqual(read("-insecure").errors, []);
  assert.match(
    read("-insecure", "-grpc-listen", ":9443").errors.join(),
    /^Cannot use -insecure on .*:9443: other machines/,
  );
  assert.match(read("-insecure", "-grpc-listen", "192.0.2.1:1").errors.join(), /other machines reach it/);
  assert.match(read("-insecure", "-listen", "127.0.0.1:1").errors.join(), /one port for all/);
});

Deno.test("a node says what it lacks to share a store with others", () => {
  const url = "https://10.0.0.1:9444";
  const boats = ["-tls-cert", "c", "-tls-key", "k", "-tls-client-ca", "ca"];
  const errorsOf = (...args: string[]) => read(...args).errors.join("\n");
  assert.match(errorsOf(...boats, "-node-url", url), /^Cannot be one of several nodes without -store/m);
  assert.match(
    errorsOf(...boats, "-node-url", url),
    /^Cannot use -node-url without -node-cert and -node-key: `vbg-cloud/m,
  );
  assert.match(errorsOf(...boats, "-node-cert", "c", "-node-key", "k"), /without -node-url/);
  assert.match(errorsOf("-insecure", "-node-url", url), /^Cannot use -node-url with -insecure/m);
  for (
    const wrong of ["10.0.0.1:9444", "http://10.0.0.1:9444", "https://10.0.0.1:9444/path", "https://me@10.0.0.1:9444"]
  ) {
    assert.match(errorsOf("-node-url", wrong), /^Cannot read the URL ".*" of a node: expected https:\/\/HOST:PORT/m);
  }
});

Deno.test("one port and two are not mixed", () => {
  for (const one of [["-listen", ":443"], ["-acme-domain", "cloud.example.com"]]) {
    for (const two of [["-grpc-listen", ":1"], ["-http-listen", ":2"]]) {
      assert.match(read(...one, ...two).errors.join(), /Cannot use one port .* and two .* together/);
    }
  }
});

Deno.test(
  "ACME needs a host's name and an address, and no certificate of one's own",
  CERTIFICATES,
  () =>
    inFolder(async (folder) => {
      const ca = (await TestAuthority.make(folder)).files("authority").certPath;
      const acme = ["-tls-client-ca", ca, "-acme-domain", "cloud.example.com"];
      assert.deepEqual(read(...acme, "-acme-email", "a@example.com").errors, []);
      assert.match(read(...acme).errors.join(), /^Cannot use ACME without -acme-email: .* terms/);
      assert.match(
        read(...acme, "-acme-email", "a@b.c", "-acme-domain", "localhost").errors.join(),
        /Cannot get a certificate for "localhost"/,
      );
      assert.match(
        read(...acme, "-acme-email", "a@b.c", "-acme-directory", "http://a").errors.join(),
        /expected https:/,
      );
    }),
);

Deno.test("a file of authorities that is not there is told, and so is one of revoked certificates", async () => {
  for (const flag of ["-tls-client-ca", "-tls-revoked", "-acme-ca"]) {
    assert.match(
      (await errorsOf(flag, flag, "/nowhere/ca.pem")).join("\n"),
      /^Cannot use .* "\/nowhere\/ca.pem": .*(no such file|permission|read access)/i,
      flag,
    );
  }
});

Deno.test(
  "files of authorities that are none are told before the cloud starts",
  FILES,
  () =>
    inFolder(async (folder) => {
      const path = `${folder}/ca.pem`;
      const wrap = (label: string, text: string) => `-----BEGIN ${label}-----\n${text}\n-----END ${label}-----\n`;
      for (
        const [text, reason] of [
          ["garbage", "there is no certificate"],
          [wrap("PRIVATE KEY", "MC4="), "there is no certificate"],
          [wrap("CERTIFICATE", "MC4="), "a certificate in it cannot be read"],
        ] as const
      ) {
        await Deno.writeTextFile(path, text);
        for (const flag of ["-tls-client-ca", "-acme-ca"]) {
          const [error = "", ...others] = await errorsOf(flag, flag, path);
          assert.match(error, new RegExp(`^Cannot use the authorities .*ca.pem": ${reason}`));
          assert.deepEqual(others, []);
        }
      }
    }),
);

Deno.test(
  "authorities of boats must be authorities, and a list of revoked certificates must be one that the cloud reads",
  FILES,
  () =>
    inFolder(async (folder) => {
      await initAuthority(`${folder}/ca`, { name: "fleet", days: 30, clock: systemClock });
      using authority = await Authority.open(`${folder}/ca`, { clock: systemClock });
      const boat = await authority.issueBoat("aurora", { days: 9, isForced: false });
      assert.match(
        (await errorsOf("-tls-client-ca", "-tls-client-ca", boat.certPath)).join(),
        /^Cannot use the authorities of clients ".*cert.pem": .*"CN=aurora" is not that of an authority$/,
      );
      const path = `${folder}/revoked`;
      const errors = () => errorsOf("-tls-revoked", "-tls-client-ca", boat.caPath, "-tls-revoked", path);
      await Deno.writeTextFile(path, formatRevocations([{ serial: "0a3f", name: "aurora", revokedMs: 0 }]));
      assert.deepEqual(await errors(), []);
      await Deno.writeTextFile(path, "0a3f\nstolen laptop\n");
      assert.deepEqual(await errors(), [
        `Cannot use the list of revoked certificates "${path}": line 2 is not a serial number: "stolen laptop"`,
      ]);
      await Deno.writeTextFile(path, "-----BEGIN X509 CRL-----\nMC4=\n-----END X509 CRL-----\n");
      assert.match((await errors()).join(), /^Cannot use the list of revoked certificates ".*": it cannot be read/);
      const withBad = await errorsOf("-tls-revoked", "-tls-client-ca", boat.certPath, "-tls-revoked", path);
      assert.deepEqual(withBad, [], "authorities that are none are told for themselves");
      assert.match(read("-insecure", "-tls-revoked", path).errors.join(), /Cannot use -insecure with certificates/);
    }),
);

Deno.test("limits are those of the specification when nothing is said", () => {
  const { settings } = read("-insecure", "-grpc-listen", "127.0.0.1:1");
  assert.equal(settings?.rateLimit, 2000);
  assert.equal(settings.rateBurst, 500);
  assert.equal(settings.maxLiveLagFrames, 10_000);
  assert.equal(settings.copyRefuseMs, 3_600_000);
  assert.equal(settings.journalRotateDurationMs, 3_600_000);
  assert.equal(settings.brokerIdleTimeoutMs, 300_000);
  assert.equal(settings.deviceIdleTimeoutMs, 300_000);
  assert.equal(settings.ringFrames, 65_536);
});

Deno.test("the configuration file has the keys of the specification", HOCON, async () => {
  const text = `
    grpc { listen = ":9443", tls { cert = c, key = k, client-ca = a, revoked = r } }
    http.listen = "127.0.0.1:8080"
    data-dir = /srv/boats
    replication { rate-limit = 0, rate-burst = 9, max-live-lag = 7, copy-refuse-time = PT10M }
    journal { rotate-duration = PT30M, rotate-size = 1GB, retention.max-age = P90D }
    broker.idle-timeout = 1m
  `;
  const { values, unknown } = flattenConfig(await parseHocon(text), cloudOptions);
  assert.deepEqual(unknown, []);
  const { settings } = resolveSettings(cloudOptions, { config: values });
  assert.ok(settings);
  assert.deepEqual([settings.tlsCert, settings.tlsKey, settings.tlsClientCa, settings.tlsRevoked], [
    "c",
    "k",
    "a",
    "r",
  ]);
  assert.equal(settings.dataDir, "/srv/boats");
  assert.deepEqual([settings.rateLimit, settings.rateBurst, settings.maxLiveLagFrames], [0, 9, 7]);
  assert.equal(settings.copyRefuseMs, 600_000);
  assert.deepEqual([settings.journalRotateDurationMs, settings.journalRotateBytes], [1_800_000, 1_000_000_000]);
  assert.deepEqual([settings.retentionMaxAgeMs, settings.brokerIdleTimeoutMs], [90 * 86_400_000, 60_000]);

  const single = `listen = ":443", acme { domain = boats.example.com, email = "a@b.c" }, tls.client-ca = a`;
  const found = flattenConfig(await parseHocon(single), cloudOptions);
  assert.deepEqual(found.unknown, []);
  const { settings: one } = resolveSettings(cloudOptions, { config: found.values });
  assert.deepEqual([one?.listen?.port, one?.acmeDomain, one?.tlsClientCa], [443, "boats.example.com", "a"]);
});

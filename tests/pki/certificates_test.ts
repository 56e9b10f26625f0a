import assert from "node:assert/strict";
import { Authority, CertificateError, FilesExistError, initAuthority, readIssued } from "../../src/pki/mod.ts";
import { systemClock } from "../../src/base/mod.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";
import { openssl } from "../cloud/openssl.ts";

const FILES = needs({ permissions: ["read", "write"] });
const OPENSSL = needs({ permissions: ["read", "run", "write"], programs: ["openssl"] });
const TWO_YEARS = { days: 730, isForced: false };
const CLOUD = { hosts: ["cloud.example.com", "*.boats.example.com"], ips: ["192.0.2.7", "2001:db8::7"] };

/** Runs a test with the directory of a new authority. */
function withAuthority(test: (directory: string) => Promise<void>, clock = systemClock) {
  return () =>
    inFolder(async (folder) => {
      const directory = `${folder}/ca`;
      await initAuthority(directory, { name: "Boats", days: 3650, clock });
      await test(directory);
    });
}

async function snapshot(directory: string): Promise<Record<string, string>> {
  const files: Record<string, string> = {};
  for await (const { name, isFile } of Deno.readDir(directory)) {
    if (isFile) files[name] = await Deno.readTextFile(`${directory}/${name}`);
  }
  return files;
}

Deno.test(
  "openssl verifies chain, purpose and names of what the authority makes",
  OPENSSL,
  withAuthority(async (directory) => {
    using authority = await Authority.open(directory, { clock: systemClock });
    const boat = await authority.issueBoat("aurora", TWO_YEARS);
    const cloud = await authority.issueServer(CLOUD, TWO_YEARS);
    const node = await authority.issueNode("n".repeat(59), { ...TWO_YEARS, names: CLOUD });
    const verify = (...args: string[]) => openssl("verify", "-x509_strict", "-CAfile", `${directory}/ca.pem`, ...args);
    const verdicts = await Promise.all([
      verify("-purpose", "sslclient", boat.certPath),
      verify("-purpose", "sslserver", "-verify_hostname", "cloud.example.com", cloud.certPath),
      verify("-purpose", "sslserver", "-verify_hostname", "a.boats.example.com", cloud.certPath),
      verify("-purpose", "sslserver", "-verify_ip", "192.0.2.7", cloud.certPath),
      verify("-purpose", "sslserver", "-verify_ip", "2001:db8::7", cloud.certPath),
      verify("-purpose", "sslserver", "-verify_hostname", "cloud.example.com", node.certPath),
      verify("-purpose", "sslserver", "-verify_ip", "192.0.2.7", node.certPath),
      verify("-purpose", "sslclient", node.certPath),
      verify("-purpose", "sslserver", boat.certPath),
      verify("-purpose", "sslclient", cloud.certPath),
      verify("-purpose", "sslserver", "-verify_hostname", "other.example.com", cloud.certPath),
    ]);
    assert.deepEqual(verdicts.map(({ ok }) => ok), [...Array(8).fill(true), false, false, false]);
    assert.match(
      (await openssl("x509", "-in", node.certPath, "-noout", "-subject")).text,
      /^subject=CN ?= ?node:n{59}$/m,
    );
    const { text } = await openssl(
      "x509",
      "-in",
      boat.certPath,
      "-noout",
      "-subject",
      "-serial",
      "-ext",
      "extendedKeyUsage",
    );
    assert.match(text, /^subject=CN ?= ?aurora$/m);
    assert.match(text, new RegExp(`^serial=${boat.certificate.serial.toUpperCase()}$`, "m"));
    assert.match(text, /TLS Web Client Authentication$/m);
    const keyOf = async (...args: string[]) => (await openssl(...args)).text;
    const fromCert = await keyOf("x509", "-in", boat.certPath, "-noout", "-pubkey");
    assert.equal(await keyOf("pkey", "-in", boat.keyPath, "-pubout"), fromCert);
    assert.match((await openssl("pkey", "-in", boat.keyPath, "-noout", "-text")).text, /prime256v1/);
  }),
);

Deno.test(
  "openssl accepts the signed list of revoked certificates, and refuses those on it",
  OPENSSL,
  withAuthority(async (directory) => {
    using authority = await Authority.open(directory, { clock: systemClock });
    const [aurora, borealis] = [
      await authority.issueBoat("aurora", TWO_YEARS),
      await authority.issueBoat("borealis", TWO_YEARS),
    ];
    const crl = `${directory}/crl.pem`;
    const verify = ({ certPath }: { certPath: string }) =>
      openssl("verify", "-crl_check", "-CAfile", `${directory}/ca.pem`, "-CRLfile", crl, certPath);
    assert.deepEqual([(await verify(aurora)).ok, (await verify(borealis)).ok], [true, true]);
    await authority.revoke("aurora");
    const [refused, accepted] = [await verify(aurora), await verify(borealis)];
    assert.deepEqual([refused.ok, accepted.ok], [false, true]);
    assert.match(refused.text, /certificate revoked/);
    const { text } = await openssl(
      "crl",
      "-in",
      crl,
      "-CAfile",
      `${directory}/ca.pem`,
      "-noout",
      "-nextupdate",
      "-crlnumber",
    );
    assert.match(text, /verify OK/);
    assert.match(text, /crlNumber=(?:0x)?0?2\b/i);
  }),
);

Deno.test(
  "keys are for their owner alone, and boat and cloud get folders that can be copied",
  FILES,
  withAuthority(async (directory) => {
    using authority = await Authority.open(directory, { clock: systemClock });
    const boat = await authority.issueBoat("aurora", TWO_YEARS);
    const cloud = await authority.issueServer(CLOUD, TWO_YEARS);
    const node = await authority.issueNode("n1", { ...TWO_YEARS, names: CLOUD });
    const folders = [boat, cloud, node];
    assert.deepEqual(
      folders.map(({ path }) => path),
      ["boats/aurora", "server", "nodes/n1"].map((name) => `${directory}/${name}`),
    );
    const modeOf = async (path: string) => ((await Deno.stat(path)).mode ?? 0) & 0o777;
    for (
      const path of [...folders.map(({ keyPath }) => keyPath), `${directory}/ca-key.pem`, `${directory}/issued.json`]
    ) {
      assert.equal(await modeOf(path), 0o600, path);
    }
    for (const path of [directory, ...folders.map(({ path }) => path)]) assert.equal(await modeOf(path), 0o700, path);
    const ca = await Deno.readTextFile(`${directory}/ca.pem`);
    for (const { caPath } of folders) assert.equal(await Deno.readTextFile(caPath), ca);
  }),
);

Deno.test(
  "a second init changes nothing, nor does one where a single file of an authority is left",
  FILES,
  withAuthority(async (directory) => {
    const again = () => initAuthority(directory, { name: "Other", days: 1, clock: systemClock });
    const before = await snapshot(directory);
    await assert.rejects(again, CertificateError);
    assert.deepEqual(await snapshot(directory), before);
    for (const name of ["ca.pem", "issued.json", "revoked.txt", "crl.pem"]) await Deno.remove(`${directory}/${name}`);
    await assert.rejects(again, /ca-key\.pem/);
  }),
);

Deno.test(
  "a certificate is written over only when that is forced, and the earlier one is told until it is revoked",
  FILES,
  withAuthority(async (directory) => {
    using authority = await Authority.open(directory, { clock: systemClock });
    const first = await authority.issueBoat("aurora", TWO_YEARS);
    const key = await Deno.readTextFile(first.keyPath);
    await assert.rejects(authority.issueBoat("aurora", TWO_YEARS), FilesExistError);
    assert.equal(await Deno.readTextFile(first.keyPath), key);
    assert.equal((await readIssued(directory)).length, 1);
    const second = await authority.issueBoat("aurora", { ...TWO_YEARS, isForced: true });
    assert.notEqual(await Deno.readTextFile(first.keyPath), key);
    assert.deepEqual(second.earlier, [first.certificate]);
    const [revoked] = await authority.revoke("aurora", { serial: first.certificate.serial.toUpperCase() });
    assert.equal(revoked?.serial, first.certificate.serial);
    assert.deepEqual((await authority.issueBoat("aurora", { ...TWO_YEARS, isForced: true })).earlier, [
      second.certificate,
    ]);
  }),
);

Deno.test(
  "revoking takes all of a boat and nobody else's, and says when there is nothing to revoke",
  FILES,
  withAuthority(async (directory) => {
    using authority = await Authority.open(directory, { clock: systemClock });
    const forced = { ...TWO_YEARS, isForced: true };
    const aurora = [await authority.issueBoat("aurora", forced), await authority.issueBoat("aurora", forced)];
    const { certificate: other } = await authority.issueBoat("borealis", forced);
    await authority.issueServer({ hosts: ["cloud"], ips: [] }, TWO_YEARS);
    const serials = aurora.map(({ certificate }) => certificate.serial);
    assert.deepEqual((await authority.revoke("aurora")).map(({ serial }) => serial), serials);
    const lines = (await Deno.readTextFile(`${directory}/revoked.txt`)).trim().split("\n").slice(1);
    assert.deepEqual(lines.map((line) => line.split(" ")[0]), serials);
    for (
      const [boat, options, why] of [
        ["aurora", {}, /already revoked/],
        ["nobody", {}, /no such certificate/],
        ["cloud", {}, /it is the certificate of a cloud, and boats do not check whether that is revoked/],
        ["borealis", { serial: serials[0]! }, /no such certificate/],
        ["borealis", { serial: "none" }, /no such certificate/],
      ] as const
    ) {
      await assert.rejects(authority.revoke(boat, options), why);
    }
    const good = (await readIssued(directory)).filter(({ revokedMs }) => revokedMs === undefined);
    assert.deepEqual(good.map(({ name }) => name), ["borealis", "cloud"]);
    assert.equal(good[0]?.serial, other.serial);
  }),
);

Deno.test(
  "revoking a node takes all of it, and no boat of its name",
  FILES,
  withAuthority(async (directory) => {
    using authority = await Authority.open(directory, { clock: systemClock });
    const forced = { ...TWO_YEARS, isForced: true };
    const boat = await authority.issueBoat("n1", forced);
    const first = await authority.issueNode("n1", { ...forced, names: CLOUD });
    const second = await authority.issueNode("n1", { ...forced, names: CLOUD });
    assert.deepEqual(second.earlier, [first.certificate]);
    await assert.rejects(authority.revoke("n2", { kind: "node" }), /no such certificate of a node/);
    const serials = (await authority.revoke("n1", { kind: "node" })).map(({ serial }) => serial);
    assert.deepEqual(serials, [first, second].map(({ certificate }) => certificate.serial));
    const good = (await readIssued(directory)).filter(({ revokedMs }) => revokedMs === undefined);
    assert.deepEqual(good, [boat.certificate]);
  }),
);

Deno.test(
  "names that cannot be folders or hosts make no files",
  FILES,
  withAuthority(async (directory) => {
    using authority = await Authority.open(directory, { clock: systemClock });
    for (const id of ["", "..", "../x", ".x", "a/b", "a b", "x".repeat(65), "ü"]) {
      await assert.rejects(authority.issueBoat(id, TWO_YEARS), CertificateError, id);
      await assert.rejects(authority.issueNode(id, { ...TWO_YEARS, names: CLOUD }), CertificateError, id);
    }
    await assert.rejects(
      authority.issueNode("n".repeat(60), { ...TWO_YEARS, names: CLOUD }),
      /expected 1 to 59 letters/,
    );
    for (
      const names of [{ hosts: [], ips: [] }, { hosts: ["a b"], ips: [] }, { hosts: ["1.2.3.4"], ips: [] }, {
        hosts: [],
        ips: ["1.2.3"],
      }]
    ) {
      await assert.rejects(authority.issueServer(names, TWO_YEARS), CertificateError);
      await assert.rejects(authority.issueNode("n1", { ...TWO_YEARS, names }), CertificateError);
    }
    assert.deepEqual(await readIssued(directory), []);
    assert.deepEqual(Object.keys(await snapshot(directory)).sort(), [
      ".lock",
      "ca-key.pem",
      "ca.pem",
      "crl.pem",
      "issued.json",
      "revoked.txt",
    ]);
  }),
);

Deno.test(
  "an authority is used by one process at a time, and one that is not there is not made by looking",
  FILES,
  withAuthority(async (directory) => {
    const first = await Authority.open(directory, { clock: systemClock });
    await assert.rejects(Authority.open(directory, { clock: systemClock }), /used by another process/);
    first[Symbol.dispose]();
    (await Authority.open(directory, { clock: systemClock }))[Symbol.dispose]();
    const missing = `${directory}/none`;
    await assert.rejects(Authority.open(missing, { clock: systemClock }), CertificateError);
    await assert.rejects(readIssued(missing), CertificateError);
    await assert.rejects(Deno.stat(missing), Deno.errors.NotFound);
    await Deno.remove(`${directory}/ca-key.pem`);
    await assert.rejects(Authority.open(directory, { clock: systemClock }), /ca-key\.pem/);
  }),
);

Deno.test(
  "a record or key that is damaged or another's is told with its path, and nothing is written",
  FILES,
  withAuthority(async (directory) => {
    const open = () => Authority.open(directory, { clock: systemClock });
    const other = `${directory}/other`;
    await initAuthority(other, { name: "Boats", days: 10, clock: systemClock });
    const good = await snapshot(directory);
    const cases: [file: string, content: string, why: RegExp][] = [
      ["issued.json", "{", /Cannot read ".*issued\.json"/],
      ["issued.json", `{"version":2}`, /version 2/],
      [
        "issued.json",
        `{"version":1,"crl_number":1,"certificates":[{"serial":"x"}]}`,
        /certificate 1 has no serial number/,
      ],
      ["ca-key.pem", await Deno.readTextFile(`${other}/ca-key.pem`), /does not match "ca\.pem"/],
      ["ca-key.pem", "nonsense", /ca-key\.pem/],
    ];
    for (const [file, content, why] of cases) {
      await Deno.writeTextFile(`${directory}/${file}`, content);
      await assert.rejects(open, why);
      assert.deepEqual(await snapshot(directory), { ...good, [file]: content });
      await Deno.writeTextFile(`${directory}/${file}`, good[file]!);
    }
    (await open())[Symbol.dispose]();
  }),
);

Deno.test("an authority that has ended makes no certificates, and none outlives it", FILES, async () => {
  const clock = new FakeClock();
  await withAuthority(async (directory) => {
    const dayMs = 86_400_000;
    clock.jump(3600 * dayMs);
    using authority = await Authority.open(directory, { clock });
    const { certificate } = await authority.issueBoat("aurora", TWO_YEARS);
    assert.equal(certificate.notAfterMs, Math.floor((clock.wallUs() / 1000 + 50 * dayMs) / 1000) * 1000);
    clock.jump(51 * dayMs);
    await assert.rejects(authority.issueBoat("borealis", TWO_YEARS), /the authority expired/);
  }, clock)();
});

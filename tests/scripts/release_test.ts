import assert from "node:assert/strict";
import { type Lock, makeSbom } from "../../scripts/release/sbom.ts";
import { DENO_VERSION, fetchRuntime } from "../../scripts/runtime.ts";
import { environment, needs } from "../support/needs.ts";
import { ownArchitecture } from "../../scripts/deb.ts";
import { makeRelease } from "../../scripts/release.ts";
import { POOL } from "../../scripts/release/apt_repository.ts";
import { VERSION } from "../../src/version.ts";
import { Apt, run, Signer } from "../support/apt.ts";
import { inFolder } from "../support/folder.ts";
import { RUNTIMES } from "../support/emulated.ts";

const READ = needs({ permissions: ["read"] });
const OPTIONS = { version: "1.2.3", now: new Date("2026-03-04T05:06:07Z") };

interface Sbom {
  bomFormat: string;
  specVersion: string;
  components: {
    name: string;
    group?: string;
    version: string;
    purl: string;
    hashes?: { alg: string; content: string }[];
  }[];
  dependencies: { ref: string; dependsOn: string[] }[];
}

async function sbomOfCheckout(): Promise<{ lock: Lock; sbom: Sbom }> {
  const lock = JSON.parse(await Deno.readTextFile(new URL("../../deno.lock", import.meta.url)));
  return { lock, sbom: JSON.parse(JSON.stringify(makeSbom(lock, OPTIONS))) };
}

Deno.test(
  "the list of parts has every package of the lock file once, with its digest, and the Deno",
  READ,
  async () => {
    const { lock, sbom } = await sbomOfCheckout();
    assert.deepEqual([sbom.bomFormat, sbom.specVersion], ["CycloneDX", "1.5"]);
    const [deno, ...packages] = sbom.components;
    assert.deepEqual([deno?.name, deno?.version], ["deno", DENO_VERSION]);
    const wanted = Object.entries(lock.npm).map(([key, { integrity }]) => {
      const bytes = atob(integrity.replace("sha512-", ""));
      return [
        key.replace(/(.@[^_]*)_.*$/, "$1"),
        Array.from(bytes, (char) => char.charCodeAt(0).toString(16).padStart(2, "0")).join(""),
      ];
    });
    const found = packages.map(({ group, name, version, hashes }) => [
      `${group === undefined ? "" : `${group}/`}${name}@${version}`,
      hashes?.[0]?.content,
    ]);
    assert.deepEqual(found, wanted);
    assert.ok(packages.every(({ hashes }) => hashes?.[0]?.alg === "SHA-512"));
  },
);

Deno.test(
  "every part of the list can be reached from the programs, and every reference names a part",
  READ,
  async () => {
    const { sbom } = await sbomOfCheckout();
    const needed = new Map(sbom.dependencies.map(({ ref, dependsOn }) => [ref, dependsOn]));
    const known = new Set(sbom.components.map(({ purl }) => purl));
    const reached = new Set<string>();
    const waiting = ["pkg:generic/vbg@1.2.3"];
    for (let ref = waiting.pop(); ref !== undefined; ref = waiting.pop()) {
      for (const each of needed.get(ref) ?? []) {
        assert.ok(known.has(each), each);
        if (!reached.has(each)) waiting.push(each);
        reached.add(each);
      }
    }
    assert.deepEqual([...known].filter((each) => !reached.has(each)), []);
  },
);

const RELEASE = needs({
  permissions: ["env", "net", "sys", "write"],
  programs: ["apt-get", "dpkg-deb", "gpg", "gpgv", "npm", "sha256sum"],
  extras: { "VBG_TEST_FULL=1": environment("VBG_TEST_FULL") === "1" },
});

Deno.test(
  "a release with both real Denos is signed, checked as the page says, and downloaded by apt on both machines",
  RELEASE,
  () =>
    inFolder(async (folder) => {
      await using signer = await Signer.make(`${folder}/gpg`);
      const runtimes = { amd64: await fetchRuntime("amd64", RUNTIMES), arm64: await fetchRuntime("arm64", RUNTIMES) };
      const release = `${folder}/release`;
      const names = await makeRelease(release, { runtimes, packing: "fast", now: new Date() });
      await signer.sign(release);
      for (const target of ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"]) {
        for (const program of ["vbg-boat", "vbg-cloud", "vbg"]) {
          assert.ok(names.includes(`${program}-${VERSION}-${target}`));
        }
      }
      assert.ok(
        names.includes(`vbg-${VERSION}.cdx.json`) && names.includes("install.sh") && names.includes("SHA256SUMS"),
      );
      const check = (command: string) => run("sh", ["-c", `cd ${release} && ${command}`]);
      const verified = await check("gpgv --keyring ./apt/vbg-archive-keyring.gpg SHA256SUMS.asc SHA256SUMS");
      assert.equal(verified.code, 0, verified.err);
      const sums = await check("sha256sum -c --quiet SHA256SUMS");
      assert.deepEqual([sums.code, sums.out], [0, ""], sums.err);
      for (const arch of ["amd64", "arm64"]) {
        const keyring = `${release}/apt/vbg-archive-keyring.gpg`;
        const apt = await Apt.make(`${folder}/${arch}`, { url: `file:${release}/apt`, keyring, arch });
        assert.equal((await apt.get("update")).code, 0);
        const { code, out, err } = await apt.run("sh", "-c", `cd ${folder} && apt-get download vbg`);
        assert.equal(code, 0, out + err);
        const name = `vbg_${VERSION}_${arch}.deb`;
        assert.deepEqual(
          await Deno.readFile(`${folder}/${name}`),
          await Deno.readFile(`${release}/apt/${POOL}/${name}`),
        );
      }
      const own = `${release}/apt/${POOL}/vbg_${VERSION}_${ownArchitecture()}.deb`;
      assert.equal((await run("dpkg-deb", ["-x", own, `${folder}/root`])).code, 0);
      const { out, err } = await run(`${folder}/root/usr/bin/vbg`, ["-version"]);
      assert.equal(out, `vbg ${VERSION}\n`, err);
    }),
);

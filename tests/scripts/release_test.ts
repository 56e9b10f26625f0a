import assert from "node:assert/strict";
import { ownArchitecture } from "../../scripts/deb.ts";
import { makeRelease } from "../../scripts/release.ts";
import { POOL } from "../../scripts/release/apt_repository.ts";
import { fetchRuntime } from "../../scripts/runtime.ts";
import { VERSION } from "../../src/version.ts";
import { Apt, run, Signer } from "../support/apt.ts";
import { inFolder } from "../support/folder.ts";
import { environment, needs } from "../support/needs.ts";
import { RUNTIMES } from "../support/emulated.ts";

const NEEDS = needs({
  permissions: ["env", "net", "sys", "write"],
  programs: ["apt-get", "dpkg-deb", "gpg", "gpgv", "npm", "sha256sum"],
  extras: { "VBG_TEST_FULL=1": environment("VBG_TEST_FULL") === "1" },
});

Deno.test(
  "a release with both real Denos is signed, checked as the page says, and downloaded by apt on both machines",
  NEEDS,
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

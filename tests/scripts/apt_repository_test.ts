import assert from "node:assert/strict";
import { keepEarlier, POOL, writeAptIndexes } from "../../scripts/release/apt_repository.ts";
import { writeSums } from "../../scripts/release/sums.ts";
import { signRelease } from "../../scripts/release.ts";
import { ownArchitecture } from "../../scripts/deb.ts";
import { Apt, run, Signer } from "../support/apt.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";
import { OperatePage } from "../support/operate_page.ts";

const PROGRAMS = ["apt-get", "dpkg", "dpkg-deb", "gpg", "gpgv", "sh", "sha256sum"];
const NEEDS = needs({
  permissions: ["env", "net", "sys", "write"],
  programs: PROGRAMS,
  extras: {
    "root, as whom apt installs": Deno.permissions.querySync({ name: "sys", kind: "uid" }).state === "granted" &&
      Deno.uid() === 0,
  },
});
const NOW = new Date("2026-03-04T05:06:07Z");

/** Makes a package with one file, whose content is the version. */
async function makePackage(
  folder: string,
  pool: string,
  { version, arch }: { version: string; arch: string },
): Promise<void> {
  const stage = `${folder}/stage-${version}-${arch}`;
  await Deno.mkdir(`${stage}/DEBIAN`, { recursive: true });
  await Deno.chmod(stage, 0o755);
  await Deno.mkdir(`${stage}/usr/share/vbg`, { recursive: true });
  await Deno.writeTextFile(`${stage}/usr/share/vbg/version`, version);
  const control = [
    "Package: vbg",
    `Version: ${version}`,
    `Architecture: ${arch}`,
    "Maintainer: Test <test@vessel.example>",
  ];
  await Deno.writeTextFile(
    `${stage}/DEBIAN/control`,
    `${control.join("\n")}\nDescription: test\n a package of two\n lines\n`,
  );
  await Deno.mkdir(pool, { recursive: true });
  const made = await run("dpkg-deb", [
    "--root-owner-group",
    "-Znone",
    "--build",
    stage,
    `${pool}/vbg_${version}_${arch}.deb`,
  ]);
  assert.equal(made.code, 0, made.err);
}

/** A release of test packages, not signed. */
async function makeTestRelease(folder: string, versions: readonly string[], earlier?: string): Promise<string> {
  const release = `${folder}/release-${versions.join("-")}`;
  for (const version of versions) {
    for (const arch of ["amd64", "arm64"]) await makePackage(folder, `${release}/apt/${POOL}`, { version, arch });
  }
  if (earlier !== undefined) await keepEarlier(`${release}/apt`, `${earlier}/apt`);
  await writeAptIndexes(`${release}/apt`, NOW);
  await Deno.copyFile(new URL("../../scripts/release/sign.sh", import.meta.url), `${release}/sign.sh`);
  await writeSums(release);
  return release;
}

/** Serves whatever directory `at` names now. */
function serve(at: { release: string }): Deno.HttpServer<Deno.NetAddr> {
  return Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, async (request) => {
    const file = await Deno.readFile(at.release + new URL(request.url).pathname).catch(() => undefined);
    return file === undefined ? new Response("not here", { status: 404 }) : new Response(file);
  });
}

Deno.test(
  "apt installs from a signed repository, upgrades to the next release, and goes back",
  NEEDS,
  () =>
    inFolder(async (folder) => {
      await using signer = await Signer.make(`${folder}/gpg`);
      const first = await makeTestRelease(folder, ["0.1.0"]);
      await signer.sign(first);
      const at = { release: first };
      await using server = serve(at);
      const url = `http://127.0.0.1:${server.addr.port}/apt`;
      const keyring = `${first}/apt/vbg-archive-keyring.gpg`;
      const apt = await Apt.make(`${folder}/machine`, { arch: ownArchitecture() });
      const page = await OperatePage.read();
      /** Runs the page's commands on the test's machine. */
      const follow = async (heading: string) => {
        for (const line of page.commands(heading).filter((each) => !each.startsWith("systemctl"))) {
          const here = line.replaceAll("https://apt.vessel.example/apt", url).replaceAll("/usr/share/keyrings", folder)
            .replaceAll("/etc/apt/sources.list.d/vbg.list", apt.sources)
            .replace("-m 0644 vbg-archive", `-m 0644 ${first}/apt/vbg-archive`);
          const { code, out, err } = await apt.run("sh", "-c", here);
          assert.equal(code, 0, `${here}: ${out}${err}`);
        }
        return await apt.installed();
      };
      assert.equal(await follow("Install"), "0.1.0");
      at.release = await makeTestRelease(folder, ["0.2.0"], first);
      await signer.sign(at.release);
      assert.equal(await follow("Upgrade"), "0.2.0");
      assert.equal(await follow("Roll back"), "0.1.0");
      // On hold it stays.
      assert.equal((await apt.get("dist-upgrade")).code, 0);
      assert.equal(await apt.installed(), "0.1.0");
      // A machine of the other architecture gets its own packages.
      const other = ownArchitecture() === "amd64" ? "arm64" : "amd64";
      const foreign = await Apt.make(`${folder}/foreign`, { url, keyring, arch: other });
      for (const words of [["update"], ["install", "--download-only", "vbg"]]) {
        const { code, out, err } = await foreign.get(...words);
        assert.equal(code, 0, out + err);
      }
      assert.deepEqual(foreign.downloaded(), [`vbg_0.2.0_${other}.deb`]);
    }),
);

Deno.test(
  "apt refuses what nobody signed, what another key signed, and what was changed afterwards",
  NEEDS,
  () =>
    inFolder(async (folder) => {
      await using signer = await Signer.make(`${folder}/gpg`);
      await using stranger = await Signer.make(`${folder}/stranger`);
      const good = await makeTestRelease(folder, ["0.1.0"]);
      await signer.sign(good);
      const keyring = `${folder}/keyring.gpg`;
      await Deno.copyFile(`${good}/apt/vbg-archive-keyring.gpg`, keyring);
      const spoil: [string, (release: string) => Promise<void>, RegExp][] = [
        ["unsigned", async (release) => {
          for (const name of ["InRelease", "Release.gpg"]) await Deno.remove(`${release}/apt/dists/stable/${name}`);
        }, /is not signed/],
        ["signed by another key", (release) => stranger.sign(release), /NO_PUBKEY|couldn't be verified/],
        ["another index", async (release) => {
          const path = `${release}/apt/dists/stable/main/binary-${ownArchitecture()}/Packages.gz`;
          const bytes = await Deno.readFile(path);
          bytes[bytes.length - 1]! ^= 1;
          await Deno.writeFile(path, bytes);
        }, /Hash Sum mismatch|has unexpected size/],
        ["another package", async (release) => {
          const path = `${release}/apt/${POOL}/vbg_0.1.0_${ownArchitecture()}.deb`;
          const bytes = await Deno.readFile(path);
          bytes[bytes.length - 1]! ^= 1;
          await Deno.writeFile(path, bytes);
        }, /Hash Sum mismatch/],
      ];
      for (const [i, [what, change, words]] of spoil.entries()) {
        const release = `${folder}/spoilt${i}`;
        await run("cp", ["-R", good, release]);
        await change(release);
        const apt = await Apt.make(`${folder}/machine${i}`, {
          url: `file:${release}/apt`,
          keyring,
          arch: ownArchitecture(),
        });
        const update = await apt.get("update");
        const { code, out, err } = await apt.get("install", "vbg");
        assert.notEqual(code, 0, `${what}: ${out}${err}`);
        assert.match(update.out + update.err + out + err, words, what);
      }
    }),
);

Deno.test(
  "who has the public key finds that the sums were signed with it and that every file has its sum",
  NEEDS,
  () =>
    inFolder(async (folder) => {
      await using signer = await Signer.make(`${folder}/gpg`);
      const release = await makeTestRelease(folder, ["0.1.0"]);
      await signer.sign(release);
      const page = (await OperatePage.read()).commands("Make a release");
      const [verify, check] = [page.find((line) => /^gpgv /.test(line)), page.find((line) => /^sha256sum /.test(line))];
      assert.ok(verify && check);
      const here = (line: string) => run("sh", ["-c", `cd ${release} && ${line}`]);
      assert.equal((await here(verify)).code, 0);
      assert.deepEqual(await here(check), { code: 0, out: "", err: "" });
      const { out } = await here(check.replace("--quiet", ""));
      for (const arch of ["amd64", "arm64"]) assert.ok(out.includes(`${POOL}/vbg_0.1.0_${arch}.deb: OK\n`), out);
      await Deno.writeTextFile(`${release}/SHA256SUMS`, "\n", { append: true });
      assert.notEqual((await here(verify)).code, 0);
    }),
);

Deno.test(
  "a version is never released twice with other contents, and a key that is not there is told",
  NEEDS,
  () =>
    inFolder(async (folder) => {
      const first = await makeTestRelease(folder, ["0.1.0"]);
      await Deno.writeTextFile(`${first}/apt/${POOL}/vbg_0.1.0_arm64.deb`, "other");
      await assert.rejects(
        makeTestRelease(`${folder}/again`, ["0.1.0"], first),
        /Cannot release "vbg_0\.1\.0_arm64\.deb" again: .* change the version/,
      );
      await assert.rejects(signRelease(`${folder}/again/release-0.1.0`, "0123456789ABCDEF"), /Cannot run sh: .*/);
    }),
);

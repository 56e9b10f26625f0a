import assert from "node:assert/strict";
import { keepEarlier, POOL, writeAptIndexes } from "../../scripts/release/apt_repository.ts";
import { writeSums } from "../../scripts/release/sums.ts";
import { signRelease } from "../../scripts/release.ts";
import { ownArchitecture } from "../../scripts/deb.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";

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

async function run(program: string, args: string[], env: Record<string, string> = {}) {
  const settings = { args, env: { LC_ALL: "C.UTF-8", ...env } };
  const { code, stdout, stderr } = await new Deno.Command(program, settings).output();
  return { code, out: new TextDecoder().decode(stdout), err: new TextDecoder().decode(stderr) };
}

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

/** A signing key in a keyring of its own. */
class Signer implements AsyncDisposable {
  readonly home: string;
  readonly fingerprint: string;

  private constructor(home: string, fingerprint: string) {
    this.home = home;
    this.fingerprint = fingerprint;
  }

  static async make(home: string): Promise<Signer> {
    await Deno.mkdir(home, { mode: 0o700 });
    const flags = ["--homedir", home, "--batch", "--quiet", "--passphrase", ""];
    const made = await run("gpg", [
      ...flags,
      "--quick-gen-key",
      "Releases <releases@vessel.example>",
      "ed25519",
      "sign",
      "1y",
    ]);
    assert.equal(made.code, 0, made.err);
    const { out } = await run("gpg", ["--homedir", home, "--with-colons", "--list-keys"]);
    return new Signer(home, /^fpr:+([0-9A-F]+):/m.exec(out)?.[1] ?? "");
  }

  /** Signs a release as the person does whose keyring it is. */
  async sign(release: string): Promise<void> {
    const { code, err } = await run("sh", [`${release}/sign.sh`, this.fingerprint], { GNUPGHOME: this.home });
    assert.equal(code, 0, err);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await run("gpgconf", ["--homedir", this.home, "--kill", "gpg-agent"]);
  }
}

/** A machine's apt, with a root folder of its own. */
class Apt {
  readonly #folder: string;
  readonly #arch: string;
  readonly #env: Record<string, string>;

  private constructor(folder: string, arch: string) {
    this.#folder = folder;
    this.#arch = arch;
    this.#env = { APT_CONFIG: `${folder}/apt.conf`, DEBIAN_FRONTEND: "noninteractive" };
  }

  /** @param url of the repository */
  static async make(
    folder: string,
    { url, keyring, arch }: { url: string; keyring: string; arch: string },
  ): Promise<Apt> {
    for (
      const each of [
        "etc/preferences.d",
        "lists/partial",
        "cache/archives/partial",
        "root/var/lib/dpkg/updates",
        "root/var/lib/dpkg/info",
      ]
    ) {
      await Deno.mkdir(`${folder}/${each}`, { recursive: true });
    }
    await Deno.writeTextFile(`${folder}/root/var/lib/dpkg/status`, "");
    await Deno.writeTextFile(`${folder}/sources.list`, `deb [signed-by=${keyring}] ${url} stable main\n`);
    const settings = [
      `Dir::Etc "${folder}/etc"; Dir::Etc::SourceList "${folder}/sources.list"; Dir::Etc::SourceParts "/dev/null";`,
      `Dir::State "${folder}"; Dir::State::Lists "${folder}/lists"; Dir::Cache "${folder}/cache"; Dir::Log "${folder}";`,
      `Dir::State::Status "${folder}/root/var/lib/dpkg/status"; APT::Sandbox::User "root"; Acquire::Languages "none";`,
      `APT::Architecture "${arch}"; APT::Architectures { "${arch}"; }; APT::Install-Recommends "false";`,
      `Dpkg::Options { "--root=${folder}/root"; "--log=${folder}/dpkg.log"; "--force-not-root"; "--force-bad-path"; };`,
      `Debug::NoLocking "true"; Acquire::http::Proxy "DIRECT";`,
    ];
    await Deno.writeTextFile(`${folder}/apt.conf`, `${settings.join("\n")}\n`);
    return new Apt(folder, arch);
  }

  get(...args: string[]) {
    return run("apt-get", ["-y", "-q", ...args], this.#env);
  }

  /** Version that is installed, as its file says. */
  installed(): Promise<string> {
    return Deno.readTextFile(`${this.#folder}/root/usr/share/vbg/version`);
  }

  /** Names of the packages that were downloaded. */
  downloaded(): string[] {
    return [...Deno.readDirSync(`${this.#folder}/cache/archives`)].map(({ name }) => name).filter((name) =>
      name.endsWith(`${this.#arch}.deb`)
    );
  }
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
      const apt = await Apt.make(`${folder}/machine`, { url, keyring, arch: ownArchitecture() });
      const step = async (wanted: string, ...args: string[]) => {
        for (const words of [["update"], args]) {
          const { code, out, err } = await apt.get(...words);
          assert.equal(code, 0, out + err);
        }
        assert.equal(await apt.installed(), wanted);
      };
      await step("0.1.0", "install", "vbg");
      at.release = await makeTestRelease(folder, ["0.2.0"], first);
      await signer.sign(at.release);
      await step("0.2.0", "install", "vbg");
      await step("0.1.0", "install", "--allow-downgrades", "vbg=0.1.0");
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
      const verify = [
        "--keyring",
        `${release}/apt/vbg-archive-keyring.gpg`,
        `${release}/SHA256SUMS.asc`,
        `${release}/SHA256SUMS`,
      ];
      assert.equal((await run("gpgv", verify)).code, 0);
      const check = () =>
        new Deno.Command("sha256sum", { args: ["-c", "--strict", "SHA256SUMS"], cwd: release }).output();
      const text = new TextDecoder().decode((await check()).stdout);
      for (const arch of ["amd64", "arm64"]) assert.ok(text.includes(`${POOL}/vbg_0.1.0_${arch}.deb: OK\n`), text);
      await Deno.writeTextFile(`${release}/SHA256SUMS`, "\n", { append: true });
      assert.notEqual((await run("gpgv", verify)).code, 0);
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

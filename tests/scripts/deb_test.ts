import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { LOADED_BY_ADDRESS } from "../../scripts/compile/bundle.ts";
import { makeDeb } from "../../scripts/deb.ts";
import { systemClock } from "../../src/base/mod.ts";
import { Authority, initAuthority } from "../../src/pki/mod.ts";
import { VERSION } from "../../src/version.ts";
import { inFolder } from "../support/folder.ts";
import { findProgram, IS_FULL, needs, SLOW } from "../support/needs.ts";
import { mayMount } from "../support/mounts.ts";
import { blockAfter } from "../support/pages.ts";

const RECIPES = fileURLToPath(new URL("../../scripts/debian", import.meta.url));
const NEEDS = needs({ permissions: ["env", "write", "sys"], programs: ["dpkg-deb", "du", "gzip", "sh"], extras: SLOW });
/** A second package is made in full size only: every day the guides are followed with a Deno beside the first one. */
const IN_FULL = IS_FULL ? NEEDS : needs({ extras: { "VBG_TEST_FULL=1": false } });
const VERIFY = needs({ permissions: ["env", "write"], programs: ["systemd-analyze"], extras: SLOW });

async function run(program: string, args: string[], env: Record<string, string> = {}) {
  const { code, stdout, stderr } = await new Deno.Command(program, { args, env }).output();
  const text = new TextDecoder();
  return { code, stdout: text.decode(stdout), stderr: text.decode(stderr) };
}

/** The package without a Deno, which all tests but one look at; it takes long to make. */
let common: Promise<string> | undefined;
const commonFolder = NEEDS.ignore ? "" : Deno.makeTempDirSync({ prefix: "vbg_test_" });
Deno.test.afterAll(() => {
  if (commonFolder !== "") Deno.removeSync(commonFolder, { recursive: true });
});

async function makePackage(out: string, deno: string | undefined): Promise<string> {
  const steps: string[] = [];
  const onStep = (what: string) => void steps.push(what);
  const path = await makeDeb({ out, deno, arch: "arm64", compression: "none", onStep });
  assert.ok(steps.length > 2 && steps.at(-1) === `packing ${path} (none)`, `each step is reported: ${steps}`);
  return path;
}

/** A package that is made and unpacked. */
async function withPackage(
  deno: string | undefined,
  test: (made: { path: string; root: string; folder: string }) => Promise<void>,
): Promise<void> {
  await inFolder(async (folder) => {
    const path = deno === undefined
      ? await (common ??= makePackage(commonFolder, undefined))
      : await makePackage(`${folder}/out`, deno);
    const root = `${folder}/root`;
    assert.equal((await run("dpkg-deb", ["-x", path, root])).code, 0);
    await test({ path, root, folder });
  });
}

Deno.test("the package says what it is and holds programs, settings, unit and user", NEEDS, async () => {
  await withPackage(undefined, async ({ path, root, folder }) => {
    const { stdout: info } = await run("dpkg-deb", ["--info", path]);
    for (const line of ["Package: vbg", `Version: ${VERSION}`, "Architecture: all", "Depends: systemd"]) {
      assert.ok(info.includes(` ${line}\n`), `${line} in ${info}`);
    }
    for (const script of ["conffiles", "postinst", "prerm", "postrm"]) assert.ok(info.includes(script), script);
    const { stdout: contents } = await run("dpkg-deb", ["--contents", path]);
    const lines = contents.trimEnd().split("\n");
    assert.ok(lines.every((line) => line.includes(" root/root ")));
    // Links say lrwxrwxrwx.
    assert.deepEqual(
      lines.filter((line) => !/^([dl]|-)rw.r.[x-]r.[x-]/.test(line)),
      [],
      "everybody can read everything",
    );
    for (
      const [mode, file] of [
        ["-rwxr-xr-x", "/usr/bin/vbg-boat"],
        ["-rwxr-xr-x", "/usr/bin/vbg-cloud"],
        ["-rwxr-xr-x", "/usr/bin/vbg"],
        ["-rw-r--r--", "/usr/lib/systemd/system/vbg-boat.service"],
        ["-rw-r--r--", "/usr/lib/systemd/system/vbg-cloud.service"],
        ["-rw-r--r--", "/usr/lib/sysusers.d/vbg.conf"],
        ["-rw-r--r--", "/etc/vbg/vbg-boat.conf"],
        ["-rw-r--r--", "/etc/vbg/vbg-cloud.conf"],
        ["-rw-r--r--", "/usr/share/doc/vbg/copyright"],
        ["-rw-r--r--", "/usr/share/doc/vbg/docs/operate.md"],
        ["-rw-r--r--", "/usr/share/man/man1/vbg.1.gz"],
        ["-rw-r--r--", "/usr/share/man/man8/vbg-boat.8.gz"],
        ["-rw-r--r--", "/usr/share/man/man8/vbg-cloud.8.gz"],
        ["-rw-r--r--", "/usr/share/bash-completion/completions/vbg-boat"],
        ["-rw-r--r--", "/usr/share/zsh/vendor-completions/_vbg"],
        ["-rw-r--r--", "/usr/share/fish/vendor_completions.d/vbg.fish"],
      ]
    ) {
      assert.ok(lines.some((line) => line.startsWith(mode!) && line.endsWith(` .${file}`)), `${mode} ${file}`);
    }
    // Without a cache, and without a connection.
    const offline = ["run", "-A", "--no-check", "--cached-only", "--node-modules-dir=auto"];
    for (const file of LOADED_BY_ADDRESS.filter((file) => file.endsWith("_package.ts"))) {
      const env = { DENO_DIR: `${folder}/cache` };
      const { code, stderr } = await run(Deno.execPath(), [...offline, `${root}/usr/lib/vbg/${file}`], env);
      assert.equal(code, 0, stderr);
    }
    // All of it: the programs start from it, without a network or anything else that was fetched before.
    for (const program of ["vbg-boat", "vbg-cloud", "vbg"]) {
      const env = { DENO_DIR: `${folder}/deno`, PATH: `${Deno.execPath().replace(/\/[^/]*$/, "")}:/usr/bin:/bin` };
      const { code, stdout, stderr } = await run(`${root}/usr/bin/${program}`, ["-version"], env);
      assert.equal(code, 0, stderr);
      assert.equal(stdout, `${program} ${VERSION}\n`);
    }
    // The process of its own that DuckDB has finds its files, and says what is missing.
    const env = { DENO_DIR: `${folder}/deno`, PATH: `${Deno.execPath().replace(/\/[^/]*$/, "")}:/usr/bin:/bin` };
    const journal = new URL("../data/lplex_cloud/instances/oboat/journal", import.meta.url).pathname;
    const listed = await run(`${root}/usr/bin/vbg`, ["query", "-tables", journal], env);
    assert.match(listed.stdout, /^iso_request,59904,\d+,time,TIMESTAMP,$/m, listed.stderr);
    const { code, stderr } = await run(`${root}/usr/bin/vbg`, ["query", "FROM devices", journal], env);
    assert.deepEqual([code, stderr], [1, "vbg query: DuckDB is not installed: vbg query -install fetches it\n"]);
  });
});

Deno.test("a package with its own Deno is of one architecture and uses that Deno", IN_FULL, async () => {
  await inFolder(async (folder) => {
    const deno = `${folder}/deno`;
    await Deno.writeTextFile(deno, '#!/bin/sh\necho brought along: "$@"\n');
    await withPackage(deno, async ({ path, root }) => {
      assert.match(path, /_arm64\.deb$/);
      const { stdout: info } = await run("dpkg-deb", ["--info", path]);
      assert.match(info, / Architecture: arm64\n/);
      assert.match(info, / Depends: libc6, systemd\n/);
      const { stdout } = await run(`${root}/usr/bin/vbg-boat`, ["-interface", "can 0"]);
      assert.match(stdout, /^brought along: run -A .*\/lib\/vbg\/cli\/main_boat\.ts -interface can 0\n$/);
    });
  });
});

/** The files that the cloud's settings name: its certificates, and who may ask. */
async function makeCloudFiles(folder: string): Promise<void> {
  const clock = systemClock;
  await initAuthority(`${folder}/ca`, { name: "Test", days: 1, clock });
  using authority = await Authority.open(`${folder}/ca`, { clock });
  await authority.issueServer({ hosts: ["localhost"], ips: [] }, { days: 1, isForced: false });
  await Deno.rename(`${folder}/ca/server`, `${folder}/tls`);
  await Deno.rename(`${folder}/ca/revoked.txt`, `${folder}/tls/revoked.txt`);
  const token = { name: "test", sha256: "00".repeat(32), scopes: ["read"] };
  await Deno.writeTextFile(`${folder}/tokens.json`, JSON.stringify([token]));
}

Deno.test("the settings that come with it are right, also those that are switched off", NEEDS, async () => {
  await inFolder(async (folder) => {
    await makeCloudFiles(folder);
    for (const program of ["boat", "cloud"]) {
      const text = await Deno.readTextFile(`${RECIPES}/vbg-${program}.conf`);
      const all = text.replace(/^#(?=[a-z])/gm, "");
      assert.notEqual(all, text);
      for (const [i, settings] of [text, all].entries()) {
        const path = `${folder}/${program}${i}.conf`;
        await Deno.writeTextFile(path, settings.replaceAll(/\/(var\/lib|etc)\/vbg/g, folder));
        const script = fileURLToPath(new URL(`../../cli/${program}.ts`, import.meta.url));
        const state = program === "boat" ? "-state-dir" : "-data-dir";
        const args = ["run", "-A", "--no-check", script, "-validate-config", "-config", path, state, folder];
        const { code, stdout, stderr } = await run(Deno.execPath(), args);
        assert.equal(code, 0, stdout + stderr);
      }
    }
  });
});

Deno.test("the scripts of the package are shell that can be read", NEEDS, async () => {
  for (const name of ["postinst", "prerm", "postrm", "launcher"]) {
    const { code, stderr } = await run("sh", ["-n", `${RECIPES}/${name}`]);
    assert.equal(code, 0, `${name}: ${stderr}`);
  }
});

Deno.test("systemd finds nothing wrong with the units", VERIFY, async () => {
  await inFolder(async (folder) => {
    for (const name of ["vbg-boat", "vbg-cloud"]) {
      const unit = await Deno.readTextFile(`${RECIPES}/${name}.service`);
      const path = `${folder}/${name}.service`;
      // It looks for the program, which is not installed here.
      await Deno.writeTextFile(path, unit.replaceAll(`/usr/bin/${name}`, findProgram("true") ?? "/bin/true"));
      const { code, stdout, stderr } = await run("systemd-analyze", ["verify", "--man=no", path]);
      assert.equal(code, 0, stdout + stderr);
      assert.deepEqual((stdout + stderr).split("\n").filter((line) => line.includes(name)), []);
    }
  });
});

const SERVICES = needs({
  permissions: ["env", "write", "sys"],
  programs: [
    ...[
      "dpkg-deb",
      "du",
      "gzip",
      "sh",
      "ip",
      "unshare",
      "setpriv",
      "runuser",
      "systemd-sysusers",
      "openssl",
      "curl",
      "install",
    ],
  ],
  extras: { ...SLOW, "root who may mount": mayMount() },
});
const SCRIPT = fileURLToPath(new URL("service_path.sh", import.meta.url));
const [BOAT, FLEET] = ["docs/guide-boat.md", "docs/guide-fleet.md"] as const;
/** Everything of its own, and nothing is left when it ends. */
const NAMESPACES = ["--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"];

Deno.test(
  "who follows the guides as the packaged services' user has a boat with tokens and TLS that replicates to its cloud",
  SERVICES,
  () =>
    withPackage(undefined, async ({ path, root, folder }) => {
      await Deno.chmod(folder, 0o755);
      const control = `${folder}/control`;
      await runWhole("dpkg-deb", "-e", path, control);
      // The Deno that runs this, which may be where that user cannot read.
      await runWhole("install", "-D", Deno.execPath(), `${root}/usr/lib/vbg/bin/deno`);
      const vbg = (text: string) =>
        text.replaceAll("deno task -q cli", "vbg").replaceAll("deno task cloud", "vbg-cloud");
      await Deno.writeTextFile(
        `${folder}/tokens.sh`,
        await blockAfter("Tokens control who may read", { page: BOAT, language: "sh" }),
      );
      await Deno.writeTextFile(
        `${folder}/boat.conf`,
        await blockAfter("`/etc/vbg/vbg-boat.conf`:", { page: BOAT, language: "" }),
      );
      await Deno.writeTextFile(
        `${folder}/ask.sh`,
        vbg(await blockAfter("`/etc/vbg/vbg-boat.conf`:", { page: BOAT, language: "sh" })),
      );
      const ca = vbg(await blockAfter("Boat and cloud authenticate each other", { page: FLEET, language: "sh" })).split(
        "\n",
      )
        .filter((line) => !line.includes("revoke")).join("\n").replace("cloud.example.com", "localhost");
      const kept = ca.replace(/(-host localhost).*/, `$1 >"$work/cloud.txt"`).replace(
        /( aurora).*/,
        `$1 >"$work/aurora.txt"`,
      );
      await Deno.writeTextFile(`${folder}/ca.sh`, kept);
      assert.match(await runWhole("unshare", ...NAMESPACES, "sh", SCRIPT, root, control, folder), /^followed$/m);
    }),
);

/** Runs a program to its end. */
async function runWhole(program: string, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await new Deno.Command(program, { args }).output();
  const [out, err] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  assert.equal(code, 0, `${out}\n${err}`);
  return out ?? "";
}

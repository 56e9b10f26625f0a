import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { makeDeb } from "../../scripts/deb.ts";
import { VERSION } from "../../src/version.ts";
import { inFolder } from "../support/folder.ts";
import { findProgram, needs } from "../support/needs.ts";

const RECIPES = fileURLToPath(new URL("../../scripts/debian", import.meta.url));
const NEEDS = needs({ permissions: ["env", "write", "sys"], programs: ["dpkg-deb", "du", "sh"] });
const VERIFY = needs({ permissions: ["env", "write"], programs: ["systemd-analyze"] });

async function run(program: string, args: string[], env: Record<string, string> = {}) {
  const { code, stdout, stderr } = await new Deno.Command(program, { args, env }).output();
  const text = new TextDecoder();
  return { code, stdout: text.decode(stdout), stderr: text.decode(stderr) };
}

/** A package that is made and unpacked. */
async function withPackage(
  deno: string | undefined,
  test: (made: { path: string; root: string; folder: string }) => Promise<void>,
): Promise<void> {
  await inFolder(async (folder) => {
    const path = await makeDeb({ out: `${folder}/out`, deno, arch: "arm64", compression: "none" });
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
    for (
      const [mode, file] of [
        ["-rwxr-xr-x", "/usr/bin/vbg-boat"],
        ["-rwxr-xr-x", "/usr/bin/vbg"],
        ["-rw-r--r--", "/usr/lib/systemd/system/vbg-boat.service"],
        ["-rw-r--r--", "/usr/lib/sysusers.d/vbg.conf"],
        ["-rw-r--r--", "/etc/vbg/vbg-boat.conf"],
        ["-rw-r--r--", "/usr/share/doc/vbg/copyright"],
      ]
    ) {
      assert.ok(lines.some((line) => line.startsWith(mode!) && line.endsWith(` .${file}`)), `${mode} ${file}`);
    }
    // All of it: the programs start from it, without a network or anything else that was fetched before.
    for (const program of ["vbg-boat", "vbg"]) {
      const env = { DENO_DIR: `${folder}/deno`, PATH: `${Deno.execPath().replace(/\/[^/]*$/, "")}:/usr/bin:/bin` };
      const { code, stdout, stderr } = await run(`${root}/usr/bin/${program}`, ["-version"], env);
      assert.equal(code, 0, stderr);
      assert.equal(stdout, `${program} ${VERSION}\n`);
    }
  });
});

Deno.test("a package with its own Deno is of one architecture and uses that Deno", NEEDS, async () => {
  await inFolder(async (folder) => {
    const deno = `${folder}/deno`;
    await Deno.writeTextFile(deno, '#!/bin/sh\necho brought along: "$@"\n');
    await withPackage(deno, async ({ path, root }) => {
      assert.match(path, /_arm64\.deb$/);
      const { stdout: info } = await run("dpkg-deb", ["--info", path]);
      assert.match(info, / Architecture: arm64\n/);
      assert.match(info, / Depends: libc6, systemd\n/);
      const { stdout } = await run(`${root}/usr/bin/vbg-boat`, ["-interface", "can 0"]);
      assert.match(stdout, /^brought along: run -A .*\/lib\/vbg\/cli\/boat\.ts -interface can 0\n$/);
    });
  });
});

Deno.test("the settings that come with it are right, also those that are switched off", NEEDS, async () => {
  await inFolder(async (folder) => {
    const text = await Deno.readTextFile(`${RECIPES}/vbg-boat.conf`);
    const all = text.replace(/^#(?=[a-z])/gm, "").replaceAll("/var/lib/vbg", folder);
    assert.notEqual(all, text);
    for (const [i, settings] of [text, all].entries()) {
      const path = `${folder}/${i}.conf`;
      await Deno.writeTextFile(path, settings);
      const boat = fileURLToPath(new URL("../../cli/boat.ts", import.meta.url));
      const args = ["run", "-A", "--no-check", boat, "-validate-config", "-config", path, "-state-dir", folder];
      const { code, stdout, stderr } = await run(Deno.execPath(), args);
      assert.equal(code, 0, stdout + stderr);
    }
  });
});

Deno.test("the scripts of the package are shell that can be read", NEEDS, async () => {
  for (const name of ["postinst", "prerm", "postrm", "launcher"]) {
    const { code, stderr } = await run("sh", ["-n", `${RECIPES}/${name}`]);
    assert.equal(code, 0, `${name}: ${stderr}`);
  }
});

Deno.test("systemd finds nothing wrong with the unit", VERIFY, async () => {
  await inFolder(async (folder) => {
    const unit = await Deno.readTextFile(`${RECIPES}/vbg-boat.service`);
    const path = `${folder}/vbg-boat.service`;
    // It looks for the program, which is not installed here.
    await Deno.writeTextFile(path, unit.replaceAll("/usr/bin/vbg-boat", findProgram("true") ?? "/bin/true"));
    const { code, stdout, stderr } = await run("systemd-analyze", ["verify", "--man=no", path]);
    assert.equal(code, 0, stdout + stderr);
    const ours = (stdout + stderr).split("\n").filter((line) => line.includes("vbg-boat"));
    assert.deepEqual(ours, []);
  });
});

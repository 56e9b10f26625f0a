import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { DENO_VERSION } from "../../scripts/runtime.ts";
import { needs } from "../support/needs.ts";
import { VERSION } from "../../src/version.ts";
import { OWN_WORDS } from "../support/own_words.ts";

/** Files of the checkout that name the Deno to use. */
const PLACES = ["README.md", ".ci/run", "scripts/docker/Dockerfile", "docs/operate.md", "docs/hardware.md"];
const NAMED_VERSION = /(?:deno@|DENO_VERSION=)(\d+\.\d+\.\d+)/g;

Deno.test(
  "every command, image and page names the one Deno version that is pinned",
  needs({ permissions: ["read"] }),
  async () => {
    for (const place of PLACES) {
      const text = await Deno.readTextFile(new URL(`../../${place}`, import.meta.url));
      const versions = [...text.matchAll(NAMED_VERSION)].map(([, version]) => version);
      assert.ok(versions.length > 0 || place.startsWith("docs/"), `${place} names no version`);
      for (const version of versions) assert.equal(version, DENO_VERSION, place);
    }
  },
);

const NEEDS = needs({ permissions: ["env", "run", "read", "write", "sys"] });
const ROOT = fileURLToPath(new URL("../../", import.meta.url));

Deno.test("inside the workspace the programs run by the names of their packages", NEEDS, async () => {
  for (const [entry, program] of [["", "vbg"], ["/boat", "vbg-boat"], ["/cloud", "vbg-cloud"]]) {
    const args = ["run", "-A", "--no-check", `jsr:@vessel/cli${entry}`, "--version"];
    const { stdout, stderr } = await new Deno.Command(Deno.execPath(), { args, cwd: ROOT }).output();
    assert.equal(new TextDecoder().decode(stdout), `${program} ${VERSION}\n`, new TextDecoder().decode(stderr));
  }
});

const OPTIONS = needs({ permissions: ["read", "run"] });

Deno.test("a flag that a script does not know is one line and exit code 1", OPTIONS, async () => {
  for (const name of ["compile", "deb", "man", "release"]) {
    const script = fileURLToPath(new URL(`../../scripts/${name}.ts`, import.meta.url));
    const args = ["run", "-A", script, "-frobnicate"];
    const command = new Deno.Command(Deno.execPath(), { args, env: OWN_WORDS, stdout: "null" });
    const { code, stderr } = await command.output();
    assert.equal(code, 1);
    const lines = new TextDecoder().decode(stderr).split("\n").filter((line) =>
      line !== "" && !/\b(Check|Download) /.test(line)
    );
    assert.deepEqual(lines, [`${name}: Unknown option '--frobnicate'`]);
  }
});

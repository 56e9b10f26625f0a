import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { VERSION } from "../../src/version.ts";
import { needs } from "../support/needs.ts";

const NEEDS = needs({ permissions: ["env", "run", "read", "write", "sys"] });
const ROOT = fileURLToPath(new URL("../../", import.meta.url));

Deno.test("inside the workspace the programs run by the names of their packages", NEEDS, async () => {
  for (const [entry, program] of [["", "vbg"], ["/boat", "vbg-boat"], ["/cloud", "vbg-cloud"]]) {
    const args = ["run", "-A", "--no-check", `jsr:@vessel/cli${entry}`, "--version"];
    const { stdout, stderr } = await new Deno.Command(Deno.execPath(), { args, cwd: ROOT }).output();
    assert.equal(new TextDecoder().decode(stdout), `${program} ${VERSION}\n`, new TextDecoder().decode(stderr));
  }
});

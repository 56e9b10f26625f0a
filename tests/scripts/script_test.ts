import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { needs } from "../support/needs.ts";

const OPTIONS = needs({ permissions: ["read", "run"] });

Deno.test("a flag that a script does not know is one line and exit code 1", OPTIONS, async () => {
  for (const name of ["compile", "deb", "man", "release"]) {
    const script = fileURLToPath(new URL(`../../scripts/${name}.ts`, import.meta.url));
    const args = ["run", "-A", script, "-frobnicate"];
    const { code, stderr } = await new Deno.Command(Deno.execPath(), { args, stdout: "null" }).output();
    assert.equal(code, 1);
    assert.match(new TextDecoder().decode(stderr), new RegExp(`^${name}: Unknown option '--frobnicate'\n$`, "m"));
  }
});

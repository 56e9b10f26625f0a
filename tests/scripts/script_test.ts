import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { needs } from "../support/needs.ts";
import { OWN_WORDS } from "../support/own_words.ts";

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

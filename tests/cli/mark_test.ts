import assert from "node:assert/strict";
import type { BlackBoxEntry } from "../../src/client/mod.ts";
import { TestBoat } from "../support/boat.ts";
import { runCommand } from "../support/command.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";

Deno.test(
  "vbg mark names the file, and says when it belongs to the mark before",
  needs({ permissions: ["net", "read", "write", "env", "sys"] }),
  () =>
    inFolder(async (folder) => {
      await using boat = await TestBoat.start({ stateDirectory: folder });
      const mark = (...words: string[]) => runCommand(["mark", "-server", boat.url, "-json=false", ...words]);
      const first = await mark("lost", "the", "wind");
      const [entry] = await boat.get<BlackBoxEntry[]>("/blackbox");
      assert.deepEqual([entry?.kind, entry?.text], ["mark", "lost the wind"]);
      assert.deepEqual([first.code, first.out], [0, `Marked: ${entry?.name}\n`]);
      assert.equal((await mark()).out, `Marked within the last ten minutes: ${entry?.name}\n`);
      await using off = await TestBoat.start();
      const { code, err } = await runCommand(["mark", "-server", off.url]);
      assert.equal(code, 1);
      assert.match(err, /black box is off/);
    }),
);

// Where the boat program records.
import assert from "node:assert/strict";
import { eventually } from "../support/eventually.ts";
import { needs } from "../support/needs.ts";
import { TestProgram } from "../support/program.ts";

const PROGRAMS = needs({ permissions: ["run", "read", "write", "net", "env"] });
const FLAGS = ["-demo", "-listen", "127.0.0.1:0", "-log-format", "json"];

for (const [how, path] of [["by its name", "both/demo"], ["by another name", "link"]]) {
  Deno.test(`state and journal may share a folder, given ${how}, and a restart goes on there`, PROGRAMS, async () => {
    const root = await Deno.makeTempDir();
    try {
      await Deno.mkdir(`${root}/both/demo`, { recursive: true });
      await Deno.symlink(`${root}/both/demo`, `${root}/link`);
      const flags = ["-state-dir", `${root}/both`, "-journal-dir", `${root}/${path}`, ...FLAGS];
      const heads: number[] = [];
      for (let run = 0; run < 2; run++) {
        await using program = await TestProgram.start("boat", () => flags);
        const url = await program.url();
        const health = await eventually("frames", async () => {
          const body = await (await fetch(`${url}/healthz`)).json();
          return body.broker.frames_total > 10 && body;
        });
        assert.deepEqual(health.components.journal, { status: "ok" });
        await using second = await TestProgram.start("boat", () => flags);
        assert.equal(await second.exitCode(), 1);
        assert.match(second.log, /Cannot use the state directory ".+": it is used by another process/);
        program.signal("SIGTERM");
        assert.equal(await program.exitCode(), 0);
        heads.push(health.broker.head_seq);
      }
      assert.ok(heads[1]! > heads[0]!, `numbers go on: ${heads}`);
    } finally {
      await Deno.remove(root, { recursive: true });
    }
  });
}

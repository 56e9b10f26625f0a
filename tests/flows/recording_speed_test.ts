// Recordings as buses at full speed: they wait for the journal, which loses nothing.
// Where the boat program records.
import assert from "node:assert/strict";
import { silentLogger } from "../../src/base/mod.ts";
import { startBoat } from "../../src/boat/boat.ts";
import { createBus } from "../../src/can/mod.ts";
import { newStoredFrame } from "../../src/frame/mod.ts";
import { JournalIndex } from "../../src/journal/mod.ts";
import { eventually } from "../support/eventually.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";
import { TestProgram } from "../support/program.ts";

const FILES = needs({ permissions: ["read", "write", "net"] });
const FRAMES = 40_000;

/** A log of single frames, each with its number, a millisecond apart. */
function logOf(frames: number): string {
  const lines = Array.from({ length: frames }, (_, i) => {
    const number = i.toString(16).padStart(8, "0");
    return `(${(1.7e9 + i / 1000).toFixed(6)}) can0 09FD0217#${number}${number}`;
  });
  return lines.join("\n") + "\n";
}

for (const buses of [1, 2]) {
  Deno.test(
    `${buses} recording(s) at full speed, a journal with little memory: every frame is recorded`,
    FILES,
    () =>
      inFolder(async (folder) => {
        await Deno.writeTextFile(`${folder}/log`, logOf(FRAMES));
        const names = Array.from({ length: buses }, (_, i) => `log${i}`);
        const boat = await startBoat({
          buses: await Promise.all(names.map((name) => createBus(`file://${folder}/log?speed=0&name=${name}#candump`))),
          discovery: false,
          listen: { hostname: "127.0.0.1", port: 0 },
          stateDirectory: folder,
          journal: { directory: folder, stateDirectory: folder, blockBytes: 4096, maxBacklogBytes: 65_536 },
        });
        try {
          await eventually("the ends of the recordings", () => boat.broker.published === buses * FRAMES);
        } finally {
          await boat.stop();
        }
        const found: number[][] = names.map(() => []);
        const frame = newStoredFrame();
        const index = await JournalIndex.open(folder, { log: silentLogger });
        for await (const block of index.blocks({ fromSeq: 1 })) {
          for (const cursor = block.frames(); cursor.next(frame);) {
            found[frame.bus]?.push(new DataView(frame.data.buffer, frame.data.byteOffset + frame.offset).getUint32(0));
          }
        }
        const all = Array.from({ length: FRAMES }, (_, i) => i);
        for (const [bus, numbers] of found.entries()) {
          assert.equal(numbers.length, FRAMES, `${names[bus]}`);
          assert.deepEqual(numbers, all);
        }
      }),
  );
}

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

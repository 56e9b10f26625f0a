// Recordings as buses at full speed: they wait for the journal, which loses nothing.
import assert from "node:assert/strict";
import { silentLogger } from "../../src/base/mod.ts";
import { startBoat } from "../../src/boat/boat.ts";
import { createBus } from "../../src/can/mod.ts";
import { newStoredFrame } from "../../src/frame/mod.ts";
import { JournalIndex } from "../../src/journal/mod.ts";
import { eventually } from "../support/eventually.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";

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

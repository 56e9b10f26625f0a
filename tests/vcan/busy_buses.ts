import assert from "node:assert/strict";
import { silentLogger } from "../../src/base/mod.ts";
import { startBoat } from "../../src/boat/boat.ts";
import { createBus } from "../../src/can/mod.ts";
import { newStoredFrame } from "../../src/frame/mod.ts";
import { JournalIndex } from "../../src/journal/mod.ts";
import { run } from "../contract/can_bus.ts";
import { eventually } from "../support/eventually.ts";
import { inFolder } from "../support/folder.ts";
import { IS_FULL, needs } from "../support/needs.ts";

const options = needs({ permissions: ["ffi", "read", "write", "run", "net"], programs: ["ip", "canplayer"] });
const SECONDS = IS_FULL ? 60 : 5;
const RATE = 1000;
const STALL_S = 3;
/** A single frame: wind data. */
const ID = "09FD0217";

/** A log of all buses for canplayer; the frames that the last bus would say in its stall come after it, all at once. */
function logOf(buses: number): { text: string; counts: number[] } {
  const lines: { atMs: number; line: string }[] = [];
  const counts = Array.from({ length: buses }, () => 0);
  for (let ms = 0; ms < SECONDS * 1000; ms += 1000 / RATE) {
    for (let bus = 0; bus < buses; bus++) {
      const isStalled = bus === buses - 1 && ms >= 1000 && ms < 1000 + STALL_S * 1000;
      const number = counts[bus] = (counts[bus] ?? 0) + 1;
      const noise = (number * 2654435761 >>> 0).toString(16).padStart(8, "0");
      const data = `${number.toString(16).padStart(8, "0")}${noise}`.toUpperCase();
      lines.push({ atMs: isStalled ? 1000 + STALL_S * 1000 : ms, line: `vcan${bus} ${ID}#${data}` });
    }
  }
  lines.sort((a, b) => a.atMs - b.atMs);
  return { text: lines.map(({ atMs, line }) => `(${(1e9 + atMs / 1000).toFixed(6)}) ${line}\n`).join(""), counts };
}

for (const buses of IS_FULL ? [2, 4] : [4]) {
  Deno.test(
    `${buses} vcan buses with ${RATE} frames/s each, one stalled for 3 s, lose nothing`,
    options,
    () =>
      inFolder(async (folder) => {
        const names = Array.from({ length: buses }, (_, bus) => `vcan${bus}`);
        for (const name of names.slice(2)) {
          await run("ip", "link", "add", "dev", name, "type", "vcan");
          await run("ip", "link", "set", name, "up");
        }
        const { text, counts } = logOf(buses);
        await Deno.writeTextFile(`${folder}/log`, text);
        const boat = await startBoat({
          buses: await Promise.all(names.map((name) => createBus(name))),
          discovery: false,
          listen: { hostname: "127.0.0.1", port: 0 },
          stateDirectory: folder,
          journal: { directory: folder, stateDirectory: folder },
        });
        try {
          await run("canplayer", "-I", `${folder}/log`);
          const total = counts.reduce((sum, count) => sum + count, 0);
          await eventually("all frames", () => boat.broker.published >= total);
        } finally {
          await boat.stop();
          for (const name of names.slice(2)) await run("ip", "link", "del", name);
        }
        const found: number[][] = names.map(() => []);
        const frame = newStoredFrame();
        let blocks = 0;
        const index = await JournalIndex.open(folder, { log: silentLogger });
        for await (const block of index.blocks({ fromSeq: 1 })) {
          blocks++;
          for (const cursor = block.frames(); cursor.next(frame);) {
            found[frame.bus]?.push(new DataView(frame.data.buffer, frame.data.byteOffset + frame.offset).getUint32(0));
          }
        }
        assert.deepEqual(found, counts.map((count) => Array.from({ length: count }, (_, i) => i + 1)));
        // 14 bytes a frame, a little more where two buses take turns.
        const fullBlocks = counts.reduce((sum, count) => sum + count, 0) * 16 / 262_144;
        assert.ok(blocks <= Math.ceil(1.3 * fullBlocks), `${blocks} blocks`);
      }),
  );
}

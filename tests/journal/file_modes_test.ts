import assert from "node:assert/strict";
import { convertRecordings } from "../../src/recordings/mod.ts";
import { TestBoat } from "../support/boat.ts";
import { eventually } from "../support/eventually.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";

const DISK = needs({ permissions: ["read", "write"] });

function modeOf(path: string): string {
  return (Deno.statSync(path).mode! & 0o777).toString(8);
}

/** Every file of frames below a directory, with its mode. */
function framesIn(directory: string): [name: string, mode: string][] {
  return [...Deno.readDirSync(directory)].map(({ name }) => name).toSorted()
    .filter((name) => name.endsWith(".lpj") || name.startsWith("tail"))
    .map((name) => [name.replace(/-20.*Z/, ""), modeOf(`${directory}/${name}`)]);
}

Deno.test("a recording is for its owner and group, and a directory that was there keeps its mode", {
  ...DISK,
  ignore: DISK.ignore || Deno.build.os === "windows",
}, () =>
  inFolder(async (folder) => {
    const before = Deno.umask(0o022);
    try {
      Deno.mkdirSync(`${folder}/there`, { mode: 0o755 });
      for (const [name, mode] of [["made", "750"], ["there", "755"]]) {
        const directory = `${folder}/${name}`;
        await using boat = await TestBoat.start({
          journal: { directory, stateDirectory: directory, syncIntervalMs: 50 },
        });
        boat.say();
        await eventually("a tail", () => framesIn(directory).some(([each]) => each.startsWith("tail")));
        assert.ok(framesIn(directory).every(([, each]) => each === "640"), JSON.stringify(framesIn(directory)));
        await boat.boat.stop();
        assert.ok(framesIn(directory).some(([each, found]) => each === "nmea2k.lpj" && found === "640"));
        assert.equal(modeOf(directory), mode);
      }
      const line = new TextEncoder().encode("(1767323045.000000) can0 09F11201#0102030405060708\n");
      const to = { kind: "directory" as const, path: `${folder}/converted` };
      await convertRecordings([{ name: "x.log", chunks: ReadableStream.from([line]) }], { to });
      assert.deepEqual([modeOf(to.path), framesIn(to.path).map(([, mode]) => mode)], ["750", ["640"]]);
    } finally {
      Deno.umask(before);
    }
  }));

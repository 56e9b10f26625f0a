import assert from "node:assert/strict";
import { LineLog } from "../../src/base/mod.ts";
import { syncsAndRenames } from "../support/disk_order.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";

const DISK = needs({ permissions: ["read", "write"] });
const NAME = "lines.log";

async function valuesOf(directory: string): Promise<unknown[] | undefined> {
  return (await new LineLog(directory, { name: NAME }).read())?.values;
}

Deno.test(
  "lines are synced before they replace the others, the folder's entry after that, and appended ones",
  DISK,
  () =>
    inFolder(async (directory) => {
      const log = new LineLog(directory, { name: NAME });
      const temporary = `${directory}/.${NAME}.tmp`;
      const folderSync = Deno.build.os === "windows" ? [] : [`sync ${directory}`];
      assert.deepEqual(await syncsAndRenames(() => log.replace([1])), [
        `sync ${temporary}`,
        `rename ${temporary}`,
        ...folderSync,
      ]);
      assert.deepEqual(await syncsAndRenames(() => log.append([2])), [`sync ${log.path}`]);
    }),
);

Deno.test(
  "lines come back in their order, those appended and those that replaced the others",
  DISK,
  () =>
    inFolder(async (directory) => {
      const log = new LineLog(directory, { name: NAME });
      assert.equal(await log.read(), undefined);
      await assert.rejects(log.append([1]), { name: "FileError", content: "unknown" });
      await log.replace([{ a: "ä€😀" }, [1, 2]]);
      await log.append([3]);
      await log.append([4, "five"]);
      assert.deepEqual(await valuesOf(directory), [{ a: "ä€😀" }, [1, 2], 3, 4, "five"]);
      assert.equal(log.bytes, (await Deno.stat(log.path)).size);
      await log.replace([6]);
      assert.deepEqual(await valuesOf(directory), [6]);
      assert.match(await Deno.readTextFile(log.path), /^[0-9a-f]{8} 6\n$/);
    }),
);

Deno.test(
  "cut at any byte, a file holds every whole line, and nothing is appended to a torn one",
  DISK,
  () =>
    inFolder(async (directory) => {
      const lines = [[1, 4711], { id: "pilot", filter: { bus: ["Brücke"] } }, [2, 3], "end"];
      await new LineLog(directory, { name: NAME }).replace(lines);
      const bytes = await Deno.readFile(`${directory}/${NAME}`);
      for (let length = 0; length <= bytes.length; length++) {
        await Deno.writeFile(`${directory}/${NAME}`, bytes.subarray(0, length));
        const log = new LineLog(directory, { name: NAME });
        const found = await log.read();
        const ends = bytes.subarray(0, length).filter((byte) => byte === 0x0a).length;
        assert.deepEqual(found?.values, lines.slice(0, ends), `${length} bytes`);
        const isTorn = length > 0 && bytes[length - 1] !== 0x0a;
        assert.deepEqual([found?.damaged, log.bytes], isTorn ? [1, undefined] : [0, length]);
        if (isTorn) await assert.rejects(log.append([7]));
      }
    }),
);

Deno.test("a byte that is wrong costs at most the lines that it touches", DISK, () =>
  inFolder(async (directory) => {
    const lines = [[1, 4711], { id: "pilot" }, [2, 3], "end"];
    await new LineLog(directory, { name: NAME }).replace(lines);
    const bytes = await Deno.readFile(`${directory}/${NAME}`);
    for (let at = 0; at < bytes.length; at++) {
      const wrong = bytes.slice();
      wrong[at] = bytes[at]! ^ 0x11;
      await Deno.writeFile(`${directory}/${NAME}`, wrong);
      const found = await valuesOf(directory) ?? [];
      const texts = lines.map((line) => JSON.stringify(line));
      assert.ok(found.every((value) => texts.includes(JSON.stringify(value))), `nothing made up at ${at}`);
      assert.ok(found.length >= lines.length - 2, `byte ${at}`);
    }
  }));

Deno.test(
  "after a file was changed by somebody else, it is replaced and not appended to",
  DISK,
  () =>
    inFolder(async (directory) => {
      const log = new LineLog(directory, { name: NAME });
      await log.replace([1]);
      await Deno.writeTextFile(log.path, "half a li", { append: true });
      await assert.rejects(log.append([2]), { name: "FileError" });
      assert.equal(log.bytes, undefined);
      await log.replace([1, 2]);
      await log.append([3]);
      assert.deepEqual(await valuesOf(directory), [1, 2, 3]);
      await Deno.remove(log.path);
      await assert.rejects(log.append([4]), { name: "FileError" });
    }),
);

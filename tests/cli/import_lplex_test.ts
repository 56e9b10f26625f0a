import assert from "node:assert/strict";
import { runCloud } from "../../cli/cloud.ts";
import { lockDirectory } from "../../src/base/mod.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";

const DISK = needs({ permissions: ["env", "read", "sys", "write"] });
const REAL = new URL("../data/lplex_cloud", import.meta.url).pathname;

/** Runs `vbg-cloud import-lplex` in this process. */
async function run(...args: string[]) {
  const [printed, complained]: [string[], string[]] = [[], []];
  const code = await runCloud({
    args: ["import-lplex", ...args],
    environment: {},
    print: (text) => printed.push(text),
    printError: (text) => complained.push(text),
  });
  return { code, printed: printed.join("\n"), complained: complained.join("\n") };
}

Deno.test(
  "vbg-cloud import-lplex takes a real directory over, says what is missing, and may be run again",
  DISK,
  () =>
    inFolder(async (folder) => {
      const { code, printed } = await run(REAL, "-data-dir", `${folder}/data`);
      assert.equal(code, 0);
      assert.match(
        printed,
        /^oboat: 5729 frames in 1 epochs\n {2}5729 from blocks of the boat, 0 from files of the live/,
      );
      assert.match(printed, /\n {2}\d+ are missing; the boat is asked for them when it connects/);
      const again = await run(REAL, "-data-dir", `${folder}/data`);
      assert.deepEqual([again.code, again.printed.split("\n")[0]], [
        0,
        "oboat: was imported before, 5729 frames in 1 epochs",
      ]);
    }),
);

Deno.test(
  "vbg-cloud import-lplex refuses what is no such directory, and a data directory that is used",
  DISK,
  () =>
    inFolder(async (folder) => {
      const target = ["-data-dir", `${folder}/data`];
      for (
        const [words, reason] of [[[], /found 0/], [[REAL, REAL], /found 2/], [
          [folder],
          /as a data directory of lplex/,
        ]]
      ) {
        const { code, complained } = await run(...words as string[], ...target);
        assert.equal(code, 2);
        assert.match(complained, reason as RegExp);
      }
      for (const inside of ["", "/", "/instances", "/new/one"]) {
        const { code, complained } = await run(REAL, "-data-dir", `${REAL}${inside}`);
        assert.deepEqual([code, /into itself/.test(complained)], [2, true], complained);
      }
      assert.deepEqual([...Deno.readDirSync(REAL)].map(({ name }) => name), ["instances"]);
      await Deno.mkdir(`${folder}/empty/instances`, { recursive: true });
      assert.match((await run(`${folder}/empty`, ...target)).complained, /it contains no boat/);
      {
        using _cloud = await lockDirectory(`${folder}/data`);
        const { code, complained } = await run(REAL, ...target);
        assert.equal(code, 1);
        assert.match(complained, /used by another process/);
      }
      await Deno.mkdir(`${folder}/data/oboat`);
      const { code, complained } = await run(REAL, ...target);
      assert.equal(code, 1);
      assert.match(complained, /Cannot import "oboat": .* is there with other data/);
    }),
);

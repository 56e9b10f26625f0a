import assert from "node:assert/strict";
import { boatProgram } from "../../cli/boat.ts";
import { cloud } from "../../cli/cloud.ts";
import { COMMON_FLAGS } from "../../cli/program/common_flags.ts";
import { dispatch } from "../../cli/program/dispatch.ts";
import { prepare, type ProgramContext } from "../../cli/program/program.ts";

/** The servers, each run with words that end it at once. Answers the exit code. */
const PROGRAMS: Readonly<Record<string, (around: ProgramContext) => Promise<number>>> = {
  "vbg-boat": async (around) => {
    const prepared = await prepare(boatProgram, around);
    return prepared.kind === "exit" ? prepared.code : -1;
  },
  "vbg-cloud": (around) => dispatch(cloud, around),
};

async function printed(name: string, ...args: string[]): Promise<string> {
  let text = "";
  const print = (line: string) => text += `${line}\n`;
  const code = await PROGRAMS[name]?.({ args, environment: {}, print, complain: print });
  assert.equal(code, 0, text);
  return text;
}

const flagsIn = (help: string) => Array.from(help.matchAll(/^ {2}-([\w-]+)/gm), ([, name = ""]) => name);

for (const [name, common] of Object.entries(COMMON_FLAGS)) {
  Deno.test(`${name}: -h shows about 20 flags that are there, and says how to see all; -h all shows every one`, async () => {
    const [short, long] = [await printed(name, "-h"), await printed(name, "-h", "all")];
    assert.deepEqual(flagsIn(short).toSorted(), common.toSorted());
    assert.ok(common.length >= 15 && common.length <= 25, `${common.length}`);
    assert.ok(flagsIn(long).length > 60);
    assert.ok(short.endsWith(`\nRun "${name} -h all" for all ${flagsIn(long).length} flags.\n`), short.slice(-100));
    assert.doesNotMatch(long, /-h all/);
    for (const args of [["--help", "all"], ["help", "all"]]) assert.equal(await printed(name, ...args), long);
  });
}

Deno.test('a word that is not "all" after -h is an error', async () => {
  await assert.rejects(printed("vbg-boat", "-h", "some"), /Unexpected argument "some"/);
});

import assert from "node:assert/strict";
import { dispatch, loadCommands } from "../../cli/program/dispatch.ts";
import { vbg } from "../../cli/vbg.ts";
import { runCommand } from "../support/command.ts";
import { boatProgram } from "../../cli/boat.ts";
import { cloud } from "../../cli/cloud.ts";
import { COMMON_FLAGS } from "../../cli/program/common_flags.ts";
import { prepare, type ProgramContext } from "../../cli/program/program.ts";

Deno.test("help with a command's name is that command's own help", async () => {
  const asked = await runCommand(["help", "dump"]);
  assert.deepEqual(asked, await runCommand(["dump", "-help"]));
  assert.match(asked.out, /^vbg dump: /);
  assert.equal(asked.code, 0);
});

Deno.test("help with a word that is no command says so, as the word alone does", async () => {
  const expected = {
    code: 2,
    out: "",
    err: 'vbg: Unknown command "dumb": did you mean dump?\nRun "vbg help" for all\n',
  };
  assert.deepEqual(await runCommand(["dumb"]), expected);
  assert.deepEqual(await runCommand(["help", "dumb"]), expected);
});

Deno.test("a word that is like no command gets no hint", async () => {
  const { code, err } = await runCommand(["frobnicate"]);
  assert.deepEqual([code, err], [2, 'vbg: Unknown command "frobnicate"\nRun "vbg help" for all\n']);
});

Deno.test("a flag in front of the command is told where it belongs", async () => {
  const { code, err } = await runCommand(["-server", "http://boat.local:8089", "dump"]);
  const line = 'vbg: Unexpected flag "-server": expected a command first, then its flags';
  assert.deepEqual([code, err], [2, `${line}\nRun "vbg help" for all\n`]);
});

Deno.test("every line of a command's help fits a terminal of 100 characters", async () => {
  for (const { program } of await loadCommands(vbg)) {
    const [, ...words] = program.name.split(" ");
    const long = (await runCommand([...words, "-help"])).out.split("\n").filter((line) => line.length > 100);
    assert.deepEqual(long, []);
  }
});

Deno.test("dashboard is another name of top, which help, completion and the pages show once", async () => {
  assert.deepEqual(await runCommand(["dashboard", "-help"]), await runCommand(["top", "-help"]));
  assert.match((await runCommand(["help"])).out, /\n {2}dashboard +the same as top\n/);
  const names = (await loadCommands(vbg)).map(({ program }) => program.name);
  assert.equal(new Set(names).size, names.length);
  assert.match((await runCommand(["completion", "bash"])).out, /vbg dashboard/);
});

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

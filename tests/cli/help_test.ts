import assert from "node:assert/strict";
import { boatProgram } from "../../cli/boat.ts";
import { cloud } from "../../cli/cloud.ts";
import { demoProgram } from "../../cli/demo.ts";
import { COMMON_FLAGS } from "../../cli/program/common_flags.ts";
import { dispatch, loadCommands } from "../../cli/program/dispatch.ts";
import { formatHelp, groupsOf } from "../../cli/program/help.ts";
import { prepare, type ProgramContext } from "../../cli/program/program.ts";
import { readOption } from "../../cli/settings/options.ts";
import { vbg } from "../../cli/vbg.ts";
import { program as simulate } from "../../cli/commands/simulate/simulate.ts";
import { runCommand } from "../support/command.ts";

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
  const code = await PROGRAMS[name]?.({ args, environment: {}, print, printError: print });
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

Deno.test("every flag with a value names it, a file FILE and a directory DIR, and durations are written 5m", async () => {
  const commands = [...await loadCommands(vbg), ...await loadCommands(cloud)].map(({ program }) => program);
  for (const program of [boatProgram, demoProgram, ...commands]) {
    for (const [, options] of groupsOf(program)) {
      for (const { name, kind, placeholder, defaultText, help } of options) {
        const flag = `${program.name} -${name}`;
        assert.equal(placeholder === "", kind === "boolean", flag);
        assert.doesNotMatch(placeholder, /PATH|TEXT|FOLDER/, flag);
        if (/^(PEM f|F)ile /.test(help)) assert.match(placeholder, /FILE/, flag);
        if (/^Directory /.test(help)) assert.equal(placeholder, "DIR", flag);
        if (kind === "duration") assert.match(defaultText, /^((\d+h)?(\d+m)?(\d+s)?(\d+ms)?)$/, flag);
      }
    }
  }
});

Deno.test("vbg-demo -h has no flag that the demo overrides; given, it is a warning", () => {
  const flags = flagsIn(formatHelp(demoProgram));
  for (const name of ["interface", "can-driver", "loopback", "demo"]) assert.ok(!flags.includes(name), name);
  assert.deepEqual(flags.filter((name) => /^replication-(target|instance|tls|insecure)/.test(name)), []);
  for (const name of ["cloud-port", "listen", "journal-dir"]) assert.ok(flags.includes(name), name);
});

Deno.test("vbg help says how a boat is chosen", async () => {
  assert.match((await runCommand(["help"])).out, /choose it by -server URL or -boat NAME[^]*VBG_BOAT[^]*default-boat/);
});

Deno.test("the port of vbg simulate has an environment variable, as its address has", () => {
  for (const [name, value, expected] of [["PORT", "7", 7], ["LISTEN", ":7", { hostname: "::", port: 7 }]] as const) {
    const option = name === "PORT" ? simulate.options.port : simulate.options.listen;
    const outcome = readOption<unknown>(option, { environment: { [`VBG_${name}`]: value } });
    assert.deepEqual(outcome.ok && outcome.value, expected);
  }
});

import assert from "node:assert/strict";
import { loadCommands } from "../../cli/program/dispatch.ts";
import { vbg } from "../../cli/vbg.ts";
import { runCommand } from "../support/command.ts";

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

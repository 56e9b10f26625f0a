import assert from "node:assert/strict";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";
import { TestProgram } from "../support/program.ts";
import { taskArgs } from "../support/task.ts";

const PROGRAM = needs({ permissions: ["env", "net", "read", "run", "write"] });

/** Runs the demo until it ends. */
async function demo(cwd: string, ...flags: string[]): Promise<{ code: number; out: string; err: string }> {
  const args = taskArgs("demo", "-mdns=false", "-state-dir", `${cwd}/state`, ...flags);
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), { args, cwd }).output();
  const [out, err] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes)) as [string, string];
  return { code, out, err };
}

Deno.test("the demo names the flags of its two ports when one is taken", PROGRAM, () =>
  inFolder(async (folder) => {
    using taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const port = `${taken.addr.port}`;
    for (const flags of [["-cloud-port", port], ["-cloud-port", "0", "-listen", `127.0.0.1:${port}`]]) {
      const { code, err } = await demo(folder, ...flags);
      assert.equal(code, 1);
      assert.match(err, new RegExp(`127\\.0\\.0\\.1:${port}: the port is taken; -port and -cloud-port name others`));
    }
  }));

for (
  const [what, name, words] of [
    ["the demo", "demo", ["-port", "0", "-cloud-port", "0"]],
    ["a boat with -demo", "boat", ["-demo", "-listen", "127.0.0.1:0"]],
  ] as const
) {
  Deno.test(
    `what ${what} keeps is gone when it ends, unless a state directory is given; it lacks no permission`,
    PROGRAM,
    () =>
      inFolder(async (folder) => {
        const [home, temporary, given] = [`${folder}/home`, `${folder}/tmp`, `${folder}/given`];
        for (const each of [home, temporary]) await Deno.mkdir(each);
        for (const flags of [[], ["-state-dir", given]]) {
          const args = [...words, "-mdns=false", "-log-format", "json", ...flags];
          const env = { HOME: home, XDG_STATE_HOME: `${home}/state`, TMPDIR: temporary, DENO_DIR: await denoDir() };
          await using program = await TestProgram.start(name, () => args, env);
          assert.equal(new URL(await program.url()).hostname, "127.0.0.1", "no other machine reads a demo by itself");
          assert.ok(flags.length > 0 || namesIn(temporary).length > 0);
          program.signal("SIGTERM");
          assert.equal(await program.exitCode(), 0);
          assert.doesNotMatch(program.log, /Requires .* access/);
          assert.deepEqual([namesIn(home), namesIn(temporary)], [[], []]);
        }
        assert.ok(namesIn(`${given}/demo`).includes("head.json"));
      }),
  );
}

/** Where Deno has its packages, whatever the home directory is. */
async function denoDir(): Promise<string> {
  const { stdout } = await new Deno.Command(Deno.execPath(), { args: ["info", "--json"] }).output();
  return JSON.parse(new TextDecoder().decode(stdout)).denoDir;
}

function namesIn(folder: string): string[] {
  return Array.from(Deno.readDirSync(folder), ({ name }) => name);
}

Deno.test("the demo says which settings it does not use", PROGRAM, () =>
  inFolder(async (folder) => {
    const flags = ["-interface", "can1", "-replication-target", "localhost:9443", "-replication-instance-id", "aurora"];
    const { code, out } = await demo(folder, ...flags, "-replication-insecure", "-validate-config");
    assert.equal(code, 0);
    for (const name of ["interface", "replication-target", "replication-instance-id"]) {
      assert.match(out, new RegExp(`\\[WARN\\] ${name} +Not used: the demo has its own bus and cloud`));
    }
  }));

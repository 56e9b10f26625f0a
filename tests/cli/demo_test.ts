import assert from "node:assert/strict";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";
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

Deno.test("the demo says which settings it does not use", PROGRAM, () =>
  inFolder(async (folder) => {
    const flags = ["-interface", "can1", "-replication-target", "localhost:9443", "-replication-instance-id", "aurora"];
    const { code, out } = await demo(folder, ...flags, "-replication-insecure", "-validate-config");
    assert.equal(code, 0);
    for (const name of ["interface", "replication-target", "replication-instance-id"]) {
      assert.match(out, new RegExp(`\\[WARN\\] ${name} +Not used: the demo brings a bus and a cloud of its own`));
    }
  }));

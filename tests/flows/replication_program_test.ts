import assert from "node:assert/strict";
import type { Health } from "../../src/http/mod.ts";
import type { ReplicationStatus } from "../../src/replication/mod.ts";
import { KeepingCloud } from "../replication/boat_link_fixture.ts";
import { ServerFixture } from "../replication/fixture.ts";
import { eventually } from "../support/eventually.ts";
import { readJournal } from "../support/journal_run.ts";
import { needs } from "../support/needs.ts";
import { TestProgram } from "../support/program.ts";

const PROGRAM = needs({ permissions: ["env", "net", "read", "run", "write"] });

async function get<T>(url: string): Promise<T> {
  return await (await fetch(url)).json();
}

/** Settings of a boat that replicates to a cloud on this machine. */
function replicating(port: number): (folder: string) => string[] {
  return (folder) => [
    ...["-demo", "-listen", "127.0.0.1:0", "-state-dir", `${folder}/state`, "-journal-dir", `${folder}/journal`],
    ...["-replication-target", `127.0.0.1:${port}`, "-replication-instance-id", "aurora", "-replication-insecure"],
  ];
}

Deno.test(
  "vbg-boat: replicates what the buses bring, and once it was stopped the cloud has all that its journal has",
  PROGRAM,
  async () => {
    const cloud = new KeepingCloud();
    await using server = await ServerFixture.start(cloud.service);
    await using program = await TestProgram.start("boat", replicating(server.port));
    const url = await program.url();
    await eventually("frames in the cloud", () => cloud.frames.size > 500);
    const { connected, instance_id } = await get<ReplicationStatus>(`${url}/replication/status`);
    assert.deepEqual([connected, instance_id], [true, "aurora"]);
    assert.equal((await get<Health>(`${url}/healthz`)).replication?.connected, true);
    program.signal("SIGTERM");
    assert.equal(await program.exitCode(), 0);
    assert.ok(cloud.endings.includes("live"), "the live stream was ended in good order");
    const { frames } = readJournal(`${program.folder}/journal`);
    assert.ok(frames.length > 500);
    assert.deepEqual([...cloud.frames.values()].sort((a, b) => a.seq - b.seq), frames);
    assert.deepEqual(cloud.twice, []);
  },
);

Deno.test("vbg-boat: settings of replication that cannot work end it at once, with the reason", PROGRAM, async () => {
  const far = ["-replication-target", "cloud.example:443", "-replication-instance-id", "aurora"];
  await using program = await TestProgram.start("boat", () => ["-demo", ...far, "-replication-insecure"]);
  assert.equal(await program.exitCode(), 2);
  assert.match(
    program.log,
    /Cannot replicate to "cloud\.example:443" with -replication-insecure: it is another machine/,
  );
});

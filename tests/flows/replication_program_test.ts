import assert from "node:assert/strict";
import type { Health } from "../../src/http/mod.ts";
import type { ReplicationStatus } from "../../src/replication/mod.ts";
import { KeepingCloud } from "../replication/boat_link_fixture.ts";
import { ServerFixture } from "../replication/fixture.ts";
import { eventually } from "../support/eventually.ts";
import { readJournal } from "../support/journal_run.ts";
import { needs } from "../support/needs.ts";
import { TestProgram } from "../support/program.ts";
import { type Cloud, startCloud } from "../../src/cloud_server/cloud.ts";
import { TestBoat } from "../support/boat.ts";
import { inFolder } from "../support/folder.ts";

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

const PARTS = needs({ permissions: ["env", "net", "read", "sys", "write"] });
const HERE = { hostname: "127.0.0.1", port: 0 };
const ID = "sea-otter";
/** Live frames from one checkpoint to the next. */
const CHECKPOINT_FRAMES = 50_000;

interface ReplicationEvent {
  time: string;
  type: string;
  detail: string;
}

/** The boat's events as the cloud tells them, oldest first. */
async function eventsOf(cloud: Cloud): Promise<ReplicationEvent[]> {
  const url = `http://127.0.0.1:${cloud.addresses.http.port}/instances/${ID}/replication/events?limit=1024`;
  const response = await fetch(url);
  assert.equal(response.status, 200);
  return (await response.json() as ReplicationEvent[]).reverse();
}

Deno.test(
  "a boat that streams 50 000 frames has a checkpoint in its events, and they are there when the cloud starts again",
  PARTS,
  () =>
    inFolder(async (folder) => {
      const options = {
        dataDirectory: `${folder}/cloud`,
        ports: { kind: "insecure", grpc: HERE, http: HERE },
        ...{ rateLimit: 0, maxLiveLagFrames: 0 },
      } as const;
      let events: ReplicationEvent[] = [];
      const first = await startCloud(options);
      try {
        const limits = { maxLiveLagFrames: 0, lagCheckFrames: 1000, minLagReconnectMs: 30_000, maxReconnectMs: 60_000 };
        await using boat = await TestBoat.start({
          replication: { target: `127.0.0.1:${first.addresses.grpc.port}`, instanceId: ID, insecure: true },
          replicationLimits: limits,
        });
        const link = () => boat.get<ReplicationStatus>("/replication/status");
        await eventually("the connection", async () => (await link()).connected);
        boat.flood(CHECKPOINT_FRAMES, 8);
        const isCheckpoint = ({ type, detail }: ReplicationEvent) =>
          type === "checkpoint" && detail.startsWith(`${CHECKPOINT_FRAMES} frames, cursor ${CHECKPOINT_FRAMES}`);
        await eventually("the checkpoint", async () => (await eventsOf(first)).some(isCheckpoint));
        await boat.boat.stop();
        events = await eventually("the stop", async () => {
          const found = await eventsOf(first);
          return found.at(-1)?.type === "live_stop" && found;
        });
        assert.deepEqual(events.map(({ type }) => type), ["checkpoint", "live_start", "checkpoint", "live_stop"]);
      } finally {
        await first.stop();
      }
      const second = await startCloud(options);
      try {
        assert.deepEqual(await eventsOf(second), events);
      } finally {
        await second.stop();
      }
    }),
);

import assert from "node:assert/strict";
import { silentLogger, systemClock } from "../../src/base/mod.ts";
import { type Instance, Scrub } from "../../src/cloud/mod.ts";
import { openBlockFile, parseFileName } from "../../src/journal/mod.ts";
import { framesIn } from "../cloud/cloud_fixture.ts";
import { eventually } from "../support/eventually.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";
import { fill } from "./cloud_fill.ts";
import { CloudServer } from "./cloud_server.ts";

const DISK = needs({ permissions: ["read", "write", "net"] });
const ID = "boat-1";
/** Live frames of these tests, and those of two later backfills: 1 to 100 live, 101 to 200 and 201 to 300. */
const HEAD = 301;

interface Status {
  cursor: number;
  ack_seq: number;
  boat_head_seq: number;
  received_through: number;
  holes: { start: number; end: number }[];
  storage: { state: string; missing: { start: number; end: number }[]; checked_at: string | null };
}

interface Health {
  status: string;
  components: Record<string, { status: string; message?: string }>;
}

const statusOf = (cloud: CloudServer) => cloud.get<Status>(`/instances/${ID}/status`);

/** A boat whose frames 1 to 100 came live, and the rest up to 300 in two backfills; 301 is live again. */
async function filled(cloud: CloudServer) {
  let boat = await cloud.boat(ID);
  while (boat.seq < 100) boat.say();
  boat.leave();
  boat = await cloud.boat(ID, { headSeq: HEAD });
  boat.say();
  await fill(boat.instance, 201, 300);
  await fill(boat.instance, 101, 200);
  await eventually("everything to be on disk", () => boat.instance.acknowledge() === HEAD);
  return boat;
}

/** Journal files of the boat by the first part of their names, oldest first. */
function filesOf(folder: string, prefix: string): string[] {
  const names = Array.from(Deno.readDirSync(`${folder}/${ID}`), ({ name }) => name);
  return names.filter((name) => parseFileName(name)?.prefix === prefix).sort().map((name) => `${folder}/${ID}/${name}`);
}

/** Changes bytes in the middle of a file's first block. */
async function damage(path: string): Promise<void> {
  const { blocks: [block] } = await openBlockFile(path);
  const bytes = Deno.readFileSync(path);
  for (let at = 0; at < 8; at++) bytes[block!.offset + (block!.bytes >> 1) + at]! ^= 0xff;
  Deno.writeFileSync(path, bytes);
}

/** Reads all files again. */
async function scrub(instances: Iterable<Instance>): Promise<void> {
  await new Scrub({ instances, bytesPerSecond: () => 2 ** 30, clock: systemClock, log: silentLogger }).pass();
}

async function allSeqs(folder: string): Promise<number[]> {
  return (await framesIn(`${folder}/${ID}`)).map(({ seq }) => seq);
}

const ALL = Array.from({ length: HEAD }, (_, i) => i + 1);

for (const isRestarted of [false, true]) {
  const when = isRestarted ? "while the cloud is down" : "while the boat is connected";
  Deno.test(
    `a file that is deleted ${when} is a hole again at the next handshake, and the boat is asked for it`,
    DISK,
    () =>
      inFolder(async (folder) => {
        let cloud = await CloudServer.start(folder);
        try {
          let boat = await filled(cloud);
          // The later backfill has the lower numbers.
          const path = filesOf(folder, "backfill")[1]!;
          if (isRestarted) {
            await cloud[Symbol.asyncDispose]();
            Deno.removeSync(path);
            cloud = await CloudServer.start(folder);
          } else Deno.removeSync(path);
          boat = await cloud.boat(ID, { headSeq: HEAD });
          const { holes, cursor, ack_seq, storage } = await statusOf(cloud);
          const missing = [{ start: 101, end: 201 }];
          assert.deepEqual([holes, cursor, ack_seq], [missing, 100, 100]);
          assert.deepEqual([storage.state, storage.missing], ["damaged", missing]);
          const sick = await cloud.get<Health>("/healthz");
          assert.deepEqual([sick.status, sick.components["storage"]?.status], ["degraded", "degraded"]);
          await fill(boat.instance, 101, 200);
          const healed = await statusOf(cloud);
          assert.deepEqual([healed.holes, healed.cursor, healed.ack_seq], [[], HEAD, HEAD]);
          assert.deepEqual([healed.storage.state, healed.storage.missing], ["ok", []]);
          assert.equal((await cloud.get<Health>("/healthz")).status, "ok");
        } finally {
          await cloud[Symbol.asyncDispose]();
        }
        assert.deepEqual(await allSeqs(folder), ALL);
      }),
  );
}

Deno.test(
  "the file that is being written may be deleted: its frames are holes, and those that come go into another",
  DISK,
  () =>
    inFolder(async (folder) => {
      {
        await using cloud = await CloudServer.start(folder);
        let boat = await filled(cloud);
        // Frame 301 is in no file yet, and cannot be gone with it.
        const [path] = await eventually("the file", () => {
          const paths = filesOf(folder, "nmea2k");
          return paths.length > 0 && paths;
        });
        Deno.removeSync(path!);
        boat.leave();
        boat = await cloud.boat(ID, { headSeq: HEAD });
        assert.deepEqual((await statusOf(cloud)).holes, [{ start: 1, end: 101 }]);
        await fill(boat.instance, 1, 100);
        boat.seq = HEAD;
        while (boat.seq < HEAD + 50) boat.say();
        await eventually("everything to be on disk", () => boat.instance.acknowledge() === HEAD + 50);
      }
      assert.deepEqual(await allSeqs(folder), Array.from({ length: HEAD + 50 }, (_, i) => i + 1));
    }),
);

Deno.test(
  "a damaged block is found by reading its file again, and asked for; the file stays as it is",
  DISK,
  () =>
    inFolder(async (folder) => {
      {
        await using cloud = await CloudServer.start(folder);
        let boat = await filled(cloud);
        const path = filesOf(folder, "backfill")[0]!;
        await damage(path);
        const bytes = Deno.readFileSync(path);
        assert.deepEqual((await statusOf(cloud)).holes, []);
        await scrub(cloud.instances);
        const { holes, ack_seq, storage } = await statusOf(cloud);
        assert.deepEqual([holes, ack_seq], [[{ start: 201, end: 301 }], 200]);
        assert.equal(storage.state, "damaged");
        assert.ok(storage.checked_at);
        // A handshake is what asks for it.
        assert.match(boat.ended ?? "", /disappeared from the disk/);
        boat.leave();
        boat = await cloud.boat(ID, { headSeq: HEAD });
        await fill(boat.instance, 201, 300);
        await scrub(cloud.instances);
        const healed = await statusOf(cloud);
        assert.deepEqual([healed.holes, healed.ack_seq, healed.storage.state], [[], HEAD, "ok"]);
        assert.deepEqual(Deno.readFileSync(path), bytes);
      }
      assert.deepEqual(await allSeqs(folder), ALL);
    }),
);

Deno.test(
  "files that are deleted on purpose, or read again in good order, are no holes",
  DISK,
  () =>
    inFolder(async (folder) => {
      for (let round = 0; round < 2; round++) {
        await using cloud = await CloudServer.start(folder);
        if (round === 0) await filled(cloud);
        const instance = cloud.instances.get(ID)!;
        const path = filesOf(folder, "backfill")[0]!;
        const name = path.slice(path.lastIndexOf("/") + 1);
        await instance.prune(name);
        Deno.removeSync(path);
        instance.noteRemoved(name);
        for (let i = 0; i < 2; i++) await scrub(cloud.instances);
        await cloud.boat(ID, { headSeq: HEAD });
        const { holes, ack_seq, storage } = await statusOf(cloud);
        assert.deepEqual([holes, ack_seq, storage.state], [[], HEAD, "ok"]);
      }
    }),
);

Deno.test(
  "a list of files that is lost is made again, and what it would tell is known from then on",
  DISK,
  () =>
    inFolder(async (folder) => {
      {
        await using cloud = await CloudServer.start(folder);
        await filled(cloud);
      }
      Deno.removeSync(`${folder}/${ID}/files.json`);
      await using cloud = await CloudServer.start(folder);
      await scrub(cloud.instances);
      assert.deepEqual([(await statusOf(cloud)).holes, (await statusOf(cloud)).storage.state], [[], "ok"]);
      Deno.removeSync(filesOf(folder, "backfill")[0]!);
      await cloud.boat(ID, { headSeq: HEAD });
      assert.deepEqual((await statusOf(cloud)).holes, [{ start: 201, end: 301 }]);
    }),
);

Deno.test(
  "a file that is gone is noticed within a minute, and the boat is made to shake hands",
  DISK,
  () =>
    inFolder(async (folder) => {
      const clock = new FakeClock();
      await using cloud = await CloudServer.start(folder, { clock });
      const boat = await filled(cloud);
      cloud.instances.runHousekeeping();
      Deno.removeSync(filesOf(folder, "backfill")[0]!);
      clock.advance(60_000);
      cloud.instances.runHousekeeping();
      await eventually("the stream to be ended", () => boat.ended);
      assert.deepEqual((await statusOf(cloud)).holes, [{ start: 201, end: 301 }]);
    }),
);

Deno.test(
  "a boat that has made its handshake before a file was missed makes another before it streams",
  DISK,
  () =>
    inFolder(async (folder) => {
      await using cloud = await CloudServer.start(folder);
      const boat = await filled(cloud);
      boat.leave();
      await boat.declare({ headSeq: HEAD });
      Deno.removeSync(filesOf(folder, "backfill")[0]!);
      await boat.instance.withFiles((files) => files.findMissing());
      await assert.rejects(boat.instance.enterLive({ end: () => {} }), /a handshake comes first/);
    }),
);

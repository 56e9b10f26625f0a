// Whoever joins the objects of a boat is killed before, inside and after each request that it sends to the store.
//
// In full size 50 times: `VBG_TEST_FULL=1 deno test -A tests/faults/store_compaction_kills_test.ts`; VBG_TEST_ROUNDS changes
// the number.
import assert from "node:assert/strict";
import { BoatObjects } from "../../src/cloud/store/boat_objects.ts";
import { type ObjectStore, openStore } from "../../src/object_store/mod.ts";
import { framesOfStore } from "../cloud/cloud_fixture.ts";
import { Ceph, CEPH_PROGRAMS, CEPH_WRITER } from "../support/ceph.ts";
import { compactAged } from "../support/compaction_program.ts";
import { inFolder } from "../support/folder.ts";
import { HttpProxy, type Stop } from "../support/http_proxy.ts";
import { EPOCH, frameOf, journalFiles, makeWriter, seenOf } from "../support/journal_run.ts";
import { MemoryS3 } from "../support/memory_s3.ts";
import { environment, IS_FULL, needs, SLOW } from "../support/needs.ts";
import { Random } from "../support/random.ts";
import { STORE_BUCKET } from "../support/store_node.ts";

const PERMISSIONS = ["env", "net", "read", "run", "sys", "write"] as const;
const PROCESSES = needs({ permissions: [...PERMISSIONS], extras: SLOW });
const CEPH = needs({ permissions: [...PERMISSIONS], programs: CEPH_PROGRAMS, extras: IS_FULL ? {} : { full: false } });
const ROUNDS = Number(environment("VBG_TEST_ROUNDS") ?? 50);
const ID = "aurora";
const HOUR_MS = 3_600_000;
const DAY_ONE_MS = Date.UTC(2026, 5, 1);
/** Objects of each hour, and frames of each object. */
const OBJECTS = 6;
const FRAMES = 10;
const HOUR_FRAMES = OBJECTS * FRAMES;

/** The requests in the order in which a pass sends them: each is stopped half way, or when it was answered. */
const STEPS: readonly Pick<Stop, "method" | "path">[] = [
  { method: "GET", path: "/fleet/instances/" },
  { method: "PUT", path: "/fleet/instances/" },
  { method: "PUT", path: "/fleet/times/" },
  { method: "HEAD", path: "/fleet/instances/" },
  { method: "POST", path: "delete" },
];

function stopOf(round: number, random: Random): Stop {
  const step = STEPS[round % STEPS.length]!;
  const hasBody = step.method === "PUT" || step.method === "POST";
  const at: Stop["at"] = hasBody && random.chance(0.5)
    ? { kind: "body", share: random.int(1001) / 1000 }
    : { kind: "answer" };
  // Each small object is read at least once, and deleted once it is there twice.
  return { ...step, at, after: step.method === "GET" ? random.int(OBJECTS) : 0 };
}

const frameAt = (seq: number) => frameOf(seq, { timeUs: (DAY_ONE_MS + seq * (HOUR_MS / HOUR_FRAMES)) * 1000 });

/** Stores the frames of an hour, in small objects. */
async function feedHour(hour: number, { store, folder }: { store: ObjectStore; folder: string }): Promise<void> {
  const directory = await Deno.makeTempDir({ dir: folder });
  const { writer } = makeWriter(directory);
  for (let seq = hour * HOUR_FRAMES + 1; seq <= (hour + 1) * HOUR_FRAMES; seq++) {
    writer.append(seq, frameAt(seq));
    if (seq % FRAMES === 0) await writer.rotate();
  }
  await writer.close();
  const objects = new BoatObjects({ id: ID, store });
  for (const name of journalFiles(directory)) await objects.putFile(`${directory}/${name}`, { epoch: EPOCH });
}

async function killIn(rounds: number, endpoint: string): Promise<void> {
  const random = new Random(31);
  using store = await openStore({ url: `s3://${STORE_BUCKET}/fleet`, endpoint, credentials: CEPH_WRITER });
  await using proxy = await HttpProxy.start(endpoint);
  const program = new URL("../support/compaction_program.ts", import.meta.url).pathname;
  await inFolder(async (folder) => {
    const assertAllThere = async (last: number, what: string) => {
      const fed = Array.from({ length: last }, (_, i) => seenOf(i + 1, frameAt(i + 1)));
      assert.deepEqual(await framesOfStore(store, { folder, id: ID }), fed, what);
    };
    for (let round = 0; round < rounds; round++) {
      await feedHour(round, { store, folder });
      const nowMs = DAY_ONE_MS + (round + 2) * HOUR_MS;
      const stop = stopOf(round, random);
      const stopped = proxy.stop(stop);
      const child = new Deno.Command(Deno.execPath(), {
        args: ["run", "-A", "--no-check", program, proxy.endpoint, ID, String(nowMs)],
        stdout: "null",
      }).spawn();
      await Promise.race([
        stopped,
        child.status.then(({ code }) => {
          throw new Error(`round ${round}: the program ended with ${code} before ${JSON.stringify(stop)}`);
        }),
      ]);
      child.kill("SIGKILL");
      await child.status;
      await assertAllThere((round + 1) * HOUR_FRAMES, `round ${round}: ${JSON.stringify(stop)}`);
    }
    for (let pass = 0; pass < 4; pass++) {
      await compactAged(store, { id: ID, nowMs: DAY_ONE_MS + (rounds + 100) * HOUR_MS });
    }
    await assertAllThere(rounds * HOUR_FRAMES, "at the end");
    const objects = new BoatObjects({ id: ID, store });
    await objects.list();
    // deno-lint-ignore no-console -- the figures of a run by hand
    if (IS_FULL) console.log(JSON.stringify({ rounds, fed: rounds * HOUR_FRAMES, objects: objects.files.length }));
    assert.ok(objects.files.length <= Math.ceil(rounds / 24), `${objects.files.length} objects`);
  });
}

Deno.test("whoever joins objects may be killed at each step, and no frame is lost", PROCESSES, async () => {
  await using s3 = new MemoryS3();
  await killIn(STEPS.length, s3.endpoint);
});

Deno.test(`Ceph: ${ROUNDS} kills of whoever joins objects lose no frame`, CEPH, async () => {
  await using ceph = await Ceph.start({ osds: 3 });
  await ceph.createBucket(STORE_BUCKET);
  await killIn(ROUNDS, ceph.endpoint);
});

// Boats between a data directory and an object store, and the commands that read frames from a store.
import assert from "node:assert/strict";
import { type FrameStore, ObjectCache } from "../../src/cloud/mod.ts";
import { epochsPrefix } from "../../src/cloud/store/object_names.ts";
import { openStore } from "../../src/object_store/mod.ts";
import { EPOCH } from "../cloud/block_check_fixture.ts";
import { wireBlock } from "../cloud/block_check_fixture.ts";
import { batch, BOAT, CloudFixture, framesIn, framesOfStore, wanted } from "../cloud/cloud_fixture.ts";
import { type CommandAnswer, runCloudCommand, runCommand } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";
import { range } from "../support/session.ts";

const CLOUD = needs({ permissions: ["net", "read", "write", "env", "sys"] });
const NEXT = new Uint8Array(16).fill(0xb2);

/** Feeds live frames and a block of earlier ones into a boat of a cloud. */
async function feed(
  cloud: CloudFixture,
  { id = BOAT, epoch = EPOCH, live: [first, last], earlier: [from, to] }: {
    id?: string;
    epoch?: Uint8Array<ArrayBuffer>;
    live: readonly [number, number];
    earlier: readonly [number, number];
  },
): Promise<void> {
  const { client } = await cloud.greeted({ instanceId: id, epoch, headSeq: first });
  const live = client.live();
  await live.send(batch(first, last));
  const backfill = client.backfill();
  await backfill.send({ block: wireBlock({ firstSeq: from, frames: to - from + 1, epoch }) });
  const count = last - first + 1 + to - from + 1;
  const { received } = cloud.instances.get(id)!.record;
  await eventually("all to be durable", () => received.durableCount === count);
  live.end();
  backfill.end();
}

/** What two boats were sent: one in two epochs, both with a hole. */
const FED = { former: [...range(51, 150), ...range(200, 900)], current: [...range(1, 40), ...range(60, 500)] };

interface Places {
  folder: string;
  data: string;
  url: string;
  frameStore: FrameStore;
}

/** A data directory with two boats, and an empty store. */
async function inPlaces(work: (places: Places) => Promise<void>): Promise<void> {
  await inFolder(async (folder) => {
    const url = `file://${folder}/store`;
    using store = await openStore({ url });
    const data = `${folder}/data`;
    {
      await using cloud = await CloudFixture.start(data);
      await feed(cloud, { live: [200, 900], earlier: [51, 150] });
      await feed(cloud, { epoch: NEXT, live: [60, 500], earlier: [1, 40] });
      await feed(cloud, { id: "boat-002", live: [2, 30], earlier: [1, 1] });
    }
    await work({ folder, data, url, frameStore: { store, cache: new ObjectCache({ store }) } });
  });
}

const migrate = (...args: string[]) => runCloudCommand(["store", "migrate", ...args]);

function reportsOf({ out }: CommandAnswer): { ok: boolean; boats: { id: string; frames: number; faults: string[] }[] } {
  return JSON.parse(out);
}

const seqsOf = (frames: readonly { seq: number }[]) => frames.map(({ seq }) => seq);

Deno.test(
  "vbg-cloud store migrate copies every frame into a store and back, with epochs and their order",
  CLOUD,
  () =>
    inPlaces(async ({ folder, data, url, frameStore: { store } }) => {
      const into = await migrate(data, url);
      assert.deepEqual([into.code, into.err], [0, ""]);
      const frames = FED.former.length + FED.current.length;
      assert.deepEqual(reportsOf(into).boats.map(({ id, frames, faults }) => ({ id, frames, faults })), [
        { id: BOAT, frames, faults: [] },
        { id: "boat-002", frames: 30, faults: [] },
      ]);
      const all = [...FED.former, ...FED.current].sort((a, b) => a - b);
      assert.deepEqual(await framesOfStore(store, { folder }), all.map(wanted));
      const epochs: string[] = [];
      for await (const page of store.list({ prefix: epochsPrefix(BOAT) })) {
        for (const { key } of page) epochs.push(new TextDecoder().decode(await store.get(key)));
      }
      assert.deepEqual(epochs, [EPOCH.toHex(), NEXT.toHex()]);

      const back = await migrate(url, `${folder}/again`, "-json=false");
      assert.equal(back.code, 0, back.err);
      assert.match(
        back.out,
        /^boat-001: 4 files copied, 1282 frames on both sides: OK\nboat-002: .* 30 frames .*: OK\n/,
      );
      assert.match(back.out, /Start the cloud without -store\n$/);
      assert.deepEqual(await framesIn(`${folder}/again/${BOAT}`), all.map(wanted));
      await using cloud = await CloudFixture.start(`${folder}/again`);
      const features = ["batch", "void", "bus", "quiet-status", "former"];
      const former = [{ epoch: EPOCH, head: 900, oldest: 1, void: [], lost: [] }];
      const { response } = await cloud.greeted({ epoch: NEXT, headSeq: 500, features, former });
      assert.deepEqual(response.holes, [{ start: 41, end: 60 }]);
      assert.deepEqual(response.formerHoles?.[0]?.holes, [{ start: 1, end: 51 }, { start: 151, end: 200 }]);
    }),
);

Deno.test(
  "a migration can be run again, and a cloud with the store deletes what was copied",
  CLOUD,
  () =>
    inPlaces(async ({ folder, data, url, frameStore }) => {
      for (let i = 0; i < 2; i++) assert.equal((await migrate(data, url)).code, 0);
      for (let i = 0; i < 2; i++) assert.equal((await migrate(url, `${folder}/again`)).code, 0);
      await using cloud = await CloudFixture.start(data, { frameStore });
      for (let i = 0; i < 2; i++) await cloud.boat.ship();
      assert.deepEqual(await framesIn(`${data}/${BOAT}`), []);
      assert.deepEqual(cloud.boat.record.counters.vanishedFrames, 0);
      assert.equal((await framesOfStore(frameStore.store, { folder })).length, 1282);
    }),
);

Deno.test(
  "what is damaged on one side is named, its frames are missing on the other, and the exit code is 1",
  CLOUD,
  () =>
    inPlaces(async ({ folder, data, url, frameStore: { store } }) => {
      assert.equal((await migrate(data, url)).code, 0);
      let damaged = "";
      for await (const page of store.list({ prefix: `instances/${BOAT}/${NEXT.toHex()}/` })) damaged = page[0]!.key;
      const bytes = await Deno.readFile(`${folder}/store/${damaged}`);
      bytes[bytes.length - 40]! ^= 1;
      await Deno.writeFile(`${folder}/store/${damaged}`, bytes);
      const back = await migrate(url, `${folder}/again`);
      assert.equal(back.code, 1);
      const [boat, other] = reportsOf(back).boats;
      assert.deepEqual([boat?.faults[0], other?.faults], [`${damaged}: damaged, left out`, []]);
      const found = seqsOf(await framesIn(`${folder}/again/${BOAT}`));
      assert.deepEqual(found, [...FED.former, ...range(60, 500)].sort((a, b) => a - b));
      await using cloud = await CloudFixture.start(`${folder}/again`);
      const { response } = await cloud.greeted({ epoch: NEXT, headSeq: 500 });
      assert.deepEqual(response.holes, [{ start: 1, end: 60 }]);
    }),
);

Deno.test(
  "an old data directory is not copied beside a newer epoch, and a wrong place is refused before anything changes",
  CLOUD,
  () =>
    inPlaces(async ({ folder, data, url, frameStore }) => {
      {
        await using cloud = await CloudFixture.start(`${folder}/newer`, { frameStore });
        await feed(cloud, { epoch: new Uint8Array(16).fill(0xc3), live: [2, 10], earlier: [1, 1] });
        await cloud.boat.ship();
      }
      const into = await migrate(data, url, "-boat", BOAT);
      assert.equal(into.code, 1);
      assert.match(reportsOf(into).boats[0]?.faults[0] ?? "", /the store has a newer epoch of it, c3c3/);
      assert.equal((await framesOfStore(frameStore.store, { folder })).length, 10);
      const cases: [args: string[], why: RegExp][] = [
        [[data], /expected a data directory and the URL of a store, FROM TO/],
        [[url, url], /expected a data directory and the URL/],
        [[`${folder}/nowhere`, url], /Cannot read ".*nowhere"/],
        [[data, "s3://B"], /expected s3:\/\/BUCKET\/PREFIX/],
        [[data, url, "-boat", "x"], /has no such boat/],
      ];
      for (const [args, why] of cases) {
        const { code, err } = await migrate(...args);
        assert.match(err, why);
        assert.equal(code, 2);
      }
      await using _cloud = await CloudFixture.start(data);
      const { code, err } = await migrate(data, url);
      assert.deepEqual([code, /it is used by another process/.test(err)], [1, true], err);
    }),
);

Deno.test(
  "vbg dump, export and audit read a boat from a store as from its directory",
  CLOUD,
  () =>
    inPlaces(async ({ data, url }) => {
      assert.equal((await migrate(data, url)).code, 0);
      const lines = async (...args: string[]) => {
        const { code, out, err } = await runCommand(["dump", ...args, "-json"]);
        assert.equal(code, 0, err);
        return out.trimEnd().split("\n").map((line): { seq: number; ts: string } => JSON.parse(line));
      };
      const local = await lines(`${data}/${BOAT}`);
      assert.deepEqual(await lines(url, "-boat", BOAT), local);
      const byNumber = (frames: typeof local) => seqsOf(frames).sort((a, b) => a - b);
      assert.deepEqual(byNumber(local), [...FED.former, ...FED.current].sort((a, b) => a - b));
      const start = local.find(({ seq }) => seq === 500)!.ts;
      assert.deepEqual(byNumber(await lines(url, "-boat", BOAT, "-start", start)), [500, ...range(500, 900)]);
      const rows = async (...args: string[]) => {
        const { code, out, err } = await runCommand(["export", ...args]);
        assert.equal(code, 0, err);
        return out;
      };
      assert.equal(await rows(url, "-boat", BOAT), await rows(`${data}/${BOAT}`));
      const unchosen = await runCommand(["dump", url]);
      assert.equal(unchosen.code, 2);
      assert.match(unchosen.err, /Cannot choose a boat with -boat: .*: boat-001, boat-002/);

      const audit = (...args: string[]) => runCommand(["audit", "-boat", `${data}/${BOAT}`, "-json=false", ...args]);
      const good = await audit("-cloud", url, "-instance-id", BOAT);
      assert.deepEqual(
        [good.code, /\nmissing 0, extra 0, different 0\n/.test(good.out)],
        [0, true],
        good.out + good.err,
      );
      const other = await audit("-cloud", url, "-instance-id", "boat-002");
      assert.equal(other.code, 1);
      assert.match(other.out, /same 0\n {2}missing/);
      const misplaced = await audit("-cloud", `${data}/${BOAT}`, "-instance-id", BOAT);
      assert.match(misplaced.err, /Cannot use -instance-id without an object store/);
    }),
);

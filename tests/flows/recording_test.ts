// What a boat records, across orderly and other ends, as software that knows the reference of the format alone reads it.
import assert from "node:assert/strict";
import { setImmediate } from "node:timers";
import type { Frame } from "../../src/frame/mod.ts";
import { TestBoat } from "../support/boat.ts";
import { eventually } from "../support/eventually.ts";
import { readJournal } from "../support/journal_run.ts";
import { type LpjFrame, readLpj } from "../support/minimal_lpj_reader.ts";
import { needs } from "../support/needs.ts";

const FILES = needs({ permissions: ["read", "write"] });

/** Directories of a test, gone when it ends. */
async function directories(): Promise<AsyncDisposable & { journal: string; state: string }> {
  const root = await Deno.makeTempDir();
  const [journal, state] = [`${root}/journal`, `${root}/state`];
  await Deno.mkdir(state);
  return { journal, state, [Symbol.asyncDispose]: () => Deno.remove(root, { recursive: true }) };
}

async function recorded(journal: string): Promise<{ frames: LpjFrame[]; models: Set<string> }> {
  const names = Array.from(Deno.readDirSync(journal), ({ name }) => name).filter((name) => name.endsWith(".lpj"))
    .sort();
  const frames: LpjFrame[] = [];
  const models = new Set<string>();
  for (const name of names) {
    for (const block of readLpj(await Deno.readFile(`${journal}/${name}`)).blocks) {
      frames.push(...block.frames);
      for (const device of block.devices) models.add(device.texts[0] ?? "");
    }
  }
  return { frames, models };
}

Deno.test(
  "everything that is heard is recorded, with the devices, and numbers go on after a restart",
  FILES,
  async () => {
    await using places = await directories();
    const journal = { directory: places.journal, stateDirectory: places.state };
    for (let run = 0; run < 3; run++) {
      const boat = await TestBoat.start({ journal });
      boat.claim(35, { uniqueNumber: 7 });
      boat.product(35, "GPS 24xd");
      for (let count = 0; count < 100; count++) boat.say({ src: 35, data: [run, count, 0, 0, 0, 0, 0, 0] });
      await eventually("all frames", () => boat.boat.broker.head === (run + 1) * 102);
      await boat.boat.stop();
    }
    const { frames, models } = await recorded(places.journal);
    assert.deepEqual(frames.map(({ seq }) => Number(seq)), Array.from({ length: 306 }, (_, index) => index + 1));
    const said = frames.filter(({ pgn }) => pgn === 127250).map(({ data }) => data.slice(0, 4));
    assert.deepEqual(
      said,
      Array.from(
        { length: 300 },
        (_, index) => [Math.floor(index / 100), index % 100].map((byte) => byte.toString(16).padStart(2, "0")).join(""),
      ),
    );
    assert.ok(models.has("GPS 24xd"));
  },
);

Deno.test("each block says what every bus had received and dropped when it began", FILES, async () => {
  await using places = await directories();
  const journal = { directory: places.journal, stateDirectory: places.state, blockBytes: 4096 };
  const boat = await TestBoat.start({ journal, names: ["can0", "can1"] });
  for (let count = 0; count < 1200; count++) {
    boat.say({ bus: count % 3 === 0 ? 1 : 0 });
    // What several buses deliver in one turn is counted at once, and numbered when the turn ends.
    while (boat.boat.broker.head <= count) await new Promise((resolve) => setImmediate(resolve));
  }
  await eventually("all frames", () => boat.boat.broker.head === 1200);
  await boat.boat.stop();
  const { blocks, frames } = readJournal(places.journal);
  assert.ok(blocks.length > 3);
  for (const { firstSeq, metadata } of blocks) {
    const came = frames.filter(({ seq }) => seq <= firstSeq);
    const counts = [0, 1].map((each) => {
      const received = came.filter(({ bus }) => bus === each).length;
      // The first frame of the block has come, and is on its way.
      const waiting = came.at(-1)?.bus === each ? 1 : 0;
      const [inMessages, numbered] = [received - waiting, received - waiting];
      const fates = { inMessages, incomplete: {}, waiting, numbered, unrecorded: 0 };
      return { received, dropped: 0, incomplete: {}, fates };
    });
    assert.deepEqual(metadata.counts, counts);
  }
});

Deno.test("without its state a boat does not take up numbers that it cannot know", FILES, async () => {
  await using places = await directories();
  const journal = { directory: places.journal, stateDirectory: places.state };
  const first = await TestBoat.start({ journal });
  first.say();
  await eventually("the frame", () => first.boat.broker.head === 1);
  await first.boat.stop();
  await Deno.remove(`${places.state}/head.json`);
  const second = await TestBoat.start({ journal });
  second.say();
  await eventually("the frame", () => second.boat.broker.head === 1);
  await second.boat.stop();
  const { frames } = await recorded(places.journal);
  assert.deepEqual(frames.map(({ seq }) => seq), [1n, 1n], "two epochs, both from 1");
});

Deno.test("a second server does not write into the journal of the first", FILES, async () => {
  await using places = await directories();
  const journal = { directory: places.journal, stateDirectory: places.state };
  const first = await TestBoat.start({ journal });
  await assert.rejects(TestBoat.start({ journal }), /used by another process|in use/);
  await first.boat.stop();
});

Deno.test("a journal that cannot be written is told by health and metrics, and the server goes on", FILES, async () => {
  await using places = await directories();
  const journal = { directory: places.journal, stateDirectory: places.state, syncIntervalMs: 50 };
  await using boat = await TestBoat.start({ journal });
  const health = async () => await (await boat.raw("/healthz")).text();
  assert.match(await health(), /"journal":\{"status":"ok"\}/);
  const file = `${places.state}/file`;
  await Deno.writeTextFile(file, "");
  // In one turn: a directory that is not there is made again.
  Deno.removeSync(places.journal, { recursive: true });
  Deno.renameSync(file, places.journal);
  boat.say();
  await eventually(
    "health that tells",
    async () => /"journal":\{"status":"unhealthy","message":"cannot be written/.test(await health()),
  );
  assert.equal((await boat.raw("/healthz")).status, 503);
  await using events = await boat.events();
  boat.say({ src: 77 });
  await eventually("the frame", () => events.frames.some(({ src }) => src === 77));
  assert.match(await (await boat.raw("/metrics")).text(), /vbg_journal_lost_frames_total \d/);
  await Deno.remove(places.journal);
  await eventually("recording again", async () => /"journal":\{"status":"degraded".* made again/.test(await health()));
  assert.equal(await boat.metric("vbg_journal_recording"), 1);
});

Deno.test(
  "files beyond the size that is allowed are deleted, the oldest first, and history goes on without them",
  FILES,
  async () => {
    await using places = await directories();
    const retention = { maxBytes: 20_000, softPercent: 80, overflow: "delete-unarchived", archive: "off" } as const;
    const journal = {
      directory: places.journal,
      stateDirectory: places.state,
      blockBytes: 4096,
      compression: "none" as const,
      rotateBytes: 1,
      retention,
    };
    const boat = await TestBoat.start({ journal });
    for (let count = 0; count < 6000; count++) boat.say({ data: [count & 0xff, count >> 8, 0, 0, 0, 0, 0, 0] });
    await eventually("all frames", () => boat.boat.broker.head === 6000);
    const files = () =>
      Array.from(Deno.readDirSync(places.journal), ({ name }) => name).filter((name) => name.endsWith(".lpj"));
    const first = await eventually("a file", () => files().sort()[0]);
    await eventually("its end", () => !files().includes(first) && files().length <= 5);
    await boat.boat.stop();
    const { frames } = await recorded(places.journal);
    assert.equal(frames.at(-1)?.seq, 6000n);
    assert.ok(frames.length < 6000 && frames.length > 200, `${frames.length} frames are left`);
  },
);

Deno.test("history gives what was recorded before a restart, and what is not in a file yet", FILES, async () => {
  await using places = await directories();
  const journal = { directory: places.journal, stateDirectory: places.state };
  const first = await TestBoat.start({ journal });
  for (let count = 0; count < 50; count++) first.say({ src: 3, data: [1, count, 0, 0, 0, 0, 0, 0] });
  await eventually("its frames", () => first.boat.broker.head === 50);
  await first.boat.stop();
  await using second = await TestBoat.start({ journal, maxHistory: 1000 });
  for (let count = 0; count < 10; count++) second.say({ src: 3, data: [2, count, 0, 0, 0, 0, 0, 0] });
  await eventually("more frames", () => second.boat.broker.head === 60);
  const frames = await second.get<Frame[]>("/history?from=2000-01-01T00:00:00Z&src=3");
  assert.deepEqual(frames.map(({ seq }) => seq), Array.from({ length: 60 }, (_, index) => index + 1));
  assert.equal((await second.raw("/history?from=2000-01-01T00:00:00Z&limit=1001")).status, 400);
  await using none = await TestBoat.start();
  assert.equal((await none.raw("/history?from=2000-01-01T00:00:00Z")).status, 503);
});

Deno.test(
  "when no more numbers can be reserved, a new epoch begins, and both runs of numbers are recorded",
  FILES,
  async () => {
    await using places = await directories();
    const journal = { directory: places.journal, stateDirectory: places.state, reserve: 64 };
    await using boat = await TestBoat.start({ journal });
    boat.say();
    await eventually("the frame", () => boat.boat.broker.head === 1);
    await Deno.remove(places.state, { recursive: true });
    await using events = await boat.events();
    for (let count = 0; count < 200; count++) boat.say({ data: [count, 0, 0, 0, 0, 0, 0, 0] });
    await eventually("the last frame", () => events.frames.at(-1)?.data.startsWith("c7"));
    assert.equal(events.frames.length, 200, "clients get every frame");
    assert.ok(boat.boat.broker.head < 200, "numbers began at 1 again");
    const values = await boat.get<{ seq: number }[]>("/values");
    assert.ok(JSON.stringify(values).includes(`"seq":${boat.boat.broker.head}`));
    const health = await (await boat.raw("/healthz")).text();
    assert.match(health, /"numbers":\{"status":"degraded","message":"sequence numbers cannot be reserved on disk: /);
    const history = await boat.get<{ seq: number; data: string }[]>("/history?from=2000-01-01T00:00:00Z");
    assert.equal(history.length, 201, "so does history");
    assert.deepEqual(
      history.slice(1).map(({ seq, data }) => [seq, data]),
      events.frames.map(({ seq, data }) => [seq, data]),
    );
    assert.match(await (await boat.raw("/metrics")).text(), /vbg_journal_lost_frames_total 0/);
  },
);

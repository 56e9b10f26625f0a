// A boat has recorded with a wrong clock, and sends how its times are corrected.
import assert from "node:assert/strict";
import { type ClockSpan, epochWordOf } from "../../src/journal/mod.ts";
import { ObjectCache } from "../../src/cloud/mod.ts";
import { openStore } from "../../src/object_store/mod.ts";
import { eventually } from "../support/eventually.ts";
import { inFolder } from "../support/folder.ts";
import { framesOf } from "../support/journal_files.ts";
import { START_US } from "../support/messages.ts";
import { needs } from "../support/needs.ts";
import { EPOCH } from "./block_check_fixture.ts";
import { batch, CloudFixture, openReplica, wanted } from "./cloud_fixture.ts";

const CLOUD = needs({ permissions: ["net", "read", "write", "env", "sys"] });
const FRAMES = 100;

/** From a frame on the clock was wrong by so much, microseconds. */
function span(firstSeq: number, byUs: number, epoch: Uint8Array = EPOCH): ClockSpan {
  const frames = { epochWord: epochWordOf(epoch), firstSeq, lastSeq: undefined };
  return { ...frames, recordedUs: START_US, trueUs: START_US + byUs, rate: 1 };
}

/** Sends frames to `last`, and corrections; returns when both are here. */
async function send(cloud: CloudFixture, { first, last, spans }: { first: number; last: number; spans: ClockSpan[] }) {
  const live = (await cloud.greeted({ headSeq: first })).client.live();
  await live.send(batch(first, last));
  await live.send({ kind: "clock", spans });
  await eventually("the frames", () => cloud.boat.acknowledge() >= last);
  live.end();
  await eventually("the end of the stream", () => !cloud.boat.connected);
}

/** Number and time of each frame as readers get them. */
async function timesIn(cloud: CloudFixture): Promise<[seq: number, timeUs: number][]> {
  const { index } = await cloud.boat.replica();
  const times: [number, number][] = [];
  for await (const block of index.blocks({ fromSeq: 1, isCorrected: true })) {
    for (const { seq, timeUs } of framesOf(block)) times.push([seq, timeUs]);
  }
  return times;
}

/** What they are from a number on if each clock was wrong by so much. */
function corrected(last: number, byUs: (seq: number) => number): [seq: number, timeUs: number][] {
  return Array.from({ length: last }, (_, i) => [i + 1, wanted(i + 1).timeUs + byUs(i + 1)]);
}

Deno.test(
  "readers of a cloud get the times as the boat corrects them, also after a restart",
  CLOUD,
  () =>
    inFolder(async (folder) => {
      {
        await using cloud = await CloudFixture.start(folder, { openReplica });
        await send(cloud, { first: 1, last: FRAMES, spans: [span(1, 7_000_000)] });
        assert.deepEqual(await timesIn(cloud), corrected(FRAMES, () => 7_000_000));
        // The boat has found more; what it found in another epoch stays.
        const other = new Uint8Array(16).fill(0x77);
        await send(cloud, { first: FRAMES + 1, last: FRAMES + 2, spans: [span(1, 5, other)] });
        assert.deepEqual(await timesIn(cloud), corrected(FRAMES + 2, () => 0), "the clock was right after all");
        await send(cloud, { first: FRAMES + 3, last: FRAMES + 3, spans: [span(1, 9_000_000)] });
        const { clock: { spans } } = (await cloud.boat.replica()).index;
        assert.deepEqual(spans.all.map(({ epochWord }) => epochWord), [epochWordOf(other), epochWordOf(EPOCH)]);
      }
      await using cloud = await CloudFixture.start(folder, { openReplica });
      assert.deepEqual(await timesIn(cloud), corrected(FRAMES + 3, () => 9_000_000));
    }),
);

Deno.test(
  "a node with an empty disk, and one that had the boat before, correct times as the last node did",
  CLOUD,
  () =>
    inFolder(async (folder) => {
      using store = await openStore({ url: `file://${folder}/store` });
      const start = (node: string) =>
        CloudFixture.start(`${folder}/${node}`, {
          frameStore: { store, cache: new ObjectCache({ store }), node },
          openReplica,
        });
      const found = { first: 5_000_000, second: 6_000_000 };
      {
        await using cloud = await start("one");
        await send(cloud, { first: 1, last: FRAMES, spans: [span(1, found.first)] });
        await cloud.boat.ship();
      }
      {
        await using cloud = await start("two");
        await send(cloud, { first: FRAMES + 1, last: 2 * FRAMES, spans: [span(1, found.second)] });
        await cloud.boat.ship();
      }
      for (const node of ["one", "three"]) {
        await using cloud = await start(node);
        assert.deepEqual(await timesIn(cloud), corrected(2 * FRAMES, () => found.second), node);
      }
    }),
);

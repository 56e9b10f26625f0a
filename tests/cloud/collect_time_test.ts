import assert from "node:assert/strict";
import { FakeClock } from "../support/fake_clock.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";
import { CloudFixture, openReplicasWith, statusWith } from "./cloud_fixture.ts";

const CLOUD = needs({ permissions: ["net", "read", "write", "env", "sys"] });
const COLLECT_MS = 700;

/** A cloud whose boats have replicas. */
async function withCloud(run: (cloud: CloudFixture, clock: FakeClock) => Promise<void>): Promise<void> {
  await inFolder(async (folder) => {
    const clock = new FakeClock();
    await using cloud = await CloudFixture.start(folder, {
      clock,
      settings: { collectMs: COLLECT_MS },
      openReplica: openReplicasWith(clock),
    });
    await run(cloud, clock);
  });
}

Deno.test(
  "a boat may collect frames while nobody reads it, and a reader changes that within a second",
  CLOUD,
  () =>
    withCloud(async (cloud, clock) => {
      const live = (await cloud.greeted()).client.live();
      assert.equal((await statusWith(live, () => true)).collectMs, COLLECT_MS);
      const letGo = (await cloud.boat.replica()).hold();
      // The clock stands still: no other status is due.
      assert.equal((await statusWith(live, () => true)).collectMs, undefined);
      letGo();
      clock.advance(60_000);
      assert.equal((await statusWith(live, () => true)).collectMs, COLLECT_MS);
    }),
);

Deno.test(
  "a boat without a journal never collects frames for longer than it likes",
  CLOUD,
  () =>
    withCloud(async (cloud) => {
      const live = (await cloud.greeted({ journalBytes: 0 })).client.live();
      assert.equal((await statusWith(live, () => true)).collectMs, undefined);
    }),
);

// A node that crashes, and starts while the store is away, knows the frames that it has stored.
import assert from "node:assert/strict";
import { type FrameStore, ObjectCache } from "../../../src/cloud/mod.ts";
import { openStore } from "../../../src/object_store/mod.ts";
import { eventually } from "../../support/eventually.ts";
import { copyAsCrashed, inFolder } from "../../support/folder.ts";
import { journalFiles } from "../../support/journal_run.ts";
import { needs } from "../../support/needs.ts";
import { WrappedStore } from "../../support/wrapped_store.ts";
import { batch, BOAT, CloudFixture } from "../cloud_fixture.ts";

const CLOUD = needs({ permissions: ["net", "read", "write", "env", "sys"] });
/** Frames of each part that is stored for itself, and of all. */
const [PART, LAST] = [50, 300];

for (const isInFile of [true, false]) {
  const where = isInFile ? "from files, which were deleted" : "without a file";
  Deno.test(
    `a node that crashes, and starts while the store is away, knows what it has stored ${where}`,
    CLOUD,
    () =>
      inFolder(async (folder) => {
        using disk = await openStore({ url: `file://${folder}/store` });
        const store = new WrappedStore(disk);
        const frameStore = { store, cache: new ObjectCache({ store }), isAway: () => isInFile };
        const init = { frameStore, settings: { blockBytes: 262_144 } };
        await using cloud = await CloudFixture.start(`${folder}/data`, init);
        const live = (await cloud.greeted()).client.live();
        // The handshake has saved the state, and the WAL has the last two parts.
        for (let last = PART; last <= LAST; last += PART) {
          await live.send(batch(last - PART + 1, last));
          await eventually("all to be durable", () => cloud.boat.acknowledge() === last);
          await cloud.boat.ship();
        }
        await cloud.boat.ship();
        assert.deepEqual(journalFiles(`${folder}/data/${BOAT}`), []);
        store.isAway = true;
        await eventually("a disk from which all is known", () => knowsAll(folder, frameStore));
      }),
  );
}

/** True if a crash now leaves a disk from which a node without the store knows all frames. */
async function knowsAll(folder: string, frameStore: FrameStore): Promise<boolean> {
  const copy = await Deno.makeTempDir({ dir: folder });
  copyAsCrashed(`${folder}/data`, copy);
  await using crashed = await CloudFixture.start(copy, { frameStore });
  const { durableThrough, holes } = (await crashed.greeted({ headSeq: LAST })).response;
  return durableThrough === LAST && holes.length === 0;
}

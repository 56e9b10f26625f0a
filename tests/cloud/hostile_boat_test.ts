import assert from "node:assert/strict";
import { code, TIMEOUT } from "../replication/fixture.ts";
import { eventually } from "../support/eventually.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";
import { batch, CloudFixture, type CloudInit, request, statusWith } from "./cloud_fixture.ts";

const CLOUD = needs({ permissions: ["net", "read", "write", "env", "sys"] });

function test(name: string, run: (cloud: CloudFixture, folder: string) => Promise<void>, init: CloudInit = {}): void {
  Deno.test({
    name: `cloud, two machines or a hostile one: ${name}`,
    ...CLOUD,
    fn: () =>
      inFolder(async (folder) => {
        await using cloud = await CloudFixture.start(`${folder}/data`, init);
        await run(cloud, folder);
      }),
  });
}

const OTHER = new Uint8Array(16).fill(0xb2);

test("live frames of a run that another machine has ended meanwhile are not taken for the new run's", async (cloud) => {
  const { client: first } = await cloud.greeted({ headSeq: 5000 });
  // Between the first one's handshake and its stream.
  const { client: second } = await cloud.greeted({ epoch: OTHER });
  const late = first.live();
  await late.send(batch(5000, 5010));
  await assert.rejects(statusWith(late, () => true), code("FAILED_PRECONDITION", /handshake/));
  const live = second.live();
  await live.send(batch(1, 10));
  await eventually("all of the second", () => cloud.boat.acknowledge() === 10);
  const { receivedThrough, counters } = cloud.boat.summary();
  assert.deepEqual([receivedThrough, counters.duplicateFrames], [10, 0]);
  await assert.rejects(
    first.handshake(request({ headSeq: 5010 }), TIMEOUT),
    code("FAILED_PRECONDITION", /two machines/),
  );
});

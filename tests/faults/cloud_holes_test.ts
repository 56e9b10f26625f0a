import assert from "node:assert/strict";
import { eventually, pause } from "../support/eventually.ts";
import { environment } from "../support/needs.ts";
import { PROCESSES } from "../support/replication_faults.ts";
import { Random } from "../support/random.ts";
import { ReplicationLab } from "../support/replication_lab.ts";
import { SessionClient } from "../support/session.ts";
import { SseClient } from "../support/sse_client.ts";

const ROUNDS = Number(environment("VBG_TEST_ROUNDS") ?? 3);

/** What a stream says of numbers that it does not bring. */
interface Dropped {
  from_seq: number;
  to_seq: number;
  count: number;
  backfill?: boolean;
}

Deno.test({
  name: `over ${ROUNDS} link outages a session in the cloud gets every frame that was fed once and in order, ` +
    "and a live stream says how many it has passed over",
  ...PROCESSES,
  fn: async () => {
    const random = new Random(97);
    await using lab = await ReplicationLab.start();
    await lab.connected();
    // Everything so far has come live.
    const before = await lab.converged();
    const base = `${lab.url("cloud")}/instances/boat-1`;
    const session = new SessionClient(base);
    assert.equal((await session.put()).cursor, before.cursor + 1);
    await using frames = await session.events();
    await using live = await SseClient.open(`${base}/events`);
    const fedBefore = lab.feed.count;
    lab.feed.rate = 400;
    for (let round = 0; round < ROUNDS; round++) {
      const until = lab.feed.count + random.between(100, 600);
      await eventually("traffic", () => lab.feed.count >= until);
      lab.proxy.mode = "swallow";
      lab.proxy.cut(random.pick(["fin", "rst"]));
      await pause(random.int(1000));
      lab.proxy.mode = "pass";
      // A try of meanwhile would wait for its answer.
      lab.proxy.cut("rst");
      await lab.connected();
    }
    const { cursor: head } = await lab.converged();
    const fed = lab.feed.count - fedBefore;
    await eventually("the session's last frame", () => frames.frames.at(-1)?.seq === head);
    assert.deepEqual(
      frames.frames.map(({ seq }) => seq),
      Array.from({ length: fed }, (_, i) => before.cursor + 1 + i),
    );
    assert.deepEqual(frames.named("dropped"), []);
    await eventually("the stream's last frame", () => live.frames.at(-1)?.seq === head);
    const dropped = live.named<Dropped>("dropped");
    assert.ok(dropped.length > 0 && dropped.every(({ backfill }) => backfill === true), JSON.stringify(dropped));
    const passed = dropped.reduce((sum, { count }) => sum + count, 0);
    assert.equal(live.frames.length + passed, fed);
    // Each jump between two frames is told, and nothing else is.
    const jumps = live.frames.flatMap(({ seq }, i) => {
      const last = live.frames[i - 1]?.seq ?? before.cursor;
      return seq === last + 1 ? [] : [{ from_seq: last + 1, to_seq: seq - 1, count: seq - last - 1, backfill: true }];
    });
    assert.deepEqual(dropped, jumps);
  },
});

import assert from "node:assert/strict";
import { type ClockSpan, epochWordOf } from "../../src/journal/mod.ts";
import { RpcError } from "../../src/replication/mod.ts";
import { eventually, pause } from "../support/eventually.ts";
import { EPOCH, seenOf } from "../support/journal_run.ts";
import { START_US } from "../support/messages.ts";
import { TcpProxy } from "../support/tcp_proxy.ts";
import { assertFrames, LINK, type LinkedBoat, LinkFixture, seqs } from "./boat_link_fixture.ts";

/** A boat that may collect frames for minutes; its first frame is in the cloud. */
async function collectingBoat(fixture: LinkFixture): Promise<LinkedBoat> {
  fixture.cloud.collectMs = 10 * 60_000;
  const boat = await fixture.boat();
  boat.link.start();
  await eventually("the connection", () => boat.link.status().connected);
  boat.bring(1);
  await eventually("the first answer", () => boat.link.status().cloud_cursor === 1);
  return boat;
}

Deno.test("a boat introduces itself, and every frame comes to the cloud as the bus brought it", LINK, async () => {
  await LinkFixture.run(async (fixture) => {
    const { cloud } = fixture;
    await using boat = await fixture.boat({ journal: await fixture.journalFolder() });
    boat.link.start();
    await eventually("the connection", () => boat.link.status().connected);
    const head = boat.bring(3000);
    await eventually("all frames", () => cloud.frames.size === head);
    assertFrames(cloud, seqs(1, head));
    assert.deepEqual(cloud.twice, []);
    assert.ok(cloud.batches.some((count) => count > 1), "frames of one moment come together");
    assert.deepEqual(cloud.requests, [{
      instanceId: "boat-001",
      headSeq: 0,
      journalBytes: 4711,
      epoch: EPOCH,
      features: ["batch", "void", "bus", "quiet-status"],
      void: [],
      oldestSeq: 0,
      busNames: ["can0", "can1"],
      lost: [],
    }]);
    const status = await eventually("the acknowledgement", () => {
      const now = boat.link.status();
      return now.cloud_durable_seq === head && now;
    });
    assert.match(status.last_ack ?? "", /^\d{4}-\d\d-\d\dT/);
    assert.equal(status.live_frames_sent, head);
    assert.equal(status.live_lag, 0);
    assert.equal(status.cloud_cursor, head);
    assert.deepEqual(boat.link.health(), { status: "ok" });
    await boat.link.stop();
    await eventually("an end in good order", () => cloud.endings.includes("live"));
    assert.equal(boat.link.status().state, "disconnected");
  });
});

Deno.test("what the cloud missed is filled from the journal, the open block included", LINK, async () => {
  await LinkFixture.run(async (fixture) => {
    const { cloud } = fixture;
    await using boat = await fixture.boat({ journal: await fixture.journalFolder(), ringFrames: 64 });
    boat.bring(5000);
    boat.link.start();
    await eventually("the connection", () => boat.link.status().connected);
    const head = boat.bring(50);
    await eventually("all frames", () => cloud.frames.size === head);
    assertFrames(cloud, seqs(1, head));
    const status = await eventually("the end of the backfill", () => {
      const now = boat.link.status();
      return cloud.endings.includes("backfill") && now.cloud_cursor === head && now;
    });
    assert.deepEqual(status.holes, []);
    assert.equal(status.backfill_remaining_seqs, 0);
    assert.equal(status.backfill_blocks_sent, cloud.blocks.length);
    assert.equal(cloud.requests.length, 1);
    assert.deepEqual(cloud.frames.get(1), seenOf(1));
  });
});

Deno.test("frames that come soon after one another go out together", LINK, async () => {
  await LinkFixture.run(async (fixture) => {
    const { cloud } = fixture;
    await using boat = await fixture.boat();
    boat.link.start();
    await eventually("the connection", () => boat.link.status().connected);
    for (let i = 0; i < 50; i++) {
      boat.bring(1);
      await pause();
    }
    await eventually("all frames", () => cloud.frames.size === 50);
    assertFrames(cloud, seqs(1, 50));
    assert.ok(cloud.batches.length < 50, `${cloud.batches.length} messages`);
  });
});

Deno.test(
  "a boat collects frames for as long as the cloud allows, and at most briefly when it no longer does",
  LINK,
  async () => {
    await LinkFixture.run(async (fixture) => {
      const { cloud } = fixture;
      await using boat = await collectingBoat(fixture);
      const bringSlowly = async () => {
        for (let i = 0; i < 50; i++) {
          boat.bring(1);
          await pause(10);
        }
      };
      await bringSlowly();
      const collected = cloud.batches.length;
      assert.ok(collected < 10, `${collected} messages`);
      cloud.collectMs = 0;
      await cloud.acknowledge();
      await bringSlowly();
      await eventually("all frames", () => cloud.frames.size === 101);
      assert.ok(cloud.batches.length - collected > 10, `${cloud.batches.length} messages`);
      assertFrames(cloud, seqs(1, 101));
    });
  },
);

Deno.test("a boat with a busy bus does not collect thousands of frames, however long it may", LINK, async () => {
  await LinkFixture.run(async (fixture) => {
    const { cloud } = fixture;
    await using boat = await collectingBoat(fixture);
    for (let i = 0; i < 100; i++) {
      boat.bring(100);
      await pause(10);
    }
    await eventually("all frames", () => cloud.frames.size === 10_001);
    assert.ok(cloud.batches.length > 10, `${cloud.batches.length} messages`);
  });
});

Deno.test(
  "corrections of times come at the begin of a stream, and again only when they have changed",
  LINK,
  async () => {
    await LinkFixture.run(async (fixture) => {
      const { cloud } = fixture;
      await using boat = await fixture.boat({ journal: await fixture.journalFolder(), link: { statusEveryMs: 20 } });
      const spans = boat.journal?.index.clock.spans;
      const first: ClockSpan = {
        ...{ epochWord: epochWordOf(EPOCH), firstSeq: 1, lastSeq: undefined },
        ...{ recordedUs: 60_000_000, trueUs: START_US, rate: 1.00002 },
      };
      const next = { ...first, firstSeq: 7 };
      const connected = () => eventually("the connection", () => boat.link.status().connected);
      const statuses = (count: number) => eventually("statuses", () => cloud.statuses.length >= count);
      boat.link.start();
      await connected();
      await statuses(3);
      assert.deepEqual(cloud.clocks, [], "there are none");
      spans?.replace([first]);
      await eventually("the first", () => cloud.clocks.length === 1);
      await statuses(cloud.statuses.length + 3);
      spans?.replace([{ ...first, lastSeq: 6 }, next]);
      await eventually("the next", () => cloud.clocks.length === 2);
      for (const stream of cloud.streams) stream.fail(new RpcError("UNAVAILABLE", "away"));
      await eventually("all of them", () => cloud.clocks.length === 3);
      const both = [{ ...first, lastSeq: 6 }, next];
      assert.deepEqual(cloud.clocks, [[first], both, both]);
    });
  },
);

Deno.test("what came while the boat connected is sent beside the rate, and what comes later is not", LINK, async () => {
  await LinkFixture.run(async (fixture) => {
    const { cloud } = fixture;
    cloud.over = () => ({ liveStartFrom: 1, holes: [], rateLimit: 1, rateBurst: 2 });
    await using boat = await fixture.boat();
    const head = boat.bring(3000);
    boat.link.start();
    await eventually("all frames up to the head", () => cloud.frames.size === head);
    boat.bring(3000);
    await eventually("the next frame", () => cloud.frames.size > head);
    assert.ok(cloud.frames.size < head + 100, `${cloud.frames.size} frames`);
  });
});

Deno.test("a boat that stops sends what came before", LINK, async () => {
  await LinkFixture.run(async (fixture) => {
    const { cloud } = fixture;
    cloud.over = () => ({ rateLimit: 20_000, rateBurst: 100 });
    await using boat = await fixture.boat({ journal: await fixture.journalFolder() });
    boat.link.start();
    await eventually("the connection", () => boat.link.status().connected);
    // More than may go at once, and a batch that waits for others.
    for (const count of [250, 3, 1]) boat.bring(count);
    const head = boat.broker.head;
    await boat.link.stop();
    assertFrames(cloud, seqs(1, head));
    assert.deepEqual(cloud.endings, ["live"]);
  });
});

Deno.test("a boat stops though the link is stalled, and the rest comes when it is there again", LINK, async () => {
  await LinkFixture.run(async (fixture) => {
    const { cloud, server } = fixture;
    await using proxy = await TcpProxy.start(server.port);
    await using boat = await fixture.boat({ journal: await fixture.journalFolder(), port: proxy.port });
    boat.link.start();
    await eventually("the connection", () => boat.link.status().connected);
    proxy.mode = "hold";
    const head = boat.bring(10_000);
    await boat.link.stop();
    assert.ok(!cloud.held.covers(1, head + 1));
    proxy.mode = "pass";
    boat.link.start();
    await eventually("all frames", () => cloud.held.covers(1, head + 1));
    assertFrames(cloud, seqs(1, head));
  });
});

/** A link that takes some seconds for the blocks below. */
const SLOW_BYTES_PER_SECOND = 120_000;

Deno.test("on a slow link live frames overtake the blocks of a large backfill, again and again", LINK, async () => {
  await LinkFixture.run(async (fixture) => {
    const { cloud, server } = fixture;
    await using proxy = await TcpProxy.start(server.port);
    await using boat = await fixture.boat({
      journal: await fixture.journalFolder(),
      ringFrames: 1024,
      port: proxy.port,
    });
    const missing = boat.bring(100_000);
    proxy.bytesPerSecond = SLOW_BYTES_PER_SECOND;
    boat.link.start();
    await eventually("a block", () => cloud.blocks.length > 0);
    let rounds = 0;
    while (boat.link.status().backfill_remaining_seqs > 0) {
      const newest = boat.bring(5);
      await eventually("live frames", () => cloud.frames.has(newest));
      // Blocks that were to be sent are still to come: these frames were let past.
      if (!cloud.held.covers(1, missing + 1)) rounds++;
    }
    assert.ok(rounds >= 3, `live frames came through ${rounds} times while blocks waited`);
    await eventually("everything", () => cloud.held.covers(1, boat.broker.head + 1));
    assertFrames(cloud, seqs(1, boat.broker.head));
    assert.equal(cloud.requests.length, 1);
  });
});

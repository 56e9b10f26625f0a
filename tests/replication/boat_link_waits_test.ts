import assert from "node:assert/strict";
import { parseTimestamp } from "../../src/base/mod.ts";
import { LINK_LIMITS, RpcError } from "../../src/replication/mod.ts";
import { eventually, pause } from "../support/eventually.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { assertFrames, LINK, type LinkedBoat, LinkFixture, seqs } from "./boat_link_fixture.ts";
import { packWithDictionaries } from "../support/dictionary_journal.ts";
import { journalFiles } from "../support/journal_run.ts";
import { needs } from "../support/needs.ts";

/** Frames a second that the cloud takes. */
const RATE = 200;
/** So much time passes at once. */
const STEP_MS = 100;

Deno.test(
  "a boat that lags reconnects at once, and as long as it lags not again before 30 s have passed",
  LINK,
  async () => {
    await LinkFixture.run(async (fixture) => {
      const { cloud } = fixture;
      const clock = new FakeClock();
      cloud.over = () => cloud.requests.length < 3 ? { rateLimit: RATE, rateBurst: 50 } : {};
      assert.equal(LINK_LIMITS.minLagReconnectMs, 30_000);
      await using boat = await fixture.boat({
        ...{ clock, journal: await fixture.journalFolder() },
        limits: { maxLiveLagFrames: 1000, lagCheckFrames: 10 },
        link: { statusEveryMs: 20 },
      });
      boat.link.start();
      await eventually("the connection", () => boat.link.status().connected);
      boat.bring(1500);
      // Time stands still between two looks, so the time of each reconnect is known exactly.
      const timesMs: number[] = [];
      let brought = 0;
      await eventually("the second reconnect", () => {
        const { lag_reconnects, connected, live_lag } = boat.link.status();
        if (lag_reconnects > timesMs.length) timesMs.push(clock.monoMs());
        if (lag_reconnects === 2) return true;
        if (!connected) return false;
        // It sends, is checked, and lags all the time.
        if (live_lag < 1500) brought = boat.bring(500);
        clock.advance(STEP_MS);
        return false;
      });
      const [first = NaN, second = NaN] = timesMs;
      assert.ok(first < 30_000, `the first at ${first} ms`);
      assert.ok(second - first >= 30_000, `the second ${second - first} ms later`);
      const { reason } = boat.link.status();
      assert.equal(reason, undefined, "a lag reconnect is no failure");
      await eventually("all frames", () => cloud.frames.size === brought);
      assertFrames(cloud, seqs(1, brought));
      assert.deepEqual(cloud.twice, []);
    });
  },
);

Deno.test(
  "a boat whose cloud refuses it waits 1 s, then twice as long each time up to 60 s, and 1 s again after 30 s of health",
  LINK,
  async () => {
    await LinkFixture.run(async (fixture) => {
      const { cloud } = fixture;
      const clock = new FakeClock();
      cloud.refuse = () => new RpcError("UNAVAILABLE", "not now");
      // A wait is not lengthened beyond the limit: drawn at its very end, it is the limit.
      const boatOptions = { clock, link: { statusEveryMs: 20, random: () => 1 - 1e-9 } };
      await using boat = await fixture.boat(boatOptions);
      boat.link.start();
      const failedOnce = async (requests: number): Promise<number> => {
        const { next_try } = await eventually(`refusal ${requests}`, () => {
          const status = boat.link.status();
          return cloud.requests.length === requests && status.state === "reconnecting" && status;
        });
        return Math.round((parseTimestamp(next_try ?? "") ?? NaN) / 1000 - clock.wallUs() / 1000);
      };
      const waitsMs: number[] = [];
      for (let requests = 1; requests <= 9; requests++) {
        const waitMs = await failedOnce(requests);
        waitsMs.push(waitMs);
        // Just before it is over nothing happens, however long that takes.
        clock.advance(waitMs - 5);
        await pause(30);
        assert.equal(cloud.requests.length, requests);
        if (requests === 9) cloud.refuse = undefined;
        clock.advance(6);
      }
      assert.deepEqual(waitsMs, [1200, 2400, 4800, 9600, 19_200, 38_400, 60_000, 60_000, 60_000]);
      await eventually("the connection", () => boat.link.status().connected);
      for (let healthMs = 0; healthMs < 30_000; healthMs += 10_000) {
        clock.advance(10_000);
        await eventually("a word from the cloud", () => boat.link.lastAckUs === clock.wallUs());
      }
      cloud.refuse = () => new RpcError("UNAVAILABLE", "not now");
      fixture.server.cut();
      assert.equal(await failedOnce(10), 1200);
    });
  },
);

/** RFC 9113 §7. */
const [NO_ERROR, INTERNAL_ERROR, ENHANCE_YOUR_CALM] = [0, 2, 11];

const goaways = [
  { what: "a first warning", word: "graceful_stop" },
  { what: "one for all streams", lastStream: 0 },
  { what: "one after a fault", lastStream: 1, code: INTERNAL_ERROR },
  { what: "one because of pings", code: ENHANCE_YOUR_CALM, word: "too_many_pings" },
];

for (const { what, ...goaway } of goaways) {
  Deno.test(`a cloud's GOAWAY, ${what}, is a lost link that comes back`, LINK, async () => {
    await LinkFixture.run(async (fixture) => {
      const { cloud, server } = fixture;
      await using boat = await fixture.boat();
      boat.link.start();
      await eventually("the connection", () => boat.link.status().connected);
      boat.bring(100);
      await eventually("the frames", () => cloud.frames.size === 100);
      server.goaway({ code: NO_ERROR, ...goaway });
      await eventually("the next connection", () => cloud.requests.length === 2 && boat.link.status().connected);
      const lost = boat.lines.filter((line) => line.includes("replication disconnected"));
      assert.equal(lost.length, 1);
      assert.match(lost[0]!, /UNAVAILABLE: the other side is closing the connection/);
      boat.bring(100);
      await eventually("frames on the next connection", () => cloud.frames.size === 200);
      assertFrames(cloud, seqs(1, 200));
    });
  });
}

const HEAD = 3000;
const BLOCK_BYTES = 4096;
const TOOLS = needs({ permissions: ["env", "net", "write"], programs: ["openssl", "zstd"] });

for (const hasIndex of [true, false]) {
  Deno.test(
    `blocks with dictionaries come as plain zstd, from a file ${hasIndex ? "with" : "without"} an index`,
    TOOLS,
    () =>
      LinkFixture.run(async (fixture) => {
        const { cloud, folder } = fixture;
        const journal = await fixture.journalFolder();
        {
          await using recorder = await fixture.boat({ journal, writing: { compression: "none" } });
          recorder.bring(HEAD);
        }
        const [name] = journalFiles(journal);
        const packed = await packWithDictionaries(`${journal}/${name}`, { folder, hasIndex });
        assert.ok(packed >= 10, `${packed} blocks with dictionaries`);

        await using boat = await fixture.boat({ journal, firstSeq: HEAD + 1 });
        boat.link.start();
        await eventually("all frames", () => cloud.held.covers(1, HEAD + 1));
        // The fixture unpacks them with a decoder that knows no dictionaries.
        assertFrames(cloud, seqs(1, HEAD));
        assert.ok(cloud.blocks.every(({ compressed, blockSize }) => compressed && blockSize === BLOCK_BYTES));
        assert.deepEqual(boat.link.status().lost, []);
      }),
  );
}

const AWAY = () => new RpcError("UNAVAILABLE", "the cloud is away");

async function connected(boat: LinkedBoat, clock: FakeClock): Promise<void> {
  await eventually("the connection", () => {
    boat.waitFor(clock, 200);
    return boat.link.status().connected;
  });
}

Deno.test(
  "a boat whose old image was restored sees it by what the cloud has, however far it has gone on since",
  LINK,
  async () => {
    await LinkFixture.run(async (fixture) => {
      const { cloud } = fixture;
      const clock = new FakeClock();
      cloud.held.add(1, 301);
      cloud.refuse = AWAY;
      await using boat = await fixture.boat({ firstSeq: 101, clock, journal: await fixture.journalFolder() });
      boat.link.start();
      await eventually("a try", () => cloud.requests.length > 0);
      boat.bring(400);
      cloud.refuse = undefined;
      await eventually("another run", () => {
        boat.waitFor(clock, 200);
        return boat.renewals.length > 0;
      });
      cloud.held.remove(1, 301);
      await connected(boat, clock);
      assert.deepEqual(boat.renewals, [
        "the cloud has sequence number 300 of this epoch, this boat has sent up to 100; 400 later frames stay on this boat",
      ]);
      boat.bring(50);
      await eventually("the frames of the new run", () => cloud.frames.size === 50);
      assertFrames(cloud, seqs(1, 50));
    });
  },
);

Deno.test(
  "a boat sees that somebody has sent in its name while it was cut off; what it sent itself is its own",
  LINK,
  async () => {
    await LinkFixture.run(async (fixture) => {
      const { cloud, server } = fixture;
      const clock = new FakeClock();
      await using boat = await fixture.boat({ clock, journal: await fixture.journalFolder() });
      boat.link.start();
      await connected(boat, clock);
      const cutAt = async (head: number) => {
        boat.bring(100);
        await eventually("the frames", () => cloud.held.covers(1, head + 1));
        cloud.refuse = AWAY;
        server.cut();
        await eventually("the cut", () => !boat.link.status().connected);
        boat.bring(500);
        cloud.refuse = undefined;
      };
      await cutAt(100);
      await connected(boat, clock);
      assert.deepEqual(boat.renewals, []);
      await eventually("all of it", () => cloud.held.covers(1, 601));
      await cutAt(700);
      cloud.held.add(701, 901);
      await eventually("another run", () => {
        boat.waitFor(clock, 200);
        return boat.renewals.length > 0;
      });
      assert.match(
        boat.renewals[0]!,
        /^the cloud has sequence number 900 of this epoch, this boat has sent up to 700; 500 later frames/,
      );
    });
  },
);

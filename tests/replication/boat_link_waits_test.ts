import assert from "node:assert/strict";
import { parseTimestamp } from "../../src/base/mod.ts";
import { LINK_LIMITS, RpcError } from "../../src/replication/mod.ts";
import { eventually, pause } from "../support/eventually.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { assertFrames, LINK, LinkFixture, seqs } from "./boat_link_fixture.ts";

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

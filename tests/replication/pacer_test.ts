import assert from "node:assert/strict";
import { TokenBucket } from "../../src/base/mod.ts";
import { BackfillPacer, LivePacer } from "../../src/replication/mod.ts";
import { Random } from "../support/random.ts";

Deno.test("a full bus of 2000 frames/s for ten minutes stays within a cloud's 2000 frames/s and 500 at once", () => {
  const random = new Random(1);
  const pacer = new LivePacer({ rateLimit: 2000, rateBurst: 500 });
  const cloud = new TokenBucket({ perSecond: 2000, burst: 500 });
  let [waiting, lateMs] = [0, 0];
  for (let ms = 0; ms < 600_000; ms += 5) {
    // Now and then the bus has been silent, and all comes at once.
    waiting += random.chance(0.001) ? 400 : 10;
    const taken = pacer.take(ms, waiting);
    waiting -= taken;
    // The network delays by up to 100 ms, in order.
    lateMs = Math.max(lateMs, ms + random.int(100));
    assert(taken === 0 || cloud.take(lateMs, taken), `at ${ms} ms`);
  }
});

Deno.test("live frames go out at once up to half the burst, and then at the rate", () => {
  const pacer = new LivePacer({ rateLimit: 100, rateBurst: 20 });
  assert.equal(pacer.take(0, 7), 7);
  assert.equal(pacer.take(0, 7), 3);
  assert.equal(pacer.take(0, 7), 0);
  assert.equal(pacer.waitMs, 10);
  assert.equal(pacer.take(10, 7), 1);
  assert.equal(pacer.take(1000, 50), 10);
});

Deno.test("a rate of 0 is unlimited, and a burst of 0 or 1 lets one frame through at a time", () => {
  const unlimited = new LivePacer({ rateLimit: 0, rateBurst: 0 });
  assert.equal(unlimited.take(0, 1_000_000), 1_000_000);
  assert.equal(unlimited.waitMs, 0);
  for (const rateBurst of [0, 1]) {
    const pacer = new LivePacer({ rateLimit: 10, rateBurst });
    assert.deepEqual([pacer.take(0, 5), pacer.take(50, 5), pacer.take(100, 5)], [1, 0, 1]);
  }
});

Deno.test("whatever is asked for and when, live stays within rate and burst", () => {
  for (let seed = 0; seed < 50; seed++) {
    const random = new Random(seed);
    const rate = { rateLimit: random.between(1, 5000), rateBurst: random.between(2, 1000) };
    const pacer = new LivePacer(rate);
    const cloud = new TokenBucket({ perSecond: rate.rateLimit, burst: rate.rateBurst });
    for (let [i, ms] = [0, 0]; i < 500; i++, ms += random.int(200)) {
      assert(cloud.take(ms, pacer.take(ms, random.int(2000))));
    }
  }
});

/** A way that carries bytes one after the other. */
interface Way {
  bytesPerSecond: number;
  /** There and back, milliseconds. */
  roundTripMs: number;
  liveBytesPerSecond: number;
  blockBytes: number;
  /** The cloud answers this often; 1: at once. */
  answerEveryMs: number;
}

const SLOW_WAY: Way = {
  bytesPerSecond: 1_250_000,
  roundTripMs: 40,
  liveBytesPerSecond: 60_000,
  blockBytes: 80_000,
  answerEveryMs: 1,
};

interface Carried {
  /** The longest that a live frame stood behind other bytes, milliseconds. */
  worstWaitMs: number;
  /** Of what live left, the part that the backfill used. */
  used: number;
}

/** Backfills without end beside live, a millisecond at a time. */
function carry(
  way: Way,
  { seconds = 60, changeTo = way }: { seconds?: number; changeTo?: Way } = {},
  pacer: BackfillPacer = new BackfillPacer(),
): Carried {
  const underWay: { bytes: number; arrivesMs: number }[] = [];
  let [queuedBytes, worstWaitMs, backfilled, left] = [0, 0, 0, 0];
  for (let ms = 0; ms < seconds * 1000; ms++) {
    const isChanged = ms >= seconds * 500;
    const { bytesPerSecond, roundTripMs, liveBytesPerSecond, blockBytes, answerEveryMs } = isChanged ? changeTo : way;
    queuedBytes = Math.max(0, queuedBytes - bytesPerSecond / 1000);
    // What a change finds under way was right before it.
    const isJudged = !isChanged || ms >= seconds * 500 + 10_000;
    if (isJudged) worstWaitMs = Math.max(worstWaitMs, queuedBytes * 1000 / bytesPerSecond);
    queuedBytes += liveBytesPerSecond / 1000;
    if (isJudged) left += (bytesPerSecond - liveBytesPerSecond) / 1000;
    if (ms % answerEveryMs === 0) {
      const there = underWay.findIndex(({ arrivesMs }) => arrivesMs > ms);
      const answered = underWay.splice(0, there === -1 ? underWay.length : there);
      pacer.answered(ms, answered.length);
      if (isJudged) backfilled += answered.reduce((sum, { bytes }) => sum + bytes, 0);
    }
    while (pacer.maySend(ms, blockBytes)) {
      pacer.sent(ms, blockBytes);
      queuedBytes += blockBytes;
      underWay.push({ bytes: blockBytes, arrivesMs: ms + queuedBytes * 1000 / bytesPerSecond + roundTripMs });
    }
  }
  return { worstWaitMs, used: backfilled / left };
}

Deno.test("on 10 Mbit/s a live frame waits less than a second, and the backfill uses what live leaves", () => {
  const { worstWaitMs, used } = carry(SLOW_WAY);
  assert(worstWaitMs < 1000, `${worstWaitMs} ms`);
  assert(used > 0.9, `${used}`);
});

Deno.test("over a satellite a live frame waits less than a second, too", () => {
  const { worstWaitMs, used } = carry({ ...SLOW_WAY, roundTripMs: 700, bytesPerSecond: 500_000 });
  assert(worstWaitMs < 1000, `${worstWaitMs} ms`);
  assert(used > 0.8, `${used}`);
});

Deno.test("a long and wide way is filled, and stays so when it is measured anew", () => {
  const way = { ...SLOW_WAY, roundTripMs: 600, bytesPerSecond: 4_000_000 };
  const { worstWaitMs, used } = carry(way, { seconds: 120 });
  assert(worstWaitMs < 1000, `${worstWaitMs} ms`);
  assert(used > 0.7, `${used}`);
});

Deno.test("where live needs nearly all, the backfill takes the rest", () => {
  const { worstWaitMs, used } = carry({ ...SLOW_WAY, liveBytesPerSecond: 1_000_000 });
  assert(worstWaitMs < 1000, `${worstWaitMs} ms`);
  assert(used > 0.7 && used < 1.05, `${used}`);
});

Deno.test("a cloud that answers only twice a second is not mistaken for a fast link", () => {
  const { worstWaitMs } = carry({ ...SLOW_WAY, answerEveryMs: 500 });
  assert(worstWaitMs < 1000, `${worstWaitMs} ms`);
});

Deno.test("a link that becomes slower or longer is learned anew", () => {
  for (const change of [{ bytesPerSecond: 400_000 }, { roundTripMs: 600 }, { bytesPerSecond: 5_000_000 }]) {
    const { worstWaitMs, used } = carry(SLOW_WAY, { seconds: 160, changeTo: { ...SLOW_WAY, ...change } });
    assert(worstWaitMs < 1000, `${JSON.stringify(change)}: ${worstWaitMs} ms`);
    assert(used > 0.8, `${JSON.stringify(change)}: ${used}`);
  }
});

Deno.test("on any link a live frame waits less than a second, or for three blocks where they take longer", () => {
  const random = new Random(5);
  for (let i = 0; i < 40; i++) {
    const bytesPerSecond = Math.round(100_000 * 2 ** (random.next() * 8));
    const way: Way = {
      bytesPerSecond,
      roundTripMs: random.between(1, 800),
      liveBytesPerSecond: Math.round(bytesPerSecond * random.next() * 0.7),
      blockBytes: random.between(5000, 100_000),
      answerEveryMs: random.pick([1, 20, 200]),
    };
    const { worstWaitMs } = carry(way, { seconds: 40 });
    const blockMs = way.blockBytes * 1000 / (bytesPerSecond - way.liveBytesPerSecond);
    assert(worstWaitMs < Math.max(1000, blockMs * 3), `${JSON.stringify(way)}: ${worstWaitMs} ms`);
  }
});

Deno.test("on loopback no more than 8 MiB are under way", () => {
  const pacer = new BackfillPacer();
  carry({ ...SLOW_WAY, bytesPerSecond: 500_000_000, roundTripMs: 30 }, { seconds: 3 }, pacer);
  assert(pacer.bytesPerSecond > 50_000_000);
  assert(pacer.bytesInFlight > 4_000_000 && pacer.bytesInFlight <= 8 * 1024 * 1024);
});

Deno.test("a link that answers nothing gets one block to measure it, and no more", () => {
  const pacer = new BackfillPacer();
  assert(pacer.maySend(0, 1000));
  pacer.sent(0, 1000);
  assert(!pacer.maySend(1_000_000, 1));
  pacer.answered(1_000_000, 0);
  assert(!pacer.maySend(1_000_000, 1));
});

Deno.test("while live frames wait on the boat the backfill takes less, and more again when they do not", () => {
  const pacer = new BackfillPacer();
  pacer.sent(0, 100_000);
  pacer.answered(100, 1);
  pacer.sent(100, 100_000);
  assert(pacer.maySend(100, 400_000));
  pacer.liveWaiting(100, 400);
  pacer.liveWaiting(200, 400);
  assert(!pacer.maySend(200, 400_000));
  assert(pacer.maySend(200, 150_000), "halved once in a second");
  for (let ms = 1200; ms < 10_000; ms += 1000) pacer.liveWaiting(ms, 0);
  assert(pacer.maySend(10_000, 400_000));
});

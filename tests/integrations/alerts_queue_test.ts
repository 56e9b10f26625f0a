import assert from "node:assert/strict";
import { AlertQueue, type AlertQueueLimits, type DeliveryOutcome } from "../../src/integrations/alerts/queue.ts";
import type { Alert } from "../../src/integrations/alerts/types.ts";
import { Random } from "../support/random.ts";

const DAY_MS = 24 * 3_600_000;
const LIMITS: AlertQueueLimits = { maxAlerts: 4, maxAgeMs: DAY_MS, retry: { firstMs: 1000, capMs: 300_000 } };
const GONE: DeliveryOutcome = { kind: "unavailable", reason: "gone" };

function alert(id: string, subject = id): Alert {
  return { id, subject, timestamp: "t", type: "x", severity: "info", summary: "s", details: {} };
}

function queueOf(...alerts: Alert[]): AlertQueue {
  const queue = new AlertQueue(LIMITS, { nowMs: 0 });
  for (const each of alerts) queue.push(each, 0);
  return queue;
}

/** The alert that leaves now. */
function sent(queue: AlertQueue, nowMs: number): Alert {
  const step = queue.next(nowMs);
  assert.ok(step.kind === "send");
  return step.queued.alert;
}

Deno.test("a receiver that is away is tried after 1 s, doubling to 5 minutes, by one alert for all", () => {
  const queue = queueOf(alert("a"), alert("b"));
  const waits: number[] = [];
  for (let nowMs = 0; waits.length < 11;) {
    assert.equal(sent(queue, nowMs).id, "a");
    assert.deepEqual(queue.next(nowMs), { kind: "nothing" }, "one at a time");
    queue.done(GONE, nowMs);
    const step = queue.next(nowMs);
    assert.ok(step.kind === "wait");
    waits.push((step.untilMs - nowMs) / 1000);
    nowMs = step.untilMs;
  }
  assert.deepEqual(waits, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
  assert.equal(queue.problem, "gone");
  sent(queue, DAY_MS / 2);
  queue.done({ kind: "delivered" }, DAY_MS / 2);
  assert.equal(queue.problem, undefined);
  assert.equal(sent(queue, DAY_MS / 2).id, "b");
});

Deno.test("a receiver that says when to come again is listened to, within the longest wait", () => {
  for (const [retryAfterMs, waitMs] of [[500, 1000], [60_000, 60_000], [DAY_MS, 300_000]] as const) {
    const queue = queueOf(alert("a"));
    sent(queue, 0);
    queue.done({ ...GONE, retryAfterMs }, 0);
    assert.deepEqual(queue.next(0), { kind: "wait", untilMs: waitMs });
  }
});

Deno.test("an alert that is refused lets other subjects pass, but none of its own", () => {
  const queue = queueOf(alert("a1", "a"), alert("a2", "a"), alert("b"));
  assert.equal(sent(queue, 0).id, "a1");
  queue.done({ kind: "refused", reason: "the response is 400" }, 0);
  assert.equal(sent(queue, 0).id, "b");
  queue.done({ kind: "delivered" }, 0);
  assert.equal(queue.problem, "the response is 400");
  assert.deepEqual(queue.next(0), { kind: "wait", untilMs: 1000 });
  assert.equal(sent(queue, 1000).id, "a1");
  queue.done({ kind: "delivered" }, 1000);
  assert.equal(sent(queue, 1000).id, "a2");
});

Deno.test("without room the oldest of the subject goes, else the oldest, never the one being sent; the next says so", () => {
  const queue = queueOf(alert("a1", "a"), alert("b1", "b"), alert("c1", "c"), alert("b2", "b"));
  assert.equal(sent(queue, 0).id, "a1");
  queue.push(alert("a2", "a"), 0);
  queue.push(alert("b3", "b"), 0);
  assert.equal(queue.size, 4);
  assert.equal(queue.counters.dropped, 2);
  queue.done({ kind: "delivered" }, 0);
  const rest: [string, unknown][] = [];
  for (let step = queue.next(0); step.kind === "send"; step = queue.next(0)) {
    rest.push([step.queued.alert.id, step.queued.alert.details.dropped_alerts]);
    queue.done({ kind: "delivered" }, 0);
  }
  assert.deepEqual(rest, [["c1", 2], ["a2", undefined], ["b3", undefined]]);
});

Deno.test("an alert is given up after a day, and the next one says so", () => {
  const queue = queueOf(alert("a"));
  sent(queue, 0);
  queue.done(GONE, 0);
  queue.push(alert("b"), DAY_MS - 1);
  assert.deepEqual(sent(queue, DAY_MS), { ...alert("b"), details: { dropped_alerts: 1 } });
  assert.deepEqual(queue.counters, { sent: 0, failed: 1, dropped: 1 });
});

Deno.test("each try of an alert has the same words, whatever is dropped in between, a restart included", () => {
  const queue = queueOf(alert("a"), alert("b"), alert("c"), alert("d"));
  queue.push(alert("e"), 0);
  const first = sent(queue, 0);
  assert.deepEqual(first, { ...alert("b"), details: { dropped_alerts: 1 } });
  queue.push(alert("f"), 0);
  queue.done(GONE, 0);
  assert.deepEqual(sent(queue, 5000), first);
  const after = new AlertQueue(LIMITS, { stored: queue.store(10_000), nowMs: 0 });
  assert.deepEqual(sent(after, 0), first);
  after.push(alert("g"), 0);
  assert.equal(after.size, 4);
});

Deno.test("age goes on after a restart where it ended", () => {
  const after = new AlertQueue(LIMITS, { stored: queueOf(alert("a")).store(DAY_MS - 1000), nowMs: 77 });
  assert.equal(sent(after, 77 + 999).id, "a");
  after.abandon();
  assert.deepEqual(after.next(77 + 1000), { kind: "nothing" });
  assert.equal(after.counters.dropped, 1);
});

Deno.test("whatever happens: a subject's alerts arrive once and in order, and what does not arrive is counted and told", () => {
  for (let seed = 1; seed <= 200; seed++) {
    const random = new Random(seed);
    const limits = { ...LIMITS, maxAlerts: random.between(2, 6), maxAgeMs: random.pick([20_000, DAY_MS]) };
    let queue = new AlertQueue(limits, { nowMs: 0 });
    const arrived: Alert[] = [];
    let [pushed, dropped, nowMs] = [0, 0, 0];
    const turn = (outcome: () => DeliveryOutcome["kind"]) => {
      const step = queue.next(nowMs);
      if (step.kind !== "send") return step.kind === "wait";
      if (random.chance(0.3)) queue.push(alert(String(++pushed), `s${random.int(3)}`), nowMs);
      const kind = outcome();
      if (kind === "delivered") arrived.push(step.queued.alert);
      queue.done(kind === "delivered" ? { kind } : { kind, reason: "r" }, nowMs);
      return true;
    };
    for (let i = 0; i < 150; i++, nowMs += random.int(4000)) {
      if (random.chance(0.5)) queue.push(alert(String(++pushed), `s${random.int(3)}`), nowMs);
      turn(() => random.pick(["delivered", "unavailable", "refused"]));
      assert.ok(queue.size <= limits.maxAlerts);
      if (!random.chance(0.03)) continue;
      dropped += queue.counters.dropped;
      queue = new AlertQueue(limits, { stored: JSON.parse(JSON.stringify(queue.store(nowMs))), nowMs });
    }
    while (turn(() => "delivered")) nowMs += 1000;
    dropped += queue.counters.dropped;
    assert.equal(arrived.length + dropped, pushed, `seed ${seed}`);
    for (const subject of ["s0", "s1", "s2"]) {
      const ids = arrived.filter((each) => each.subject === subject).map(({ id }) => Number(id));
      assert.deepEqual(ids, [...new Set(ids)].sort((a, b) => a - b), `seed ${seed}`);
    }
    const told = arrived.reduce((total, { details }) => total + Number(details.dropped_alerts ?? 0), 0);
    assert.equal(told + queue.store(nowMs).untoldDrops, dropped, `seed ${seed}`);
  }
});

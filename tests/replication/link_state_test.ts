import assert from "node:assert/strict";
import {
  DISCONNECTED,
  LINK_LIMITS,
  linkDeadlineMs,
  type LinkEffect,
  type LinkEvent,
  type LinkLimits,
  type LinkPhase,
  Ranges,
  stepLink,
} from "../../src/replication/mod.ts";
import { Random } from "../support/random.ts";
import { DIGEST_WINDOW } from "../../src/journal/mod.ts";
import { newestDigest, unprovenSeqs } from "../../src/replication/link/proof.ts";
import { TestJournal } from "../support/history.ts";
import { inFolder } from "../support/folder.ts";
import { EPOCH, frameOf } from "../support/journal_run.ts";
import { needs } from "../support/needs.ts";

/** A link that is driven by hand. */
class DrivenLink {
  state = DISCONNECTED;
  nowMs = 1000;
  random = 0.5;
  limits: LinkLimits = LINK_LIMITS;

  /** The kinds of the effects, in order. */
  on(event: LinkEvent): LinkEffect["kind"][] {
    const { state, effects } = stepLink(this.state, event, this);
    this.state = state;
    return effects.map(({ kind }) => kind);
  }

  get kind(): LinkPhase["kind"] {
    return this.state.phase.kind;
  }

  /** How long it is going to wait, milliseconds. */
  get waitMs(): number {
    assert(this.state.phase.kind === "reconnecting");
    return this.state.phase.atMs - this.nowMs;
  }

  /** Lets time pass up to the deadline. */
  tickAtDeadline(): LinkEffect["kind"][] {
    this.nowMs = linkDeadlineMs(this.state) ?? assert.fail("nothing to wait for");
    return this.on({ kind: "tick" });
  }

  sent(frames: number, lagFrames = 0): LinkEffect["kind"][] {
    return this.on({ kind: "sent", frames, headSeq: 50_000, cursor: 50_000 - lagFrames });
  }

  static connected({ missingFrames = 0, hasQuietStatus = true } = {}): DrivenLink {
    const link = new DrivenLink();
    link.on({ kind: "start" });
    link.on({ kind: "accepted", missingFrames, hasQuietStatus });
    return link;
  }
}

const LOST: LinkEvent = { kind: "lost", reason: "it broke" };

Deno.test("a link that starts shakes hands, then streams live and, for holes, backfills", () => {
  const link = new DrivenLink();
  assert.deepEqual(link.on({ kind: "start" }), ["connect"]);
  assert.equal(link.kind, "handshaking");
  assert.deepEqual(link.on({ kind: "accepted", missingFrames: 7, hasQuietStatus: true }), [
    "start_live",
    "start_backfill",
  ]);
  assert.equal(link.kind, "connected");

  const whole = new DrivenLink();
  whole.on({ kind: "start" });
  assert.deepEqual(whole.on({ kind: "accepted", missingFrames: 0, hasQuietStatus: true }), ["start_live"]);
});

Deno.test("a refused handshake is tried again later", () => {
  const link = new DrivenLink();
  link.on({ kind: "start" });
  assert.deepEqual(link.on({ kind: "lost", reason: "the certificate is another boat's" }), ["close"]);
  assert.equal(link.waitMs, 1000);
  assert.deepEqual(link.tickAtDeadline(), ["connect"]);
});

Deno.test("a link that lags reconnects at once, without back-off", () => {
  const link = DrivenLink.connected();
  assert.deepEqual(link.sent(1000, 10_001), ["close", "connect"]);
  assert.equal(link.kind, "handshaking");
  assert.equal(link.state.failures, 0);
});

Deno.test("lag is checked once in 1000 frames sent, and 10000 frames behind is not too far", () => {
  const link = DrivenLink.connected();
  assert.deepEqual(link.sent(999, 20_000), []);
  assert.deepEqual(link.sent(1, 10_000), []);
  assert.deepEqual(link.sent(999, 20_000), []);
  assert.deepEqual(link.sent(1, 10_001), ["close", "connect"]);
});

Deno.test("there is no lag check before the first live frame", () => {
  assert.deepEqual(DrivenLink.connected().sent(0, 40_000), []);
});

Deno.test("a link that lags again within 30 s goes on, and reconnects at the first check after them", () => {
  const link = DrivenLink.connected();
  link.sent(1000, 10_001);
  link.on({ kind: "accepted", missingFrames: 0, hasQuietStatus: true });
  link.nowMs += 29_999;
  assert.deepEqual(link.sent(1000, 10_001), []);
  link.nowMs += 1;
  assert.deepEqual(link.sent(1000, 10_001), ["close", "connect"]);
});

Deno.test("a lag limit of 0 checks nothing", () => {
  const link = DrivenLink.connected();
  const step = stepLink(link.state, { kind: "sent", frames: 5000, headSeq: 1e6, cursor: 1 }, {
    nowMs: link.nowMs,
    random: 0,
    limits: { ...LINK_LIMITS, maxLiveLagFrames: 0 },
  });
  assert.deepEqual(step.effects, []);
});

Deno.test("a cloud that closes live, for lag or for the rate, is a lost connection", () => {
  for (const reason of ["RESOURCE_EXHAUSTED: too far behind", "RESOURCE_EXHAUSTED: too fast"]) {
    const link = DrivenLink.connected();
    assert.deepEqual(link.on({ kind: "lost", reason }), ["close"]);
    const { phase } = link.state;
    assert(phase.kind === "reconnecting");
    assert.equal(phase.reason, reason);
    assert.deepEqual(link.tickAtDeadline(), ["connect"]);
  }
});

Deno.test("a node that drains is tried again after a second each time, and counts as no failure", () => {
  const draining: LinkEvent = { ...LOST, isRequested: true };
  const link = DrivenLink.connected();
  for (let refusals = 0; refusals < 20; refusals++) {
    assert.deepEqual(link.on(draining), ["close"]);
    assert.equal(link.waitMs, 1000);
    assert.equal(link.state.failures, 0);
    link.tickAtDeadline();
  }
  link.on(LOST);
  assert.equal(link.waitMs, 1000);
});

Deno.test("waits double from 1 s to 60 s", () => {
  const link = DrivenLink.connected();
  const waitsMs: number[] = [];
  for (let i = 0; i < 9; i++) {
    link.random = 0.5;
    link.on(LOST);
    waitsMs.push(link.waitMs);
    link.tickAtDeadline();
  }
  // At the cap jitter only shortens.
  assert.deepEqual(waitsMs, [1000, 2000, 4000, 8000, 16_000, 32_000, 54_000, 54_000, 54_000]);
});

Deno.test("no wait is longer than the limit, from the next one on when that changes", () => {
  const link = DrivenLink.connected();
  const waitsMs = [3000, 3000, 3000, 1000, 60_000].map((maxReconnectMs) => {
    link.limits = { ...LINK_LIMITS, maxReconnectMs };
    link.random = 1;
    link.on(LOST);
    const { waitMs } = link;
    link.tickAtDeadline();
    return Math.round(waitMs);
  });
  assert.deepEqual(waitsMs, [1200, 2400, 3000, 1000, 19_200]);
});

Deno.test("jitter takes a fifth off or adds it", () => {
  for (const [random, waitMs] of [[0, 800], [0.25, 900], [1, 1200]] as const) {
    const link = DrivenLink.connected();
    link.random = random;
    link.on(LOST);
    assert.equal(link.waitMs, waitMs);
  }
});

Deno.test("30 s of health make waits begin at 1 s again, less do not", () => {
  for (const [healthMs, waitMs] of [[29_999, 2000], [30_000, 1000]] as const) {
    const link = DrivenLink.connected();
    link.on(LOST);
    link.tickAtDeadline();
    link.on({ kind: "accepted", missingFrames: 0, hasQuietStatus: true });
    link.nowMs += healthMs;
    link.on(LOST);
    assert.equal(link.waitMs, waitMs);
  }
});

Deno.test("while frames are missing they are counted down, and the last one ends backfill in good order", () => {
  const link = DrivenLink.connected({ missingFrames: 1000 });
  assert.deepEqual(link.on({ kind: "missing", frames: 500 }), []);
  assert(link.state.phase.kind === "connected");
  assert.deepEqual(link.state.phase.backfill, { kind: "backfilling", missingFrames: 500 });
  assert.deepEqual(link.on({ kind: "missing", frames: 0 }), ["finish_backfill"]);
  assert(link.state.phase.kind === "connected");
  assert.deepEqual(link.state.phase.backfill, { kind: "complete" });
  assert.deepEqual(link.on({ kind: "missing", frames: 0 }), [], "once");
});

Deno.test("20 s without a word end a link, also while hands are shaken", () => {
  const link = DrivenLink.connected();
  link.nowMs += 15_000;
  link.on({ kind: "received" });
  link.nowMs += 19_999;
  assert.deepEqual(link.on({ kind: "tick" }), []);
  link.nowMs += 1;
  assert.deepEqual(link.on({ kind: "tick" }), ["close"]);
  assert.equal(link.kind, "reconnecting");

  link.tickAtDeadline();
  link.nowMs += 20_000;
  assert.deepEqual(link.on({ kind: "tick" }), ["close"]);
});

Deno.test("a peer's cloud may be silent while nothing is sent, and for 20 s while frames flow", () => {
  const link = DrivenLink.connected({ hasQuietStatus: false });
  assert.equal(linkDeadlineMs(link.state), undefined);
  link.nowMs += 3_600_000;
  assert.deepEqual(link.on({ kind: "tick" }), []);
  link.on({ kind: "received" });
  const receivedMs = link.nowMs;
  for (let i = 0; i < 60; i++) {
    link.nowMs += 100;
    link.sent(1);
  }
  assert.equal(linkDeadlineMs(link.state), receivedMs + 20_000);
  link.on({ kind: "received" });
  assert.equal(linkDeadlineMs(link.state), undefined);
});

Deno.test("a link that is stopped closes, and starts when told to", () => {
  const link = DrivenLink.connected();
  assert.deepEqual(link.on({ kind: "stop" }), ["close"]);
  assert.deepEqual(link.on(LOST), []);
  assert.deepEqual(link.on({ kind: "tick" }), []);
  assert.equal(link.kind, "disconnected");
  assert.deepEqual(link.on({ kind: "start" }), ["connect"]);

  link.on(LOST);
  assert.deepEqual(link.on({ kind: "stop" }), [], "nothing is open");
});

Deno.test("news of a connection that is gone changes nothing", () => {
  const link = DrivenLink.connected();
  link.on(LOST);
  const { state } = link;
  const late: LinkEvent[] = [
    LOST,
    { kind: "received" },
    { kind: "missing", frames: 0 },
    { kind: "accepted", missingFrames: 1, hasQuietStatus: true },
    { kind: "sent", frames: 5000, headSeq: 1e6, cursor: 1 },
    { kind: "start" },
  ];
  for (const event of late) assert.deepEqual(link.on(event), []);
  assert.equal(link.state, state);
});

function randomEvent(random: Random): LinkEvent {
  return random.pick<() => LinkEvent>([
    () => ({ kind: "start" }),
    () => ({ kind: "accepted", missingFrames: random.int(3), hasQuietStatus: random.chance(0.5) }),
    () => ({ kind: "sent", frames: random.int(2500), headSeq: 50_000, cursor: random.int(50_000) }),
    () => ({ kind: "received" }),
    () => ({ kind: "missing", frames: random.int(3) }),
    () => LOST,
    () => ({ kind: "tick" }),
    () => random.chance(0.03) ? { kind: "stop" } : { kind: "tick" },
  ])();
}

Deno.test("whatever happens: lag reconnects are 30 s apart, waits are 0.8 to 60 s, and one connection is open", () => {
  let lagReconnects = 0;
  for (let seed = 0; seed < 60; seed++) {
    const random = new Random(seed);
    const link = new DrivenLink();
    let [lastLagMs, isOpen] = [-Infinity, false];
    for (let i = 0; i < 1500; i++) {
      const event = randomEvent(random);
      link.nowMs += random.int(random.chance(0.1) ? 30_000 : 1500);
      link.random = random.next();
      const effects = link.on(event);
      if (event.kind === "sent" && effects.includes("connect")) {
        assert(link.nowMs - lastLagMs >= 30_000);
        lastLagMs = link.nowMs;
        lagReconnects++;
      }
      if (link.kind === "reconnecting" && effects.includes("close")) {
        assert(link.waitMs >= 800 && link.waitMs <= 60_000);
      }
      for (const effect of effects) {
        if (effect === "close" || effect === "connect") assert.equal(isOpen, effect === "close");
        if (effect === "close") isOpen = false;
        if (effect === "connect") isOpen = true;
      }
      assert.equal(isOpen, link.kind === "handshaking" || link.kind === "connected");
    }
  }
  assert(lagReconnects > 100);
});

Deno.test("a link that is lost always comes back when time passes", () => {
  const random = new Random(7);
  const link = new DrivenLink();
  link.on({ kind: "start" });
  for (let i = 0; i < 2000; i++) {
    const event = randomEvent(random);
    if (event.kind !== "stop") link.on(event);
    if (link.kind === "reconnecting") assert.deepEqual(link.tickAtDeadline(), ["connect"]);
  }
});

const FILES = needs({ permissions: ["read", "write"] });

Deno.test(
  "what a boat shows is the newest that a cloud has and it can read, however far below the newest of all that is",
  FILES,
  () =>
    inFolder(async (folder) => {
      await using journal = await TestJournal.open(folder, { epoch: EPOCH, buses: ["can0"] });
      const record = (from: number, to: number) => {
        for (let seq = from; seq <= to; seq++) journal.writer.append(seq, frameOf(seq));
      };
      const far = 40 * DIGEST_WINDOW;
      record(1, 300);
      record(far, far + 50);
      await journal.writer.sync();
      const shown = async (held: Ranges, head = far + 50) => {
        const seqs = unprovenSeqs(held, { sent: [], oldest: 1, head });
        const proof = await newestDigest(held, { seqs, oldest: 1, index: journal.index, epoch: EPOCH });
        return proof && [proof.firstSeq, proof.lastSeq];
      };
      const all = new Ranges([{ start: 1, end: far + 21 }]);
      assert.deepEqual(await shown(all), [far, far + 20]);
      // Recording was paused after 300, and frames went out live.
      assert.deepEqual(await shown(new Ranges([{ start: 1, end: far - 1000 }])), [1, 300]);
      assert.deepEqual(await shown(new Ranges([{ start: 100, end: 200 }, { start: 5000, end: far - 1 }])), [100, 199]);
      assert.deepEqual(await shown(new Ranges([{ start: 400, end: far - 1 }])), undefined);
      assert.deepEqual(await shown(all, far + 10), undefined, "the cloud has more than the boat ever had");
    }),
);

import assert from "node:assert/strict";
import { formatTimeUs } from "../../src/frame/mod.ts";
import { LOST_UNRECORDED, Ranges, reconnectRequest, RpcError } from "../../src/replication/mod.ts";
import { eventually, pause } from "../support/eventually.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { EPOCH } from "../support/journal_run.ts";
import { rounds } from "../support/needs.ts";
import { Random } from "../support/random.ts";
import { assertFrames, LINK, type LinkedBoat, LinkFixture, seqs } from "./boat_link_fixture.ts";
import { BlackHole } from "./fixture.ts";

async function connected(boat: LinkedBoat): Promise<void> {
  await eventually("the connection", () => boat.link.status().connected);
}

Deno.test("a link that goes silent is given up after 20 s, and made again", LINK, async () => {
  await LinkFixture.run(async (fixture) => {
    await using hole = await BlackHole.start(fixture.server.port);
    const clock = new FakeClock();
    await using boat = await fixture.boat({ port: hole.port, clock, link: { statusEveryMs: 20 } });
    boat.link.start();
    await connected(boat);
    // On a quiet bus, too, each side says something: the link stays.
    for (let statuses = 0; statuses < 3; statuses++) {
      clock.advance(15_000);
      const nowText = formatTimeUs(clock.wallUs());
      await eventually("a word from the cloud", () => boat.link.status().last_ack === nowText);
    }
    assert.equal(fixture.cloud.requests.length, 1);
    hole.open();
    await eventually("the end of the link", () => {
      clock.advance(1000);
      return !boat.link.status().connected;
    });
    const { reason, next_try } = boat.link.status();
    assert.equal(reason, "no message from the cloud for 20 s");
    assert.match(next_try ?? "", /^2026-01-02T/);
    await eventually("another link", () => {
      boat.waitFor(clock, 100);
      return boat.link.status().connected;
    });
    assert.equal(boat.link.status().reconnects, 1);
    assert.deepEqual(boat.link.health(), { status: "ok" });
  });
});

Deno.test("a quiet boat says how far it is at once, and again and again", LINK, async () => {
  await LinkFixture.run(async (fixture) => {
    await using boat = await fixture.boat({ link: { statusEveryMs: 20 } });
    boat.bring(3);
    boat.link.start();
    const statuses = await eventually("statuses", () => fixture.cloud.statuses.length > 3 && fixture.cloud.statuses);
    assert.deepEqual(statuses[0], { headSeq: 3, journalBytes: 4711 });
    assert.deepEqual(fixture.cloud.batches, []);
  });
});

Deno.test(
  "live that is too far behind goes on with the newest frame, and the journal brings the rest",
  LINK,
  async () => {
    await LinkFixture.run(async (fixture) => {
      const { cloud } = fixture;
      // What the first connection may send is far less than there is.
      cloud.over = () => cloud.requests.length === 1 ? { rateLimit: 200, rateBurst: 40 } : {};
      const limits = { maxLiveLagFrames: 100, lagCheckFrames: 10 };
      await using boat = await fixture.boat({ journal: await fixture.journalFolder(), limits });
      boat.link.start();
      await connected(boat);
      boat.bring(2000);
      await eventually("another connection", () => cloud.requests.length > 1);
      const head = boat.bring(10);
      await eventually("all frames", () => cloud.frames.size === head);
      assertFrames(cloud, seqs(1, head));
      assert.deepEqual(cloud.twice, []);
      const { lag_reconnects, reconnects } = boat.link.status();
      assert.deepEqual([lag_reconnects, reconnects], [1, 1]);
    });
  },
);

Deno.test("a cloud that has lost its frames is not said to have them", LINK, async () => {
  await LinkFixture.run(async (fixture) => {
    const { cloud } = fixture;
    await using boat = await fixture.boat({ journal: await fixture.journalFolder() });
    boat.bring(10);
    boat.link.start();
    await connected(boat);
    const head = boat.bring(40);
    const confirmed = () => {
      const { cloud_cursor, cloud_durable_seq } = boat.link.status();
      return [cloud_cursor, cloud_durable_seq];
    };
    await eventually("all frames", () => confirmed().every((through) => through === head));
    // Another disk, and the newest blocks are not taken yet.
    cloud.held = new Ranges([{ start: 1, end: 6 }]);
    cloud.acknowledges = false;
    cloud.reject = () => "not yet";
    for (const stream of cloud.streams) stream.fail(new RpcError("UNAVAILABLE", "the disk was lost"));
    await eventually("another connection", () => boat.link.status().reconnects === 1);
    assert.deepEqual(confirmed(), [5, 5]);
    assert.deepEqual(boat.link.status().holes, [{ start: 6, end: head + 1 }]);
  });
});

Deno.test("a cloud's limit is kept to: what it does not take yet waits", LINK, async () => {
  await LinkFixture.run(async (fixture) => {
    const { cloud } = fixture;
    cloud.over = () => ({ rateLimit: 500, rateBurst: 20 });
    await using boat = await fixture.boat();
    boat.link.start();
    await connected(boat);
    boat.bring(200);
    await eventually("all frames", () => cloud.frames.size === 200);
    assertFrames(cloud, seqs(1, 200));
    assert.ok(cloud.batches.every((count) => count <= 11), String(cloud.batches));
  });
});

Deno.test("frames that no ring and no journal keeps are a broken link, and told as lost", LINK, async () => {
  await LinkFixture.run(async (fixture) => {
    const { cloud } = fixture;
    cloud.over = () => cloud.requests.length === 1 ? { rateLimit: 100, rateBurst: 20 } : {};
    await using boat = await fixture.boat({ ringFrames: 64 });
    boat.link.start();
    await connected(boat);
    boat.bring(30);
    await pause();
    boat.bring(1000);
    await eventually("the end of the link", () => boat.link.status().reason);
    assert.match(boat.link.status().reason ?? "", /no longer kept/);
    await eventually("the loss to be told", () => cloud.held.covers(1, 1031));
    assert.ok(boat.link.status().lost.every(({ reason }) => reason === LOST_UNRECORDED));
    assert.equal(boat.link.lostFrames + cloud.frames.size, 1030);
  });
});

Deno.test("a cloud that knows higher numbers of a run makes the boat begin another, once", LINK, async () => {
  await LinkFixture.run(async (fixture) => {
    const { cloud } = fixture;
    cloud.over = ({ epoch }) => epoch?.toHex() === EPOCH.toHex() ? { cursor: 5000 } : {};
    await using boat = await fixture.boat({ journal: await fixture.journalFolder() });
    boat.bring(100);
    boat.link.start();
    await connected(boat);
    assert.deepEqual(boat.renewals, ["the cloud has sequence number 5000 of this epoch, this boat has sent up to 100"]);
    assert.deepEqual(cloud.requests.map(({ epoch, headSeq }) => [epoch?.toHex(), headSeq]), [
      [EPOCH.toHex(), 100],
      [boat.epoch.toHex(), 0],
    ]);
    boat.bring(50);
    await eventually("the frames of the new run", () => cloud.frames.size === 50);
    assertFrames(cloud, seqs(1, 50));
  });
});

Deno.test("a cloud that knows higher numbers of every run is not followed for ever", LINK, async () => {
  await LinkFixture.run(async (fixture) => {
    fixture.cloud.over = () => ({ liveStartFrom: 7000 });
    await using boat = await fixture.boat();
    boat.bring(5);
    boat.link.start();
    await eventually("the reason", () => boat.link.status().state === "reconnecting");
    assert.equal(boat.renewals.length, 1);
    assert.match(
      boat.link.status().reason ?? "",
      /the cloud has sequence number 6999 of an epoch that has just started/,
    );
  });
});

Deno.test("numbers that begin again while the boat is connected are told at once", LINK, async () => {
  await LinkFixture.run(async (fixture) => {
    const { cloud } = fixture;
    await using boat = await fixture.boat({ journal: await fixture.journalFolder() });
    boat.link.start();
    await connected(boat);
    boat.bring(100);
    await eventually("the first run", () => cloud.frames.size === 100);
    cloud.held.remove(1, 101);
    cloud.frames.clear();
    boat.renew("the disk is full");
    boat.bring(30);
    await eventually("the second run", () => cloud.frames.size === 30);
    assert.equal(cloud.requests.at(-1)?.epoch?.toHex(), boat.epoch.toHex());
    assertFrames(cloud, seqs(1, 30));
    assert.equal(boat.link.status().local_head_seq, 30);
  });
});

Deno.test(
  "numbers that begin again while the cloud is away: what it lacks of the former ones is told",
  LINK,
  async () => {
    await LinkFixture.run(async (fixture) => {
      const { cloud } = fixture;
      await using boat = await fixture.boat({ journal: await fixture.journalFolder() });
      boat.link.start();
      await connected(boat);
      boat.bring(100);
      await eventually("the acknowledgement", () => boat.link.status().cloud_durable_seq === 100);
      cloud.refuse = () => new RpcError("UNAVAILABLE", "away");
      fixture.server.cut();
      await eventually("the loss", () => !boat.link.status().connected);
      boat.bring(50);
      boat.renew("the disk is full");
      const told = boat.lines.filter((line) => line.includes("stay on this boat"));
      assert.match(told.join("\n"), /^[^\n]*head=150 acknowledged=100 sentThrough=100 missing=0$/);
    });
  },
);

for (const reason of ["draining", "store"] as const) {
  Deno.test(
    `a cloud that asks to connect again (${reason}) is asked every second, which is logged once`,
    LINK,
    async () => {
      const asked = reconnectRequest(reason);
      await LinkFixture.run(async (fixture) => {
        const { cloud } = fixture;
        const clock = new FakeClock();
        await using boat = await fixture.boat({ clock });
        boat.link.start();
        await connected(boat);
        await eventually("the live stream", () => [...cloud.streams].length > 0);
        cloud.refuse = () => asked;
        for (const stream of cloud.streams) stream.fail(asked);
        await eventually("ten tries", () => {
          boat.waitFor(clock, 100);
          return cloud.requests.length > 10;
        });
        assert.ok(clock.monoMs() < 10 * 2000, "a back-off would take 17 minutes");
        assert.equal(boat.lines.filter((line) => line.includes(asked.message)).length, 1);
        cloud.refuse = undefined;
        await eventually("the connection", () => {
          boat.waitFor(clock, 100);
          return boat.link.status().connected;
        });
      });
    },
  );
}

Deno.test("a refusal is told with the cloud's words, and logged once", LINK, async () => {
  await LinkFixture.run(async (fixture) => {
    const { cloud } = fixture;
    cloud.refuse = () => new RpcError("PERMISSION_DENIED", 'the certificate is for "another"');
    const clock = new FakeClock();
    await using boat = await fixture.boat({ clock });
    boat.link.start();
    await eventually("four tries", () => {
      boat.waitFor(clock, 500);
      return cloud.requests.length > 3;
    });
    await eventually("the answer", () => boat.link.status().state === "reconnecting");
    assert.equal(boat.link.status().reason, 'PERMISSION_DENIED: the certificate is for "another"');
    const health = boat.link.health();
    assert.match("message" in health ? health.message : "", /^disconnected: PERMISSION_DENIED: .*; next attempt 2026-/);
    assert.equal(boat.lines.filter((line) => line.includes("PERMISSION_DENIED")).length, 1);
    cloud.refuse = undefined;
    await eventually("the connection", () => {
      boat.waitFor(clock, 500);
      return boat.link.status().connected;
    });
    assert.equal(boat.link.status().reason, undefined);
  });
});

Deno.test(
  "certificates that change make a new connection; files that are no good leave the old one",
  LINK,
  async () => {
    await LinkFixture.run(async (fixture) => {
      const { cloud, server, authority } = fixture;
      await using boat = await fixture.boat({ link: { certificateCheckMs: 20 } });
      boat.link.start();
      await connected(boat);
      const serial = () => server.callers.at(-1)?.certificate?.serialNumber;
      const first = serial();
      const { certPath } = authority.files("boat-001");
      await Deno.writeTextFile(certPath, "no certificate");
      const health = await eventually("the complaint", () => {
        const now = boat.link.health();
        return now.status === "degraded" && now;
      });
      assert.match(health.message, /certificates are invalid: .*; the previous ones stay in use$/);
      assert.ok(boat.link.status().connected);
      assert.equal(cloud.requests.length, 1);
      await authority.issue("boat-001");
      await eventually("the new certificate", () => boat.link.status().connected && serial() !== first);
      await eventually("an end in good order", () => cloud.endings.includes("live"));
      assert.deepEqual(boat.link.health(), { status: "ok" });
      assert.equal(boat.link.status().lag_reconnects, 0);
    });
  },
);

Deno.test(
  "whatever is cut when: the cloud holds every frame as the bus brought it, and none came twice on a stream",
  LINK,
  async () => {
    await LinkFixture.run(async (fixture) => {
      const { cloud } = fixture;
      const random = new Random(20);
      const clock = new FakeClock();
      await using boat = await fixture.boat({ journal: await fixture.journalFolder(), ringFrames: 256, clock });
      boat.link.start();
      for (let round = 0; round < rounds(8, 4); round++) {
        await eventually("the connection", () => {
          boat.waitFor(clock, 200);
          return boat.link.status().connected;
        });
        boat.bring(random.int(900));
        if (random.chance(0.7)) await pause(random.int(30));
        fixture.server.cut();
        boat.bring(random.int(900));
        if (random.chance(0.3)) await boat.journal!.writer.rotate();
        await eventually("the cut", () => !boat.link.status().connected);
      }
      const head = boat.bring(1);
      await eventually("all frames", () => {
        clock.advance(200);
        return cloud.frames.size === head;
      });
      assertFrames(cloud, seqs(1, head));
      assert.deepEqual(cloud.twice, []);
      assert.deepEqual(boat.link.status().lost, []);
    });
  },
);

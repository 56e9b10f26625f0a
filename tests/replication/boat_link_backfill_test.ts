import assert from "node:assert/strict";
import { LOST_DAMAGED, LOST_PRUNED, LOST_UNRECORDED, Ranges } from "../../src/replication/mod.ts";
import { eventually } from "../support/eventually.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { journalFiles } from "../support/journal_run.ts";
import { assertFrames, type KeepingCloud, LINK, type LinkedBoat, LinkFixture, seqs } from "./boat_link_fixture.ts";

/** Bytes in front of a compressed block in its file. */
const BLOCK_HEADER_BYTES = 20;

/** Links a boat, and waits until the cloud has asked for nothing more. */
async function filled(boat: LinkedBoat, cloud: KeepingCloud): Promise<void> {
  boat.link.start();
  await eventually("the end of the backfill", () => {
    const { connected, backfill_remaining_seqs } = boat.link.status();
    return connected && backfill_remaining_seqs === 0 && cloud.held.covers(1, boat.broker.head + 1);
  });
}

/** Records numbers up to `head` in files of their own, each of `perFile` frames. */
async function record(fixture: LinkFixture, { head, perFile }: { head: number; perFile: number }): Promise<LinkedBoat> {
  const boat = await fixture.boat({ journal: await fixture.journalFolder(), ringFrames: 16 });
  while (boat.broker.head < head) {
    boat.bring(perFile);
    await boat.journal!.writer.rotate();
  }
  return boat;
}

Deno.test(
  "the newest hole is filled first, each from its oldest block on, with the bytes of the file",
  LINK,
  async () => {
    await LinkFixture.run(async (fixture) => {
      const { cloud } = fixture;
      await using boat = await record(fixture, { head: 6000, perFile: 6000 });
      cloud.held = new Ranges([{ start: 1, end: 1000 }, { start: 2000, end: 4000 }, { start: 4500, end: 6001 }]);
      await filled(boat, cloud);
      const order = cloud.blocks.map(({ baseSeq }) => baseSeq);
      const newest = order.filter((seq) => seq > 3000);
      const oldest = order.filter((seq) => seq <= 3000);
      assert.ok(newest.length > 1 && oldest.length > 1);
      assert.deepEqual(order, [...newest.sort((a, b) => a - b), ...oldest.sort((a, b) => a - b)]);
      assert.equal(new Set(order).size, order.length, "no block is sent twice");
      const [name] = journalFiles(`${fixture.folder}/journal`);
      const file = Deno.readFileSync(`${fixture.folder}/journal/${name}`);
      for (const { data, fileOffset, length } of cloud.blocks) {
        assert.deepEqual(data, file.subarray(fileOffset + BLOCK_HEADER_BYTES, fileOffset + length));
      }
      for (const range of [...seqs(1000, 1999), ...seqs(4000, 4499)]) {
        for (let seq = range.start; seq < range.end; seq++) assert.ok(cloud.frames.has(seq), `${seq}`);
      }
      assert.equal(cloud.requests.length, 1);
    });
  },
);

Deno.test("blocks that lie there unpacked, and those in no file yet, are packed to be sent", LINK, async () => {
  await LinkFixture.run(async (fixture) => {
    const { cloud } = fixture;
    await using boat = await fixture.boat({
      journal: await fixture.journalFolder(),
      writing: { compression: "none" },
      ringFrames: 16,
    });
    boat.bring(1500);
    await filled(boat, cloud);
    assertFrames(cloud, seqs(1, 1500));
    assert.ok(cloud.blocks.every(({ compressed, data, blockSize }) => compressed && data.length < blockSize));
  });
});

Deno.test("without a journal what was missed is told to be lost, and asked for no more", LINK, async () => {
  await LinkFixture.run(async (fixture) => {
    const { cloud } = fixture;
    await using boat = await fixture.boat();
    boat.bring(500);
    await filled(boat, cloud);
    assert.deepEqual(cloud.requests.map(({ lost }) => lost), [[], [{ start: 1, end: 501, reason: LOST_UNRECORDED }]]);
    assert.deepEqual(cloud.blocks, []);
    const { lost, holes } = boat.link.status();
    assert.deepEqual([lost, holes], [[{ start: 1, end: 501, reason: LOST_UNRECORDED }], []]);
    assert.equal(boat.link.lostFrames, 500);
    boat.bring(20);
    await eventually("what comes now", () => cloud.frames.size === 20);
    assertFrames(cloud, seqs(501, 520));
  });
});

Deno.test(
  "numbers that starts have skipped are told as void: the last start's at once, others when found",
  LINK,
  async () => {
    await LinkFixture.run(async (fixture) => {
      const { cloud } = fixture;
      const journal = await fixture.journalFolder();
      const gap = (firstMissing: number) => ({ gap: { firstMissing, reason: "restart" as const } });
      for (const [firstSeq, writing] of [[1, {}], [10_001, gap(501)]] as const) {
        await using boat = await fixture.boat({ journal, firstSeq, writing });
        boat.bring(500);
      }
      await using boat = await fixture.boat({
        journal,
        firstSeq: 20_001,
        writing: gap(10_501),
        skipped: { start: 10_501, end: 20_001 },
      });
      await filled(boat, cloud);
      assertFrames(cloud, [...seqs(1, 500), ...seqs(10_001, 10_500)]);
      const [last, first] = [{ start: 10_501, end: 20_001 }, { start: 501, end: 10_001 }];
      assert.deepEqual(cloud.requests.map((request) => request.void), [[last], [first, last]]);
      assert.deepEqual(cloud.requests.map(({ lost }) => lost), [[], []]);
      assert.equal(boat.link.lostFrames, 0);
      boat.bring(10);
      await eventually("what comes now", () => cloud.frames.has(20_010));
    });
  },
);

Deno.test("files that are deleted before the cloud has them are told as lost, with the reason", LINK, async () => {
  await LinkFixture.run(async (fixture) => {
    const { cloud } = fixture;
    await using boat = await record(fixture, { head: 3000, perFile: 1000 });
    const [first, second] = journalFiles(`${fixture.folder}/journal`).map((name) =>
      `${fixture.folder}/journal/${name}`
    );
    await Deno.remove(first!);
    boat.journal!.index.noteRemoved(first!);
    // Of this one nobody was told.
    await Deno.remove(second!);
    await filled(boat, cloud);
    assertFrames(cloud, seqs(2001, 3000));
    assert.deepEqual(boat.link.status().lost, [{ start: 1, end: 2001, reason: LOST_PRUNED }]);
  });
});

Deno.test("a block that is damaged on the boat is told as lost, and the others come", LINK, async () => {
  await LinkFixture.run(async (fixture) => {
    const { cloud } = fixture;
    await using boat = await record(fixture, { head: 3000, perFile: 3000 });
    const [name] = journalFiles(`${fixture.folder}/journal`);
    const path = `${fixture.folder}/journal/${name}`;
    const bytes = Deno.readFileSync(path);
    const at = Math.floor(bytes.length / 2);
    bytes[at] = bytes[at]! ^ 0x55;
    Deno.writeFileSync(path, bytes);
    await filled(boat, cloud);
    const { lost } = boat.link.status();
    assert.equal(lost.length, 1);
    const [{ start, end, reason }] = lost as [typeof lost[0] & { start: number }];
    assert.equal(reason, LOST_DAMAGED);
    assert.ok(end - start < 400);
    assertFrames(cloud, [...seqs(1, start - 1), ...seqs(end, 3000)]);
  });
});

Deno.test(
  "a block that the disk does not give is read again on the same connection, and the others come",
  LINK,
  async () => {
    await LinkFixture.run(async (fixture) => {
      const { cloud } = fixture;
      const clock = new FakeClock();
      const journal = await fixture.journalFolder();
      await using boat = await fixture.boat({ journal, ringFrames: 16, clock });
      for (let file = 0; file < 3; file++) {
        boat.bring(1000);
        await boat.journal!.writer.rotate();
      }
      // What a folder says to who reads it is an error of the disk as any other.
      const path = `${journal}/${journalFiles(journal)[1]}`;
      await Deno.rename(path, `${path}.away`);
      await Deno.mkdir(path);
      boat.link.start();
      await eventually("the other files", () => boat.link.status().backfill_remaining_seqs === 1000);
      const complaints = () => boat.lines.filter((line) => line.includes("replication block read failed"));
      await eventually("an error", () => complaints().length > 0);
      assert.deepEqual(boat.link.status().holes, [{ start: 1001, end: 2001 }]);
      assert.ok(!complaints().some((line) => line.includes("tries=2")), "it waits before it tries again");
      // The wait may begin after the complaint; and so long a silence would end the connection.
      let leftMs = 15_000;
      const pass = () => {
        if (leftMs > 0) clock.advance(50);
        leftMs -= 50;
      };
      await eventually("the next try", () => {
        pass();
        return complaints().some((line) => line.includes("tries=2"));
      });
      // In one go: a file that is not there is another matter.
      Deno.removeSync(path);
      Deno.renameSync(`${path}.away`, path);
      await eventually("all frames", () => {
        pass();
        return cloud.held.covers(1, 3001);
      });
      assertFrames(cloud, seqs(1, 3000));
      assert.equal(cloud.requests.length, 1);
      assert.deepEqual(boat.link.status().lost, []);
    });
  },
);

Deno.test(
  "what is in a file that the disk does not give at all is not told as lost, and comes later",
  LINK,
  async () => {
    await LinkFixture.run(async (fixture) => {
      const { cloud } = fixture;
      const journal = await fixture.journalFolder();
      {
        await using _ = await record(fixture, { head: 3000, perFile: 1000 });
      }
      // After a start nothing is known of a file but how it begins.
      await using boat = await fixture.boat({ journal, ringFrames: 16, firstSeq: 3001 });
      const path = `${journal}/${journalFiles(journal)[1]}`;
      await Deno.rename(path, `${path}.away`);
      await Deno.mkdir(path);
      boat.link.start();
      await eventually("the other files", () => boat.link.status().backfill_remaining_seqs === 1000);
      assert.deepEqual(boat.link.status().holes, [{ start: 1001, end: 2001 }]);
      assertFrames(cloud, [...seqs(1, 1000), ...seqs(2001, 3000)]);
      Deno.removeSync(path);
      Deno.renameSync(`${path}.away`, path);
      fixture.server.cut();
      await eventually("the file on the next connection", () => cloud.frames.has(1001) && cloud.frames.has(2000));
      assertFrames(cloud, seqs(1, 3000));
      assert.deepEqual(boat.link.status().lost, []);
    });
  },
);

Deno.test("what live cannot read of the journal comes as blocks, over another connection", LINK, async () => {
  await LinkFixture.run(async (fixture) => {
    const { cloud } = fixture;
    const journal = await fixture.journalFolder();
    {
      await using _ = await record(fixture, { head: 3000, perFile: 1000 });
    }
    await using boat = await fixture.boat({ journal, ringFrames: 16, firstSeq: 3001 });
    const path = `${journal}/${journalFiles(journal)[1]}`;
    await Deno.rename(path, `${path}.away`);
    await Deno.mkdir(path);
    cloud.over = () => {
      if (cloud.requests.length === 1) return { liveStartFrom: 1, holes: [] };
      if (cloud.requests.length > 2) return {};
      Deno.removeSync(path);
      Deno.renameSync(`${path}.away`, path);
      return {};
    };
    boat.link.start();
    await eventually("all frames", () => cloud.held.covers(1, 3001));
    assertFrames(cloud, seqs(1, 3000));
    assert.deepEqual(boat.link.status().lost, []);
    assert.ok(boat.lines.some((line) => line.includes("frames 1001 to 2000 cannot be read")));
  });
});

Deno.test("frames that could not be recorded are told as lost", LINK, async () => {
  await LinkFixture.run(async (fixture) => {
    const { cloud } = fixture;
    await using boat = await fixture.boat({ journal: await fixture.journalFolder(), ringFrames: 16 });
    boat.bring(300);
    boat.journal!.writer.pause(true);
    boat.bring(40);
    boat.journal!.writer.pause(false);
    boat.bring(300);
    boat.journal!.writer.pause(true);
    boat.bring(7);
    await filled(boat, cloud);
    assertFrames(cloud, [...seqs(1, 300), ...seqs(341, 640)]);
    assert.deepEqual(boat.link.status().lost, [
      { start: 301, end: 341, reason: LOST_UNRECORDED },
      { start: 641, end: 648, reason: LOST_UNRECORDED },
    ]);
  });
});

Deno.test(
  "a block that the cloud does not take stays a hole, and is not sent again on the connection",
  LINK,
  async () => {
    await LinkFixture.run(async (fixture) => {
      const { cloud } = fixture;
      await using boat = await record(fixture, { head: 2000, perFile: 2000 });
      cloud.reject = ({ baseSeq }) => baseSeq === 1 ? "it looks odd" : undefined;
      boat.link.start();
      await eventually("the other blocks", () => cloud.frames.has(2000) && cloud.endings.includes("backfill"));
      const { holes, connected } = boat.link.status();
      assert.ok(connected);
      assert.equal(holes.length, 1);
      const end = holes[0]!.end;
      assertFrames(cloud, seqs(end, 2000));
      assert.equal(cloud.blocks.filter(({ baseSeq }) => baseSeq === 1).length, 1);
      assert.ok(boat.lines.some((line) => line.includes("it looks odd")));

      cloud.reject = () => undefined;
      fixture.server.cut();
      await eventually("the block on the next connection", () => cloud.frames.has(1));
      assertFrames(cloud, seqs(1, 2000));
    });
  },
);

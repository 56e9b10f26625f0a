import assert from "node:assert/strict";
import { systemClock } from "../../src/base/mod.ts";
import { ledgerReply } from "../../src/http/cloud/ledger.ts";
import type { HistoryIndex } from "../../src/http/history/history.ts";
import type { LedgerReport } from "../../src/ledger/mod.ts";
import { LINK, LinkFixture } from "../replication/boat_link_fixture.ts";
import { TestBoat } from "../support/boat.ts";
import { eventually } from "../support/eventually.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { inFolder } from "../support/folder.ts";
import { START_US } from "../support/messages.ts";
import { needs } from "../support/needs.ts";
import { fill } from "./cloud_fill.ts";
import { CloudServer } from "./cloud_server.ts";

const DISK = needs({ permissions: ["read", "write", "net"] });
const NET = needs({ permissions: ["net"] });

function sayAll(boat: TestBoat, count: number): void {
  for (let i = 0; i < count; i++) boat.say({ data: [i & 255, i >> 8, 0, 0, 0, 0, 0, 0] });
}

Deno.test("a boat without a journal says that nothing is recorded, and closes", NET, async () => {
  await using boat = await TestBoat.start();
  sayAll(boat, 20);
  boat.say({ pgn: 129029, data: new Array(43).fill(1) });
  await eventually("all", () => boat.boat.broker.head === 21);
  const { closed, buses: [bus] } = await boat.get<LedgerReport>("/ledger");
  assert.deepEqual([closed, bus?.frames?.received, bus?.frames?.in_messages], [true, 27, 27]);
  assert.deepEqual(bus?.messages, {
    ...{ numbered: 21, recorded: 0, acknowledged: null, stored: null },
    missing: { not_recorded: 21 },
  });
});

Deno.test(
  "a ledger of a time before the journal, and one whose end is before its start, are answered as such",
  DISK,
  () =>
    inFolder(async (folder) => {
      const journal = { directory: `${folder}/journal`, stateDirectory: folder };
      await using boat = await TestBoat.start({ clock: new FakeClock(), journal });
      sayAll(boat, 3);
      await eventually("all", () => boat.boat.broker.head === 3);
      const before = await boat.get<LedgerReport>("/ledger?from=2020-01-01T00:00:00Z&to=2020-01-02T00:00:00Z");
      assert.deepEqual(before.buses.map(({ messages, unknown }) => [messages.numbered, unknown.map((u) => u.reason)]), [
        [0, ["before_journal"]],
      ]);
      const reply = await boat.raw("/ledger?from=2020-01-02T00:00:00Z&to=2020-01-01T00:00:00Z");
      assert.equal(reply.status, 400);
    }),
);

Deno.test("what the cloud has acknowledged before and after a cut of the link is in the ledger", LINK, async () => {
  await LinkFixture.run(async (fixture) => {
    const { cloud } = fixture;
    const { target, tls } = await fixture.target();
    assert.ok(tls);
    await using boat = await TestBoat.start({
      names: ["can0", "can1"],
      replication: { target, instanceId: "boat-001", tls },
      journal: { directory: await fixture.journalFolder(), stateDirectory: await fixture.journalFolder("state") },
    });
    const ledger = () => boat.get<LedgerReport>("/ledger");
    const acknowledged = async () => (await ledger()).buses.map(({ messages }) => messages.acknowledged);
    await eventually("the connection", () => cloud.streams.size > 0);
    for (let i = 0; i < 60; i++) boat.say({ bus: i % 3 === 0 ? 1 : 0 });
    await eventually("all acknowledged", async () => String(await acknowledged()) === "40,20");
    cloud.acknowledges = false;
    fixture.server.cut();
    cloud.isSilent = true;
    for (let i = 0; i < 30; i++) boat.say({ bus: i % 3 === 0 ? 1 : 0 });
    await eventually("all", () => boat.boat.broker.head === 90);
    const { closed, buses } = await ledger();
    assert.equal(closed, true);
    assert.deepEqual(buses.map(({ messages }) => [messages.numbered, messages.recorded, messages.acknowledged]), [
      [60, 60, 40],
      [30, 30, 20],
    ]);
  });
});

Deno.test(
  "a cloud says which of a boat's messages it has, and why the others are missing",
  DISK,
  () =>
    inFolder(async (folder) => {
      await using cloud = await CloudServer.start(folder);
      const boat = await cloud.boat("boat-1", {
        headSeq: 50,
        void: [{ start: 1, end: 11 }],
        lost: [{ start: 11, end: 16, reason: "pruned" }],
      });
      for (let i = 0; i < 20; i++) boat.say({ timeUs: START_US + i * 1000 });
      await fill(boat.instance, 21, 30);
      const report = await cloud.get<LedgerReport>("/instances/boat-1/ledger?from=2020-01-01T00:00:00Z");
      const [bus] = report.buses;
      const { acknowledged = null, ...messages } = bus?.messages ?? {};
      // Live frames may be synced by now, or not.
      assert.ok([10, 30].includes(acknowledged ?? 0), String(acknowledged));
      const [numbered, link] = [boat.seq - 10, boat.seq - 15 - 30];
      assert.deepEqual(messages, { numbered, recorded: 30, stored: acknowledged, missing: { link, pruned: 5 } });
      assert.deepEqual([report.closed, bus?.bus, bus?.frames], [true, null, null]);
      assert.deepEqual(bus?.unknown.map(({ reason }) => reason), ["frames_on_boat"]);
      assert.equal((await cloud.raw("/instances/nobody/ledger")).status, 404);
    }),
);

Deno.test(
  "a ledger of a cloud closes though the boat connects again while it is read, after numbers that the cloud lacks",
  DISK,
  () =>
    inFolder(async (folder) => {
      await using cloud = await CloudServer.start(folder);
      const { instance, ...first } = await cloud.boat("boat-1", { headSeq: 10 });
      const { index } = await instance.replica();
      let seq = first.seq;
      const reconnecting: HistoryIndex = Object.assign(Object.create(index), {
        async *epochBlocks(range: Parameters<HistoryIndex["epochBlocks"]>[0]) {
          if (seq === first.seq && range.toUs === undefined) {
            const boat = await cloud.boat("boat-1", { headSeq: 500 });
            seq = boat.say({ timeUs: START_US });
          }
          yield* index.epochBlocks(range);
        },
      });
      const reply = await ledgerReply(instance, {
        request: new Request(cloud.url),
        query: { from: 0, to: undefined },
        subject: { journal: { index: reconnecting }, clock: systemClock },
      });
      const { closed, buses }: LedgerReport = await reply.json();
      assert.ok(seq >= 500, String(seq));
      assert.deepEqual([closed, buses[0]?.off.messages], [true, 0]);
    }),
);

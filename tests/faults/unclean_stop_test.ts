// What a session learns of frames that it had received and that an unclean stop took with it.
import assert from "node:assert/strict";
import { connect } from "../../src/client/mod.ts";
import { CommandRun } from "../cli/dump_run.ts";
import { TestBoat } from "../support/boat.ts";
import { eventually } from "../support/eventually.ts";
import { inFolder } from "../support/folder.ts";
import { HungTails } from "../support/hung_tails.ts";
import { needs } from "../support/needs.ts";
import { range, seqs, SessionClient } from "../support/session.ts";

const HANGS = needs({ permissions: ["env", "read", "write", "run", "net", "sys"], programs: ["mkfifo"] });
const SYNCED = 50;
const RECEIVED = 80;

function start(folder: string): Promise<TestBoat> {
  const stateDirectory = `${folder}/state`;
  const journal = { directory: `${folder}/journal`, stateDirectory, syncIntervalMs: 20 };
  return TestBoat.start({ stateDirectory, journal });
}

function feed(boat: TestBoat, from: number, to: number): void {
  for (let fed = from; fed <= to; fed++) boat.say({ data: [fed, 0, 0, 0, 0, 0, 0, 0] });
}

/** What a power cut leaves now: every regular file, as far as it is written. */
async function copyFiles(from: string, to: string): Promise<void> {
  await Deno.mkdir(to);
  for await (const { name, isFile, isDirectory } of Deno.readDir(from)) {
    if (isDirectory) await copyFiles(`${from}/${name}`, `${to}/${name}`);
    else if (isFile) {
      await Deno.copyFile(`${from}/${name}`, `${to}/${name}`).catch((error) => {
        // A temporary file that has got its real name meanwhile.
        if (!(error instanceof Deno.errors.NotFound)) throw error;
      });
    }
  }
}

/**
 * A boat with frames 1 to {@linkcode SYNCED} on disk and {@linkcode RECEIVED} in the stream of its session, which has
 * acknowledged 20; gives the folder as a power cut leaves it.
 */
async function cutPower(folder: string): Promise<string> {
  const before = `${folder}/before`;
  const after = `${folder}/after`;
  await Deno.mkdir(`${before}/state`, { recursive: true });
  {
    await using boat = await start(before);
    const client = new SessionClient(boat.url);
    await client.put();
    await using stream = await client.events();
    feed(boat, 1, SYNCED);
    await stream.atLeast(SYNCED);
    assert.equal(await client.ack(20), 204);
  }
  await using boat = await start(before);
  const disk = HungTails.make(`${before}/journal`);
  try {
    await using stream = await new SessionClient(boat.url).events();
    feed(boat, SYNCED + 1, RECEIVED);
    assert.deepEqual(seqs(await stream.atLeast(RECEIVED - 20)), range(21, RECEIVED));
    assert.deepEqual(stream.events, [], "the stop before was in order");
    await copyFiles(before, after);
  } finally {
    disk.release();
  }
  return after;
}

Deno.test(
  "a session learns once of the numbers that an unclean stop took, also on a silent bus",
  HANGS,
  () =>
    inFolder(async (folder) => {
      const cut = await cutPower(folder);
      let first = 0;
      {
        await using boat = await start(cut);
        const client = new SessionClient(boat.url);
        first = boat.boat.broker.head + 1;
        assert.ok(first > RECEIVED);
        const dropped = { from_seq: SYNCED + 1, to_seq: first - 1, count: null, reason: "restart" };
        for (const acknowledged of [20, 30, SYNCED, RECEIVED]) {
          assert.equal(await client.ack(acknowledged), 204);
          await using stream = await client.events();
          await eventually("the event", () => stream.events.length > 0);
          assert.deepEqual(stream.events, [{ name: "dropped", data: dropped }]);
          assert.deepEqual(seqs(stream.frames), range(acknowledged + 1, SYNCED));
        }
        await using stream = await client.events();
        feed(boat, 1, 3);
        assert.deepEqual(seqs(await stream.atLeast(3)), range(first, first + 2));
        assert.deepEqual(stream.dropped, [dropped]);
        assert.equal(await client.ack(first), 204);
        await using again = await client.events();
        assert.deepEqual(seqs(await again.atLeast(2)), [first + 1, first + 2]);
        assert.deepEqual(again.events, []);
        const late = new SessionClient(boat.url, { id: "late" });
        await late.put();
        await using other = await late.events();
        feed(boat, 4, 4);
        assert.deepEqual(seqs(await other.atLeast(1)), [first + 3]);
        assert.deepEqual(other.events, [], "a session made since has nothing to learn");
      }
      await using boat = await start(cut);
      await using stream = await new SessionClient(boat.url).events();
      feed(boat, 5, 5);
      assert.deepEqual(seqs(await stream.atLeast(4)), range(first + 1, first + 4));
      assert.deepEqual(stream.events, [], "this stop was in order");
    }),
);

Deno.test("a session that reads on two unclean stops later learns of both", HANGS, () =>
  inFolder(async (folder) => {
    const once = await cutPower(folder);
    const twice = `${folder}/twice`;
    let second = 0;
    {
      await using boat = await start(once);
      second = boat.boat.broker.head + 1;
      feed(boat, 1, 10);
      const isSynced = async () => await boat.metric("vbg_journal_durable_seq") === second + 9;
      await eventually("the frames on disk", isSynced);
      await copyFiles(once, twice);
    }
    await using boat = await start(twice);
    const third = boat.boat.broker.head + 1;
    await using stream = await new SessionClient(boat.url).events();
    feed(boat, 11, 11);
    const frames = await stream.atLeast(SYNCED - 20 + 11);
    assert.deepEqual(seqs(frames), [...range(21, SYNCED), ...range(second, second + 9), third]);
    const unknown = { count: null, reason: "restart" };
    assert.deepEqual(stream.dropped, [
      { from_seq: SYNCED + 1, to_seq: second - 1, ...unknown },
      { from_seq: second + 10, to_seq: third - 1, ...unknown },
    ]);
  }));

Deno.test(
  "client library and vbg dump pass on that frames may be missing after an unclean stop",
  HANGS,
  () =>
    inFolder(async (folder) => {
      await using boat = await start(await cutPower(folder));
      const toSeq = boat.boat.broker.head;
      const fromSeq = SYNCED + 1;
      const stop = new AbortController();
      const dropped: unknown[] = [];
      const reading = (async () => {
        const events = connect(boat.url).session("pilot", { ack: "manual", signal: stop.signal }).events();
        for await (const event of events) if (event.type === "dropped") dropped.push(event);
      })().catch(() => {});
      await eventually("the event", () => dropped.length > 0);
      stop.abort();
      await reading;
      assert.deepEqual(dropped, [{ type: "dropped", fromSeq, toSeq, count: null, reason: "restart" }]);
      await using run = new CommandRun(["dump", "-server", boat.url, "-client-id", "pilot", "-buffer-timeout", "PT5M"]);
      await run.told(
        new RegExp(`frames between ${fromSeq} and ${toSeq} may be missing: the server did not stop cleanly`),
      );
    }),
);

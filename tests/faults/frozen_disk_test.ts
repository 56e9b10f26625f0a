// A boat whose file system stops answering, for a while and until the power goes.
import assert from "node:assert/strict";
import type { Frame } from "../../src/frame/mod.ts";
import type { Health } from "../../src/http/mod.ts";
import { eventually } from "../support/eventually.ts";
import { inFolder } from "../support/folder.ts";
import { FreezableDisk, mayFreeze } from "../support/frozen_disk.ts";
import { needs } from "../support/needs.ts";
import { TestProgram } from "../support/program.ts";
import { BusFeed } from "../support/replication_feed.ts";
import { range, seqs, SessionClient } from "../support/session.ts";

const FREEZES = needs({
  permissions: ["run", "read", "write", "net", "env", "sys"],
  extras: { "root who may mount and freeze ext4": mayFreeze() },
});

/** A boat that keeps everything on a disk. */
class Boat implements AsyncDisposable {
  readonly program: TestProgram;
  readonly url: string;
  readonly client: SessionClient;

  private constructor(program: TestProgram, url: string) {
    this.program = program;
    this.url = url;
    this.client = new SessionClient(url);
  }

  static async start(disk: FreezableDisk, feed: BusFeed): Promise<Boat> {
    const places = ["-journal-dir", `${disk.path}/journal`, "-state-dir", `${disk.path}/state`];
    const rest = ["-listen", "127.0.0.1:0", "-log-format", "json", "-mdns=false", "-discovery=false"];
    const program = await TestProgram.start("boat", () => [
      ...["-interface", feed.source, "-journal-sync-interval", "100ms"],
      ...places,
      ...rest,
    ]);
    const boat = new Boat(program, await program.url());
    await eventually("the bus", () => feed.isHeard);
    return boat;
  }

  async journal(): Promise<string | undefined> {
    const { components }: Health = await (await fetch(`${this.url}/healthz`)).json();
    return components["journal"]?.status;
  }

  async durableSeq(): Promise<number> {
    const text = await (await fetch(`${this.url}/metrics`)).text();
    return Number(/^vbg_journal_durable_seq (\d+)$/m.exec(text)?.[1]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.program[Symbol.asyncDispose]();
  }
}

/** Number that the feed has given a message. */
function fedNumber({ data }: Frame): number {
  return new DataView(Uint8Array.fromHex(data).buffer).getUint32(0, true);
}

/** The text of a file that is written a little later. */
function readTextIfThere(path: string): string {
  try {
    return Deno.readTextFileSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return "";
    throw error;
  }
}

Deno.test(
  "what hangs on a frozen file system is not acknowledged and comes to disk when it thaws; what a power cut takes then " +
    "is reported to the session that had received it",
  FREEZES,
  () =>
    inFolder(async (folder) => {
      await using feed = BusFeed.start(`${folder}/truth`);
      feed.hasFastPackets = false;
      using disk = FreezableDisk.make(folder);
      using disposal = new DisposableStack();
      let after: FreezableDisk | undefined;
      {
        await using boat = await Boat.start(disk, feed);
        // Whatever happens: a process that hangs in a frozen file system does not end.
        using _thawed = { [Symbol.dispose]: () => disk.thaw() };
        const { client } = boat;
        await client.put();
        await using stream = await client.events();
        await feed.burst(500);
        await stream.atLeast(500);
        await eventually("the frames on disk", async () => await boat.durableSeq() === 500);
        assert.equal(await client.ack(100), 204);

        disk.freeze();
        await feed.burst(300);
        await stream.atLeast(800);
        assert.equal(await client.ack(500), 204, "these are on disk");
        assert.equal(await client.ack(800), 503);
        assert.equal(await client.cursor(), 501);
        assert.equal(await boat.durableSeq(), 500);
        assert.notEqual(await boat.journal(), "ok");
        disk.thaw();
        await eventually("a disk that works", async () => await boat.journal() === "ok");
        assert.equal(await client.ack(800), 204);
        const kept = () => readTextIfThere(`${disk.path}/state/session_positions.log`).includes("801");
        await eventually("the cursor on disk", kept);

        disk.freeze();
        await feed.burst(200);
        assert.deepEqual(seqs(await stream.atLeast(1000)), range(1, 1000));
        assert.deepEqual(stream.frames.map(fedNumber), range(1, 1000));
        after = disposal.use(disk.afterPowerCut(folder));
        boat.program.signal("SIGKILL");
      }
      await using boat = await Boat.start(after, feed);
      await using stream = await boat.client.events();
      await eventually("the event", () => stream.events.length > 0);
      await feed.burst(10);
      const frames = await stream.atLeast(10);
      assert.deepEqual(frames.map(fedNumber), range(1001, 1010), "none of what is gone, and none twice");
      const [{ seq: first } = { seq: 0 }] = frames;
      const dropped = { from_seq: 801, to_seq: first - 1, count: null, reason: "restart" };
      assert.deepEqual(stream.events, [{ name: "dropped", data: dropped }]);
    }),
);

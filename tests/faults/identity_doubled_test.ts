import assert from "node:assert/strict";
import { audit } from "../../cli/audit_compare.ts";
import { eventually } from "../support/eventually.ts";
import { TestProgram } from "../support/program.ts";
import { certificateOf, eventsOf, healthOf, linkOf, PROCESSES, traffic } from "../support/replication_faults.ts";
import { BusFeed } from "../support/replication_feed.ts";
import { ReplicationLab } from "../support/replication_lab.ts";

const ID = "boat-1";
/** What a boat is: its numbers and its journal. */
const PARTS = ["state", "journal"] as const;

async function copyFolder(from: string, to: string): Promise<void> {
  await Deno.mkdir(to, { recursive: true });
  for await (const { name, isFile } of Deno.readDir(from)) {
    if (isFile) await Deno.copyFile(`${from}/${name}`, `${to}/${name}`);
  }
}

/** Stops the boat when all it heard is in the cloud, and makes an image of it. */
async function takeImage(lab: ReplicationLab, image: string): Promise<void> {
  await lab.converged();
  assert.equal(await lab.end("boat", "SIGTERM"), 0);
  for (const part of PARTS) await copyFolder(`${lab.folder}/${part}`, `${image}/${part}`);
}

async function epochOf(lab: ReplicationLab): Promise<string> {
  const { epoch } = await lab.get<{ epoch: string }>("cloud", `/instances/${ID}/status`) ?? { epoch: "" };
  return epoch;
}

/** The same boat on another machine, with another bus. */
function startClone(lab: ReplicationLab, { image, feed }: { image: string; feed: BusFeed }): Promise<TestProgram> {
  const { certPath, keyPath, caPath } = certificateOf(lab.folder, ID);
  return TestProgram.start("boat", () => [
    ...["-interface", feed.source, "-discovery=false", "-listen", "127.0.0.1:0"],
    ...["-state-dir", `${image}/state`, "-journal-dir", `${image}/journal`],
    ...["-replication-target", `127.0.0.1:${lab.proxy.port}`, "-replication-instance-id", ID],
    ...["-replication-tls-cert", certPath, "-replication-tls-key", keyPath, "-replication-tls-ca", caPath],
  ]);
}

Deno.test({
  name: "a clone of a boat gets numbers of its own, the other one is refused and says why, and nothing is mixed",
  ...PROCESSES,
  fn: async () => {
    await using lab = await ReplicationLab.start();
    const image = `${lab.folder}/image`;
    await lab.connected();
    await traffic(lab, 300);
    await takeImage(lab, image);
    const cloned = await epochOf(lab);
    await lab.begin("boat");
    lab.feed.rate = 400;
    await lab.connected();
    await traffic(lab, 300);

    await using feed = BusFeed.start(`${lab.folder}/truth of the clone`);
    {
      await using clone = await startClone(lab, { image, feed });
      const url = await clone.url();
      const other = await eventually("numbers of its own", async () => {
        const epoch = await epochOf(lab);
        return epoch !== cloned && epoch;
      });
      await eventually("the clone on its bus", () => feed.isHeard);
      feed.rate = 400;
      await eventually("the first to be refused", async () => {
        return (await healthOf(lab, "boat")).components["replication"]?.message?.includes("FAILED_PRECONDITION");
      });
      const { components: { replication } } = await healthOf(lab, "boat");
      assert.equal(replication?.status, "degraded");
      const words = new RegExp(`epoch ${cloned} was followed by ${other}: two machines may be this boat`);
      assert.match(replication?.message ?? "", words);
      await eventually("the note of it", async () => {
        return words.test((await eventsOf(lab, { id: ID, type: "live_stop" })).at(-1) ?? "");
      });
      feed.rate = 0;
      await eventually("all of the clone", async () => {
        const { local_head_seq, cloud_durable_seq } = await (await fetch(`${url}/replication/status`)).json();
        return local_head_seq >= feed.count && cloud_durable_seq === local_head_seq;
      });
      clone.signal("SIGTERM");
      assert.equal(await clone.exitCode(), 0);
    }
    lab.feed.rate = 0;
    assert.equal(await lab.end("boat", "SIGTERM"), 0);
    assert.equal(await lab.end("cloud", "SIGTERM"), 0);
    const cloud = `${lab.folder}/cloud/${ID}`;
    const first = await audit({ boat: `${lab.folder}/journal`, cloud, epoch: cloned, truth: lab.feed.truthPath });
    const [{ missing, extra, different, same }] = first.epochs as [typeof first.epochs[0]];
    assert.deepEqual([extra.count, different.count], [0, 0]);
    assert.ok(same >= 600, `${same}`);
    // It keeps on its own disk what it could not send.
    assert.deepEqual(missing.first, [{ start: same + 1, end: same + 1 + missing.count }]);
    assert.deepEqual([first.truth?.doubled, first.truth?.disordered, first.truth?.strange], [0, 0, 0]);
    const second = await audit({ boat: `${image}/journal`, cloud, truth: feed.truthPath });
    const own = second.epochs.find(({ epoch }) => epoch !== cloned)!;
    assert.deepEqual([own.missing.count, own.extra.count, own.different.count], [0, 0, 0]);
    assert.equal(own.same, feed.count);
  },
});

/** Puts the image in place of a boat that is off; what it had goes to `… that was`. */
async function restore(lab: ReplicationLab, image: string): Promise<void> {
  for (const part of PARTS) {
    await Deno.rename(`${lab.folder}/${part}`, `${lab.folder}/${part} that was`);
    await copyFolder(`${image}/${part}`, `${lab.folder}/${part}`);
  }
}

for (const unheard of [0, 800]) {
  Deno.test({
    name:
      `a boat whose old image is restored${unheard > 0 ? ", and that counts on unheard beyond what it had," : ""} ` +
      "begins other numbers: those before and those after are all there",
    ...PROCESSES,
    fn: async () => {
      await using lab = await ReplicationLab.start();
      const image = `${lab.folder}/image`;
      await lab.connected();
      await traffic(lab, 300);
      await takeImage(lab, image);
      const before = await epochOf(lab);
      await lab.begin("boat");
      lab.feed.rate = 400;
      await lab.connected();
      await traffic(lab, 300);
      await lab.converged();
      assert.equal(await lab.end("boat", "SIGTERM"), 0);
      const had = lab.feed.count;
      await restore(lab, image);
      if (unheard > 0) await lab.end("cloud", "SIGTERM");
      await lab.begin("boat");
      lab.feed.rate = unheard > 0 ? 800 : 0;
      await traffic(lab, unheard);
      lab.feed.rate = 0;
      if (unheard > 0) await lab.begin("cloud");
      const after = await eventually("other numbers", async () => {
        const epoch = await epochOf(lab);
        return epoch !== "" && epoch !== before && epoch;
      });
      const words = /the cloud has (\d+) of this run, and from here it can have \d+(; the \d+ frames since then stay)?/;
      const [, highest, kept] = await eventually("the boat's log", () => words.exec(lab.log("boat")));
      assert.deepEqual([Number(highest), kept !== undefined], [had, unheard > 0], lab.log("boat"));
      await lab.connected();
      const heard = lab.feed.count;
      lab.feed.rate = 400;
      await traffic(lab, 300);
      await lab.converged();
      assert.equal((await linkOf(lab))?.local_head_seq, lab.feed.count - heard, "they count from 1");
      await lab.end("boat", "SIGTERM");
      await lab.end("cloud", "SIGTERM");
      const cloud = `${lab.folder}/cloud/${ID}`;
      const whole = await audit({ boat: `${lab.folder}/journal that was`, cloud, epoch: before });
      const own = await audit({ boat: `${lab.folder}/journal`, cloud, epoch: after });
      const found = [...whole.epochs, ...own.epochs].map(({ same, missing, extra, different }) =>
        `${same} ${missing} ${extra} ${different}`
      );
      assert.deepEqual(found, [`${had} 0 0 0`, `${lab.feed.count - heard} 0 0 0`]);
    },
  });
}

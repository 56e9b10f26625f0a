import assert from "node:assert/strict";
import { audit } from "../../cli/commands/audit/compare.ts";
import { eventually } from "../support/eventually.ts";
import { TestProgram } from "../support/program.ts";
import { certificateOf, eventsOf, healthOf, linkOf, PROCESSES, traffic } from "../support/replication_faults.ts";
import { BusFeed } from "../support/replication_feed.ts";
import { ReplicationLab } from "../support/replication_lab.ts";

const ID = "boat-1";
/** What a boat is: its numbers and its journal. */
const PARTS = ["state", "journal"] as const;
/** For so long after the original was heard of a copy is refused. */
const HOLD = ["-copy-refuse-time", "PT2S"];

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
    ...["-replication-max-reconnect-delay", "PT2S"],
  ]);
}

/** Whether the machine at this URL says in its health that it is refused as a copy. */
async function isRefused(url: string): Promise<boolean> {
  const { components: { replication } } = await (await fetch(`${url}/healthz`)).json();
  const { status, message = "" } = replication ?? {};
  return status === "degraded" && /FAILED_PRECONDITION: .*: two machines may be this boat/.test(message);
}

Deno.test({
  name:
    "a clone of a boat is refused and says why while the original streams, which loses nothing; when that is gone for " +
    "the time that is set, the clone begins a new epoch, and nothing is mixed",
  ...PROCESSES,
  fn: async () => {
    await using lab = await ReplicationLab.start({ rate: 0, cloudFlags: HOLD });
    const image = `${lab.folder}/image`;
    await lab.connected();
    await lab.feed.burst(300);
    await takeImage(lab, image);
    const cloned = await epochOf(lab);
    await lab.begin("boat");
    await lab.connected();
    await lab.feed.burst(400);
    await lab.converged();

    await using feed = BusFeed.start(`${lab.folder}/truth of the clone`);
    {
      await using clone = await startClone(lab, { image, feed });
      const url = await clone.url();
      await eventually("the clone on its bus", () => feed.isHeard);
      await feed.burst(100);
      await eventually("the refusal", () => isRefused(url));
      await eventually("the alert", () => /"alert".*replication_disconnected/.test(clone.log));
      await eventually("the event", async () => {
        return (await eventsOf(lab, { id: ID, type: "checkpoint" })).some((each) =>
          /^refused: frames \d+ to \d+ are here with other/.test(each)
        );
      });
      assert.equal((await healthOf(lab, "cloud")).components["identity"]?.status, "degraded");
      await lab.feed.burst(200);
      await lab.converged();
      assert.equal((await linkOf(lab))?.reconnects, 0, "the original never noticed");
      assert.equal(await epochOf(lab), cloned);
      assert.equal(await lab.end("boat", "SIGTERM"), 0);
      const own = await eventually("numbers of its own", async () => {
        const epoch = await epochOf(lab);
        return epoch !== cloned && epoch;
      });
      await feed.burst(200);
      await eventually("all of its new epoch", async () => {
        const { local_head_seq, cloud_durable_seq } = await (await fetch(`${url}/replication/status`)).json();
        return local_head_seq === 200 && cloud_durable_seq === 200;
      });
      const { former_epochs: [former, ...others] } = await (await fetch(`${url}/replication/status`)).json();
      assert.deepEqual([former?.epoch, former?.head_seq, others], [cloned, 400, []]);
      assert.match(former?.refused ?? "", /frames \d+ to 400 of epoch .* are here with other content/);
      clone.signal("SIGTERM");
      assert.equal(await clone.exitCode(), 0);
      assert.equal(await lab.end("cloud", "SIGTERM"), 0);
      const cloud = `${lab.folder}/cloud/${ID}`;
      const first = await audit({ boat: `${lab.folder}/journal`, cloud, epoch: cloned, truth: lab.feed.truthPath });
      const second = await audit({ boat: `${image}/journal`, cloud, epoch: own });
      const found = [...first.epochs, ...second.epochs].map(({ same, missing, extra, different }) =>
        `${same} ${missing.count} ${extra.count} ${different.count}`
      );
      assert.deepEqual(found, ["900 0 0 0", "200 0 0 0"]);
      assert.equal(first.truth?.unrecorded, 0);
    }
    // What it recorded under the numbers of the original it still has.
    const kept = await audit({ boat: `${image}/journal`, cloud: `${lab.folder}/cloud/${ID}`, epoch: cloned });
    assert.equal(kept.epochs[0]?.different.count, 100);
  },
});

Deno.test({
  name: "a boat that was killed before it had written frames that the cloud has is the original: it goes on at once",
  ...PROCESSES,
  fn: async () => {
    await using lab = await ReplicationLab.start({ rate: 0, boatFlags: ["-journal-sync-interval", "PT1H"] });
    await lab.connected();
    await lab.feed.burst(300);
    await lab.converged();
    assert.equal(await lab.end("boat", "SIGTERM"), 0);
    await lab.begin("boat");
    await lab.connected();
    await lab.feed.burst(200);
    const before = await lab.converged();
    const epoch = await epochOf(lab);
    await lab.end("boat", "SIGKILL");
    await eventually("the end of its streams", async () => (await lab.cloudStatus())?.connected === false);
    await lab.begin("boat");
    await lab.connected();
    await lab.feed.burst(100);
    const after = await lab.converged();
    assert.equal(await epochOf(lab), epoch);
    assert.ok(after.boat_head_seq > before.boat_head_seq + 100, "it skipped its reserve");
    assert.doesNotMatch(lab.log("cloud"), /refused/);
    assert.doesNotMatch(lab.log("boat"), /FAILED_PRECONDITION|ALREADY_EXISTS/);
    const { epochs: [found], truth, text } = await lab.audit();
    assert.deepEqual([found?.different.count, found?.missing.count], [0, 0], text);
    assert.ok((found?.recovered.count ?? 0) > 0, text);
    assert.equal(truth?.unrecorded, 0, text);
  },
});

/** Puts the image in place of a boat that is off; what it had goes to `… that was`. */
async function restore(lab: ReplicationLab, image: string): Promise<void> {
  for (const part of PARTS) {
    await Deno.rename(`${lab.folder}/${part}`, `${lab.folder}/${part} that was`);
    await copyFolder(`${image}/${part}`, `${lab.folder}/${part}`);
  }
}

for (const isUnheard of [false, true]) {
  Deno.test({
    name: `a boat whose old image is restored${isUnheard ? ", and that counts on unheard beyond what it had," : ""} ` +
      "begins other numbers: those before and those after are all there",
    ...PROCESSES,
    fn: async () => {
      await using lab = await ReplicationLab.start({ cloudFlags: HOLD });
      const image = `${lab.folder}/image`;
      await lab.connected();
      await traffic(lab, 300);
      await takeImage(lab, image);
      const imaged = lab.feed.count;
      const before = await epochOf(lab);
      await lab.begin("boat");
      lab.feed.rate = 400;
      await lab.connected();
      await traffic(lab, 300);
      await lab.converged();
      assert.equal(await lab.end("boat", "SIGTERM"), 0);
      const had = lab.feed.count;
      await restore(lab, image);
      if (isUnheard) await lab.end("cloud", "SIGTERM");
      await lab.begin("boat");
      lab.feed.rate = isUnheard ? 800 : 0;
      await traffic(lab, isUnheard ? had - imaged + 300 : 0);
      lab.feed.rate = 0;
      if (isUnheard) await lab.begin("cloud");
      const after = await eventually("other numbers", async () => {
        const epoch = await epochOf(lab);
        return epoch !== "" && epoch !== before && epoch;
      });
      const words = isUnheard
        ? `frames \\d+ to ${had} are here with other content: begin a new epoch`
        : `the boat is at \\d+, and frames up to ${had} are here: begin a new epoch`;
      await eventually("the boat's log", () => new RegExp(words).test(lab.log("boat")));
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

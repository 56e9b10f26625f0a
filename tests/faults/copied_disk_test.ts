// A disk that was copied, or an image that was restored, and that went on by itself before it met the cloud again: it has
// the numbers of the original, and other frames under them.
import assert from "node:assert/strict";
import { audit } from "../../cli/commands/audit/compare.ts";
import { eventually } from "../support/eventually.ts";
import { IS_FULL } from "../support/needs.ts";
import { TestProgram } from "../support/program.ts";
import { certificateOf, eventsOf, healthOf, linkOf, PROCESSES } from "../support/replication_faults.ts";
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

/** The same boat on another machine, with another bus; `isOnline`: it knows its cloud. */
function startCopy(
  lab: ReplicationLab,
  { image, feed, isOnline }: { image: string; feed: BusFeed; isOnline: boolean },
): Promise<TestProgram> {
  const { certPath, keyPath, caPath } = certificateOf(lab.folder, ID);
  return TestProgram.start("boat", () => [
    ...["-interface", feed.source, "-discovery=false", "-listen", "127.0.0.1:0"],
    ...["-state-dir", `${image}/state`, "-journal-dir", `${image}/journal`],
    ...isOnline
      ? [
        ...["-replication-target", `127.0.0.1:${lab.proxy.port}`, "-replication-instance-id", ID],
        ...["-replication-tls-cert", certPath, "-replication-tls-key", keyPath, "-replication-tls-ca", caPath],
        ...["-replication-max-reconnect-delay", "PT2S"],
      ]
      : [],
  ]);
}

/** Hears so many messages on its bus, and ends in good order. */
async function useOffline(lab: ReplicationLab, { image, feed }: { image: string; feed: BusFeed }, messages: number) {
  await using copy = await startCopy(lab, { image, feed, isOnline: false });
  const url = await copy.url();
  await eventually("the copy on its bus", () => feed.isHeard);
  await feed.burst(messages);
  await eventually("all of it", async () => {
    const { broker } = await (await fetch(`${url}/healthz`)).json();
    return broker.frames_total === messages;
  });
  copy.signal("SIGTERM");
  assert.equal(await copy.exitCode(), 0);
}

/** A boat that has recorded and sent `before` messages, of which an image is made, and `after` more. */
async function labWithImage({ before, after }: { before: number; after: number }) {
  const lab = await ReplicationLab.start({ rate: 0 });
  const image = `${lab.folder}/image`;
  await lab.connected();
  await lab.feed.burst(before);
  await lab.converged();
  assert.equal(await lab.end("boat", "SIGTERM"), 0);
  for (const part of PARTS) await copyFolder(`${lab.folder}/${part}`, `${image}/${part}`);
  await lab.begin("boat");
  await lab.connected();
  await lab.feed.burst(after);
  await lab.converged();
  const { epoch } = await lab.get<{ epoch: string }>("cloud", `/instances/${ID}/status`) ?? { epoch: "" };
  return { lab, image, epoch };
}

/** Nothing in the cloud's epoch is of another machine than the one whose journal this is. */
async function assertUnmixed(journal: string, { lab, epoch, frames }: {
  lab: ReplicationLab;
  epoch: string;
  frames: number;
}): Promise<void> {
  const { epochs } = await audit({ boat: journal, cloud: `${lab.folder}/cloud/${ID}`, epoch });
  const found = epochs.map((
    { same, missing, extra, different },
  ) => [same, missing.count, extra.count, different.count]);
  assert.deepEqual(found, [[frames, 0, 0, 0]]);
}

for (const offline of IS_FULL ? [150, 900] : [900]) {
  Deno.test({
    name: `a copied disk that heard ${offline} messages by itself is refused while the original is here, and both ` +
      "sides say so: nothing of it is taken",
    ...PROCESSES,
    fn: async () => {
      const { lab: started, image, epoch } = await labWithImage({ before: 500, after: 400 });
      await using lab = started;
      await using feed = BusFeed.start(`${lab.folder}/truth of the copy`);
      await useOffline(lab, { image, feed }, offline);
      // A second start, so that nothing in memory knows where the copy began to count by itself.
      await useOffline(lab, { image, feed }, 30);
      {
        await using copy = await startCopy(lab, { image, feed, isOnline: true });
        const url = await copy.url();
        const words = /frames \d+ to \d+ are here with other content: two machines may be this boat/;
        const health = await eventually("the refusal", async () => {
          const { components: { replication } } = await (await fetch(`${url}/healthz`)).json();
          return words.test(replication?.message ?? "") && replication;
        });
        assert.equal(health.status, "degraded");
        assert.match(health.message, /FAILED_PRECONDITION/);
        await eventually("the alert", () => /"alert".*replication_disconnected/.test(copy.log) && words.test(copy.log));
        await feed.burst(100);
        await eventually("the event", async () => {
          return (await eventsOf(lab, { id: ID, type: "checkpoint" })).some((each) =>
            /^refused: .*other content/.test(each)
          );
        });
        const { components: { identity } } = await healthOf(lab, "cloud");
        assert.equal(identity?.status, "degraded");
        copy.signal("SIGTERM");
        assert.equal(await copy.exitCode(), 0);
      }
      await lab.feed.burst(200);
      await lab.converged();
      assert.equal((await linkOf(lab))?.connected, true, "the original never noticed");
      await lab.end("boat", "SIGTERM");
      await lab.end("cloud", "SIGTERM");
      await assertUnmixed(`${lab.folder}/journal`, { lab, epoch, frames: lab.feed.count });
    },
  });
}

/** The cloud has heard nothing of the boat for two hours. */
async function letHoursPass(lab: ReplicationLab): Promise<void> {
  const path = `${lab.folder}/cloud/${ID}/state.json`;
  const state = JSON.parse(await Deno.readTextFile(path));
  state.last_seen = new Date(Date.parse(state.last_seen) - 2 * 3_600_000).toISOString();
  await Deno.writeTextFile(path, JSON.stringify(state));
}

Deno.test({
  name:
    "a restored image whose original is gone begins a new epoch, however far it went on by itself: nothing is mixed",
  ...PROCESSES,
  fn: async () => {
    const { lab: started, image, epoch } = await labWithImage({ before: 500, after: 400 });
    await using lab = started;
    assert.equal(await lab.end("boat", "SIGTERM"), 0);
    const had = lab.feed.count;
    await lab.end("cloud", "SIGTERM");
    await letHoursPass(lab);
    for (const part of PARTS) await Deno.rename(`${lab.folder}/${part}`, `${lab.folder}/${part} that was`);
    for (const part of PARTS) await copyFolder(`${image}/${part}`, `${lab.folder}/${part}`);
    await using feed = BusFeed.start(`${lab.folder}/truth of the image`);
    await useOffline(lab, { image: lab.folder, feed }, 900);
    await lab.begin("cloud");
    await lab.begin("boat");
    const other = await eventually("other numbers", async () => {
      const status = await lab.get<{ epoch: string }>("cloud", `/instances/${ID}/status`);
      return status && status.epoch !== epoch && status.epoch;
    });
    await lab.connected();
    const heard = lab.feed.count;
    await lab.feed.burst(300);
    await lab.converged();
    const refused = new RegExp(`frames \\d+ to 900 of epoch ${epoch} are here with other content`);
    const [onBoat, ...others] = (await linkOf(lab))?.former_epochs ?? [];
    assert.deepEqual([onBoat?.epoch, onBoat?.head_seq, others], [epoch, 1400, []]);
    assert.match(onBoat?.refused ?? "", refused);
    const { components: { replication } } = await healthOf(lab, "boat");
    assert.equal(replication?.status, "degraded");
    assert.match(replication?.message ?? "", /the cloud refuses \d+ frames of former epochs: frames/);
    const status = await lab.get<{ former_epochs: { epoch: string; refused?: string }[] }>(
      "cloud",
      `/instances/${ID}/status`,
    );
    assert.deepEqual(status?.former_epochs.map((each) => [each.epoch, refused.test(each.refused ?? "")]), [[
      epoch,
      true,
    ]]);
    const { components: { former_epochs: former } } = await healthOf(lab, "cloud");
    assert.equal(former?.status, "degraded");
    const events = await eventsOf(lab, { id: ID, type: "checkpoint" });
    assert.ok(events.some((each) => each.startsWith(`epoch ${epoch} refused: frames`)), events.join("\n"));
    assert.match(lab.log("boat"), /frames \d+ to \d+ are here with other content: begin a new epoch/);
    await lab.end("boat", "SIGTERM");
    await lab.end("cloud", "SIGTERM");
    await assertUnmixed(`${lab.folder}/journal that was`, { lab, epoch, frames: had });
    await assertUnmixed(`${lab.folder}/journal`, { lab, epoch: other, frames: lab.feed.count - heard });
  },
});

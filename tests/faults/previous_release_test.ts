// Boat and cloud beside the release before: its files, its messages, and the way back to it.
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { eventually } from "../support/eventually.ts";
import { inFolder } from "../support/folder.ts";
import { environment, findProgram, needs } from "../support/needs.ts";
import { ReplicationLab } from "../support/replication_lab.ts";
import { SessionClient } from "../support/session.ts";
import { ROOT } from "../support/task.ts";

/** The release before, and where its files are from: tests/data/README.md. */
const PREVIOUS = "81399539ae6081138075a9369c6c73f9eee5d11b";
const FILES = fileURLToPath(new URL("../data/previous_release.tar.gz", import.meta.url));
/** Messages in those files; the last 50 came while the cloud was dead. */
const EARLIER = 752;

const PERMISSIONS = ["run", "read", "write", "net", "env", "sys"] as const;
const PROCESSES = needs({ permissions: [...PERMISSIONS], programs: ["tar"] });
const HISTORY = needs({
  permissions: [...PERMISSIONS],
  programs: ["git", "tar"],
  extras: { "VBG_TEST_FULL=1": environment("VBG_TEST_FULL") === "1", [`git history with ${PREVIOUS}`]: hasPrevious() },
});

function hasPrevious(): boolean {
  if (environment("VBG_TEST_FULL") !== "1" || !findProgram("git")) return false;
  return new Deno.Command("git", { args: ["cat-file", "-e", PREVIOUS], cwd: ROOT, stderr: "null" }).outputSync()
    .success;
}

async function run(program: string, ...args: string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command(program, { args, cwd: ROOT }).output();
  assert.ok(success, new TextDecoder().decode(stderr));
}

/** Puts more on the bus, and waits until boat and cloud have it. */
async function moreTraffic(lab: ReplicationLab): Promise<void> {
  const until = lab.feed.count + 300;
  lab.feed.rate = 400;
  await eventually("traffic", () => lab.feed.count >= until);
  await lab.converged();
}

Deno.test({
  name:
    "what boat and cloud of the release before left when both were killed is read, sent and continued, each message once",
  ...PROCESSES,
  fn: async () => {
    await using lab = await ReplicationLab.start({
      rate: 0,
      feeds: [{ earlier: EARLIER }],
      prepare: (folder) => run("tar", "-C", folder, "--transform=s/^truth$/truth-before/", "-xzf", FILES),
    });
    await lab.connected();
    await lab.converged();
    await moreTraffic(lab);
    const before = await Deno.readTextFile(`${lab.folder}/truth-before`);
    assert.equal(before.trimEnd().split("\n").length, EARLIER);
    await Deno.writeTextFile(lab.feed.truthPath, before + await Deno.readTextFile(lab.feed.truthPath));
    const { text, truth, isGood } = await lab.audit();
    assert.ok(isGood && text.includes("missing 0, extra 0, different 0"), text);
    assert.deepEqual([truth?.found, truth?.unrecorded, truth?.doubled], [lab.feed.count, 0, 0], text);
  },
});

for (const first of ["boat", "cloud"] as const) {
  const second = first === "boat" ? "cloud" : "boat";
  Deno.test({
    name:
      `upgraded and rolled back with the release before, the ${first} first: a session and every message survive each step`,
    ...HISTORY,
    fn: () =>
      inFolder(async (folder) => {
        const root = `${folder}/previous/`;
        await Deno.mkdir(root);
        await run("git", "archive", "--output", `${folder}/previous.tar`, PREVIOUS);
        await run("tar", "-C", root, "-xf", `${folder}/previous.tar`);
        await using lab = await ReplicationLab.start({ roots: { boat: root, cloud: root }, rate: 400 });
        const session = new SessionClient(lab.url("boat"), { id: "log-book" });
        await session.put({ buffer_timeout: "PT1H" });
        await moreTraffic(lab);
        let acknowledged = (await lab.converged()).cursor;
        assert.equal(await session.ack(acknowledged), 204);
        const steps = [[first, undefined], [second, undefined], [first, root], [second, root]] as const;
        for (const [side, wanted] of steps) {
          assert.equal(await lab.end(side, "SIGTERM"), 0);
          if (wanted === undefined) delete lab.roots[side];
          else lab.roots[side] = wanted;
          await lab.begin(side);
          await lab.connected();
          await moreTraffic(lab);
          const { cursor } = await session.put({ buffer_timeout: "PT1H" });
          assert.equal(cursor, acknowledged + 1, `after ${side} at ${wanted ?? "this release"}`);
          acknowledged = (await lab.converged()).cursor;
          assert.equal(await session.ack(acknowledged), 204);
        }
        const { text, truth, isGood } = await lab.audit();
        assert.ok(isGood && text.includes("missing 0, extra 0, different 0"), text);
        assert.deepEqual([truth?.found, truth?.unrecorded, truth?.doubled], [lab.feed.count, 0, 0], text);
      }),
  });
}

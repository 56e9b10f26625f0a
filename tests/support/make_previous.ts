// Makes tests/data/previous_release.tar.gz: what boat and cloud of an earlier commit leave on disk when both are killed.
// deno run -A tests/support/make_previous.ts CHECKOUT-OF-THAT-COMMIT/
import { eventually } from "./eventually.ts";
import { ReplicationLab } from "./replication_lab.ts";
import { SessionClient } from "./session.ts";

const [root = ""] = Deno.args;
await using lab = await ReplicationLab.start({
  roots: { boat: root, cloud: root },
  rate: 300,
  boatFlags: ["-journal-block-size", "4096"],
  cloudFlags: ["-journal-block-size", "4096"],
});
await lab.connected();
const session = new SessionClient(lab.url("boat"), { id: "log-book" });
await session.put({ buffer_timeout: "PT48H" });
await eventually("traffic", () => lab.feed.count >= 700);
const { cursor } = await lab.converged();
await session.ack(cursor);
// Frames that only the boat has, in its open block.
await lab.end("cloud", "SIGKILL");
await lab.feed.burst(50);
await eventually(
  "all on disk",
  async () =>
    /^vbg_journal_durable_seq (\d+)$/m.exec(await lab.text("boat", "/metrics") ?? "")?.[1] === `${lab.feed.count}`,
);
await lab.end("boat", "SIGKILL");
const out = new URL("../data/previous_release.tar.gz", import.meta.url).pathname;
const args = [
  "-C",
  lab.folder,
  "--sort=name",
  "--owner=0",
  "--group=0",
  "-czSf",
  out,
  "cloud",
  "journal",
  "state",
  "truth",
];
await new Deno.Command("tar", { args, stdout: "inherit", stderr: "inherit" }).output();

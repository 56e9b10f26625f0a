import assert from "node:assert/strict";
import { audit } from "../../cli/commands/audit/compare.ts";
import { findParts } from "../../cli/commands/audit/parts.ts";
import { eventually } from "./eventually.ts";
import { inFolder } from "./folder.ts";
import { needs } from "./needs.ts";
import { TestProgram } from "./program.ts";
import { BusFeed } from "./replication_feed.ts";

const PROCESSES = needs({ permissions: ["run", "read", "write", "net", "env"] });

Deno.test(
  "feed: a boat records what is put on its bus, once, in order, and but for the last second through kill -9",
  PROCESSES,
  () =>
    inFolder(async (folder) => {
      const journal = `${folder}/journal`;
      await using feed = BusFeed.start(`${folder}/truth`);
      const flags = ["-interface", feed.source, "-discovery=false", "-listen", "127.0.0.1:0"];
      const boat = () => TestProgram.start("boat", () => [...flags, "-journal-dir", journal, "-state-dir", folder]);
      const framesOf = async (program: TestProgram): Promise<number> =>
        (await (await fetch(`${await program.url()}/healthz`)).json()).broker.frames_total;
      {
        await using killed = await boat();
        await eventually("the boat on its bus", () => feed.isHeard);
        feed.rate = 3000;
        await eventually("some seconds of traffic", () => feed.count > 6000);
        await eventually("some of it on the disk", async () => (await findParts(journal)).parts.length > 0);
        killed.signal("SIGKILL");
        await killed.exitCode();
        await eventually("the end of the connection", () => !feed.isHeard);
      }
      const before = feed.count;
      feed.rate = 0;
      await using program = await boat();
      await eventually("the boat on its bus", () => feed.isHeard);
      await feed.burst(2000);
      await eventually("all of them", async () => await framesOf(program) >= 2000);
      program.signal("SIGTERM");
      await program.exitCode();
      // A journal is its own best copy: only the truth is of interest here.
      const report = await audit({ boat: journal, cloud: journal, truth: feed.truthPath });
      const { truth, epochs } = report;
      assert.ok(report.isGood);
      assert.equal(epochs[0]!.same, truth!.found);
      assert.equal(truth!.found + truth!.unrecorded, before + 2000);
      assert.ok(truth!.found > 2000, `${truth!.found} of ${before + 2000}`);
      assert.equal(truth!.others, 0);
    }),
);

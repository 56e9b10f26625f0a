import assert from "node:assert/strict";
import { connect } from "../../src/client/mod.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";
import { messages, record } from "../support/replay.ts";
import { range, seqs } from "../support/session.ts";
import { TestSimulation } from "../support/simulation.ts";
import { Reader } from "./reader.ts";

const DISK = needs({ permissions: ["net", "read", "write"] });

Deno.test(
  "a slot of a simulation gives the recording from its first frame, in each run the same",
  DISK,
  () =>
    inFolder(async (folder) => {
      const files = [await record(folder, { messages: messages(2000, { everyMs: 0.1 }) })];
      const slots = [{ id: "slot", timeoutMs: 60_000, filter: {} }];
      const runs: unknown[] = [];
      for (let run = 0; run < 2; run++) {
        await using server = await TestSimulation.start({ files, slots, ringFrames: 64 });
        const reader = new Reader(connect(server.url).session("slot").events());
        const frames = await reader.atLeast(2000);
        assert.deepEqual(seqs(frames), range(1, 2000));
        runs.push(frames);
        await reader.leave();
      }
      assert.deepEqual(runs[0], runs[1]);
    }),
);

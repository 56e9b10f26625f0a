import assert from "node:assert/strict";
import { ClockSteps } from "../../src/journal/writer/backlog.ts";
import { message, START_US } from "../support/messages.ts";
import { inFolder } from "../support/folder.ts";
import { frameOf, makeWriter, readJournal } from "../support/journal_run.ts";
import { needs } from "../support/needs.ts";

const DISK = needs({ permissions: ["read", "write"] });
const BACKLOG = { maxBacklogBytes: 4 * 4096 };

Deno.test("clock steps: only a change of wall against monotonic time is one", () => {
  const steps = new ClockSteps();
  const at = (monoMs: number, setUs = 0) => steps.isStep(message({ monoMs, timeUs: START_US + monoMs * 1000 + setUs }));
  // Buses interleave, one of them a minute late.
  for (const monoMs of [0, 100, 50, 60_000, 1, 59_999, 2]) assert.equal(at(monoMs), false);
  // Slowed down or made faster by little steps.
  for (let i = 1; i <= 20; i++) assert.equal(at(i, i * 900_000), false);
  assert.equal(at(30, 20 * 900_000 - 1_000_001), true, "set back");
  assert.equal(at(30, 20 * 900_000 - 1_000_001), false, "runs on from there");
  assert.equal(at(30, 3_600_000_000), true, "set forward");
});

Deno.test(
  "a backlog that is full names why: a slow disk, or blocks that ended early",
  DISK,
  () =>
    inFolder(async (folder) => {
      const full = makeWriter(folder, BACKLOG);
      for (let seq = 1; full.writer.lost === 0; seq++) full.writer.append(seq, frameOf(seq));
      assert.match(
        full.lines.join(),
        /backlog is full: 4 blocks wait to be written, the disk is slower than the frames/,
      );
      await full.writer.close();

      const stepped = makeWriter(folder, BACKLOG);
      for (let seq = 1; stepped.writer.lost === 0; seq++) {
        stepped.writer.append(seq, frameOf(seq, { timeUs: START_US + seq * 1000 + (seq % 2) * 3_600_000_000 }));
      }
      assert.match(stepped.lines.join(), /4 blocks wait to be written, 4 of them ended early: clock step/);
      await stepped.writer.close();
    }),
);

Deno.test(
  "who can wait for the journal is told when there is capacity, and loses nothing",
  DISK,
  () =>
    inFolder(async (folder) => {
      const { writer } = makeWriter(folder, BACKLOG);
      for (let seq = 1; seq <= 3000; seq++) {
        for (let waiting = writer.ready(); waiting; waiting = writer.ready()) await waiting;
        writer.append(seq, frameOf(seq));
      }
      assert.equal(writer.lost, 0);
      await writer.close();
      assert.equal(readJournal(folder).frames.length, 3000);
    }),
);

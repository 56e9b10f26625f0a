import assert from "node:assert/strict";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";
import { CommandRun } from "./dump_run.ts";
import { DeadlineQueue } from "../../cli/commands/dump/deadline_queue.ts";
import { Random } from "../support/random.ts";

const OFFLINE = needs({ permissions: ["env", "read", "sys", "write"] });

/** A candump log of frames at so many seconds. */
function logAt(seconds: readonly number[]): string {
  const lines = seconds.map((s, i) => `(${1502984866 + s}.000000) can0 09F1120${i % 10}#FF725AFF7FFF7FFD\n`);
  return lines.join("");
}

Deno.test(
  "dump -start leaves out what is before, of every recording, and -speed shows frames when they are due",
  OFFLINE,
  () =>
    inFolder(async (folder) => {
      const [first, second] = [`${folder}/1.log`, `${folder}/2.log`];
      await Deno.writeTextFile(first, logAt([0, 10, 20]));
      await Deno.writeTextFile(second, logAt([5, 15, 3600]));
      const start = ["-start", "2017-08-17T15:47:56Z"];
      const seqsOf = (lines: string[]) => lines.map((line) => JSON.parse(line).seq);
      const { code, lines } = await CommandRun.end(["dump", first, second, ...start]);
      assert.deepEqual([code, seqsOf(lines)], [0, [2, 3, 5, 6]]);
      const fast = await CommandRun.end(["dump", first, second, ...start, "-speed", "100000"]);
      assert.deepEqual([fast.code, seqsOf(fast.lines)], [0, [2, 3, 5, 6]]);
      await using slow = new CommandRun(["dump", second, "-speed", "1", "-start", "2017-08-17T15:48:01Z"]);
      await slow.told(/^vbg dump: the next frame is due in 3585 s$/);
      await slow.written(1);
      assert.deepEqual([await slow.stop(), seqsOf(slow.lines)], [130, [2]]);
      const quiet = new CommandRun(["dump", second, "-speed", "10", "-quiet"]);
      await quiet.written(1);
      assert.deepEqual([await quiet.stop(), quiet.complaints], [130, []]);
    }),
);

Deno.test("deadline queue: gives what is due, earliest first, like a sorted list", () => {
  const random = new Random(1);
  const queue = new DeadlineQueue<number>();
  let naive: number[] = [];
  for (let round = 0; round < 20_000; round++) {
    if (random.chance(0.55)) {
      const atMs = random.int(1000);
      queue.push(atMs, atMs);
      naive.push(atMs);
      continue;
    }
    const nowMs = random.int(1000);
    const first = naive.reduce((least, each) => Math.min(least, each), Infinity);
    const expected = first <= nowMs ? first : undefined;
    assert.equal(queue.popDue(nowMs), expected);
    if (expected !== undefined) naive.splice(naive.indexOf(expected), 1);
    if (random.chance(0.001)) {
      queue.clear();
      naive = [];
    }
  }
});

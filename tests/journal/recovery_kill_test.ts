import assert from "node:assert/strict";
import { recover } from "../../src/journal/wal/recovery.ts";
import { pause } from "../support/eventually.ts";
import { inFolder } from "../support/folder.ts";
import { journalFiles, keptLog, readJournal, wantedRange } from "../support/journal_run.ts";
import { environment, needs, rounds } from "../support/needs.ts";
import { Random } from "../support/random.ts";

const CHILD = new URL("../support/journal_child.ts", import.meta.url).pathname;
const ROUNDS = Number(environment("VBG_TEST_ROUNDS") ?? rounds(20, 6));
const RUN = needs({ permissions: ["read", "write", "run"] });

/** Numbers that a start leaves out, so that none is used twice. */
const RESERVE = 1_000_000;

/** Records in a process of its own, kills it after a while, and tells what it had called durable. */
async function recordAndKill(
  args: { directory: string; first: number; gapFrom: number; newestFile: string; slowBlockMs: number },
  waitMs: number,
): Promise<number> {
  const { directory, first, gapFrom, newestFile, slowBlockMs } = args;
  const settings = [directory, String(first), String(gapFrom), newestFile, String(slowBlockMs)];
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", "--quiet", CHILD, ...settings],
    stdout: "piped",
  }).spawn();
  let text = "";
  let started = () => {};
  const running = new Promise<void>((resolve) => started = resolve);
  const reading = (async () => {
    for await (const part of child.stdout.pipeThrough(new TextDecoderStream())) {
      text += part;
      started();
    }
    started();
  })();
  await running;
  await pause(waitMs);
  child.kill("SIGKILL");
  const { signal } = await child.status;
  await reading;
  assert.equal(signal, "SIGKILL", "the child did not end by itself");
  // The last line may be cut.
  return Number(text.split("\n").at(-2) ?? 0);
}

Deno.test({
  name: `recovery: killed ${ROUNDS} times at any moment, nothing that was durable is lost or doubled`,
  ...RUN,
  fn: () =>
    inFolder(async (directory) => {
      const random = new Random(31);
      let last = { lastSeq: 0, newestFile: "" };
      let recovered = 0;
      const runs: { first: number; lastSeq: number }[] = [];
      for (let round = 0; round < ROUNDS; round++) {
        const first = round * RESERVE + 1;
        const gapFrom = round === 0 ? 0 : last.lastSeq + 1;
        const { newestFile } = last;
        const waitMs = random.chance(0.5) ? random.int(30) : random.int(200);
        // In every other round blocks stay in their tails while a worker packs them.
        const slowBlockMs = round % 2 === 0 ? 30_000 : 0;
        const durable = await recordAndKill({ directory, first, gapFrom, newestFile, slowBlockMs }, waitMs);
        assert.ok(durable >= first);
        const { log, lines } = keptLog();
        const found = await recover({ directory, log });
        assert.ok(found.lastSeq >= durable, `round ${round}: ${found.lastSeq} of ${durable}`);
        assert.ok(found.lastSeq < first + RESERVE);
        assert.ok(lines.length <= 1, lines.join("\n"));
        if (found.frames > 0 || found.cutBytes > 0) assert.equal(lines.length, 1);
        assert.deepEqual((await recover({ directory, log })).lastSeq, found.lastSeq);
        recovered += found.frames;
        last = { lastSeq: found.lastSeq, newestFile: found.newestFile ?? "" };
        runs.push({ first, lastSeq: found.lastSeq });
        assert.equal(journalFiles(directory).at(-1), last.newestFile);
        const { frames, blocks } = readJournal(directory);
        assert.deepEqual(frames, runs.flatMap(({ first, lastSeq }) => wantedRange(first, lastSeq)), `round ${round}`);
        const gap = blocks.find(({ firstSeq }) => firstSeq >= first)?.metadata.gap;
        assert.deepEqual(gap, round === 0 ? undefined : { firstMissing: gapFrom, reason: "restart" });
        if (runs.length < 4) continue;
        // What is proved goes, so that a round does not cost more than the one before.
        runs.length = 0;
        for (const name of journalFiles(directory)) await Deno.remove(`${directory}/${name}`);
      }
      assert.ok(recovered > 0, "some frames were in a tail alone");
    }),
});

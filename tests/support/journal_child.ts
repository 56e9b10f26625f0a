// Records frames until it is killed:
// deno run -A journal_child.ts <directory> <first number> <gap from> <newest file> <slow from, ms>
// Says on stdout, a line each time, the last frame that is durable: what was said must be there afterwards.
import { JournalWriter } from "../../src/journal/writer/journal_writer.ts";
import { silentLogger, systemClock } from "../../src/base/mod.ts";
import { EPOCH, frameOf } from "./journal_run.ts";

const [directory = "", first = "1", gapFrom = "0", newestFile = "", slowBlockMs = "30000"] = Deno.args;
const writer = new JournalWriter({
  directory,
  blockBytes: 4096,
  rotateBytes: 30_000,
  syncIntervalMs: 3,
  slowBlockMs: Number(slowBlockMs),
  buses: ["can0", "can1"],
  epoch: EPOCH,
  gap: Number(gapFrom) > 0 ? { firstMissing: Number(gapFrom), reason: "restart" } : undefined,
  newestFile: newestFile || undefined,
  clock: systemClock,
  log: silentLogger,
});
const encoder = new TextEncoder();
let seq = Number(first) - 1;
let told = 0;

/** Bursts of all sizes: blocks fill within a turn and over many. */
function burst(): void {
  const count = 1 + (seq * 7919) % 400;
  for (let i = 0; i < count; i++) {
    seq++;
    writer.append(seq, frameOf(seq));
  }
  if (writer.durableSeq > told) {
    told = writer.durableSeq;
    Deno.stdout.writeSync(encoder.encode(`${told}\n`));
  }
  // Every third rest is long enough for the tail to be written, so that many kills find frames in it alone.
  setTimeout(burst, seq % 3 === 0 ? 40 : seq % 3);
}
burst();

import assert from "node:assert/strict";
import { Logger, StallDetector } from "../../src/base/mod.ts";

/** Runs a detector over times, in milliseconds, of which it sees one at each look. */
async function look(times: number[], activity?: string): Promise<{ detector: StallDetector; lines: string[] }> {
  const lines: string[] = [];
  const done = Promise.withResolvers<void>();
  const rest = [...times];
  const now = (): number => {
    const time = rest.shift();
    if (rest.length === 0) done.resolve();
    return time ?? times.at(-1)!;
  };
  const detector = new StallDetector(new Logger({ write: (line) => lines.push(line) }), { now });
  if (activity !== undefined) detector.mark(activity);
  const keepAlive = setInterval(() => {}, 1000);
  await done.promise;
  detector.stop();
  clearInterval(keepAlive);
  await Promise.resolve();
  return { detector, lines };
}

Deno.test("a turn of the event loop that is 10 ms late is no stall, a longer one is", async () => {
  const { detector } = await look([0, 20, 50, 80.5]);
  assert.equal(detector.stalls, 1);
});

Deno.test("the longest lag is told once and then begins anew", async () => {
  const { detector } = await look([0, 20, 75, 100]);
  assert.equal(detector.takeMaxLagMs(), 35);
  assert.equal(detector.takeMaxLagMs(), 0);
});

Deno.test("a stall of more than 100 ms is logged with what ran", async () => {
  const { lines } = await look([0, 320, 460], "history");
  assert.equal(lines.length, 2);
  assert.ok(lines[0]!.endsWith("WARN  event loop held lag_ms=300 last_activity=history"), lines[0]);
  assert.ok(lines[1]!.endsWith("lag_ms=120 last_activity=idle"), lines[1]);
});

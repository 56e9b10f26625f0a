import assert from "node:assert/strict";
import { Latencies } from "../../cli/commands/loadtest/run.ts";
import { runCommand } from "../support/command.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";
import { Random } from "../support/random.ts";

const ALL = needs({ permissions: ["env", "net", "read", "sys", "write"] });

Deno.test("latencies: quantiles are exact to 2 %, in a fixed amount of memory", () => {
  const random = new Random(77);
  const latencies = new Latencies();
  assert.equal(latencies.quantileMs(0.5), undefined);
  const values = Array.from({ length: 10_000 }, () => 0.02 * 10 ** (random.next() * 5));
  for (const value of values) latencies.add(value);
  values.sort((a, b) => a - b);
  for (const part of [0.001, 0.5, 0.9, 0.99, 0.999, 1]) {
    const exact = values[Math.ceil(values.length * part) - 1]!;
    const told = latencies.quantileMs(part)!;
    assert.ok(told >= exact * 0.9999 && told <= exact * 1.0201, `${part}: ${told} for ${exact}`);
  }
  assert.equal(latencies.quantileMs(1), values.at(-1));
  latencies.add(-1);
  assert.equal(latencies.quantileMs(0), 0.01, "less than nothing counts as the least");
});

Deno.test("vbg loadtest sends at its rate, and every client gets every frame", ALL, async () => {
  const words = ["loadtest", "-rate", "4000", "-duration", "500ms", "-consumers", "2", "-sources", "3"];
  const { code, out } = await runCommand(words);
  assert.equal(code, 0);
  const { sent, consumers, latency_ms: latencies, memory_bytes: memory } = JSON.parse(out);
  assert.equal(sent, 2000);
  assert.deepEqual(consumers, [{ received: 2000, dropped: 0 }, { received: 2000, dropped: 0 }]);
  assert.ok(latencies.p50 > 0 && latencies.p50 <= latencies.p99 && latencies.p99 <= latencies.max * 1.02);
  assert.ok(memory.before > 0 && memory.max >= memory.before);
});

Deno.test(
  "vbg loadtest records into a directory that is empty, and into no other",
  ALL,
  () =>
    inFolder(async (folder) => {
      const words = [
        "loadtest",
        "-rate",
        "2000",
        "-duration",
        "250ms",
        "-consumers",
        "0",
        "-journal-dir",
        `${folder}/new`,
      ];
      const { code, out } = await runCommand([...words, "-json=false"]);
      assert.equal(code, 0);
      assert.match(out, /^sent: 500 frames in /);
      assert.doesNotMatch(out, /latency/);
      const verified = await runCommand(["verify", `${folder}/new`]);
      assert.equal(verified.code, 0);
      assert.equal(JSON.parse(verified.out).files[0].frames, 500);
      assert.equal((await runCommand(words)).code, 2);
    }),
);

Deno.test("vbg loadtest tells what it has measured when it is stopped", ALL, async () => {
  const stopping = new AbortController();
  const running = runCommand(["loadtest", "-duration", "1h", "-consumers", "0"], { stopping: stopping.signal });
  stopping.abort();
  const { code, out } = await running;
  assert.equal(code, 0);
  assert.equal(typeof JSON.parse(out).sent, "number");
});

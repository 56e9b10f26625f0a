import assert from "node:assert/strict";
import { Logger, StallDetector } from "../../src/base/mod.ts";

/** A detector on a clock that the test moves; its own timer looks too, and finds nothing. */
class Bench implements Disposable {
  nowMs = 0;
  readonly lines: string[] = [];
  readonly detector = new StallDetector(new Logger({ write: (line) => this.lines.push(line) }), {
    now: () => this.nowMs,
  });

  /** Lets time pass and looks. */
  look(afterMs: number): void {
    this.nowMs += afterMs;
    this.detector.check();
  }

  [Symbol.dispose](): void {
    this.detector.stop();
  }
}

Deno.test("whatever runs for more than 10 ms is counted, each time", () => {
  using bench = new Bench();
  for (let i = 0; i < 40; i++) {
    bench.detector.run("work", () => bench.nowMs += 10.5);
    bench.detector.run("short work", () => bench.nowMs += 10);
    bench.look(20);
  }
  assert.equal(bench.detector.stalls, 40);
  assert.equal(bench.detector.longestMs, 10.5);
});

Deno.test("lag that nobody measured is counted beside what was measured", () => {
  using bench = new Bench();
  bench.look(30);
  assert.equal(bench.detector.stalls, 0);
  bench.look(30.5);
  assert.equal(bench.detector.stalls, 1);
  bench.detector.run("work", () => bench.nowMs += 50);
  bench.look(20);
  assert.equal(bench.detector.stalls, 2);
});

Deno.test("what throws is measured all the same", () => {
  using bench = new Bench();
  const fail = () =>
    bench.detector.run("work", () => {
      bench.nowMs += 15;
      throw new Error("no");
    });
  assert.throws(fail, /no/);
  assert.equal(bench.detector.stalls, 1);
});

Deno.test("a stall of more than 100 ms is logged with what ran, at most every 5 s", () => {
  using bench = new Bench();
  bench.detector.run("history", () => bench.nowMs += 300);
  bench.look(20);
  bench.detector.mark("frames");
  bench.look(200);
  bench.look(5000);
  bench.detector.mark("frames");
  bench.look(140);
  assert.equal(bench.lines.length, 2);
  assert.ok(
    bench.lines[0]!.endsWith("WARN  event loop held held_ms=300 activity=history stalls=1"),
    bench.lines[0] ?? "",
  );
  assert.ok(bench.lines[1]!.endsWith("held_ms=4980 activity=idle stalls=3"), bench.lines[1] ?? "");
});

Deno.test("the longest stall is forgotten after a minute or two", () => {
  using bench = new Bench();
  bench.detector.run("work", () => bench.nowMs += 77);
  for (let i = 0; i < 50; i++) bench.look(20);
  assert.equal(bench.detector.longestMs, 77);
  for (let i = 0; i < 2 * 60 * 50 + 10; i++) bench.look(20);
  assert.equal(bench.detector.longestMs, 0);
});

import assert from "node:assert/strict";
import { Logger } from "../../../src/base/mod.ts";
import { FrameShipper } from "../../../src/cloud/store/frame_shipper.ts";
import { FakeClock } from "../../support/fake_clock.ts";

/** Boats that note when their frames are stored, and a store that may fail. */
class Fleet {
  readonly clock = new FakeClock();
  readonly logged: string[] = [];
  readonly times = new Map<string, number[]>();
  readonly boats: { id: string; hasUnstored: boolean; keepsFrames: boolean; ship: () => Promise<void> }[];
  readonly shipper: FrameShipper;
  fault: string | undefined;
  /** Boats whose storing waits until it is resolved. */
  gate: Promise<void> = Promise.resolve();
  atOnce = 0;
  mostAtOnce = 0;
  attempts = 0;

  constructor(count: number) {
    this.boats = Array.from({ length: count }, (_, i) => ({
      id: `boat-${i}`,
      hasUnstored: true,
      keepsFrames: true,
      ship: () => this.#ship(`boat-${i}`),
    }));
    const log = new Logger({ format: "json", write: (line) => this.logged.push(JSON.parse(line).message) });
    this.shipper = new FrameShipper({ boats: this.boats, intervalMs: 30_000, clock: this.clock, log });
  }

  async #ship(id: string): Promise<void> {
    this.attempts++;
    this.mostAtOnce = Math.max(this.mostAtOnce, ++this.atOnce);
    await this.gate;
    this.atOnce--;
    if (this.fault !== undefined) throw new Error(this.fault);
    this.times.set(id, [...this.times.get(id) ?? [], this.clock.monoMs()]);
  }

  async run(seconds: number): Promise<void> {
    for (let i = 0; i < seconds; i++) {
      this.shipper.runHousekeeping();
      await new Promise((resolve) => setTimeout(resolve));
      this.clock.advance(1000);
    }
  }
}

Deno.test("each boat's new frames are stored once an interval, and boats are spread over it", async () => {
  const fleet = new Fleet(300);
  fleet.boats[7]!.hasUnstored = false;
  await fleet.run(90);
  assert.equal(fleet.times.size, 299);
  for (const [id, times] of fleet.times) {
    assert.ok(times.length >= 2 && times.length <= 4, `${id}: ${times}`);
    times.slice(1).forEach((time, i) =>
      assert.ok(time - times[i]! >= 30_000 && time - times[i]! <= 35_000, `${id}: ${times}`)
    );
  }
  const first = fleet.times.values().map(([time]) => Math.floor(time! / 1000)).toArray();
  const bySecond = Map.groupBy(first, (second) => second);
  assert.ok(Math.max(...bySecond.values().map(({ length }) => length)) <= 30, "no burst");
  await fleet.shipper.stop();
});

Deno.test("1000 boats are each stored within the interval and 5 s, whatever their place in the order is", async () => {
  const fleet = new Fleet(1000);
  await fleet.run(120);
  assert.equal(fleet.times.size, 1000);
  for (const [id, times] of fleet.times) {
    const waits = [0, ...times, 120_000].map((time, i, all) => time - (all[i - 1] ?? 0));
    assert.ok(Math.max(...waits) <= 35_000, `${id}: ${times}`);
  }
  assert.ok(fleet.mostAtOnce <= 16);
  await fleet.shipper.stop();
});

Deno.test("a store that fails is asked by one boat at a time", async () => {
  const fleet = new Fleet(50);
  await fleet.run(60);
  fleet.fault = "the store is away";
  await fleet.run(60);
  fleet.attempts = 0;
  fleet.mostAtOnce = 0;
  await fleet.run(600);
  assert.equal(fleet.mostAtOnce, 1);
  assert.ok(fleet.attempts >= 100 && fleet.attempts <= 120, `${fleet.attempts}`);
  await fleet.shipper.stop();
});

Deno.test("a store that fails is left alone for 5 s, logged once, and tells since when", async () => {
  const fleet = new Fleet(50);
  await fleet.run(60);
  assert.deepEqual(fleet.shipper.state, { kind: "ok" });
  fleet.fault = "the store is away";
  const sinceMs = Math.floor(fleet.clock.wallUs() / 1000);
  await fleet.run(600);
  const { state } = fleet.shipper;
  assert.ok(state.kind === "failing" && state.reason === "the store is away");
  assert.ok(state.sinceMs >= sinceMs && state.sinceMs <= sinceMs + 31_000);
  const before = fleet.times.values().reduce((sum, { length }) => sum + length, 0);
  fleet.fault = undefined;
  await fleet.run(60);
  assert.deepEqual(fleet.shipper.state, { kind: "ok" });
  assert.ok(fleet.times.values().reduce((sum, { length }) => sum + length, 0) >= before + 50);
  assert.deepEqual(fleet.logged, ["frames not stored", "object store answers again"]);
  await fleet.shipper.stop();
});

Deno.test("no more than 16 boats' frames are stored at a time, and none of a boat twice at a time", async () => {
  const fleet = new Fleet(100);
  const { promise, resolve } = Promise.withResolvers<void>();
  fleet.gate = promise;
  await fleet.run(120);
  assert.equal(fleet.mostAtOnce, 16);
  resolve();
  await fleet.run(60);
  assert.equal(fleet.times.size, 100);
  await fleet.shipper.stop();
});

Deno.test("frames of a boat without a journal are stored every 5 s", async () => {
  const fleet = new Fleet(2);
  fleet.boats[1]!.keepsFrames = false;
  await fleet.run(61);
  const [kept = [], unkept = []] = ["boat-0", "boat-1"].map((id) => fleet.times.get(id));
  assert.ok(kept.length >= 1 && kept.length <= 3, `${kept}`);
  assert.ok(unkept.length >= 11 && unkept.length <= 13, `${unkept}`);
  await fleet.shipper.stop();
});

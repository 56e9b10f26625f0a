import assert from "node:assert/strict";
import { type Observation, Quantities, type SourceDevice, type SourceSwitch } from "../../src/quantities/mod.ts";

const A: SourceDevice = { name: "00000000000000aa", src: 1 };
const B: SourceDevice = { name: "00000000000000bb", src: 2 };

/** Depths that devices send, at a time that both clocks have. */
function depth(device: SourceDevice, atMs: number, value: number | null = 5): Observation {
  return { pgn: 128267, decoded: { depth: value, offset: null }, device, timeMs: 1e12 + atMs, atMs };
}

/** Feeds messages at their times, and looks every 100 ms for stale values. */
function run(quantities: Quantities, messages: readonly Observation[], untilMs: number): SourceSwitch[] {
  const switches: SourceSwitch[] = [];
  let next = 0;
  for (let atMs = 0; atMs <= untilMs; atMs += 100) {
    for (let message = messages[next]; message && message.atMs <= atMs; message = messages[++next]) {
      switches.push(...quantities.observe(message));
    }
    switches.push(...quantities.evaluate(atMs));
  }
  return switches;
}

function told(switches: readonly SourceSwitch[]): string[] {
  return switches.map(({ from, to, reason }) => `${from?.src ?? "-"}→${to?.src ?? "-"} ${reason}`);
}

function every(
  device: SourceDevice,
  { fromMs = 0, toMs, stepMs = 1000 }: { fromMs?: number; toMs: number; stepMs?: number },
) {
  const count = Math.floor((toMs - fromMs) / stepMs) + 1;
  return Array.from({ length: count }, (_, index) => depth(device, fromMs + index * stepMs));
}

function sorted(...lists: Observation[][]): Observation[] {
  return lists.flat().sort((a, b) => a.atMs - b.atMs);
}

Deno.test("a source that stops is left after three of its intervals, with one switch, and the first stays second when it comes again", () => {
  const quantities = new Quantities();
  const messages = sorted(
    every(A, { toMs: 10_000 }),
    every(B, { fromMs: 300, toMs: 30_000 }),
    every(A, { fromMs: 20_000, toMs: 30_000 }),
  );
  const switches = run(quantities, messages, 30_000);
  assert.deepEqual(told(switches), ["-→1 first", "1→2 stale"]);
  const now = quantities.get("depth", 30_000);
  assert.deepEqual([now?.preferred?.device.src, now?.by, now?.sources.length], [2, "first_heard", 2]);
});

Deno.test("a value is fresh for exactly three of the source's own intervals", () => {
  for (const stepMs of [100, 1000, 2500]) {
    const quantities = new Quantities();
    run(quantities, every(A, { toMs: 10 * stepMs, stepMs }), 10 * stepMs);
    assert.equal(quantities.get("depth", 13 * stepMs)?.sources[0]?.isStale, false, `${stepMs}`);
    assert.equal(quantities.get("depth", 13 * stepMs + 1)?.sources[0]?.isStale, true, `${stepMs}`);
    assert.equal(quantities.get("depth", 13 * stepMs)?.sources[0]?.intervalMs, stepMs);
  }
});

Deno.test("a late message neither makes a slow sensor stale nor changes its interval", () => {
  const quantities = new Quantities();
  const times = [0, 2500, 5000, 7500, 14_000, 15_000, 17_500];
  const switches = run(quantities, times.map((atMs) => depth(A, atMs)), 20_000);
  assert.deepEqual(told(switches), ["-→1 first"]);
  assert.equal(quantities.get("depth", 20_000)?.sources[0]?.intervalMs, 2500);
});

Deno.test("a device whose value is not available is left like one that is silent, and its last value stays readable", () => {
  const quantities = new Quantities();
  const lost = every(A, { fromMs: 5000, toMs: 20_000 }).map((message) => depth(A, message.atMs, null));
  const switches = run(
    quantities,
    sorted(every(A, { toMs: 4000 }), lost, every(B, { fromMs: 500, toMs: 20_000 })),
    20_000,
  );
  assert.deepEqual(told(switches), ["-→1 first", "1→2 stale"]);
  const of = quantities.get("depth", 20_000)?.sources.find(({ device }) => device.src === 1);
  assert.deepEqual([of?.value, of?.ageMs, of?.isStale], [5, 16_000, true]);
});

Deno.test("when all are stale none is preferred, and the one that comes back is no switch", () => {
  const quantities = new Quantities();
  const switches = run(
    quantities,
    sorted(every(A, { toMs: 5000 }), every(A, { fromMs: 15_000, toMs: 20_000 })),
    20_000,
  );
  assert.deepEqual(told(switches), ["-→1 first", "1→- stale"]);
  assert.equal(quantities.get("depth", 20_000)?.preferred?.device.src, 1);
});

Deno.test("the device of the setting is preferred as soon as its value is fresh, by key and by the key's beginning", () => {
  for (const key of ["depth", "depth.offset"]) {
    const quantities = new Quantities({ preferred: new Map([["depth", B.name]]) });
    const offset = (message: Observation) => ({ ...message, decoded: { depth: 5, offset: 1 } });
    const messages = sorted(every(A, { toMs: 20_000 }), every(B, { fromMs: 5300, toMs: 12_300 })).map(offset);
    const switches = run(quantities, messages, 20_000).filter((each) => each.key === key);
    assert.deepEqual(told(switches), ["-→1 first", "1→2 setting", "2→1 stale"]);
  }
});

Deno.test("a new setting holds at once, and without it the device in use stays", () => {
  const quantities = new Quantities();
  run(quantities, sorted(every(A, { toMs: 5000 }), every(B, { fromMs: 500, toMs: 5000 })), 5000);
  assert.deepEqual(told(quantities.prefer(new Map([["depth", B.name]]), 5000)), ["1→2 setting"]);
  assert.deepEqual(told(quantities.prefer(new Map(), 5000)), []);
  assert.equal(quantities.get("depth", 5000)?.preferred?.device.src, 2);
});

Deno.test("a device keeps its values and its preference when its address changes and when its NAME becomes known", () => {
  const quantities = new Quantities();
  const unnamed = { name: "", src: 1 };
  const moved = { ...A, src: 77 };
  const switches = run(quantities, [depth(unnamed, 0), depth(A, 1000), depth(moved, 2000), depth(moved, 3000)], 3000);
  assert.deepEqual(told(switches), ["-→1 first"]);
  const now = quantities.get("depth", 3000);
  assert.deepEqual(now?.sources.map(({ device }) => device.src), [77]);
});

Deno.test("a device that leaves the bus is left at once", () => {
  const quantities = new Quantities();
  run(quantities, sorted(every(A, { toMs: 3000 }), every(B, { toMs: 3000, fromMs: 100 })), 3000);
  assert.deepEqual(told(quantities.remove([A], 3100)), ["1→2 removed"]);
  assert.deepEqual(told(quantities.remove([B], 3200)), ["2→- removed"]);
  assert.deepEqual(quantities.list(3200), []);
});

Deno.test("of one device's two PGNs the better one counts while it is fresh", () => {
  const quantities = new Quantities();
  const position = (pgn: number, atMs: number, latitude: number) =>
    quantities.observe({ pgn, decoded: { latitude, longitude: 10 }, device: A, timeMs: atMs, atMs });
  for (let atMs = 0; atMs <= 1000; atMs += 100) position(129025, atMs, 1);
  position(129029, 1000, 2);
  assert.equal(quantities.get("position", 1200)?.preferred?.pgn, 129025);
  assert.deepEqual(quantities.get("position", 1400)?.preferred?.value, { latitude: 2, longitude: 10 });
});

Deno.test("quantities stand in the order of their categories, instances apart, with names for people", () => {
  const quantities = new Quantities();
  const tell = (pgn: number, decoded: Record<string, unknown>) =>
    quantities.observe({ pgn, decoded, device: A, timeMs: 0, atMs: 0 });
  tell(127505, { instance: 1, fluid_type: 0, level: 50, capacity: null });
  tell(127488, { engine_instance: 1, engine_speed: 900, engine_boost: null });
  tell(130312, { instance: 0, temperature_source: "sea", actual_temperature: 290 });
  tell(130312, { instance: 2, temperature_source: "sea", actual_temperature: 291 });
  tell(128267, { depth: 3, offset: null });
  assert.deepEqual(quantities.list(0).map(({ key, label }) => `${key}: ${label}`), [
    "depth: Depth below transducer",
    "temperature.sea.0: Sea temperature",
    "temperature.sea.2: Sea temperature 2",
    "engine.1.speed: Engine 1 speed",
    "tank.fuel.1.level: Fuel tank 1",
  ]);
});

Deno.test("memory is bounded: more values than the maximum are refused and counted", () => {
  const quantities = new Quantities({ maxReadings: 3 });
  for (let src = 0; src < 10; src++) quantities.observe(depth({ name: "", src }, 0));
  assert.deepEqual([quantities.get("depth", 0)?.sources.length, quantities.refused], [3, 7]);
  quantities.remove([{ name: "", src: 0 }], 0);
  quantities.observe(depth({ name: "", src: 9 }, 0));
  assert.equal(quantities.get("depth", 0)?.sources.length, 3);
});

Deno.test("a step of the boat's clock does not make a source fresh for years", () => {
  const yearsMs = 50 * 365 * 86_400_000;
  for (const before of [0, 1, 4]) {
    const quantities = new Quantities();
    const times = Array.from({ length: before + 1 }, (_, index) => index * 1000);
    const last = before * 1000 + 1000;
    run(quantities, [
      ...times.map((atMs) => depth(A, atMs)),
      { ...depth(A, last), timeMs: 1e12 + last + yearsMs },
    ], last + 3001);
    assert.equal(quantities.get("depth", last + 3001)?.sources[0]?.isStale, true, `${before} intervals before`);
  }
});

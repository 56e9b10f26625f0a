import assert from "node:assert/strict";
import type { Health } from "../../src/http/mod.ts";
import { TestBoat } from "../support/boat.ts";
import { eventually } from "../support/eventually.ts";
import { FakeClock } from "../support/fake_clock.ts";

/** Both endpoints, which must agree. */
async function health(boat: TestBoat): Promise<{ code: number; body: Health }> {
  const [healthz, readyz] = [await boat.raw("/healthz"), await boat.raw("/readyz")];
  assert.equal(healthz.status, readyz.status);
  assert.equal(await healthz.text(), await readyz.text());
  const livez = await boat.raw("/livez");
  assert.deepEqual([livez.status, await livez.text()], [200, `{"status":"ok"}`]);
  return { code: healthz.status, body: JSON.parse(await healthz.text()) };
}

Deno.test("health of a server that has heard nothing is ok, and its unset time is null", async () => {
  await using boat = await TestBoat.start({ ringFrames: 1024 });
  assert.deepEqual(await health(boat), {
    code: 200,
    body: {
      status: "ok",
      broker: {
        status: "ok",
        frames_total: 0,
        head_seq: 0,
        device_count: 0,
        ring_entries: 0,
        ring_capacity: 1024,
      },
      last_frame_at: null,
      components: { can0: { status: "ok" } },
    },
  });
});

Deno.test("health counts what was heard, and head_seq is the number of the newest frame", async () => {
  const clock = new FakeClock();
  await using boat = await TestBoat.start({ clock, ringFrames: 4 });
  await using events = await boat.events();
  for (const src of [1, 2, 2, 3, 3, 3]) {
    boat.say({ src });
    await events.atLeast(events.frames.length + 1);
  }
  clock.advance(250);
  boat.say({ src: 254 });
  await events.atLeast(7);
  const { body } = await health(boat);
  assert.deepEqual(body.broker, {
    status: "ok",
    frames_total: 7,
    head_seq: events.frames.at(-1)?.seq,
    device_count: 3,
    ring_entries: 4,
    ring_capacity: 4,
  });
  assert.equal(body.last_frame_at, "2026-01-02T03:04:05.250Z");
});

Deno.test("a bus that has been silent too long degrades health, since start included, until it speaks again", async () => {
  const clock = new FakeClock();
  await using boat = await TestBoat.start({ clock, busSilenceThresholdMs: 10_000 });
  clock.advance(10_000);
  assert.equal((await health(boat)).body.status, "ok");
  clock.advance(1);
  const { code, body } = await health(boat);
  assert.deepEqual([code, body.status], [200, "degraded"]);
  assert.deepEqual(body.components.can0, { status: "degraded", message: "no frames for 10 s" });
  assert.equal(body.last_frame_at, null);
  boat.say();
  await eventually("ok", async () => (await health(boat)).body.status === "ok");
  clock.advance(11_000);
  assert.equal((await health(boat)).body.status, "degraded");
  boat.boat.reload({ busSilenceThresholdMs: undefined });
  assert.equal((await health(boat)).body.status, "ok");
});

Deno.test("one silent bus of two degrades health, and health names it", async () => {
  const clock = new FakeClock();
  await using boat = await TestBoat.start({ clock, names: ["can0", "can1"], busSilenceThresholdMs: 1000 });
  clock.advance(5000);
  boat.say({ bus: 0 });
  const { code, body } = await eventually("can0 to be heard", async () => {
    const now = await health(boat);
    return now.body.components.can0?.status === "ok" && now;
  });
  assert.deepEqual([code, body.status, body.components.can1?.status], [200, "degraded", "degraded"]);
});

Deno.test("one bus of two down is degraded with 200, both down is unhealthy with 503, and livez stays 200", async () => {
  await using boat = await TestBoat.start({ names: ["can0", "can1"] });
  assert.equal((await health(boat)).body.status, "ok");
  await boat.buses[1]?.close();
  const one = await health(boat);
  assert.deepEqual([one.code, one.body.status], [200, "degraded"]);
  assert.deepEqual(one.body.components, {
    can0: { status: "ok" },
    can1: { status: "unhealthy", message: "bus is closed" },
  });
  await boat.buses[0]?.close();
  const both = await health(boat);
  assert.deepEqual([both.code, both.body.status], [503, "unhealthy"]);
  assert.equal((await boat.raw("/healthz")).headers.get("Content-Type"), "application/json");
});

Deno.test("unhealthy is unhealthy for a single bus", async () => {
  await using boat = await TestBoat.start();
  await boat.buses[0]?.close();
  assert.equal((await health(boat)).code, 503);
});

Deno.test("a fault of the server costs a frame, not the server: it is counted and shown", async () => {
  await using boat = await TestBoat.start();
  await using events = await boat.events();
  let faults = 1;
  boat.boat.broker.registry.listen(() => {
    if (faults-- > 0) throw new Error("no room on the shelf");
  });
  boat.say({ src: 1 });
  boat.say({ src: 2 });
  await events.atLeast(1);
  const { code, body } = await health(boat);
  assert.equal(code, 200);
  assert.deepEqual(body.components, {
    can0: { status: "degraded", message: "1 frames lost because of a fault: Error: no room on the shelf" },
  });
  assert.equal(await boat.metric(`vbg_bus_faulty_frames_total{bus="can0"}`), 1);
  assert.deepEqual(events.frames.map(({ src }) => src), [2]);
});

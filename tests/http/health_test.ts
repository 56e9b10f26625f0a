import assert from "node:assert/strict";
import type { Health } from "../../src/http/mod.ts";
import { TestBoat } from "../support/boat.ts";
import { eventually } from "../support/eventually.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { evaluateJournal, type JournalSource } from "../../src/http/status/journal_health.ts";
import { evaluateCloudHealth } from "../../src/http/cloud/health.ts";
import { startCloud } from "../../src/cloud_server/cloud.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";
import { PortAuthority } from "./cloud_port.ts";

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

function decide(unsyncedMs: number, syncIntervalMs: number, rest: Partial<JournalSource> = {}): string {
  const well = { state: { kind: "recording" }, lost: 0, files: undefined, damage: [] } as const;
  return evaluateJournal({ ...well, unsyncedMs, syncIntervalMs, ...rest }).status;
}

Deno.test("a journal is degraded at 5 sync intervals and unhealthy at 30 s, never before as many intervals", () => {
  assert.deepEqual([0, 4999, 5000, 29_999, 30_000].map((ms) => decide(ms, 1000)), [
    ...["ok", "ok", "degraded", "degraded", "unhealthy"],
  ]);
  assert.deepEqual([249, 250].map((ms) => decide(ms, 50)), ["ok", "degraded"]);
  assert.deepEqual([30_000, 299_999, 300_000].map((ms) => decide(ms, 60_000)), ["ok", "ok", "unhealthy"]);
});

Deno.test("a disk that hangs matters more than damage, and damage names one file and counts the others", () => {
  const damage = ['journal file "a" is damaged: torn', "another", "a third"];
  assert.equal(decide(30_000, 1000, { damage }), "unhealthy");
  const files = undefined;
  const state = { kind: "recording" } as const;
  assert.deepEqual(evaluateJournal({ state, lost: 0, files, damage, unsyncedMs: 0, syncIntervalMs: 1000 }), {
    status: "degraded",
    message: 'journal file "a" is damaged: torn; and 2 more, see the log',
  });
});

/** Open boats: the first ones are recorded, the others fail; and one that is closed. */
function boats(recording: number, failing: number) {
  const boat = { id: "boat", record: { vanished: [] }, former: { isRefused: false }, refusedMachine: undefined };
  const open = { ...boat, connected: true, isOpen: true };
  return [
    ...Array.from({ length: recording }, () => ({ ...open, recording: { kind: "recording" as const } })),
    ...Array.from({ length: failing }, () => ({ ...open, recording: { kind: "failing" as const, reason: "full" } })),
    { ...boat, connected: false, isOpen: false, recording: { kind: "idle" as const } },
  ];
}

Deno.test("a cloud is well while every boat that is here is recorded, and with no boat at all", () => {
  assert.deepEqual(evaluateCloudHealth({ instances: boats(2, 0) }), {
    status: "ok",
    instances_total: 3,
    instances_connected: 2,
    components: { recording: { status: "ok" }, storage: { status: "ok" } },
  });
  const empty = evaluateCloudHealth({ instances: [] });
  assert.equal(empty.status, "ok");
});

Deno.test("boats that cannot be recorded degrade a cloud, and when none can be it is unhealthy; none is named", () => {
  const decide = (recording: number, failing: number) => evaluateCloudHealth({ instances: boats(recording, failing) });
  assert.equal(decide(1, 1).status, "degraded");
  assert.deepEqual(decide(1, 1).components["recording"], {
    status: "degraded",
    message: "1 of 2 boats cannot be recorded",
  });
  assert.equal(decide(0, 2).status, "unhealthy");
});

Deno.test("a part of the cloud that fails makes it as ill as it is itself", () => {
  for (const status of ["ok", "degraded", "unhealthy"] as const) {
    const others = { disk: { status, message: "as it is" } };
    const health = evaluateCloudHealth({ instances: boats(2, 0), others });
    assert.equal(health.status, status);
    assert.deepEqual(health.components["disk"], others.disk);
  }
});

const FILES = needs({ permissions: ["env", "net", "read", "sys", "write"] });
const HERE = { hostname: "127.0.0.1", port: 0 };

Deno.test(
  "a list of revoked certificates that cannot be read any more degrades a cloud until it can",
  FILES,
  () =>
    inFolder(async (folder) => {
      const authority = await PortAuthority.make(folder, "boats");
      const { cert, key } = await authority.server();
      const [certPath, keyPath, revokedPath] = [`${folder}/cert.pem`, `${folder}/key.pem`, `${folder}/revoked.txt`];
      await Deno.writeTextFile(certPath, cert);
      await Deno.writeTextFile(keyPath, key);
      await Deno.writeTextFile(revokedPath, "");
      const trust = { clientCaPath: `${folder}/boats.pem`, revokedPath };
      const ports = { kind: "dual", grpc: HERE, http: HERE, tls: { certPath, keyPath }, trust } as const;
      const cloud = await startCloud({ dataDirectory: `${folder}/data`, ports });
      const health = async () => {
        cloud.reload({});
        const { status, components } = await (await fetch(`http://127.0.0.1:${cloud.addresses.http.port}/healthz`))
          .json();
        return { status, revoked: components.revoked };
      };
      const isWell = async () => (await health()).status === "ok";
      try {
        assert.deepEqual(await health(), { status: "ok", revoked: { status: "ok" } });
        await Deno.remove(revokedPath);
        await eventually("a cloud that is degraded", async () => !await isWell());
        const message = "there is no such file; the old list stays";
        assert.deepEqual(await health(), { status: "degraded", revoked: { status: "degraded", message } });
        await Deno.writeTextFile(revokedPath, "");
        await eventually("a cloud that is well again", isWell);
      } finally {
        await cloud.stop();
      }
    }),
);

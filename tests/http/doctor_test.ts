import assert from "node:assert/strict";
import { parseDoctorState } from "../../src/doctor/mod.ts";
import { TestBoat } from "../support/boat.ts";
import { eventually } from "../support/eventually.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { needs } from "../support/needs.ts";

interface Reply {
  findings: { kind: string; severity: string; bus: string; src?: number; frames: { epoch?: string; seq: number }[] }[];
  buses: { bus: string; load_percent: number; peak_percent: number }[];
}

const NET = needs({ permissions: ["net", "read", "write"] });
const DEVICE = { uniqueNumber: 77, manufacturerCode: 275, deviceClass: 60, deviceFunction: 130 };

/** Two devices that claim one address again and again, and one that sends. */
function fight(boat: TestBoat): void {
  boat.claim(7, DEVICE, { bus: 1 });
  boat.say({ src: 7, bus: 1 });
  boat.claim(7, { ...DEVICE, uniqueNumber: 78 }, { bus: 1 });
}

Deno.test({
  name: "GET /doctor: a conflict on the bus, with the device, the frames and the load; filters by bus and severity",
  ...NET,
  fn: async () => {
    const clock = new FakeClock();
    await using boat = await TestBoat.start({ names: ["can0", "can1"], clock });
    const { findings } = await eventually("the conflict", async () => {
      fight(boat);
      clock.advance(500);
      const reply = await boat.get<Reply>("/doctor");
      return reply.findings.some(({ kind }) => kind === "address_conflict") && reply;
    });
    const conflict = findings.find(({ kind }) => kind === "address_conflict");
    assert.ok(conflict);
    assert.equal(conflict.bus, "can1");
    assert.equal(conflict.src, 7);
    assert.equal(conflict.severity, "critical");
    const { epoch } = await boat.get<{ epoch: string }>("/proof");
    assert.ok(conflict.frames.length > 0 && conflict.frames.every((frame) => frame.epoch === epoch && frame.seq > 0));
    const other = await boat.get<Reply>("/doctor?bus=can0");
    assert.deepEqual(other.findings, []);
    assert.deepEqual(other.buses.map(({ bus }) => bus), ["can0"]);
    const worst = await boat.get<Reply>("/doctor?severity=critical&bus=can1");
    assert.ok(worst.findings.length > 0 && worst.findings.every(({ severity }) => severity === "critical"));
    assert.equal((await boat.raw("/doctor?severity=bad")).status, 400);
  },
});

Deno.test({
  name: "boat: what the doctor has learned is written at the end, and read at the next start",
  ...NET,
  fn: async () => {
    const stateDirectory = await Deno.makeTempDir();
    const path = `${stateDirectory}/doctor.json`;
    try {
      {
        await using boat = await TestBoat.start({ stateDirectory });
        boat.claim(7, DEVICE);
        assert.deepEqual((await boat.get<Reply>("/doctor")).findings, []);
      }
      const written = parseDoctorState(await Deno.readTextFile(path));
      assert.equal(written.version, 1);
      await Deno.writeTextFile(path, "damaged");
      await using boat = await TestBoat.start({ stateDirectory });
      assert.deepEqual((await boat.get<Reply>("/doctor")).findings, []);
    } finally {
      await Deno.remove(stateDirectory, { recursive: true });
    }
  },
});

Deno.test({
  name: "boat: without the doctor there is no /doctor",
  ...NET,
  fn: async () => {
    await using boat = await TestBoat.start({ doctor: false });
    assert.equal((await boat.raw("/doctor")).status, 404);
  },
});

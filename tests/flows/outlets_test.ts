import assert from "node:assert/strict";
import { TestBoat } from "../support/boat.ts";
import { eventually } from "../support/eventually.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { inFolder } from "../support/folder.ts";
import { Mosquitto, MqttSubscriber } from "../support/mosquitto.ts";
import { needs } from "../support/needs.ts";
import { TestProgram } from "../support/program.ts";
import { Manager } from "../support/systemd.ts";
import { range, seqs } from "../support/session.ts";
import type { Health } from "../../src/http/mod.ts";

const NET = needs({ permissions: ["net"] });
const MQTT = needs({
  permissions: ["net", "read", "write", "run", "env", "sys"],
  programs: ["mosquitto", "mosquitto_sub"],
});
const PROGRAM = needs({ permissions: ["run", "read", "write", "net", "env"], programs: ["python3", "systemd-notify"] });

/** A receiver of alerts, and what it got. */
function receiver(): { url: string; alerts: { type: string; subject: string }[] } & AsyncDisposable {
  const alerts: { type: string; subject: string }[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, async (request) => {
    alerts.push(await request.json());
    return new Response();
  });
  const url = `http://127.0.0.1:${server.addr.port}`;
  return { url, alerts, [Symbol.asyncDispose]: async () => await server.shutdown() };
}

Deno.test("a boat tells of a silent bus, of its return, and of a device that has gone, each once", NET, async () => {
  const clock = new FakeClock();
  await using told = receiver();
  await using boat = await TestBoat.start({
    clock,
    alerts: { urls: [told.url] },
    alertDedupWindowMs: 0,
    busSilenceTimeoutMs: 30_000,
    deviceIdleTimeoutMs: 20_000,
  });
  boat.claim(7, { uniqueNumber: 1, manufacturerCode: 229 });
  await eventually("the device", () => boat.boat.broker.registry.size === 1);
  const types = () => told.alerts.map(({ type }) => type);
  const until = (type: string) =>
    eventually(type, () => {
      clock.advance(1000);
      return types().includes(type);
    });
  await until("bus_silence");
  boat.say({ src: 9 });
  await eventually("the bus again", () => types().includes("bus_resumed"));
  assert.deepEqual(types().filter((type) => type.startsWith("bus_")), ["bus_silence", "bus_resumed"]);
  // Devices of a dead bus are not told one by one: the bus has talked again for a while first.
  await eventually("the device that has gone", () => {
    clock.advance(1000);
    boat.say({ src: 9 });
    return types().includes("device_removed");
  });
  const { components } = await boat.get<Health>("/healthz");
  assert.equal(components["alerts"]?.status, "ok");
});

Deno.test(
  "a boat publishes every frame to an MQTT broker, and its health tells when that is gone",
  MQTT,
  () =>
    inFolder(async (folder) => {
      const broker = await Mosquitto.start(folder);
      await using subscriber = await MqttSubscriber.of(broker);
      await using boat = await TestBoat.start({
        mqtt: {
          url: broker.url,
          topicPrefix: "vbg",
          clientId: "vbg-boat",
          qos: 1,
          bufferFrames: 128,
          retryMs: 100,
          filter: {},
          decode: false,
          pgnTopics: false,
          homeAssistant: false,
        },
      });
      await eventually("the status", () => subscriber.on("vbg/status").includes("online"));
      for (let i = 0; i < 50; i++) boat.say({ data: [i, 1, 2, 3, 4, 5, 6, 7] });
      const frames = () =>
        subscriber.messages.filter(({ topic }) => topic === "vbg/frames").map(({ payload }) => JSON.parse(payload));
      await eventually("all frames", () => frames().length === 50);
      assert.deepEqual(seqs(frames()), range(1, 50));
      await broker[Symbol.asyncDispose]();
      const gone = await eventually("health to tell", async () => {
        const { status, components } = await boat.get<Health>("/healthz");
        return components["mqtt"]?.status === "degraded" && { status, message: components["mqtt"].message };
      });
      assert.equal(gone.status, "degraded");
      assert.match(gone.message ?? "", /no connection to mqtt:/);
    }),
);

Deno.test(
  "the program tells systemd that it is ready, alive, reloading and stopping",
  PROGRAM,
  () =>
    inFolder(async (folder) => {
      const socket = `${folder}/notify`;
      await using manager = await Manager.at(socket);
      const env = { NOTIFY_SOCKET: socket, WATCHDOG_USEC: "2100000" };
      const flags = ["-loopback", "-listen", "127.0.0.1:0"];
      await using program = await TestProgram.start("boat", (state) => ["-state-dir", state, ...flags], env);
      await eventually("READY", () => manager.told[0] === "READY=1 STATUS=running");
      await eventually("signs of life", () => manager.count("WATCHDOG=1") >= 2);
      program.signal("SIGHUP");
      await eventually("the reload", () => manager.told.some((line) => line.startsWith("RELOADING=1")));
      await eventually("READY again", () => manager.count("READY=1 STATUS=running") === 2);
      program.signal("SIGTERM");
      assert.equal(await program.exitCode(), 0);
      // What the program has said may still be on its way through the receiver.
      await eventually("STOPPING", () => manager.told.some((line) => line.startsWith("STOPPING=1")));
    }),
);

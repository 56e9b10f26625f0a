import assert from "node:assert/strict";
import { eventually } from "../support/eventually.ts";
import { TestAuthority } from "../support/certificates.ts";
import { Child } from "../support/child.ts";
import { inFolder } from "../support/folder.ts";
import { freePort } from "../support/held_port.ts";
import { Mosquitto, MqttSubscriber } from "../support/mosquitto.ts";
import { needs } from "../support/needs.ts";
import { Gate } from "./mqtt_gate.ts";
import { TestBridge } from "./mqtt_setup.ts";

const PROGRAMS = ["mosquitto", "mosquitto_sub", "mosquitto_passwd"];
const NEEDS = needs({ permissions: ["net", "env", "sys", "write"], programs: PROGRAMS });
const NEEDS_TLS = needs({ permissions: ["net", "env", "sys", "write"], programs: [...PROGRAMS, "openssl"] });

const seqOf = (payload: string): number => JSON.parse(payload).seq;
const count = (many: number, first = 1) => Array.from({ length: many }, (_, i) => first + i);

for (const qos of [0, 1, 2] as const) {
  Deno.test(
    `at QoS ${qos} every frame comes once, in order, as the text that every client gets`,
    NEEDS,
    () =>
      inFolder(async (folder) => {
        await using mosquitto = await Mosquitto.start(folder);
        await using subscriber = await MqttSubscriber.of(mosquitto, "-q", "2");
        {
          await using boat = await TestBridge.start({ url: mosquitto.url, qos });
          await eventually("the connection", () => boat.isUp);
          for (let burst = 0; burst < 10; burst++) {
            boat.say(100);
            await eventually("the burst", () => subscriber.on("vbg/frames").length === (burst + 1) * 100);
            await eventually("its confirmation", () => boat.bridge.counters.published === (burst + 1) * 100);
          }
          const frames = subscriber.on("vbg/frames");
          assert.deepEqual(frames.map(seqOf), count(1000));
          assert.deepEqual(frames.slice(-10), count(10, 991).map((seq) => boat.broker.json.of(seq)));
          assert.deepEqual(boat.bridge.counters, { published: 1000, dropped: 0, connects: 1 });
          assert.deepEqual(subscriber.on("vbg/dropped"), []);
        }
        await eventually("the goodbye", () => subscriber.on("vbg/status").includes("offline"));
        assert.deepEqual(subscriber.on("vbg/status"), ["online", "offline"]);
        await eventually("an end in good order", () => mosquitto.log.includes("Received DISCONNECT from vbg-boat"));
      }),
  );
}

Deno.test("what waits at a stop is published before the goodbye", NEEDS, () =>
  inFolder(async (folder) => {
    await using mosquitto = await Mosquitto.start(folder);
    await using subscriber = await MqttSubscriber.of(mosquitto);
    {
      await using boat = await TestBridge.start({ url: mosquitto.url });
      await eventually("the connection", () => boat.isUp);
      boat.say(120);
    }
    await eventually("the goodbye", () => subscriber.messages.at(-1)?.payload === "offline");
    assert.deepEqual(subscriber.on("vbg/frames").map(seqOf), count(120));
  }));

Deno.test(
  "status is retained: who comes later learns that the boat is online, and when it stops, offline",
  NEEDS,
  () =>
    inFolder(async (folder) => {
      await using mosquitto = await Mosquitto.start(folder);
      const statusSeenLate = async () => {
        await using late = await MqttSubscriber.of(mosquitto);
        await eventually("the status", () => late.messages.length > 0);
        return late.messages;
      };
      {
        await using boat = await TestBridge.start({ url: mosquitto.url, topicPrefix: "fleet/anna" });
        await eventually("the connection", () => boat.isUp);
        await eventually("the status", () => /Received PUBLISH from .*fleet\/anna\/status/.test(mosquitto.log));
        assert.deepEqual(await statusSeenLate(), [{ topic: "fleet/anna/status", payload: "online", retain: true }]);
      }
      assert.deepEqual(await statusSeenLate(), [{ topic: "fleet/anna/status", payload: "offline", retain: true }]);
    }),
);

Deno.test(
  "a wrong password is told once however often it is tried, and health says why",
  NEEDS,
  () =>
    inFolder(async (folder) => {
      await using mosquitto = await Mosquitto.start(folder, { users: { anna: "right" } });
      await using gate = await Gate.to(mosquitto.port);
      const user = { url: gate.url, username: "anna" };
      await using stranger = await TestBridge.start({ ...user, password: "wrong", clientId: "stranger" });
      await eventually("several tries", () => gate.connections > 4);
      assert.match(stranger.reason, /^no connection to mqtt:.*: Connection refused: Not authorized$/);
      assert.equal(stranger.log.length, 1);
      assert.match(stranger.log[0]!, /WARN .*not connected to the MQTT broker.*Not authorized/);
      assert.ok(!stranger.log[0]!.includes("wrong"));
      await using boat = await TestBridge.start({ ...user, password: "right" });
      await eventually("the connection", () => boat.isUp);
    }),
);

Deno.test(
  "with an authority of one's own and a client certificate, mqtts connects; without, the reason is told",
  NEEDS_TLS,
  () =>
    inFolder(async (folder) => {
      const authority = await TestAuthority.make(folder);
      const [tls, own] = [await authority.issue("broker"), await authority.issue("anna")];
      const clientCa = authority.files("authority").certPath;
      await using mosquitto = await Mosquitto.start(folder, { tls, clientCa });
      const url = `mqtts://127.0.0.1:${mosquitto.port}`;
      const [cert, key] = [await Deno.readTextFile(own.certPath), await Deno.readTextFile(own.keyPath)];
      await using boat = await TestBridge.start({ url, ca: authority.pem, cert, key });
      await using same = await TestBridge.start({
        url: url.replace("mqtts", "ssl"),
        ca: authority.pem,
        cert,
        key,
        clientId: "b",
      });
      await eventually("the connections", () => boat.isUp && same.isUp);
      boat.say(1);
      await eventually("the frame", () => boat.bridge.counters.published === 1);
      await using stranger = await TestBridge.start({ url, cert, key, clientId: "stranger" });
      await eventually("the reason", () => /certificate|UnknownIssuer/i.test(stranger.reason));
      assert.equal(stranger.isUp, false);
    }),
);

Deno.test("frames go over WebSocket, too", NEEDS, () =>
  inFolder(async (folder) => {
    const websocketPort = freePort();
    await using _mosquitto = await Mosquitto.start(folder, { websocketPort });
    await using boat = await TestBridge.start({ url: `ws://127.0.0.1:${websocketPort}` });
    await eventually("the connection", () => boat.isUp);
    boat.say(50);
    await eventually("the frames", () => boat.bridge.counters.published === 50);
  }));

Deno.test("when the boat's process is killed, the broker tells its last will", NEEDS, () =>
  inFolder(async (folder) => {
    await using mosquitto = await Mosquitto.start(folder);
    await using subscriber = await MqttSubscriber.of(mosquitto);
    {
      await using _boat = await Child.script("../integrations/mqtt_child.ts", mosquitto.url);
      await eventually("the first word", () => subscriber.on("vbg/status").length === 1);
    }
    await eventually("the last will", () => subscriber.on("vbg/status").length === 2);
    assert.deepEqual(subscriber.on("vbg/status"), ["online", "offline"]);
    assert.ok(!mosquitto.log.includes("Received DISCONNECT from vbg-boat"));
  }));

Deno.test(
  "a filter, decoded fields and topics by PGN and source, each as set",
  NEEDS,
  () =>
    inFolder(async (folder) => {
      await using mosquitto = await Mosquitto.start(folder);
      await using subscriber = await MqttSubscriber.of(mosquitto);
      const settings = { filter: { pgn: [127250] }, decode: true, pgnTopics: true };
      await using boat = await TestBridge.start({ url: mosquitto.url, ...settings });
      await eventually("the connection", () => boat.isUp);
      boat.say(40, { pgn: 127250, src: 3 });
      boat.say(40, { pgn: 127251, src: 3 });
      boat.say(1, { pgn: 127250, src: 4 });
      await eventually("the frames", () => subscriber.on("vbg/frames").length === 41);
      await eventually("the last one by its source", () => subscriber.on("vbg/pgn/127250/4").length === 1);
      assert.deepEqual(subscriber.on("vbg/pgn/127250/3"), subscriber.on("vbg/frames").slice(0, 40));
      assert.deepEqual(subscriber.on("vbg/pgn/127250/4"), subscriber.on("vbg/frames").slice(40));
      assert.equal(JSON.parse(subscriber.on("vbg/frames")[0]!).decoded.heading_reference, "true");
      assert.ok(!subscriber.messages.some(({ topic }) => topic.includes("127251")));
    }),
);

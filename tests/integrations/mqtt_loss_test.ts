import assert from "node:assert/strict";
import type { DroppedFrames } from "../../src/broker/mod.ts";
import type { MqttQos } from "../../src/integrations/mqtt/link.ts";
import { TestBoat } from "../support/boat.ts";
import { eventually, pause } from "../support/eventually.ts";
import { inFolder } from "../support/folder.ts";
import { HeldPort } from "../support/held_port.ts";
import { message } from "../support/messages.ts";
import { Mosquitto, MqttSubscriber } from "../support/mosquitto.ts";
import { needs } from "../support/needs.ts";
import { DeafBroker, Gate } from "./mqtt_gate.ts";
import { TestBridge } from "./mqtt_setup.ts";

const NEEDS = needs({ permissions: ["net", "env", "sys", "write"], programs: ["mosquitto", "mosquitto_sub"] });
const NET = needs({ permissions: ["net", "env", "sys"] });
/** 500 frames a second, two at a time. */
const PAIR_MS = 4;

/** Publishes at 500 frames a second until aborted. */
async function talk(boat: TestBridge, signal: AbortSignal): Promise<void> {
  const startMs = performance.now();
  for (let said = 0; !signal.aborted; await pause(1)) {
    const due = Math.floor((performance.now() - startMs) / PAIR_MS) * 2;
    boat.say(due - said);
    said = due;
  }
}

/** Says one thing more when nothing waits, so that it is not dropped itself and tells what was. Gives its number. */
async function lastWord(boat: TestBridge): Promise<number> {
  await eventually("room", () => boat.isUp && boat.bridge.waiting === 0);
  boat.say(1);
  return boat.broker.head;
}

/** What subscribers make of what they got. */
function accountOf(subscribers: readonly MqttSubscriber[]) {
  const payloads = (topic: string) => subscribers.flatMap((subscriber) => subscriber.on(topic));
  const seqs = payloads("vbg/frames").map((text): number => JSON.parse(text).seq);
  // At QoS 1 a notice may come twice, too.
  const notices = [...new Set(payloads("vbg/dropped"))].map((text): DroppedFrames => JSON.parse(text));
  const received = new Set(seqs);
  return { seqs, received, notices, told: notices.reduce((sum, { count }) => sum + count, 0) };
}

/** Each frame that did not come is in a range that was told. */
function assertTold(head: number, { received, notices }: ReturnType<typeof accountOf>): void {
  for (let seq = 1; seq <= head; seq++) {
    if (received.has(seq)) continue;
    assert.ok(notices.some(({ from_seq, to_seq }) => from_seq <= seq && seq <= to_seq), `frame ${seq}`);
  }
}

/** Without acknowledgements a notice that was read may be told once more, as part of a longer one. */
function assertCount(told: number, { dropped, qos }: { dropped: number; qos: MqttQos }): void {
  if (qos === 0) assert.ok(told >= dropped, `${told} of ${dropped} were told`);
  else assert.equal(told, dropped);
}

for (const qos of [0, 1] as const) {
  Deno.test(
    `a broker killed and started again at QoS ${qos}: each frame came or was told as dropped, no stream noticed`,
    NEEDS,
    () =>
      inFolder(async (folder) => {
        await using server = await TestBoat.start();
        await using stream = await server.events();
        using held = HeldPort.take();
        const { port } = held;
        const first = await Mosquitto.start(folder, { port });
        await using before = await MqttSubscriber.of(first);
        await using gate = await Gate.to(port);
        await using boat = await TestBridge.start({ url: gate.url, qos, broker: server.boat.broker });
        await eventually("the connection", () => boat.isUp);
        const stop = new AbortController();
        const talking = talk(boat, stop.signal);
        await eventually("some frames", () => before.on("vbg/frames").length > 500);
        await first.kill();
        gate.mode = "shut";
        await eventually("drops", () => boat.bridge.counters.dropped > 600);
        await eventually("the loss of the connection", () => !boat.isUp);
        await using second = await Mosquitto.start(folder, { port });
        await using after = await MqttSubscriber.of(second);
        gate.mode = "open";
        await eventually("some frames", () => after.on("vbg/frames").length > 500);
        stop.abort();
        await talking;
        const head = await lastWord(boat);
        await eventually("the newest frame", () => accountOf([after]).received.has(head));
        const account = accountOf([before, after]);
        assertTold(head, account);
        assertCount(account.told, { dropped: boat.bridge.counters.dropped, qos });
        const missing = head - account.received.size;
        // Without acknowledgements, what was last sent may have come or not: it is told as dropped.
        if (qos === 0) assert.ok(missing <= account.told && missing > 0);
        else assert.equal(missing, account.told);
        await stream.atLeast(head);
        assert.deepEqual(stream.frames.map(({ seq }) => seq), Array.from({ length: head }, (_, i) => i + 1));
        assert.deepEqual(stream.dropped, []);
      }),
  );
}

for (const [qos, claim] of [[1, "at least once"], [2, "exactly once"]] as [MqttQos, string][]) {
  Deno.test(
    `a connection cut again and again at QoS ${qos}: what was not dropped comes ${claim}`,
    NEEDS,
    () =>
      inFolder(async (folder) => {
        await using mosquitto = await Mosquitto.start(folder);
        await using subscriber = await MqttSubscriber.of(mosquitto, "-q", "2");
        await using gate = await Gate.to(mosquitto.port);
        await using boat = await TestBridge.start({ url: gate.url, qos, bufferFrames: 32 });
        const stop = new AbortController();
        const talking = talk(boat, stop.signal);
        for (let cut = 0; cut < 6; cut++) {
          const { published } = boat.bridge.counters;
          await eventually("frames", () => boat.bridge.counters.published > published + 40);
          gate.mode = "shut";
          gate.mode = "open";
        }
        stop.abort();
        await talking;
        const head = await lastWord(boat);
        await eventually("the newest frame", () => accountOf([subscriber]).received.has(head));
        assert.equal(boat.bridge.counters.connects >= 6, true);
        const account = accountOf([subscriber]);
        assertTold(head, account);
        assert.equal(head - account.received.size, boat.bridge.counters.dropped);
        if (qos === 2) assert.equal(account.seqs.length, account.received.size);
      }),
  );
}

Deno.test(
  "a broker that falls silent is given up, and what it did not take is told when it is back",
  NEEDS,
  () =>
    inFolder(async (folder) => {
      await using mosquitto = await Mosquitto.start(folder);
      await using subscriber = await MqttSubscriber.of(mosquitto);
      for (const qos of [0, 1] as const) {
        await using gate = await Gate.to(mosquitto.port);
        const topicPrefix = `qos${qos}`;
        await using boat = await TestBridge.start({
          url: gate.url,
          qos,
          keepaliveS: 1,
          connectTimeoutMs: 200,
          topicPrefix,
        });
        await eventually("the connection", () => boat.isUp);
        gate.mode = "silent";
        for (let burst = 0; burst < 50; burst++) {
          boat.say(20);
          await pause(1);
        }
        await eventually("the end of patience", () => !boat.isUp);
        await eventually("why", () => boat.log.some((line) => line.includes("Keepalive timeout")));
        await eventually("further tries", () => boat.reason.endsWith("connack timeout"));
        assert.ok(boat.bridge.waiting <= 128);
        gate.mode = "open";
        await eventually("the connection", () => boat.isUp);
        boat.say(1);
        const seqs = () => subscriber.on(`${topicPrefix}/frames`).map((text): number => JSON.parse(text).seq);
        await eventually("the newest frame", () => seqs().includes(1001));
        const told = subscriber.on(`${topicPrefix}/dropped`).map((text): DroppedFrames => JSON.parse(text));
        const count = told.reduce((sum, each) => sum + each.count, 0);
        assertCount(new Set(seqs()).size + count, { dropped: 1001, qos });
        assertCount(count, { dropped: boat.bridge.counters.dropped, qos });
      }
    }),
);

Deno.test(
  "a broker that accepts connections and says nothing holds up neither start, frames nor stop",
  NET,
  async () => {
    await using gate = await Gate.to(1);
    gate.mode = "silent";
    const boat = await TestBridge.start({ url: gate.url, connectTimeoutMs: 50 });
    assert.match(boat.reason, /: (?:has not answered yet|connack timeout)$/);
    boat.say(1000);
    await eventually("several tries", () => gate.connections > 3);
    assert.match(boat.reason, /: connack timeout$/);
    assert.equal(boat.log.length, 1);
    assert.equal(boat.bridge.waiting, 128);
    assert.equal(boat.bridge.counters.dropped, 1000 - 128);
    await boat[Symbol.asyncDispose]();
    assert.match(boat.log.at(-1) ?? "", /not published.*frames=128/);
  },
);

Deno.test("nobody at the broker's address: tried for ever, told once", NET, async () => {
  using nobody = HeldPort.take();
  await using boat = await TestBridge.start({ url: `mqtt://127.0.0.1:${nobody.port}`, retryMs: 10 });
  await eventually("the reason", () => /ECONNREFUSED|refused/.test(boat.reason));
  await pause(100);
  assert.equal(boat.log.length, 1);
  boat.broker.publish(message());
  assert.equal(boat.bridge.waiting, 1);
});

Deno.test(
  "a broker that takes frames and acknowledges none is connected to anew, with the same frames",
  NET,
  async () => {
    await using deaf = await DeafBroker.start();
    await using boat = await TestBridge.start({ url: deaf.url, ackTimeoutMs: 200 });
    boat.say(200);
    await eventually("further connections", () => deaf.connections > 2);
    await eventually("the reason", () => boat.reason.endsWith("the broker acknowledges nothing"));
    assert.equal(boat.log.filter((line) => line.includes("WARN")).length, 1);
    assert.deepEqual(boat.bridge.counters.published, 0);
    assert.equal(boat.bridge.waiting, 128 - 16);
  },
);

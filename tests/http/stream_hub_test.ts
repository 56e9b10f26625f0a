import assert from "node:assert/strict";
import { silentLogger, StallDetector, systemClock } from "../../src/base/mod.ts";
import { Broker } from "../../src/broker/mod.ts";
import { type StreamClient, StreamHub } from "../../src/http/mod.ts";
import { eventually } from "../support/eventually.ts";
import { message } from "../support/messages.ts";

function client(): StreamClient & { seen: string[] } {
  const seen: string[] = [];
  return {
    kind: "sse",
    waitingBytes: 0,
    queuedBytes: 0,
    transportBytes: 0,
    needsDrain: false,
    seen,
    deliver: ({ firstSeq, lastSeq }) => seen.push(`${firstSeq}-${lastSeq}`) * 0,
    lost: ({ count }) => seen.push(`lost ${count}`),
    device: () => seen.push("device"),
    drain: () => false,
    shed: () => 0,
    housekeeping: () => {},
    end: () => seen.push("end"),
  };
}

function hubOnBroker() {
  const broker = new Broker({ buses: ["can0"] });
  const stall = new StallDetector(silentLogger);
  const hub = new StreamHub({ broker, clock: systemClock, stall });
  const stop = () => {
    hub.stop();
    stall.stop();
  };
  return { broker, hub, stop };
}

Deno.test("a client that joins a hub that has stopped is ended at once", () => {
  const { broker, hub, stop } = hubOnBroker();
  stop();
  const late = client();
  hub.join(late, { filter: {} })();
  assert.deepEqual(late.seen, ["end"]);
  assert.equal(hub.taken, 0);
  assert.equal(broker.subscribers, 0);
});

Deno.test("a hub that stops delivers what waits, then ends its clients", () => {
  const { broker, hub, stop } = hubOnBroker();
  const waiting = client();
  const leave = hub.join(waiting, { filter: { pgn: [127250] } });
  broker.publish(message());
  broker.publish(message());
  stop();
  assert.deepEqual(waiting.seen, ["device", "1-2", "end"]);
  leave();
  leave();
  assert.equal(hub.taken, 0);
  assert.equal(broker.subscribers, 0);
});

Deno.test("drops are told after the frames before the gap and before those after it", async () => {
  const { hub, broker, stop } = hubOnBroker();
  const slow = client();
  hub.join(slow, { filter: {} });
  const frames = () => slow.seen.filter((each) => each !== "device");
  // More in one turn than may wait, and more again as soon as there is room.
  for (let i = 0; i < 17_000; i++) broker.publish(message());
  await eventually("the first frames", () => frames().length > 0);
  for (let i = 0; i < 100; i++) broker.publish(message());
  await eventually("the last frame", () => frames().at(-1)?.endsWith("-17100"));
  const gap = frames().indexOf("lost 616");
  assert.ok(frames()[gap - 1]?.endsWith("-16384"), frames().join(" "));
  assert.ok(frames()[gap + 1]?.startsWith("17001-"), frames().join(" "));
  stop();
});

Deno.test("a place that is taken counts until it is given back, once", () => {
  const { hub, stop } = hubOnBroker();
  const release = hub.take();
  assert.equal(hub.taken, 1);
  release();
  release();
  assert.equal(hub.taken, 0);
  stop();
});

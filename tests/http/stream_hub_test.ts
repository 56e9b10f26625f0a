import assert from "node:assert/strict";
import { silentLogger, StallDetector, systemClock } from "../../src/base/mod.ts";
import { Broker } from "../../src/broker/mod.ts";
import { CHANNEL_CLIENTS, SLICE_MS, type StreamClient, StreamHub } from "../../src/stream/mod.ts";
import { WAITING_FRAMES } from "../../src/stream/live/hub.ts";
import { eventually } from "../support/eventually.ts";
import type { Batch } from "../../src/stream/live/channel.ts";
import { message } from "../support/messages.ts";

/** Subscriptions of the hub itself: the watch of sources. */
const OWN = 1;

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
    source: () => {},
    device: () => seen.push("device"),
    drain: () => false,
    shed: () => 0,
    housekeeping: () => {},
    end: () => seen.push("end"),
  };
}

function hubOnBroker(options: { now?: () => number } = {}) {
  const broker = new Broker({ buses: ["can0"] });
  const stall = new StallDetector(silentLogger);
  const hub = new StreamHub({ broker, clock: systemClock, stall, ...options });
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
  assert.equal(hub.openStreams, 0);
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
  assert.equal(hub.openStreams, 0);
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
  const release = hub.openStream();
  assert.equal(hub.openStreams, 1);
  release();
  release();
  assert.equal(hub.openStreams, 0);
  stop();
});

Deno.test("a hub with many clients lets other work have its turn between them, and gives each of them all frames in order", async () => {
  let addedMs = 0;
  const broker = new Broker({ buses: ["can0"] });
  const stall = new StallDetector(silentLogger);
  const hub = new StreamHub({ broker, clock: systemClock, stall, now: () => performance.now() + addedMs });
  // Deliveries of one turn of the event loop are counted together.
  const turns = [0];
  const note = () => {
    if (turns.at(-1) === 0) queueMicrotask(() => turns.push(0));
    turns.push((turns.pop() ?? 0) + 1);
  };
  // Each delivery takes a millisecond.
  const clients = Array.from({ length: 40 }, () => {
    const each = client();
    const deliver = each.deliver.bind(each);
    return Object.assign(each, { deliver: (batch: Batch) => (note(), addedMs++, deliver(batch)) });
  });
  for (const each of clients) hub.join(each, { filter: { pgn: [127250] } });
  broker.publish(message());
  broker.publish(message());
  await eventually("all of them", () => clients.every(({ seen }) => seen.includes("1-2")));
  assert.ok(Math.max(...turns) <= SLICE_MS + 1, `${Math.max(...turns)} at once`);
  // Somebody who comes later gets what comes from then on.
  const late = client();
  hub.join(late, { filter: { pgn: [127250] } });
  broker.publish(message());
  await eventually("the last of them", () => late.seen.includes("3-3"));
  assert.deepEqual([...new Set(clients.map(({ seen }) => seen.join()))], ["device,1-2,3-3"]);
  assert.deepEqual(late.seen, ["3-3"]);
  hub.stop();
  stall.stop();
});

Deno.test("clients that come between two frames do not make the others get them one by one", async () => {
  const { broker, hub, stop } = hubOnBroker();
  const clients = Array.from({ length: 20 }, client);
  for (const each of clients) {
    hub.join(each, { filter: { pgn: [127250] } });
    broker.publish(message());
  }
  await eventually("the frames", () => clients.every(({ seen }) => seen.some((text) => text.endsWith("-20"))));
  clients.forEach(({ seen }, i) => assert.deepEqual(seen.filter((each) => each !== "device"), [`${i + 1}-20`]));
  stop();
});

Deno.test("clients of one filter that fill several channels each get every frame once, and free slots are used again", async () => {
  const { broker, hub, stop } = hubOnBroker();
  const options = { filter: { pgn: [127250] } };
  const clients = Array.from({ length: 2 * CHANNEL_CLIENTS + 1 }, client);
  const leave = clients.map((each) => hub.join(each, options));
  assert.equal(broker.subscribers, OWN + 3);
  const frames = ({ seen }: { seen: string[] }) => seen.filter((each) => each !== "device");
  broker.publish(message());
  broker.publish(message());
  await eventually("the frames", () => clients.every((each) => frames(each).length > 0));
  assert.deepEqual([...new Set(clients.map((each) => frames(each).join()))], ["1-2"]);
  // One of the first channel makes room there, although the last channel has some too.
  leave[0]?.();
  const late = client();
  const leaveLate = hub.join(late, options);
  assert.equal(broker.subscribers, OWN + 3);
  broker.publish(message());
  await eventually("the next frame", () => [late, ...clients.slice(1)].every((each) => frames(each).includes("3-3")));
  assert.deepEqual([late, clients[0], clients[1]].map((each) => each && frames(each)), [["3-3"], ["1-2"], [
    "1-2",
    "3-3",
  ]]);
  for (const each of [leaveLate, ...leave]) each();
  assert.equal(broker.subscribers, OWN);
  stop();
});

Deno.test("a client that asks for batches gets frames together, and delays those of no other client", async () => {
  let nowMs = 0;
  const { broker, hub, stop } = hubOnBroker({ now: () => nowMs });
  const [prompt, patient] = [client(), client()];
  hub.join(prompt, { filter: {} });
  hub.join(patient, { filter: {}, batchMs: 100 });
  for (const seq of [1, 2, 3]) {
    broker.publish(message());
    nowMs += 20;
    await eventually("the frame", () => prompt.seen.includes(`${seq}-${seq}`));
  }
  // The first frame does not wait.
  assert.deepEqual(patient.seen, ["device", "1-1"]);
  nowMs += 100;
  await eventually("the batch", () => patient.seen.length > 2);
  assert.deepEqual(patient.seen, ["device", "1-1", "2-3"]);
  stop();
});

Deno.test("a client of batches is told of every frame that it did not get because more came than may wait", async () => {
  let nowMs = 0;
  const { broker, hub, stop } = hubOnBroker({ now: () => nowMs });
  const patient = client();
  hub.join(patient, { filter: {}, batchMs: 1000 });
  broker.publish(message());
  await eventually("the first frame", () => patient.seen.includes("1-1"));
  const published = WAITING_FRAMES + 1000;
  for (let i = 1; i < published; i++) broker.publish(message());
  nowMs += 1000;
  const counts = () =>
    patient.seen.flatMap((each) => {
      const [first, last] = each.split("-").map(Number);
      return each.startsWith("lost ") ? [Number(each.slice(5))] : last && first ? [last - first + 1] : [];
    });
  await eventually("all frames, or reports", () => {
    nowMs += 1000;
    return counts().reduce((sum, count) => sum + count, 0) === published;
  });
  assert.ok(patient.seen.some((each) => each.startsWith("lost ")));
  stop();
});

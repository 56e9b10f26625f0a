import assert from "node:assert/strict";
import { Broker } from "../../src/broker/mod.ts";
import { type MqttItem, MqttQueue, MqttUnconfirmed } from "../../src/integrations/mqtt/queue.ts";
import { message } from "../support/messages.ts";
import { Random } from "../support/random.ts";

const messagesOf = (seq: number) => ({ "vbg/frames": String(seq) });

function queueOf({ capacity = 8, wake = () => {} }: { capacity?: number; wake?: () => void } = {}) {
  const broker = new Broker({ buses: ["can0"], ringFrames: 64 });
  const read = (seq: number) => broker.json.of(seq) === undefined ? undefined : messagesOf(seq);
  const queue = new MqttQueue(broker, {
    capacity,
    accept: (_bus, src) => src !== 9,
    wake,
    read,
    beforeClear: () => {},
  });
  const publish = (count: number, src = 1) => {
    for (let i = 0; i < count; i++) broker.publish(message({ src }));
  };
  const takeAll = () => {
    const items: MqttItem[] = [];
    for (let item = queue.next(); item; item = queue.next()) items.push(item);
    return items;
  };
  return { broker, queue, publish, takeAll };
}

const frame = (seq: number): MqttItem => ({ kind: "frame", seq, messages: messagesOf(seq) });
const told = (from_seq: number, to_seq: number, count: number): MqttItem => {
  return { kind: "dropped", dropped: { from_seq, to_seq, count } };
};

Deno.test("frames dropped by an MQTT queue are reported between the frames before and after them", () => {
  const { queue, publish, takeAll } = queueOf({ capacity: 4 });
  publish(6);
  assert.deepEqual(queue.next(), frame(1));
  publish(3);
  assert.deepEqual(takeAll(), [frame(2), frame(3), frame(4), told(5, 6, 2), frame(7), told(8, 9, 2)]);
  assert.equal(queue.dropped, 4);
});

Deno.test("frames that an MQTT queue lost are reported before any queued frame, and counted once", () => {
  const { queue, publish } = queueOf();
  publish(3);
  assert.deepEqual(queue.next(), frame(1));
  queue.addLost({ from_seq: 1, to_seq: 1, count: 1 });
  const notice = queue.next();
  assert.deepEqual(notice, told(1, 1, 1));
  queue.report({ from_seq: 1, to_seq: 1, count: 1 });
  assert.deepEqual(queue.next(), notice);
  assert.deepEqual(queue.next(), frame(2));
  assert.equal(queue.dropped, 1);
});

Deno.test("an MQTT queue leaves out what is not wanted, and wakes once for what is", () => {
  let woken = 0;
  const { publish, takeAll } = queueOf({ wake: () => woken++ });
  publish(5, 9);
  assert.equal(woken, 0);
  publish(3);
  assert.equal(woken, 1);
  assert.deepEqual(takeAll().map((item) => item.kind), ["frame", "frame", "frame"]);
});

Deno.test("whatever comes and goes, each frame is taken or told as dropped once, and in order", () => {
  for (let seed = 1; seed <= 50; seed++) {
    const random = new Random(seed);
    const { queue, publish, takeAll, broker } = queueOf({ capacity: 2 ** random.int(5) });
    const items: MqttItem[] = [];
    for (let turn = 0; turn < 200; turn++) {
      publish(random.int(12));
      for (let takes = random.int(12); takes > 0; takes--) {
        const item = queue.next();
        if (item) items.push(item);
      }
    }
    items.push(...takeAll());
    let next = 1;
    for (const item of items) {
      const [from, to, count] = item.kind === "frame"
        ? [item.seq, item.seq, 1]
        : [item.dropped.from_seq, item.dropped.to_seq, item.dropped.count];
      assert.equal(from, next, `seed ${seed}`);
      assert.equal(to - from + 1, count, `seed ${seed}`);
      next = to + 1;
    }
    assert.equal(next, broker.head + 1, `seed ${seed}`);
  }
});

Deno.test("when numbers begin again, what waits is told as dropped before the first new frame", () => {
  const { broker, queue, publish, takeAll } = queueOf({ capacity: 4 });
  publish(6);
  queue.next();
  broker.startEpoch();
  publish(1);
  const items = takeAll();
  const dropped = items.map((item) => item.kind === "dropped" ? item.dropped.count : 0);
  assert.equal(dropped.reduce((sum, count) => sum + count), 5);
  assert.deepEqual(items.at(-1), frame(1));
  assert.equal(queue.dropped, 5);
});

Deno.test("frames that waited until the ring had let them go are told as dropped all at once", () => {
  const { queue, publish, takeAll } = queueOf({ capacity: 8 });
  publish(8 + 60);
  const items = takeAll();
  assert.deepEqual(items, [told(1, 4, 4), ...[5, 6, 7, 8].map(frame), told(9, 68, 60)]);
  publish(4);
  publish(100, 9);
  publish(2);
  assert.deepEqual(takeAll(), [told(69, 72, 4), frame(173), frame(174)]);
  assert.equal(queue.dropped, 68);
});

const send = (unconfirmed: MqttUnconfirmed, ...seqs: number[]) =>
  seqs.forEach((seq) => unconfirmed.sent({ kind: "frame", seq, messages: {} }));

Deno.test("the answer to a ping confirms what was sent before the ping, and nothing later", () => {
  const unconfirmed = new MqttUnconfirmed();
  send(unconfirmed, 1, 2, 3);
  unconfirmed.ping();
  send(unconfirmed, 4, 6);
  unconfirmed.pong();
  assert.deepEqual(unconfirmed.take().frames, { from_seq: 4, to_seq: 6, count: 2 });
  assert.equal(unconfirmed.take().frames, undefined);
});

Deno.test("without an answer everything that was sent may be lost, notices apart from frames", () => {
  const unconfirmed = new MqttUnconfirmed();
  send(unconfirmed, 1, 2);
  unconfirmed.ping();
  unconfirmed.sent({ kind: "dropped", dropped: { from_seq: 3, to_seq: 5, count: 3 } });
  send(unconfirmed, 6);
  assert.deepEqual(unconfirmed.take(), {
    frames: { from_seq: 1, to_seq: 6, count: 3 },
    notices: { from_seq: 3, to_seq: 5, count: 3 },
  });
});

Deno.test("a ping is needed when something is unconfirmed and no other ping is unanswered", () => {
  const unconfirmed = new MqttUnconfirmed();
  assert.equal(unconfirmed.needsPing, false);
  send(unconfirmed, 1);
  assert.equal(unconfirmed.needsPing, true);
  unconfirmed.ping();
  send(unconfirmed, 2);
  assert.equal(unconfirmed.needsPing, false);
  unconfirmed.pong();
  assert.equal(unconfirmed.needsPing, true);
});

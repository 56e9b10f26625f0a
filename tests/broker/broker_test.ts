import assert from "node:assert/strict";
import { Broker } from "../../src/broker/mod.ts";
import { claim, message } from "../support/messages.ts";
import { Random } from "../support/random.ts";

Deno.test("broker numbers messages from 1 without a gap", () => {
  const broker = new Broker({ buses: ["can0"], ringFrames: 64 });
  assert.equal(broker.head, 0);
  for (let seq = 1; seq <= 1000; seq++) assert.equal(broker.publish(message({ src: seq % 254 })), seq);
  assert.deepEqual([broker.head, broker.published], [1000, 1000]);
});

Deno.test("broker keeps a number it is given and goes on after it", () => {
  const broker = new Broker({ buses: ["can0"], ringFrames: 64 });
  assert.equal(broker.publish(message(), 500), 500);
  assert.equal(broker.publish(message()), 501);
  assert.equal(broker.publish(message(), 2 ** 40), 2 ** 40);
  assert.equal(broker.publish(message()), 2 ** 40 + 1);
  assert.equal(broker.published, 4);
  assert.equal(JSON.parse(broker.json.of(2 ** 40)!).seq, 2 ** 40);
});

Deno.test("every subscriber gets every frame it wants, with the number the ring has it under", () => {
  const random = new Random(51);
  const broker = new Broker({ buses: ["can0", "can1"], ringFrames: 1024 });
  const all = broker.subscribe({ capacity: 1024 });
  const some = broker.subscribe({ capacity: 1024, accept: (bus, src, pgn) => bus === 1 && src < 50 && pgn === 129029 });
  const expected: number[] = [];
  for (let i = 0; i < 1000; i++) {
    const sent = message({ bus: random.int(2), src: random.int(254), pgn: random.pick([129029, 127250]) });
    const seq = broker.publish(sent);
    if (sent.bus === 1 && (sent.id & 0xff) < 50 && sent.pgn === 129029) expected.push(seq);
  }
  const got: number[] = [];
  some.drain((seq) => got.push(seq));
  assert.deepEqual(got, expected);
  let next = 1;
  all.drain((seq) => assert.equal(seq, next++));
  assert.equal(next, 1001);
});

Deno.test("one slow subscriber drops for itself alone, and its drops stay counted after it has gone", () => {
  const broker = new Broker({ buses: ["can0"], ringFrames: 1024 });
  const slow = broker.subscribe({ capacity: 8 });
  const quick = broker.subscribe({ capacity: 128 });
  for (let i = 0; i < 100; i++) broker.publish(message());
  assert.deepEqual([slow.droppedTotal, quick.droppedTotal, broker.dropped], [92, 0, 92]);
  assert.deepEqual(slow.takeDropped(), { from_seq: 9, to_seq: 100, count: 92 });
  broker.unsubscribe(slow);
  broker.unsubscribe(slow);
  assert.deepEqual([broker.subscribers, broker.dropped], [1, 92]);
  broker.publish(message());
  assert.equal(slow.droppedTotal, 92);
});

Deno.test("a subscriber that comes or goes while a frame is handed out does not disturb the others", () => {
  const broker = new Broker({ buses: ["can0"], ringFrames: 64 });
  const first = broker.subscribe({ capacity: 8, wake: () => broker.unsubscribe(first) });
  const late: number[] = [];
  broker.subscribe({
    capacity: 8,
    wake: () => broker.subscribe({ capacity: 8 }).drain((seq) => late.push(seq)),
  });
  const last = broker.subscribe({ capacity: 8 });
  broker.publish(message());
  assert.equal(last.waiting, 1);
  assert.deepEqual(late, []);
  assert.equal(broker.subscribers, 3);
});

Deno.test("values of an address go when its device is evicted, expires or is replaced", () => {
  const broker = new Broker({ buses: ["can0"], ringFrames: 64 });
  broker.publish(claim(7n, { src: 9 }));
  broker.publish(message({ src: 9 }));
  broker.publish(claim(7n, { src: 30 }));
  assert.deepEqual(broker.values.of(0, 9), []);
  assert.deepEqual(broker.values.of(0, 30).map(({ pgn }) => pgn), [60928]);
  broker.publish(message({ src: 30 }));
  broker.publish(claim(8n, { src: 30 }));
  assert.deepEqual(broker.values.of(0, 30).map(({ pgn, seq }) => [pgn, seq]), [[60928, 5]]);
  broker.registry.expire(1e9, 1000);
  assert.equal(broker.values.size, 0);
});

Deno.test("no values are left of sources that the registry does not know", () => {
  const random = new Random(52);
  const broker = new Broker({ buses: ["can0", "can1"], ringFrames: 64 });
  for (let i = 0; i < 5000; i++) {
    const init = { src: random.int(256), bus: random.int(2), monoMs: i };
    broker.publish(random.chance(0.3) ? claim(BigInt(random.int(40)), init) : message(init));
    if (i % 100 === 0) broker.registry.expire(i, 500);
  }
  let kept = 0;
  for (const bus of [0, 1]) {
    for (let src = 0; src < 256; src++) {
      const values = broker.values.of(bus, src);
      kept += values.length;
      assert.ok(values.length === 0 || broker.registry.get(bus, src), `${bus}/${src}`);
    }
  }
  assert.equal(kept, broker.values.size);
});

Deno.test("broker knows when each bus was heard last and how many messages it brought", () => {
  const broker = new Broker({ buses: ["can0", "can1"], ringFrames: 64 });
  broker.publish(message({ bus: 1, monoMs: 5, timeUs: 9 }));
  broker.publish(message({ bus: 1, monoMs: 6, timeUs: 10 }));
  assert.deepEqual(broker.lastFrame(1), { monoMs: 6, timeUs: 10, frames: 2 });
  assert.equal(broker.lastFrame(0)?.frames, 0);
  assert.equal(broker.lastFrame(2), undefined);
});

Deno.test("whoever waits for a frame is called once, by the next one, when it is there", () => {
  const broker = new Broker({ buses: ["can0"], ringFrames: 64 });
  const heads: number[] = [];
  broker.onPublish(() => heads.push(broker.ring.size));
  broker.onPublish(() => heads.push(-broker.ring.size));
  broker.onPublish(() => heads.push(NaN))();
  broker.publish(message());
  broker.publish(message());
  assert.deepEqual(heads, [1, -1]);
  const again = () => {
    heads.push(broker.head);
    broker.onPublish(again);
  };
  broker.onPublish(again);
  broker.publish(message());
  broker.publish(message());
  assert.deepEqual(heads, [1, -1, 3, 4]);
});

Deno.test("a broker that starts over forgets its frames, tells who waited for them, and numbers from 1", () => {
  const broker = new Broker({ buses: ["can0"], ringFrames: 64, firstSeq: 50 });
  const subscription = broker.subscribe({ capacity: 16 });
  broker.publish(message({ src: 1 }));
  const before = broker.json.of(50);
  broker.startEpoch();
  assert.deepEqual([broker.head, broker.json.of(50), subscription.waiting], [0, undefined, 0]);
  assert.deepEqual(subscription.takeDropped(), { from_seq: 50, to_seq: 50, count: 1 });
  for (let seq = 1; seq <= 50; seq++) assert.equal(broker.publish(message({ src: 2 })), seq);
  assert.notEqual(broker.json.of(50), before);
  assert.equal(broker.registry.size, 2, "devices stay");
});

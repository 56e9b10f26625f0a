import assert from "node:assert/strict";
import { newCounters } from "../../src/can/bus.ts";
import { BUSY, type SendOutcome, SendQueue, SENT } from "../../src/can/send_queue.ts";

/** A queue on a kernel that has room for so many frames, with time that passes when told. */
function setUp({ room = 0, queueFrames = 256 }: { room?: number; queueFrames?: number } = {}) {
  const kernel = { room, taken: [] as number[], failure: undefined as string | undefined };
  const counters = newCounters();
  let nowMs = 0;
  let timers: { atMs: number; run: () => void }[] = [];
  const queue = new SendQueue("can0", {
    queueFrames,
    counters,
    clock: { monoMs: () => nowMs, wallUs: () => 0 },
    startTimer: (run, delayMs) => {
      const timer = { atMs: nowMs + delayMs, run };
      timers.push(timer);
      return () => timers = timers.filter((other) => other !== timer);
    },
    trySend: (id, data): SendOutcome => {
      if (kernel.failure) return { type: "failed", message: kernel.failure };
      if (kernel.room === 0) return BUSY;
      kernel.room--;
      kernel.taken.push(id + (data[0] ?? 0) / 1000);
      return SENT;
    },
  });
  const pass = (ms: number) => {
    for (const endMs = nowMs + ms; nowMs < endMs; nowMs++) {
      const due = timers.filter((timer) => timer.atMs <= nowMs);
      timers = timers.filter((timer) => timer.atMs > nowMs);
      for (const timer of due) timer.run();
    }
  };
  return { queue, kernel, counters, pass, timerCount: () => timers.length };
}

const DATA = Uint8Array.of(1);

Deno.test("a send queue hands a frame on at once while there is room", async () => {
  const { queue, kernel, counters, timerCount } = setUp({ room: 1 });
  await queue.push(1, DATA);
  assert.deepEqual(kernel.taken, [1.001]);
  assert.equal(counters.sent, 1);
  assert.equal(timerCount(), 0);
});

Deno.test("a send queue keeps the order when the kernel was full", async () => {
  const { queue, kernel, counters, pass, timerCount } = setUp();
  const sends = [queue.push(1, DATA), queue.push(2, DATA)];
  kernel.room = 100;
  // There is room, but frames wait: this one must not pass them.
  sends.push(queue.push(3, DATA));
  assert.deepEqual(kernel.taken, []);
  pass(10);
  await Promise.all(sends);
  assert.deepEqual(kernel.taken, [1.001, 2.001, 3.001]);
  assert.equal(counters.sent, 3);
  assert.equal(timerCount(), 0);
});

Deno.test("a send queue copies what must wait", async () => {
  const { queue, kernel, pass } = setUp();
  const data = Uint8Array.of(1);
  const sending = queue.push(1, data);
  data[0] = 9;
  kernel.room = 1;
  pass(10);
  await sending;
  assert.deepEqual(kernel.taken, [1.001]);
});

Deno.test("a send queue gives a frame up after its patience and goes on with the next", async () => {
  const { queue, kernel, counters, pass } = setUp();
  const first = assert.rejects(queue.push(1, DATA), {
    name: "BusError",
    message: 'Cannot send on bus "can0": its queue stayed full for 1000 ms',
  });
  pass(600);
  const second = queue.push(2, DATA);
  pass(600);
  await first;
  assert.equal(queue.size, 1);
  kernel.room = 1;
  pass(10);
  await second;
  assert.deepEqual(kernel.taken, [2.001]);
  assert.equal(counters.sent, 1);
  assert.equal(counters.sendFailed, 1);
});

Deno.test("a send queue refuses a frame beyond its limit", async () => {
  const { queue, counters } = setUp({ queueFrames: 2 });
  const waiting = [queue.push(1, DATA), queue.push(2, DATA)].map((sending) => assert.rejects(sending));
  await assert.rejects(queue.push(3, DATA), { message: 'Cannot send on bus "can0": 2 frames wait already' });
  assert.equal(queue.size, 2);
  queue.clear("it is closed");
  await Promise.all(waiting);
  assert.equal(counters.sendFailed, 3);
});

Deno.test("a send queue rejects at once what the kernel refuses, and all that waits", async () => {
  const { queue, kernel, counters, pass, timerCount } = setUp();
  const waiting = [1, 2].map((id) => assert.rejects(queue.push(id, DATA), /"can0": the interface is down/));
  kernel.failure = "the interface is down";
  pass(10);
  await Promise.all(waiting);
  await assert.rejects(queue.push(3, DATA), /the interface is down/);
  assert.equal(counters.sendFailed, 3);
  assert.equal(timerCount(), 0);
});

Deno.test("clearing a send queue rejects all that waits and stops its timer", async () => {
  const { queue, pass, kernel, timerCount } = setUp();
  const waiting = assert.rejects(queue.push(1, DATA), { message: 'Cannot send on bus "can0": it is missing' });
  queue.clear("it is missing");
  kernel.room = 1;
  pass(10);
  await waiting;
  assert.deepEqual(kernel.taken, []);
  assert.equal(timerCount(), 0);
});

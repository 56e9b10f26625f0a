import assert from "node:assert/strict";
import { LoopbackBus } from "../../src/can/mod.ts";
import { canBusSuite, Recorder, until } from "./can_bus.ts";

canBusSuite("LoopbackBus", { create: (name) => new LoopbackBus(name), hasInterfaces: false });

Deno.test("LoopbackBus: whoever throws keeps nobody else from hearing the rest", async () => {
  const bus = new LoopbackBus("can0");
  const sink = new Recorder();
  const heard: number[] = [];
  bus.attach(() => {
    throw new Error("boom");
  });
  bus.attach(({ data }) => heard.push(data[0] ?? 0));
  await bus.open(sink);
  for (const value of [1, 2, 3]) bus.inject(7, Uint8Array.of(value));
  await until("all were heard", () => heard.length >= 3);
  assert.deepEqual(heard, [1, 2, 3]);
  assert.deepEqual(sink.frames.map(({ data }) => data[0]), [1, 2, 3]);
  assert.deepEqual(sink.stateNames, ["error-active", "down", "error-active"]);
  await bus.close();
  bus.inject(7, Uint8Array.of(4));
  await until("what is put on a closed bus is heard by others", () => heard.length >= 4);
  assert.equal(bus.state.type, "closed");
});

Deno.test("LoopbackBus: a frame of more than 8 bytes cannot be put on the bus", () => {
  const bus = new LoopbackBus("can0");
  assert.throws(() => bus.inject(7, new Uint8Array(9)), RangeError);
});

import assert from "node:assert/strict";
import { SocketCanBus } from "../../src/can/mod.ts";
import { canBusSuite, Recorder, run, until } from "../contract/can_bus.ts";
import { needs } from "../support/needs.ts";

const options = needs({ permissions: ["ffi", "read"], programs: ["ip", "tc", "cansend", "cangen"] });

canBusSuite("SocketCanBus", { create: (name) => new SocketCanBus(name), hasInterfaces: true, options });

for (const receiveBytes of [undefined, 64 * 1024]) {
  const buffer = receiveBytes === undefined ? "the default buffer" : `a buffer of ${receiveBytes} bytes`;
  Deno.test(
    `SocketCanBus: with ${buffer} every one of 20000 frames flat out is delivered or counted`,
    options,
    async () => {
      const count = 20_000;
      const bus = new SocketCanBus("vcan0", receiveBytes === undefined ? {} : { receiveBytes });
      await bus.open(new Recorder());
      try {
        await run("cangen", "vcan0", "-g", "0", "-e", "-L", "8", "-n", String(count));
        const total = () => bus.counters.received + bus.counters.kernelDropped + bus.counters.interfaceDropped;
        await until("all are accounted for", () => total() >= count);
        // deno-lint-ignore no-console -- the measurement is worth seeing
        console.log(JSON.stringify(bus.counters));
        assert.equal(total(), count);
      } finally {
        await bus.close();
      }
    },
  );
}

Deno.test("SocketCanBus: with a small buffer, drops after the last frame are counted too", options, async () => {
  const count = 5000;
  const bus = new SocketCanBus("vcan0", { receiveBytes: 4096 });
  await bus.open(new Recorder());
  try {
    // The tests' own thread sends without a break, so nothing is received meanwhile.
    for (let i = 0; i < count; i++) void bus.send(0x09f80102, new Uint8Array(8));
    await until("all are accounted for", () => bus.counters.received + bus.counters.kernelDropped >= count);
    assert.equal(bus.counters.received + bus.counters.kernelDropped, count);
    assert.ok(bus.counters.kernelDropped > 0);
  } finally {
    await bus.close();
  }
});

import assert from "node:assert/strict";
import { systemClock } from "../../src/base/mod.ts";
import { createBus, LoopbackBus, SocketCanBus } from "../../src/can/mod.ts";
import { canBusSuite, Recorder, run, until } from "../contract/can_bus.ts";
import { needs } from "../support/needs.ts";
import { SocketCanAddonBus } from "../../src/can/socketcan/addon.ts";
import { addonNeeds } from "../support/addon.ts";

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

/** Runs a command of the shell while the event loop stands still. */
function runBlocking(command: string): void {
  const { success } = new Deno.Command("sh", { args: ["-c", command], stdout: "null", stderr: "null" }).outputSync();
  assert.ok(success, command);
}

const MAKE = "ip link add dev vbgtest1 type vcan && ip link set vbgtest1 up";
const REMOVE = "ip link del vbgtest1";

for (const [what, command] of [["deleted", REMOVE], ["replaced", `${REMOVE} && ${MAKE}`]] as const) {
  Deno.test(`SocketCanBus: frames that wait when the interface is ${what} are delivered first`, options, async () => {
    const count = 3000;
    runBlocking(`${REMOVE}; ${MAKE}`);
    const bus = new SocketCanBus("vbgtest1");
    const sink = new Recorder();
    await bus.open(sink);
    try {
      for (let i = 0; i < count; i++) void bus.send(i, new Uint8Array(8));
      runBlocking(command);
      await until("missing is told", () => sink.stateNames.includes("missing"));
      assert.equal(bus.counters.sent, count);
      assert.equal(bus.counters.received + bus.counters.kernelDropped, count);
      assert.equal(sink.frames.length, bus.counters.received);
      if (what === "replaced") await until("it is used again", () => bus.state.type === "up");
    } finally {
      await bus.close();
      await run("sh", "-c", `${REMOVE} || true`);
    }
  });
}

Deno.test("SocketCanBus: an exception in its own loop is told, waited out and lost nothing to", options, async () => {
  let throws = 0;
  let isBroken = false;
  const clock = {
    wallUs: () => systemClock.wallUs(),
    monoMs: () => {
      if (!isBroken) return systemClock.monoMs();
      throws++;
      throw new Error("no time");
    },
  };
  const bus = new SocketCanBus("vcan0", { clock });
  const sink = new Recorder();
  await bus.open(sink);
  try {
    isBroken = true;
    for (let i = 0; i < 500; i++) void bus.send(i, new Uint8Array(8));
    await new Promise((resolve) => setTimeout(resolve, 1500));
    assert.deepEqual(sink.states.at(-1), { type: "down", message: "an error in the gateway: no time" });
    // One look each 250 ms, and not a busy loop.
    assert.ok(throws >= 2 && throws <= 8, `${throws}`);
    isBroken = false;
    await until("it goes on", () => bus.state.type === "up" && sink.frames.length >= 500);
    assert.deepEqual(sink.frames.map(({ id }) => id), Array.from({ length: 500 }, (_, i) => i));
    assert.deepEqual(sink.stateNames, ["error-active", "down", "error-active"]);
  } finally {
    isBroken = false;
    await bus.close();
  }
});

const addonOptions = addonNeeds(needs({ permissions: ["ffi", "read", "env"], programs: ["ip", "tc", "cansend"] }));

canBusSuite("SocketCanAddonBus", {
  create: (name) => new SocketCanAddonBus(name),
  hasInterfaces: true,
  options: addonOptions,
});

Deno.test("createBus makes the bus of each driver", addonOptions, async () => {
  const parts = { clock: systemClock };
  assert.ok(await createBus("vcan0", { driver: "ffi", ...parts }) instanceof SocketCanBus);
  assert.ok(await createBus("vcan0", { driver: "socketcan", ...parts }) instanceof SocketCanAddonBus);
  assert.ok(await createBus("vcan0", { driver: "loopback", ...parts }) instanceof LoopbackBus);
});

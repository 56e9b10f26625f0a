import assert from "node:assert/strict";
import { BusError, type BusState, type CanBus } from "../../src/can/mod.ts";
import type { CanFrame } from "../../src/frame/mod.ts";
import { pause, Recorder, run, until } from "./recorder.ts";

export { Recorder, run, until };

/** What the suite needs to know of a driver. */
export interface CanBusSubject {
  /** Makes a bus of this driver, closed. */
  create(name: string): CanBus;
  /** Whether it stands on real interfaces, `vcan0` and `vcan1`, that `ip` and `cansend` can reach. */
  hasInterfaces: boolean;
  /** Options of every test, from `needs`. */
  options?: { ignore: boolean };
}

/**
 * Recovery is promised within 2 s. User-mode Linux has one slow processor that runs the tests and `ip` too, so five times
 * that is allowed for here.
 */
const RECOVERY_MS = 10_000;
/** Long enough for a wrong second delivery to show. */
const SETTLE_MS = 100;
/** Error allowed in the time of a frame, far below a stall: user-mode Linux is slow. */
const TIME_ERROR_MS = 400;
const BUS = "vcan0";
const OTHER_BUS = "vcan1";
/** Interface that tests make and delete. */
const OWN_INTERFACE = "vbgtest0";
const ID = 0x09f80102;

async function addInterface(): Promise<void> {
  await run("ip", "link", "add", "dev", OWN_INTERFACE, "type", "vcan");
  await run("ip", "link", "set", OWN_INTERFACE, "up");
}

async function removeInterface(): Promise<void> {
  const command = new Deno.Command("ip", { args: ["link", "del", OWN_INTERFACE], stdout: "null", stderr: "null" });
  await command.output();
}

/** What every CanBus promises, as tests of one driver. */
export function canBusSuite(driver: string, subject: CanBusSubject): void {
  const { options = { ignore: false } } = subject;
  // A bus that was closed has nothing open: neither a socket nor a wait on another thread.
  const strict = { ...options, sanitizeOps: true, sanitizeResources: true };
  const test = (claim: string, body: () => Promise<void>) => Deno.test(`${driver}: ${claim}`, strict, body);
  const withBus = async (name: string, body: (bus: CanBus, sink: Recorder) => Promise<void>) => {
    const bus = subject.create(name);
    const sink = new Recorder();
    await bus.open(sink);
    try {
      await body(bus, sink);
    } finally {
      await bus.close();
    }
  };
  sendingSuite({ test, withBus, subject });
  throwingSuite({ test, withBus, subject });
  closingSuite({ test, withBus, subject });
  if (!subject.hasInterfaces) return;
  foreignFramesSuite({ test, withBus, subject });
  recoverySuite({ test, withBus, subject });
  pressureSuite({ test, withBus, subject });
}

interface Suite {
  test: (claim: string, body: () => Promise<void>) => void;
  withBus: (name: string, body: (bus: CanBus, sink: Recorder) => Promise<void>) => Promise<void>;
  subject: CanBusSubject;
}

function sendingSuite({ test, withBus }: Suite): void {
  test("what is sent comes back exactly once and in order", () =>
    withBus(BUS, async (bus, sink) => {
      const count = 100;
      const beforeUs = Date.now() * 1000 - 1e6;
      await Promise.all(Array.from({ length: count }, (_, i) => bus.send(ID, Uint8Array.of(i))));
      await until("all came back", () => sink.frames.length >= count);
      await pause(SETTLE_MS);
      assert.deepEqual(sink.frames.map((frame) => frame.data[0]), Array.from({ length: count }, (_, i) => i));
      assert.ok(sink.frames.every((frame) => frame.id === ID));
      assert.ok(sink.frames.every((frame) => frame.timeUs > beforeUs && frame.timeUs < Date.now() * 1000 + 1e6));
      assert.ok(sink.frames.every((frame, i) => frame.monoMs >= (sink.frames[i - 1]?.monoMs ?? 0)));
      assert.equal(bus.counters.sent, count);
      assert.equal(bus.counters.received, count);
    }));

  test("payloads of 0 to 8 bytes pass unchanged", () =>
    withBus(BUS, async (bus, sink) => {
      const payloads = Array.from({ length: 9 }, (_, length) => Array.from({ length }, (_, i) => 0xf8 + i));
      for (const payload of payloads) await bus.send(ID, Uint8Array.from(payload));
      await until("all came back", () => sink.frames.length >= payloads.length);
      assert.deepEqual(sink.frames.map((frame) => frame.data), payloads);
    }));

  test("more than 8 bytes are refused and counted", () =>
    withBus(BUS, async (bus, sink) => {
      await assert.rejects(bus.send(ID, new Uint8Array(9)), {
        name: "BusError",
        message: `Cannot send on bus "${BUS}": 9 bytes are more than 8`,
      });
      assert.equal(bus.counters.sendFailed, 1);
      await bus.send(ID, Uint8Array.of(1));
      await until("the next came", () => sink.frames.length >= 1);
      assert.deepEqual(sink.frames.map((frame) => frame.data), [[1]]);
      assert.equal(bus.counters.sent, 1);
    }));

  test("identifiers have 29 bits", () =>
    withBus(BUS, async (bus, sink) => {
      for (const id of [0, 0x1fffffff, 0x7ff, 0x9fffffff]) await bus.send(id, new Uint8Array(1));
      await until("all came back", () => sink.frames.length >= 4);
      assert.deepEqual(sink.frames.map((frame) => frame.id), [0, 0x1fffffff, 0x7ff, 0x1fffffff]);
    }));

  test("the sender's buffer may be used again after send", () =>
    withBus(BUS, async (bus, sink) => {
      const data = Uint8Array.of(1);
      const sending = bus.send(ID, data);
      data[0] = 2;
      await sending;
      await until("it came back", () => sink.frames.length >= 1);
      assert.deepEqual(sink.frames[0]?.data, [1]);
    }));

  test("two buses keep apart", () =>
    withBus(BUS, (bus, sink) =>
      withBus(OTHER_BUS, async (otherBus, otherSink) => {
        await Promise.all([bus.send(ID, Uint8Array.of(1)), otherBus.send(ID, Uint8Array.of(2))]);
        await until("both came back", () => sink.frames.length >= 1 && otherSink.frames.length >= 1);
        await pause(SETTLE_MS);
        assert.deepEqual(sink.frames.map((frame) => frame.data), [[1]]);
        assert.deepEqual(otherSink.frames.map((frame) => frame.data), [[2]]);
      })));
}

/** A sink that remembers, and then throws at some of what it is told. */
class ThrowingRecorder extends Recorder {
  readonly #throwsAt: (told: CanFrame | BusState) => boolean;

  constructor(throwsAt: (told: CanFrame | BusState) => boolean) {
    super();
    this.#throwsAt = throwsAt;
  }

  override frame(frame: CanFrame): void {
    super.frame(frame);
    if (this.#throwsAt(frame)) throw new Error("boom");
  }

  override state(state: BusState): void {
    super.state(state);
    if (this.#throwsAt(state)) throw new Error("boom");
  }
}

function throwingSuite({ test, subject }: Suite): void {
  const withSink = async (sink: Recorder, body: (bus: CanBus) => Promise<void>) => {
    const bus = subject.create(BUS);
    await bus.open(sink);
    try {
      await body(bus);
    } finally {
      await bus.close();
    }
  };

  test("a sink that throws takes the bus down for a moment, and hears all frames", async () => {
    const sink = new ThrowingRecorder((told) => "data" in told && told.data[told.offset] === 2);
    await withSink(sink, async (bus) => {
      await Promise.all([1, 2, 3, 4].map((value) => bus.send(ID, Uint8Array.of(value))));
      await until("it goes on", () => sink.states.length >= 3);
      const [, down] = sink.states;
      assert.ok(down?.type === "down" && /\bboom$/.test(down.message), JSON.stringify(down));
      await bus.send(ID, Uint8Array.of(5));
      await until("it came", () => sink.frames.length >= 5);
      assert.deepEqual(sink.frames.map((frame) => frame.data), [[1], [2], [3], [4], [5]]);
      assert.deepEqual(sink.stateNames, ["error-active", "down", "error-active"]);
      assert.equal(bus.counters.received, 5);
    });
  });

  test("a sink that throws at everything does not keep the bus from closing", async () => {
    const sink = new ThrowingRecorder(() => true);
    await withSink(sink, async (bus) => {
      await bus.send(ID, Uint8Array.of(1));
      await until("down is told", () => sink.stateNames.includes("down"));
    });
    assert.equal(sink.stateNames.at(-1), "closed");
    await pause(SETTLE_MS);
    assert.equal(sink.stateNames.at(-1), "closed");
  });
}

function closingSuite({ test, subject }: Suite): void {
  test("nothing is delivered after close, and closing twice is harmless", async () => {
    const bus = subject.create(BUS);
    const sink = new Recorder();
    assert.equal(bus.state.type, "closed");
    await bus.open(sink);
    await bus.send(ID, new Uint8Array(8));
    const closing = bus.close();
    const delivered = sink.frames.length;
    await Promise.all([closing, bus.close()]);
    await bus.close();
    await pause(SETTLE_MS);
    assert.equal(sink.frames.length, delivered);
    assert.deepEqual(sink.stateNames, ["error-active", "closed"]);
    assert.equal(bus.state.type, "closed");
  });

  test("sending on a closed bus rejects and is counted", async () => {
    const bus = subject.create(BUS);
    await assert.rejects(bus.send(ID, new Uint8Array(8)), BusError);
    await bus.open(new Recorder());
    await bus.close();
    const failedBefore = bus.counters.sendFailed;
    await assert.rejects(bus.send(ID, new Uint8Array(8)), BusError);
    assert.equal(bus.counters.sendFailed, failedBefore + 1);
  });

  test("a closed bus can be opened again", async () => {
    const bus = subject.create(BUS);
    for (let round = 0; round < 2; round++) {
      const sink = new Recorder();
      await bus.open(sink);
      await bus.send(ID, Uint8Array.of(round));
      await until("it came back", () => sink.frames.length === 1);
      await bus.close();
    }
  });
}

function foreignFramesSuite({ test, withBus, subject }: Suite): void {
  test("a missing interface is refused in one line", async () => {
    const bus = subject.create("nonesuch0");
    await assert.rejects(bus.open(new Recorder()), {
      name: "BusError",
      message: 'Cannot open bus "nonesuch0": no such interface',
    });
    assert.equal(bus.state.type, "closed");
    await bus.close();
  });

  test("frames of others are delivered, 11-bit and remote frames are ignored and counted", () =>
    withBus(BUS, async (bus, sink) => {
      await run("cansend", BUS, "123#0102");
      await run("cansend", BUS, "09F80102#R");
      await run("cansend", BUS, "09F80102#0102030405060708");
      await until("the data frame came", () => sink.frames.length >= 1);
      assert.deepEqual(sink.frames.map(({ id, data }) => ({ id, data })), [{ id: ID, data: [1, 2, 3, 4, 5, 6, 7, 8] }]);
      assert.equal(bus.counters.ignored, 2);
      assert.equal(bus.counters.received, 1);
    }));

  test("frames read after a stall have the times at which they came", () =>
    withBus(BUS, async (bus, sink) => {
      const stallMs = 900;
      await bus.send(ID, Uint8Array.of(0));
      await until("the first came", () => sink.frames.length >= 1);
      const beginMs = performance.now();
      for (const value of [1, 2]) void bus.send(ID, Uint8Array.of(value));
      while (performance.now() - beginMs < stallMs);
      void bus.send(ID, Uint8Array.of(3));
      const endMs = performance.now();
      await until("all came", () => sink.frames.length >= 4);
      const [, first, second, late] = sink.frames.map((frame) => frame.monoMs);
      assert.ok(first! > beginMs - TIME_ERROR_MS && first! < beginMs + TIME_ERROR_MS, `${first} for ${beginMs}`);
      assert.ok(second! - first! < TIME_ERROR_MS, `${first} ${second}`);
      assert.ok(late! > endMs - TIME_ERROR_MS && late! < performance.now(), `${late} for ${endMs}`);
    }));

  test("error frames tell the controller's state and are no data", () =>
    withBus(BUS, async (bus, sink) => {
      await run("cansend", BUS, "20000004#0008000000000000");
      await run("cansend", BUS, "20000004#0020000000000000");
      await run("cansend", BUS, "20000040#0000000000000000");
      await until("bus-off is told", () => bus.state.type === "up" && bus.state.controller === "bus-off");
      await run("cansend", BUS, "20000100#0000000000000000");
      await until("the restart is told", () => bus.state.type === "up" && bus.state.controller === "error-active");
      assert.deepEqual(sink.stateNames, ["error-active", "error-warning", "error-passive", "bus-off", "error-active"]);
      assert.equal(bus.counters.errorFrames, 4);
      assert.equal(sink.frames.length, 0);
    }));
}

/** Runs a test on an interface of its own. */
async function withInterface(
  { withBus }: Suite,
  body: (bus: CanBus, sink: Recorder) => Promise<void>,
): Promise<void> {
  await removeInterface();
  await addInterface();
  try {
    await withBus(OWN_INTERFACE, body);
  } finally {
    await removeInterface();
  }
}

/** Sends a frame, which must come back once. */
async function comesBack(bus: CanBus, sink: Recorder): Promise<void> {
  const before = sink.frames.length;
  await bus.send(ID, Uint8Array.of(7));
  await until("it came back", () => sink.frames.length > before);
  await pause(SETTLE_MS);
  assert.equal(sink.frames.length, before + 1);
}

function recoverySuite(suite: Suite): void {
  const { test, withBus } = suite;
  test("an interface that goes down and up again is told and mended within 2 s", () =>
    withInterface(suite, async (bus, sink) => {
      await comesBack(bus, sink);
      await run("ip", "link", "set", OWN_INTERFACE, "down");
      await until("down is told", () => bus.state.type === "down", RECOVERY_MS);
      await assert.rejects(bus.send(ID, new Uint8Array(1)), BusError);
      await run("ip", "link", "set", OWN_INTERFACE, "up");
      await until("up is told", () => bus.state.type === "up", RECOVERY_MS);
      await comesBack(bus, sink);
      assert.deepEqual(sink.stateNames, ["error-active", "down", "error-active"]);
    }));

  test("an interface that is deleted and made again is told and mended within 2 s", () =>
    withInterface(suite, async (bus, sink) => {
      await comesBack(bus, sink);
      await removeInterface();
      await until("missing is told", () => bus.state.type === "missing", RECOVERY_MS);
      await assert.rejects(bus.send(ID, new Uint8Array(1)), BusError);
      await addInterface();
      await until("up is told", () => bus.state.type === "up", RECOVERY_MS);
      await comesBack(bus, sink);
      assert.equal(sink.stateNames[0], "error-active");
      assert.equal(sink.stateNames.at(-1), "error-active");
      assert.equal(sink.stateNames.filter((name) => name === "missing").length, 1);
    }));

  test("an interface that is replaced at once is noticed within 2 s", () =>
    withInterface(suite, async (bus, sink) => {
      await run("sh", "-c", `ip link del ${OWN_INTERFACE}; ip link add dev ${OWN_INTERFACE} type vcan`);
      await run("ip", "link", "set", OWN_INTERFACE, "up");
      await until("both are told", () => sink.stateNames.includes("missing") && bus.state.type === "up", RECOVERY_MS);
      await comesBack(bus, sink);
    }));

  test("an interface that is down at opening is no error", async () => {
    await removeInterface();
    await run("ip", "link", "add", "dev", OWN_INTERFACE, "type", "vcan");
    try {
      await withBus(OWN_INTERFACE, async (bus, sink) => {
        assert.equal(bus.state.type, "down");
        await run("ip", "link", "set", OWN_INTERFACE, "up");
        await until("up is told", () => bus.state.type === "up", RECOVERY_MS);
        await comesBack(bus, sink);
      });
    } finally {
      await removeInterface();
    }
  });
}

function pressureSuite(suite: Suite): void {
  const { test } = suite;
  test("frames the kernel has no room for are tried again in order, then given up and counted", () =>
    withInterface(suite, async (bus, sink) => {
      const count = 300;
      // Some 40 frames a second, and room for ten.
      const limits = ["rate", "8kbit", "burst", "64", "limit", "160"];
      await run("tc", "qdisc", "add", "dev", OWN_INTERFACE, "root", "tbf", ...limits);
      const sends = Array.from({ length: count }, (_, i) => bus.send(i, new Uint8Array(8)));
      const results = await Promise.allSettled(sends);
      const failures = results.filter((result) => result.status === "rejected");
      assert.ok(failures.length > 0);
      assert.ok(failures.every((failure) => failure.reason instanceof BusError));
      assert.equal(bus.counters.sendFailed, failures.length);
      assert.equal(bus.counters.sent, count - failures.length);
      await until("what was taken came back", () => sink.frames.length >= bus.counters.sent);
      const ids = results.flatMap((result, i) => result.status === "fulfilled" ? [i] : []);
      assert.ok(ids.length > 20);
      assert.deepEqual(sink.frames.map((frame) => frame.id), ids);
    }));
}

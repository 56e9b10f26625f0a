import assert from "node:assert/strict";
import { type LogFields, Logger } from "../../src/base/mod.ts";
import { Broker } from "../../src/broker/mod.ts";
import { compileFilter } from "../../src/filter/mod.ts";
import { FrameSource, Sessions, type Slot } from "../../src/stream/mod.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { message as frame } from "../support/messages.ts";

const MINUTE_MS = 60_000;

/** A slot with a client that comes and goes, looked at once a second as a server does. */
class SlotTest {
  readonly clock = new FakeClock();
  readonly broker = new Broker({ buses: ["can0"], ringFrames: 1024 });
  readonly lines: (LogFields & { message?: string; level?: string })[] = [];
  sessions!: Sessions;

  static async open(slot: Partial<Slot> = {}): Promise<SlotTest> {
    const test = new SlotTest();
    const { clock, broker } = test;
    test.sessions = await Sessions.open({
      source: new FrameSource(broker, { archive: undefined }),
      compile: (filter) => compileFilter(filter, { buses: broker.buses, manufacturerCode: Number }),
      clock,
      log: new Logger({ format: "json", write: (line) => test.lines.push(JSON.parse(line)) }),
      limits: () => ({ maxSessions: 3, maxSessionsPerOwner: 3, maxTimeoutMs: 60 * MINUTE_MS }),
      slots: [{ id: "pilot", timeoutMs: 30 * MINUTE_MS, filter: {}, ...slot }],
    });
    return test;
  }

  publish(count: number): void {
    for (let i = 0; i < count; i++) this.broker.publish(frame({}));
  }

  connect() {
    return this.sessions.stream("pilot", { ended: () => {} });
  }

  pass(seconds: number): void {
    for (let i = 0; i < seconds; i++) {
      this.clock.advance(1000);
      this.sessions.runHousekeeping();
    }
  }

  /** The lines since the last call, without times. */
  take(): Record<string, unknown>[] {
    return this.lines.splice(0).map(({ time: _, ts: _ts, ...rest }) => rest);
  }
}

Deno.test("a slot whose client is away is logged once, with what waits for it, and once when it is back", async () => {
  const test = await SlotTest.open();
  const stream = test.connect();
  test.pass(20);
  assert.deepEqual(test.take(), [{ level: "info", message: "slot client connected", client: "pilot" }]);
  stream.end({ code: "left" });
  test.publish(5);
  test.pass(600);
  const away = { level: "warn", message: "slot client away", client: "pilot", cursor: 1, waitingFrames: 5 };
  assert.deepEqual(test.take(), [{ ...away, givenUpAfterMs: 30 * MINUTE_MS }]);
  test.connect();
  test.pass(600);
  assert.deepEqual(test.take(), [{ level: "info", message: "slot client connected", client: "pilot" }]);
  await test.sessions.stop();
});

Deno.test("a slot whose client never comes logs two lines, however often its frames are given up", async () => {
  const test = await SlotTest.open({ timeoutMs: MINUTE_MS });
  for (let i = 0; i < 100; i++) {
    test.publish(3);
    test.pass(60);
  }
  const lines = test.take();
  assert.deepEqual(lines.map(({ message, level }) => [level, message]), [
    ["warn", "slot client away"],
    ["warn", "slot frames given up, later ones as well until its client is connected"],
  ]);
  assert.deepEqual([lines[1]?.["fromSeq"], lines[1]?.["toSeq"]], [1, 3]);
  test.connect();
  test.pass(60);
  const back = { level: "info", message: "slot client connected", client: "pilot", givenUpFrames: 300 };
  assert.deepEqual(test.take(), [back]);
  await test.sessions.stop();
});

Deno.test("a slot whose client comes and goes all the time logs at most a line a minute, and the last state in the end", async () => {
  const test = await SlotTest.open();
  for (let i = 0; i < 100; i++) {
    const stream = test.connect();
    test.pass(15);
    stream.end({ code: "left" });
    test.pass(15);
  }
  const count = test.take().length;
  assert.ok(count >= 2 && count <= 51, `${count} lines in 50 minutes`);
  for (let i = 0; i < 100; i++) {
    const stream = test.connect();
    test.pass(2);
    stream.end({ code: "left" });
    test.pass(2);
  }
  test.pass(120);
  const last = test.lines.at(-1);
  assert.equal(last?.message ?? "slot client away", "slot client away");
  test.connect();
  test.pass(120);
  assert.equal(test.lines.at(-1)?.message, "slot client connected");
  await test.sessions.stop();
});

import assert from "node:assert/strict";
import { Registry } from "../../src/broker/mod.ts";
import { AlertWatch, type Facts } from "../../src/integrations/alerts/watch.ts";
import type { AlertDraft, WatchedBus, WatchedComponents } from "../../src/integrations/alerts/types.ts";
import { claim, message, product, START_US } from "../support/messages.ts";
import { Random } from "../support/random.ts";

const WINDOW_MS = 300_000;
const SILENCE_MS = 60_000;
const RULES = { dedupWindowMs: WINDOW_MS, busSilenceMs: SILENCE_MS };
const NAME = 0x00a1b2c3d4e5f607n;
const SUBJECT = "device:can0:0x00a1b2c3d4e5f607";

/** A boat with two buses, looked at once a second. */
class Watched {
  readonly watch: AlertWatch;
  readonly registry = new Registry(["can0", "can1"]);
  readonly alerts: AlertDraft[] = [];
  components: WatchedComponents = {};
  replication: Facts["replication"];
  nowMs = 0;
  /** Buses that have frames. */
  readonly talking = [true, true];
  readonly #states: WatchedBus["state"][] = [0, 1].map(() => ({ type: "up", controller: "error-active" }));
  readonly #lastFrames = [0, 1].map(() => ({ monoMs: -Infinity, timeUs: 0 }));

  constructor(watch: AlertWatch = new AlertWatch({ buses: ["can0", "can1"], rules: RULES })) {
    this.watch = watch;
    this.registry.listen((event) => watch.device(event, this.nowMs));
  }

  /** The first bus is like this from now on. */
  state(state: WatchedBus["state"]): void {
    this.#states[0] = state;
    this.talking[0] = state.type === "up" && state.controller !== "bus-off";
  }

  /** Lets seconds pass; returns what was told in them: seconds since the start, subject, type. */
  pass(seconds: number): string[] {
    const from = this.alerts.length;
    const told: string[] = [];
    for (let i = 0; i < seconds; i++) {
      this.nowMs += 1000;
      for (const [index, last] of this.#lastFrames.entries()) {
        if (this.talking[index]) Object.assign(last, { monoMs: this.nowMs - 10, timeUs: START_US + this.nowMs * 1000 });
      }
      this.alerts.push(...this.watch.evaluate(this.facts(), this.nowMs));
      while (from + told.length < this.alerts.length) {
        const { subject, type } = this.alerts[from + told.length]!;
        told.push(`${this.nowMs / 1000} ${subject} ${type}`);
      }
    }
    return told;
  }

  facts(): Facts {
    const buses = this.#states.map((state, index): WatchedBus => ({ state, lastFrame: this.#lastFrames[index] }));
    return { buses, components: this.components, replication: this.replication };
  }

  /** A device speaks on the first bus. */
  claims(src: number, name = NAME): void {
    this.registry.note(claim(name, { src, monoMs: this.nowMs }));
  }
}

Deno.test("a silent bus is told, and told again when it has frames", () => {
  const boat = new Watched();
  assert.deepEqual(boat.pass(400), []);
  boat.talking[0] = false;
  assert.deepEqual(boat.pass(100), ["460 bus:can0:silence bus_silence"]);
  assert.deepEqual(boat.alerts.at(-1), {
    subject: "bus:can0:silence",
    type: "bus_silence",
    severity: "warning",
    summary: "can0 has had no frames for 60 s",
    details: { bus: "can0", elapsed_seconds: 60, last_frame_time: "2026-01-02T03:10:45.000Z" },
  });
  boat.talking[0] = true;
  assert.deepEqual(boat.pass(300), ["760 bus:can0:silence bus_resumed"], "at the end of the window");
  assert.equal(boat.alerts.at(-1)?.summary, "can0 has frames again after 101 s");
  assert.deepEqual(boat.alerts.at(-1)?.details, { bus: "can0", silence_duration_seconds: 101 });
  boat.talking[1] = false;
  assert.deepEqual(boat.pass(70), ["860 bus:can1:silence bus_silence"]);
});

Deno.test("a bus that never had a frame is silent, too; without a timeout none is", () => {
  const boat = new Watched();
  boat.talking.fill(false);
  assert.deepEqual(boat.pass(62), ["62 bus:can0:silence bus_silence", "62 bus:can1:silence bus_silence"]);
  assert.deepEqual(boat.alerts[0]?.details, { bus: "can0", elapsed_seconds: 61 });
  const deaf = new Watched(
    new AlertWatch({ buses: ["can0", "can1"], rules: { dedupWindowMs: 0, busSilenceMs: undefined } }),
  );
  deaf.talking.fill(false);
  assert.deepEqual(deaf.pass(9999), []);
});

Deno.test("a bus that is down or bus-off is told as that, and not as silent; silence counts from when it is up again", () => {
  const boat = new Watched();
  boat.pass(10);
  boat.state({ type: "down", message: "the interface is switched off" });
  assert.deepEqual(boat.pass(500), ["11 bus:can0:link bus_down"]);
  assert.equal(boat.alerts[0]?.summary, "can0 is down: the interface is switched off");
  assert.equal(boat.alerts[0]?.severity, "critical");
  boat.state({ type: "missing", message: "gone" });
  assert.deepEqual(boat.pass(500), [], "still the same problem");
  boat.state({ type: "up", controller: "bus-off" });
  assert.deepEqual(boat.pass(500), ["1011 bus:can0:link bus_up", "1011 bus:can0:controller bus_off"]);
  boat.state({ type: "up", controller: "error-active" });
  boat.talking[0] = false;
  assert.deepEqual(boat.pass(62), ["1511 bus:can0:controller bus_recovered", "1572 bus:can0:silence bus_silence"]);
});

Deno.test("closing a bus is nothing to tell", () => {
  const boat = new Watched();
  boat.pass(10);
  boat.state({ type: "closed" });
  assert.deepEqual(boat.pass(1000), []);
});

Deno.test("a device that goes idle is told with what is known of it, and told again when it is back", () => {
  const boat = new Watched();
  boat.claims(35);
  boat.registry.note(product("GNX 120", { src: 35, monoMs: 0 }));
  boat.pass(100);
  boat.registry.expire(boat.nowMs, 50_000);
  assert.deepEqual(boat.pass(400), [`110 ${SUBJECT} device_removed`]);
  assert.equal(boat.alerts[0]?.details.model_id, "GNX 120");
  assert.equal(boat.alerts[0]?.details.source, 35);
  assert.equal(boat.alerts[0]?.details.name, "0x00a1b2c3d4e5f607");
  assert.match(boat.alerts[0]?.summary ?? "", / GNX 120 0x00a1b2c3d4e5f607 is gone from can0$/);
  boat.claims(36);
  assert.deepEqual(boat.pass(400), [`501 ${SUBJECT} device_returned`]);
  assert.equal(boat.alerts[1]?.details.source, 36);
});

Deno.test("a device that moves, fights for an address or shows up without a NAME is nothing to tell", () => {
  const boat = new Watched();
  boat.claims(35);
  boat.registry.note(message({ src: 99 }));
  boat.pass(20);
  boat.claims(36);
  boat.pass(20);
  boat.claims(36, NAME + 1n);
  boat.pass(5);
  boat.claims(37);
  assert.deepEqual(boat.pass(400), []);
  boat.claims(254);
  assert.deepEqual(boat.pass(400), ["455 " + SUBJECT + " device_removed"], "it found no address");
});

Deno.test("a second device that goes in the window of the first is told", () => {
  const boat = new Watched();
  boat.claims(1, 1n);
  boat.claims(2, 2n);
  boat.pass(100);
  boat.claims(254, 1n);
  boat.pass(20);
  boat.claims(254, 2n);
  boat.pass(20);
  assert.deepEqual(boat.alerts.map(({ details }) => details.source), [1, 2]);
});

Deno.test("devices of a dead bus are not told one by one; those that do not come back with it are", () => {
  const boat = new Watched();
  for (let i = 1; i <= 30; i++) boat.claims(i, BigInt(i));
  boat.pass(10);
  boat.talking[0] = false;
  boat.pass(3);
  boat.registry.expire(boat.nowMs, 5000);
  assert.equal(boat.registry.size, 0);
  assert.deepEqual(boat.pass(1000), ["70 bus:can0:silence bus_silence"]);
  boat.talking[0] = true;
  boat.pass(30);
  for (let i = 1; i <= 29; i++) boat.claims(i, BigInt(i));
  assert.deepEqual(boat.pass(100).slice(-1), ["1079 device:can0:0x000000000000001e device_removed"]);
  assert.equal(boat.alerts.length, 3, "and that the bus has frames again");
});

Deno.test("every component that turns bad gives one alert with its message, worse is another, and well a third", () => {
  const boat = new Watched();
  boat.components = { journal: { status: "ok" } };
  assert.deepEqual(boat.pass(10), []);
  for (let i = 0; i < 400; i++) {
    boat.components = { journal: { status: "degraded", message: `${i} files could not be archived` } };
    boat.pass(1);
  }
  assert.deepEqual(boat.alerts, [{
    subject: "component:journal",
    type: "journal_degraded",
    severity: "warning",
    summary: "journal is degraded: 0 files could not be archived",
    details: { component: "journal", status: "degraded", message: "0 files could not be archived" },
  }]);
  boat.components = { journal: { status: "unhealthy", message: "recording is paused" } };
  assert.deepEqual(boat.pass(400), ["411 component:journal journal_unhealthy"]);
  assert.equal(boat.alerts[1]?.severity, "critical");
  boat.components = { journal: { status: "ok" } };
  assert.deepEqual(boat.pass(400), ["811 component:journal journal_recovered"]);
});

Deno.test("a component that is only there while it is bad has recovered when it is not there", () => {
  const boat = new Watched();
  boat.components = { numbers: { status: "degraded", message: "sequence numbers cannot be reserved" } };
  assert.deepEqual(boat.pass(400), ["1 component:numbers numbers_degraded"]);
  boat.components = {};
  assert.deepEqual(boat.pass(400), ["401 component:numbers numbers_recovered"]);
});

Deno.test("components of buses and of the alerts themselves are no subjects", () => {
  const boat = new Watched();
  const bad = { status: "unhealthy" } as const;
  boat.components = { can0: bad, alerts: bad, disk: bad };
  assert.deepEqual(boat.pass(400), ["1 component:disk disk_unhealthy"]);
});

Deno.test("replication is disconnected without a connection alone, and reconnected after that, whatever else is", () => {
  const boat = new Watched();
  const replicates = (connected: boolean, status: "ok" | "degraded") => {
    boat.replication = { connected };
    boat.components = { replication: { status } };
    return boat.pass(400);
  };
  assert.deepEqual(replicates(false, "ok"), [], "the first try");
  assert.deepEqual(replicates(true, "ok"), []);
  assert.deepEqual(replicates(true, "degraded"), ["801 component:replication replication_degraded"]);
  assert.deepEqual(replicates(true, "ok"), ["1201 component:replication replication_recovered"]);
  assert.deepEqual(replicates(false, "degraded"), ["1601 component:replication replication_disconnected"]);
  assert.deepEqual(replicates(true, "degraded"), [
    "2001 component:replication replication_reconnected",
    "2301 component:replication replication_degraded",
  ]);
  assert.deepEqual(replicates(false, "degraded"), ["2601 component:replication replication_disconnected"]);
  assert.deepEqual(replicates(true, "ok"), ["2901 component:replication replication_reconnected"]);
});

Deno.test("a start whose first try is under way does not tell that replication is there again", () => {
  const told = [{ subject: "component:replication", key: "disconnected" }];
  const boat = new Watched(new AlertWatch({ buses: ["can0", "can1"], rules: RULES, reported: told }));
  boat.replication = { connected: false };
  boat.components = { replication: { status: "ok" } };
  assert.deepEqual(boat.pass(5), []);
  boat.replication = { connected: true };
  assert.deepEqual(boat.pass(1), ["6 component:replication replication_reconnected"]);
});

Deno.test("a long message is cut", () => {
  const boat = new Watched();
  boat.components = { disk: { status: "degraded", message: "x".repeat(9999) } };
  boat.pass(1);
  assert.equal(String(boat.alerts[0]?.details.message).length, 501);
});

Deno.test("after a restart the problem that goes on is not told again, and what is well by now is", () => {
  const before = new Watched();
  before.claims(1, 1n);
  before.components = { journal: { status: "unhealthy" }, mqtt: { status: "degraded" } };
  before.pass(10);
  before.talking[0] = false;
  before.pass(100);
  before.talking[0] = true;
  before.claims(254, 1n);
  before.pass(100);
  assert.equal(before.alerts.length, 4);
  const told = before.watch.reported;
  assert.deepEqual(told.map(({ subject }) => subject).sort(), [
    "bus:can0:silence",
    "component:journal",
    "component:mqtt",
    "device:can0:0x0000000000000001",
  ]);
  const after = new Watched(new AlertWatch({ buses: ["can0", "can1"], rules: RULES, reported: told }));
  after.components = before.components;
  after.talking[0] = false;
  assert.deepEqual(after.pass(30), []);
  after.talking[0] = true;
  after.components = { journal: { status: "unhealthy" } };
  after.claims(7, 1n);
  assert.deepEqual(after.pass(1).sort(), [
    "31 bus:can0:silence bus_resumed",
    "31 component:mqtt mqtt_recovered",
    "31 device:can0:0x0000000000000001 device_returned",
  ]);
  assert.ok(
    after.alerts.some(({ summary }) => summary === "can0 has frames again"),
    "how long it was silent is not known",
  );
});

Deno.test("a reload that turns silence off leaves a silent bus silent until it has frames", () => {
  const boat = new Watched();
  boat.pass(10);
  boat.talking[0] = false;
  boat.pass(100);
  boat.watch.rules = { ...RULES, busSilenceMs: undefined };
  assert.deepEqual(boat.pass(1000), []);
  boat.talking[0] = true;
  assert.deepEqual(boat.pass(1), ["1111 bus:can0:silence bus_resumed"]);
});

Deno.test("in the end what was told is how things are, whatever happened", () => {
  for (let seed = 1; seed <= 40; seed++) {
    const random = new Random(seed);
    const boat = new Watched();
    for (let i = 0; i < 60; i++) {
      const what = random.int(5);
      if (what === 0) boat.state({ type: "down", message: "off" });
      else if (what === 1) boat.state({ type: "up", controller: random.pick(["error-active", "bus-off"]) });
      else if (what === 2) boat.talking[1] = random.chance(0.5);
      else if (what === 3) boat.components = random.chance(0.5) ? {} : { disk: { status: "degraded" } };
      else boat.claims(random.pick([1, 2, 254]), BigInt(random.between(1, 3)));
      boat.pass(random.between(1, 120));
    }
    boat.pass(700);
    const bad = new Set<string>();
    const [can0] = boat.facts().buses;
    const state = can0!.state;
    const last = new Map(boat.alerts.map((each) => [each.subject, each]));
    for (const { subject, severity } of last.values()) if (severity !== "info") bad.add(subject);
    assert.equal(bad.has("bus:can0:link"), state.type === "down", `seed ${seed}`);
    if (state.type === "up") assert.equal(bad.has("bus:can0:controller"), state.controller === "bus-off");
    assert.equal(bad.has("bus:can1:silence"), !boat.talking[1], `seed ${seed}`);
    assert.equal(bad.has("component:disk"), "disk" in boat.components, `seed ${seed}`);
    if (!boat.talking[0]) continue;
    const there = new Set([...boat.registry].map(({ name }) => name));
    for (const { subject, details } of last.values()) {
      if (subject.startsWith("device:")) {
        assert.equal(bad.has(subject), !there.has(BigInt(details.name!)), `seed ${seed}`);
      }
    }
  }
});

Deno.test("a finding of the network doctor gives an alert, what is worse another, its end a third, a mere note none", () => {
  const boat = new Watched();
  const finding = { kind: "bus_load", severity: "warning", bus: "can0", text: "full", advice: "less" } as const;
  const [one, other] = [{ ...finding, key: "one", name: "0x01" }, { ...finding, key: "other", src: 7 }];
  boat.watch.finding(one, { isOver: false });
  boat.watch.finding(other, { isOver: false });
  boat.watch.finding({ ...finding, key: "note", severity: "info" }, { isOver: false });
  assert.deepEqual(boat.pass(10), ["1 finding:one bus_load", "1 finding:other bus_load"]);
  assert.deepEqual(boat.alerts[0]?.details, { bus: "can0", name: "0x01", advice: "less" });
  boat.watch.finding({ ...one, severity: "critical" }, { isOver: false });
  assert.deepEqual(boat.pass(10), ["11 finding:one bus_load"]);
  // What becomes a note is over, and its end, which is a note, is not missed.
  boat.watch.finding({ ...one, severity: "info" }, { isOver: false });
  boat.watch.finding({ ...other, severity: "info" }, { isOver: true });
  assert.deepEqual(boat.pass(400), ["301 finding:other bus_load_ended", "311 finding:one bus_load_ended"]);
  boat.watch.finding(other, { isOver: false });
  assert.deepEqual(boat.pass(400), ["601 finding:other bus_load"]);
  assert.deepEqual(boat.watch.reported, [], "the next run begins without");
});

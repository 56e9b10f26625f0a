import assert from "node:assert/strict";
import {
  AIS_LIFETIME_MS,
  FORGET_MS,
  MAX_CONTEXTS,
  MAX_VALUES,
  MIN_STALE_MS,
  type StaleValue,
  subTree,
} from "../../src/signalk/mod.ts";
import { metadataOf } from "../../src/signalk/metadata.ts";
import { HEADING, ModelTest, OWN, ROUTE } from "../support/signalk_model.ts";

const TREE = { version: "1.8.2", sources: () => ({}) };
const AIS = "vessels.urn:mrn:imo:mmsi:366982330";

Deno.test("a value is null after three of its intervals, but not within a second, and is told once", () => {
  const test = new ModelTest();
  for (let index = 0; index < 10; index++) {
    test.say({ value: index });
    assert.deepEqual(test.pass(500), []);
  }
  // Its usual interval is 500 ms now; the last value is 500 ms old.
  assert.deepEqual(test.pass(900), []);
  assert.deepEqual(test.pass(200), ["navigation.headingTrue"]);
  assert.deepEqual(test.pass(1000), []);
  assert.equal(test.newest(), undefined);
  test.say({ value: 7 });
  assert.equal(test.newest(), 7);
  const fast = new ModelTest();
  fast.say();
  assert.deepEqual(fast.pass(MIN_STALE_MS), []);
  assert.deepEqual(fast.pass(1), ["navigation.headingTrue"]);
});

Deno.test("a PGN without a standard interval expires only when it has come at regular intervals", () => {
  const test = new ModelTest();
  test.say({ path: "route", pgn: ROUTE });
  for (const [index, ms] of [3000, 4000, 3500, 3000, 4000].entries()) {
    assert.deepEqual(test.pass(ms), []);
    test.say({ path: "route", pgn: ROUTE, value: index });
  }
  assert.deepEqual(test.pass(12_000), ["route"]);
  for (const ms of [10, 10, 50_000, 10, 3000, 10]) {
    test.say({ path: "event", pgn: ROUTE });
    assert.ok(!test.pass(ms).includes("event"));
  }
  assert.deepEqual(test.pass(3_600_000), []);
});

Deno.test("the first source stays preferred while it is fresh, and another one follows", () => {
  const test = new ModelTest();
  test.say({ source: "can0.a", value: 1 });
  assert.equal(test.say({ source: "can0.b", value: 2 }).values[0]?.isPreferred, false);
  assert.equal(test.newest(), 1);
  test.nowMs += 900;
  test.say({ source: "can0.b", value: 3 });
  assert.deepEqual(test.pass(200), [], "another source is fresh");
  assert.equal(test.newest(), 3);
  test.say({ source: "can0.a", value: 4 });
  assert.equal(test.newest(), 3, "it does not change back");
  const tree = JSON.stringify(subTree(test.model, ["vessels", "self", "navigation", "headingTrue", "values"], TREE));
  assert.deepEqual(Object.keys(JSON.parse(tree)), ["can0.a", "can0.b"]);
});

Deno.test("the setting of a quantity chooses the source of its paths, as long as that is fresh", () => {
  const test = new ModelTest();
  test.preferred.set("heading", "can0.b");
  test.say({ source: "can0.a", value: 1, quantity: "heading" });
  test.say({ source: "can0.b", value: 2 });
  assert.equal(test.newest(), 2);
  test.nowMs += 900;
  test.say({ source: "can0.a", value: 3 });
  test.pass(200);
  assert.equal(test.newest(), 3);
  test.say({ source: "can0.b", value: 4 });
  assert.equal(test.newest(), 4);
});

Deno.test("the values of a device that has gone are null, and those of one whose NAME becomes known stay", () => {
  const test = new ModelTest();
  test.say({ source: "can0.35", value: 1 });
  test.model.rename("can0.35", "can0.name");
  assert.equal(test.model.self.paths.get("navigation.headingTrue")?.preferred?.source, "can0.name");
  test.say({ source: "can0.35", value: 3 });
  test.model.rename("can0.35", "can0.name");
  assert.equal(test.model.self.paths.get("navigation.headingTrue")?.readings.size, 1);
  test.model.gone("can0.35");
  assert.deepEqual(test.pass(0), []);
  test.model.gone("can0.name");
  assert.deepEqual(test.pass(0), ["navigation.headingTrue"]);
  const leaf = subTree(test.model, ["vessels", OWN, "navigation", "headingTrue", "value"], TREE);
  assert.equal(leaf, null);
  test.say({ source: "can0.name", value: 2 });
  assert.equal(test.newest(), 2);
});

Deno.test("null names the source whose value was the last, and each source that ends is told once", () => {
  const test = new ModelTest();
  test.say({ source: "can0.a", value: 1 });
  test.model.gone("can0.a");
  test.say({ source: "can0.b", value: 2 });
  const told = (values: StaleValue[]) => values.map(({ source, isPreferred }) => [source, isPreferred]);
  assert.deepEqual(told(test.passed(100)), [["can0.a", false]]);
  assert.deepEqual(told(test.passed(5000)), [["can0.b", true]]);
  assert.deepEqual(told(test.passed(5000)), []);
  const leaf = JSON.stringify(subTree(test.model, ["vessels", "self", "navigation", "headingTrue"], TREE));
  assert.match(leaf, /"value":null,"\$source":"can0.b"/);
});

Deno.test("stale values of the own vessel are forgotten after an hour, and at once when there is no room", () => {
  const test = new ModelTest();
  test.say();
  test.pass(5000);
  test.pass(FORGET_MS + 1);
  assert.equal(test.model.self.paths.size, 0);
  for (let index = 0; index < MAX_VALUES; index++) test.say({ path: `electrical.${index}.voltage` });
  test.say({ path: "one.more" });
  assert.equal(test.model.refused, 1, "all are fresh");
  test.pass(20_000);
  test.say({ path: "one.more" });
  assert.equal(test.model.refused, 1);
  assert.deepEqual([...test.model.self.paths.keys()], ["one.more"]);
});

Deno.test("what AIS reports does not become null, and is removed when nothing is heard of it", () => {
  const test = new ModelTest();
  test.say({ context: AIS });
  test.pass(AIS_LIFETIME_MS / 2);
  test.say({ context: "vessels.urn:mrn:imo:mmsi:211000000" });
  test.pass(AIS_LIFETIME_MS / 2 + 1);
  assert.deepEqual([...test.model.contexts.keys()], [`vessels.${OWN}`, "vessels.urn:mrn:imo:mmsi:211000000"]);
});

Deno.test("of too many contexts the one not heard for the longest time is removed, never the own vessel", () => {
  const test = new ModelTest();
  for (let index = 0; index < MAX_CONTEXTS + 5; index++) {
    test.nowMs++;
    test.say({ context: `vessels.urn:mrn:imo:mmsi:${200_000_000 + index}` });
    test.say({ context: "vessels.urn:mrn:imo:mmsi:200000000" });
  }
  assert.equal(test.model.contexts.size, MAX_CONTEXTS);
  assert.ok(test.model.contexts.has("vessels.urn:mrn:imo:mmsi:200000000"));
  assert.ok(!test.model.contexts.has("vessels.urn:mrn:imo:mmsi:200000001"));
  assert.ok(test.model.contexts.has(`vessels.${OWN}`));
});

Deno.test("values beyond the limit are refused and counted, and there is room again when a context is removed", () => {
  const test = new ModelTest();
  test.say({ context: AIS, path: "other" });
  for (let index = 0; index < MAX_VALUES + 9; index++) test.say({ path: `electrical.${index}.voltage`, pgn: ROUTE });
  assert.equal(test.model.refused, 10);
  assert.equal(test.model.self.paths.size, MAX_VALUES - 1);
  test.pass(AIS_LIFETIME_MS + 1);
  test.say({ path: "electrical.new.voltage", pgn: ROUTE });
  assert.equal(test.model.refused, 10);
});

Deno.test("a path part from the bus is a name and nothing else", () => {
  const test = new ModelTest();
  test.say({ path: "tanks.__proto__.currentLevel", value: 0.5 });
  test.say({ path: "tanks.constructor.currentLevel", value: 0.25 });
  const tree = subTree(test.model, ["vessels", "self", "tanks"], TREE);
  assert.match(JSON.stringify(tree), /"__proto__":\{"currentLevel":\{/);
  assert.equal(Object.hasOwn(Object.prototype, "currentLevel"), false);
  assert.equal(subTree(test.model, ["vessels", "self", "toString"], TREE), undefined);
  assert.equal(subTree(test.model, ["vessels", "__proto__"], TREE), undefined);
});

Deno.test("metadata says the unit, the field and after which time a value is stale", () => {
  const test = new ModelTest();
  test.say({ pgn: HEADING });
  assert.deepEqual(test.model.self.paths.get("navigation.headingTrue")?.metadata, {
    units: "rad",
    description: "Vessel heading: heading",
    timeout: MIN_STALE_MS / 1000,
  });
});

Deno.test("the description names every field that a value is made of", () => {
  const described = (pgn: number, path: string, field: string) => metadataOf({ pgn, path, field }).description;
  assert.equal(
    described(129029, "navigation.position", "longitude"),
    "GNSS position data: longitude, latitude",
  );
  assert.equal(described(127257, "navigation.attitude", "yaw"), "Attitude: yaw, pitch, roll");
  assert.equal(described(129026, "navigation.speedOverGround", "sog"), "COG and SOG, rapid update: sog");
});

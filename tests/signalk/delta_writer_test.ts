import assert from "node:assert/strict";
import { changedSubscriptions, firstSubscriptions, readMessage } from "../../src/http/signalk/messages.ts";
import { DeltaWriter, type Json, type PathSubscription } from "../../src/signalk/mod.ts";
import { Random } from "../support/random.ts";
import { ModelTest, OWN, type Value } from "../support/signalk_model.ts";

interface Delta {
  context: string;
  updates: {
    $source?: string;
    timestamp?: string;
    values?: { path: string; value: Json }[];
    meta?: { path: string; value: { units?: string } }[];
  }[];
}

/** A client with subscriptions, and what it gets. */
class ClientTest extends ModelTest {
  readonly writer: DeltaWriter;

  constructor(rows: Partial<PathSubscription>[], { metadata = false }: { metadata?: boolean } = {}) {
    super();
    const full = rows.map((row): PathSubscription => ({
      ...{
        context: "vessels.self",
        path: "*",
        policy: "instant",
        periodMs: 1000,
        minPeriodMs: 0,
        sources: "preferred",
      },
      ...row,
    }));
    this.writer = new DeltaWriter(this.model, { rows: full, metadata });
  }

  tell(value?: Value): void {
    this.writer.add(this.say(value), this.nowMs);
  }

  /** The values that are due now, as `path=value`. */
  take(): string[] {
    const { texts, values } = this.writer.take(this.nowMs);
    const deltas = texts.map((text): Delta => JSON.parse(text));
    const taken = deltas.flatMap(({ updates }) => updates.flatMap(({ values = [] }) => values));
    assert.equal(values, taken.length);
    return taken.map(({ path, value }) => `${path}=${JSON.stringify(value)}`);
  }

  takeAfter(ms: number): string[] {
    this.nowMs += ms;
    return this.take();
  }
}

Deno.test("instant: every value in its order, or one for each minPeriod, the newest", () => {
  const all = new ClientTest([{ path: "navigation.*" }]);
  for (const value of [1, 2, 3]) all.tell({ path: "navigation.log", value });
  all.tell({ path: "environment.depth.belowKeel" });
  assert.deepEqual(all.take(), ["navigation.log=1", "navigation.log=2", "navigation.log=3"]);
  assert.deepEqual(all.takeAfter(5000), []);
  const limited = new ClientTest([{ minPeriodMs: 200 }]);
  limited.tell({ path: "a", value: 1 });
  assert.deepEqual(limited.take(), ["a=1"]);
  limited.tell({ path: "a", value: 2 });
  limited.tell({ path: "a", value: 3 });
  limited.tell({ path: "b", value: 4 });
  assert.deepEqual(limited.takeAfter(100), ["b=4"]);
  assert.deepEqual(limited.takeAfter(100), ["a=3"]);
});

Deno.test("fixed: the newest value of each period, and none when there is no new one", () => {
  const client = new ClientTest([{ policy: "fixed", periodMs: 1000 }]);
  client.tell({ path: "a", value: 1 });
  assert.deepEqual(client.take(), ["a=1"]);
  client.tell({ path: "a", value: 2 });
  assert.deepEqual(client.takeAfter(500), []);
  client.tell({ path: "a", value: 3 });
  assert.deepEqual(client.takeAfter(500), ["a=3"]);
  assert.deepEqual(client.takeAfter(1000), []);
});

Deno.test("ideal: values as they come, and the last one again after a period without one, but not when it is stale", () => {
  const client = new ClientTest([{ policy: "ideal", periodMs: 400 }]);
  client.tell({ path: "a", value: 1 });
  client.tell({ path: "a", value: 2 });
  assert.deepEqual(client.take(), ["a=2"]);
  assert.deepEqual(client.takeAfter(300), []);
  assert.deepEqual(client.takeAfter(100), ["a=2"]);
  assert.deepEqual(client.takeAfter(400), ["a=2"]);
  assert.deepEqual(client.takeAfter(400), [], "it is 1.2 s old, and its PGN comes ten times a second");
});

Deno.test("a value that has become stale is null for whoever subscribed to it, whatever the policy", () => {
  for (const policy of ["instant", "ideal", "fixed"] as const) {
    const client = new ClientTest([{ policy }, { path: "nothing", context: "atons.*" }]);
    client.tell({ path: "a", value: 1 });
    client.take();
    client.nowMs += 5000;
    const stale = client.model.evaluate(client.nowMs, client.timeMs);
    for (const entry of stale) client.writer.addStale(entry);
    assert.deepEqual(client.take(), ["a=null"]);
    assert.deepEqual(client.takeAfter(2000), []);
  }
});

Deno.test("of several sources a client gets the preferred one, or all of them if it wants", () => {
  for (const [sources, expected] of [["preferred", ["a=1"]], ["all", ["a=1", "a=2"]]] as const) {
    for (const policy of ["instant", "fixed"] as const) {
      const client = new ClientTest([{ sources, policy }]);
      client.tell({ path: "a", value: 1, source: "can0.a" });
      client.tell({ path: "a", value: 2, source: "can0.b" });
      assert.deepEqual(client.take(), expected);
      assert.equal([...client.writer.snapshot(client.nowMs)].join("").match(/\$source/g)?.length, expected.length);
    }
  }
});

Deno.test("who gets all sources is told of each one that ends, who gets the preferred one only when there is no other", () => {
  for (const [sources, expected] of [["preferred", []], ["all", ["a=null"]]] as const) {
    const client = new ClientTest([{ sources }]);
    client.tell({ path: "a", value: 1, source: "can0.a" });
    client.tell({ path: "a", value: 2, source: "can0.b" });
    client.take();
    client.model.gone("can0.b");
    for (const value of client.passed(100)) client.writer.addStale(value);
    assert.deepEqual(client.take(), expected);
  }
});

Deno.test("metadata comes before the first value of a path, once", () => {
  const client = new ClientTest([{}], { metadata: true });
  client.tell();
  client.tell();
  const [first = "", second = "", ...rest] = client.writer.take(0).texts;
  const meta: Delta = JSON.parse(first);
  assert.equal(meta.updates[0]?.meta?.[0]?.value.units, "rad");
  assert.match(second, /"values"/);
  assert.deepEqual(rest, []);
  client.tell();
  assert.equal(client.writer.take(0).texts.length, 1);
});

Deno.test("the newest values at the begin are those that match and are not stale, with their own times", () => {
  const client = new ClientTest([{ context: "*", path: "navigation.*" }]);
  client.say({ path: "navigation.old", value: 1 });
  client.nowMs += 5000;
  client.say({ path: "navigation.new", value: 2 });
  client.say({ path: "environment.other", value: 3 });
  client.say({ context: "vessels.urn:mrn:imo:mmsi:366982330", path: "navigation.ais", value: 4 });
  client.nowMs += 500;
  const deltas = [...client.writer.snapshot(client.nowMs)].map((text): Delta => JSON.parse(text));
  assert.deepEqual(
    deltas.map(({ context, updates: [update] }) => [context, update?.values?.[0]?.path, update?.timestamp]),
    [
      [`vessels.${OWN}`, "navigation.new", new Date(1_700_000_005_000).toISOString()],
      ["vessels.urn:mrn:imo:mmsi:366982330", "navigation.ais", new Date(1_700_000_005_000).toISOString()],
    ],
  );
});

Deno.test("patterns choose contexts and paths as a plain comparison does", () => {
  const random = new Random(17);
  const pick = <T>(list: readonly T[]): T => list[random.int(list.length)] ?? assert.fail();
  const contexts = ["vessels.self", "vessels.urn:mrn:imo:mmsi:366982330", "atons.urn:mrn:imo:mmsi:993692028"];
  const paths = ["navigation.log", "navigation.trip.log", "propulsion.0.revolutions", "propulsion.0.oil", ""];
  // What each pattern means, said without patterns.
  const contextRules: Record<string, (text: string) => boolean> = {
    "*": () => true,
    "vessels.*": (text) => text.startsWith("vessels."),
    "vessels.self": (text) => text === "vessels.self",
    [`vessels.${OWN}`]: (text) => text === "vessels.self",
    "atons.*": (text) => text.startsWith("atons."),
  };
  const pathRules: Record<string, (text: string) => boolean> = {
    "*": () => true,
    "navigation.*": (text) => text.startsWith("navigation."),
    "navigation": () => false,
    "propulsion.*.revolutions": (text) => text.startsWith("propulsion.") && text.endsWith(".revolutions"),
    "": (text) => text === "",
    "n*a*n*": (text) => text.startsWith("navigation."),
    "*.log*log": () => false,
    "navigation.log": (text) => text === "navigation.log",
  };
  for (let round = 0; round < 500; round++) {
    const rows = Array.from({ length: random.between(1, 3) }, () => ({
      context: pick(Object.keys(contextRules)),
      path: pick(Object.keys(pathRules)),
    }));
    const client = new ClientTest(rows);
    const expected: string[] = [];
    for (let index = 0; index < 5; index++) {
      const [context, path] = [pick(contexts), pick(paths)];
      client.tell({ context, path, value: index });
      const isWanted = rows.some((row) => contextRules[row.context]?.(context) && pathRules[row.path]?.(path));
      if (isWanted) expected.push(`${path}=${index}`);
    }
    assert.deepEqual(client.take().sort(), expected.sort(), JSON.stringify(rows));
  }
});

Deno.test("messages change subscriptions: added, replaced, ended; what is no message is told apart", () => {
  const none = firstSubscriptions({ subscribe: "none", metadata: false, sources: "preferred" });
  const read = (message: unknown) => readMessage(JSON.stringify(message)) ?? assert.fail();
  const one = changedSubscriptions(
    none,
    read({ context: "vessels.*", subscribe: [{ path: "a", period: 500 }, { path: "b" }] }),
  );
  assert.deepEqual(one.rows.map(({ path, policy, periodMs }) => [path, policy, periodMs]), [
    ["a", "fixed", 500],
    ["b", "instant", 1000],
  ]);
  const two = changedSubscriptions(one, read({ context: "vessels.*", subscribe: [{ path: "a", policy: "ideal" }] }));
  assert.deepEqual(two.rows.map(({ path, policy }) => [path, policy]), [["b", "instant"], ["a", "ideal"]]);
  const other = changedSubscriptions(two, read({ context: "vessels.self", unsubscribe: [{ path: "*" }] }));
  assert.equal(other.rows.length, 2);
  assert.equal(changedSubscriptions(two, read({ context: "*", unsubscribe: [{ path: "*" }] })).rows.length, 0);
  for (
    const text of [
      "",
      "[]",
      "null",
      '{"subscribe":{}}',
      '{"subscribe":[{"period":-1}]}',
      `{"context":"${"*".repeat(300)}"}`,
      `{"context":"${"a*".repeat(20)}"}`,
    ]
  ) {
    assert.equal(readMessage(text), undefined, text);
  }
  assert.ok(readMessage("{}"), "a keepalive");
});

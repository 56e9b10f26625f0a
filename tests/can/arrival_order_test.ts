import assert from "node:assert/strict";
import { MAX_QUEUED } from "../../src/can/arrival_order.ts";
import { ArrivalOrder } from "../../src/can/mod.ts";
import { message, seen } from "../support/messages.ts";
import { Random } from "../support/random.ts";

/** An order whose turns end when the test says so. */
function turns(buses: number) {
  const taken: ReturnType<typeof seen>[] = [];
  let end: (() => void) | undefined;
  const order = new ArrivalOrder((each) => taken.push(seen(each)), { buses, schedule: (run) => end = run });
  return { order, taken, endTurn: () => end?.() };
}

Deno.test("arrival order: what several buses deliver in one turn comes by time, each bus in its own order", () => {
  const random = new Random(5);
  for (let round = 0; round < 50; round++) {
    const buses = random.between(2, 5);
    const { order, taken, endTurn } = turns(buses);
    const fed = Array.from({ length: buses }, (_, bus) => {
      let monoMs = random.int(50);
      return Array.from({ length: random.int(40) }, (_, i) => {
        monoMs += random.int(4);
        return message({ bus, monoMs, data: [bus, i, ...Array.from({ length: random.int(60) }, () => 7)] });
      });
    });
    for (const each of fed.flat()) {
      // Buses reuse what they hand over.
      const reused = { ...each, data: each.data.slice() };
      order.add(reused);
      reused.data.fill(0xdd);
    }
    assert.equal(taken.length, 0, "nothing before the turn ends");
    endTurn();
    assert.deepEqual(taken.map(({ timeUs }) => timeUs), fed.flat().map(({ timeUs }) => timeUs).sort((a, b) => a - b));
    for (const [bus, messages] of fed.entries()) {
      const own = messages.map(seen).map(({ data }) => data).sort();
      assert.deepEqual(taken.filter((each) => each.bus === bus).map(({ data }) => data).sort(), own);
    }
  }
});

Deno.test("arrival order: who can wait does so from a number of queued messages on, until they are emitted", async () => {
  const { order, taken, endTurn } = turns(2);
  for (let i = 0; i < MAX_QUEUED; i++) {
    assert.equal(order.drained(), undefined);
    order.add(message({ bus: i % 2, monoMs: i }));
  }
  const waits = [order.drained(), order.drained()];
  assert.ok(waits.every((each) => each instanceof Promise));
  let emitted = 0;
  const done = Promise.all(waits).then(() => emitted = taken.length);
  endTurn();
  await done;
  assert.deepEqual([emitted, order.drained()], [MAX_QUEUED, undefined]);
});

Deno.test("arrival order: a bus whose times go back keeps its order", () => {
  const { order, taken, endTurn } = turns(2);
  for (const monoMs of [10, 5, 20]) order.add(message({ bus: 0, monoMs }));
  for (const monoMs of [6, 12]) order.add(message({ bus: 1, monoMs }));
  endTurn();
  const times = (bus: number) =>
    taken.filter((each) => each.bus === bus).map(({ timeUs }) => timeUs % 1_000_000 / 1000);
  assert.deepEqual([times(0), times(1)], [[10, 5, 20], [6, 12]]);
});

Deno.test("arrival order: messages of the same time stay in the order in which they came, whatever their bus", () => {
  const { order, taken, endTurn } = turns(3);
  const buses = [2, 0, 1, 0, 2, 1];
  for (const bus of buses) order.add(message({ bus, monoMs: 7 }));
  endTurn();
  assert.deepEqual(taken.map(({ bus }) => bus), buses);
});

Deno.test("arrival order: what comes while a turn is handed over belongs to the next one", () => {
  const taken: number[] = [];
  const runs: (() => void)[] = [];
  const order: ArrivalOrder = new ArrivalOrder(({ monoMs }) => {
    taken.push(monoMs);
    if (taken.length < 4) order.add(message({ bus: 1, monoMs: 0 }));
  }, { buses: 2, schedule: (run) => runs.push(run) });
  order.add(message({ monoMs: 3 }));
  order.add(message({ monoMs: 4 }));
  for (let run = runs.shift(); run; run = runs.shift()) run();
  assert.deepEqual(taken, [3, 4, 0, 0, 0]);
  order.flush();
  assert.equal(taken.length, 5);
});

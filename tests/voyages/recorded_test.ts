import assert from "node:assert/strict";
import { decode, encode } from "../../src/pgn/mod.ts";
import type { Message } from "../../src/frame/mod.ts";
import { RecordedVoyages } from "../../src/voyages/mod.ts";
import { message } from "../support/messages.ts";
import { Random } from "../support/random.ts";
import { assertAlmostEqual } from "./almost_equal.ts";
import { messagesOfSamples, storedFrameOf } from "./frames_of.ts";
import { PassageMaker } from "./passage.ts";
import { passageOf, RECEIVERS, START_MS } from "./passages.ts";

const HOUR = 3600;

function find(messages: Iterable<Message>, range: Parameters<RecordedVoyages["find"]>[0] = {}) {
  const voyages = new RecordedVoyages({ decode });
  voyages.enter(["can0", "can1"]);
  for (const each of messages) voyages.add(storedFrameOf(each));
  return voyages.find(range);
}

/** A trip of an hour and a half, between two stays of as long. */
function trip(way: (boat: PassageMaker) => void = () => {}): PassageMaker {
  const boat = new PassageMaker(new Random(3), { startMs: START_MS, receiver: RECEIVERS[1]! });
  boat.berth(1.5 * HOUR).voyage(() => boat.go(1.5 * HOUR, { knots: 6, engine: true })).berth(1.5 * HOUR);
  way(boat);
  return boat;
}

Deno.test("frames give the voyages of their boat, with a track each", () => {
  for (const number of [1, 7]) {
    const { name, boat } = passageOf(number);
    const { report: { voyages }, tracks } = find(messagesOfSamples(boat.samples));
    assert.deepEqual([voyages.length, tracks.length], [boat.voyages.length, boat.voyages.length], name);
    for (const [i, { startMs, endMs }] of boat.voyages.entries()) {
      assert.ok(Math.abs(Date.parse(voyages[i]!.start) - startMs) <= 60_000, name);
      assert.ok(Math.abs(Date.parse(voyages[i]!.end) - endMs) <= 60_000, name);
      const points = [...tracks[i]!.points as Iterable<{ timeMs: number }>];
      assert.ok(points.length > 0.9 * (endMs - startMs) / 30_000, name);
      assert.ok(points.every(({ timeMs }) => timeMs > startMs - 90_000 && timeMs < endMs + 90_000), name);
    }
  }
});

Deno.test("the order of frames within a day, and of days, does not matter, nor do frames that come twice", () => {
  const messages = messagesOfSamples(passageOf(7).boat.samples);
  const expected = find(messages).report;
  assert.equal(expected.voyages.length, 2);
  assertAlmostEqual(find(messages.toReversed()).report, expected);
  assertAlmostEqual(find([...messages, ...messages]).report, expected);
  const random = new Random(4);
  for (let round = 0; round < 5; round++) {
    const at = random.int(messages.length);
    assertAlmostEqual(find([...messages.slice(at), ...messages.slice(0, at)]).report, expected);
  }
});

Deno.test("a range keeps the voyages that touch it whole, and cuts the stays", () => {
  const { samples, voyages: [expected] } = trip();
  const messages = messagesOfSamples(samples);
  const whole = find(messages).report;
  const middleMs = (expected!.startMs + expected!.endMs) / 2;
  assert.deepEqual(find(messages, { fromMs: middleMs, toMs: middleMs }).report, { voyages: whole.voyages, stays: [] });
  const before = find(messages, { toMs: expected!.startMs - 600_000 }).report;
  assert.deepEqual(before.voyages, []);
  assert.deepEqual(before.stays.map(({ end }) => Date.parse(end)), [expected!.startMs - 600_000]);
});

Deno.test("positions of PGN 129029 do for a boat without 129025", () => {
  const { samples } = trip();
  const slow = find(messagesOfSamples(samples, { positionPgn: 129029 })).report;
  assert.equal(slow.voyages.length, 1);
  assert.deepEqual(slow.voyages[0]!.distance_m, find(messagesOfSamples(samples)).report.voyages[0]!.distance_m);
});

Deno.test("a second receiver far away does not disturb the first, and takes over when that is silent", () => {
  const { samples } = trip();
  const messages = messagesOfSamples(samples);
  const expected = find(messages).report;
  const others = messages.filter(({ pgn }) => pgn === 129025).map(({ timeUs }) =>
    message({ pgn: 129025, src: 90, data: encode(129025, { latitude: 10, longitude: 20 }), timeUs })
  );
  assertAlmostEqual(find([...messages, ...others]).report, expected);
  const silentUs = (START_MS + 2 * HOUR * 1000) * 1000;
  const moved = messages.map((each) =>
    each.timeUs > silentUs && [129025, 129026].includes(each.pgn) ? { ...each, id: each.id & ~0xff | 91 } : each
  );
  assertAlmostEqual(find(moved).report, expected);
});

Deno.test("fuel comes from the trip counter where there is no fuel rate, also when it is reset", () => {
  const { samples, voyages: [voyage] } = trip();
  const messages = messagesOfSamples(samples).filter(({ pgn }) => pgn !== 127489);
  const reset = voyage!.startMs + 1800_000;
  const trips = messages.filter(({ pgn }) => pgn === 127488).map(({ timeUs }) => {
    const litres = (timeUs / 1000 - (timeUs / 1000 < reset ? START_MS : reset)) / 60_000;
    const data = encode(127497, { instance: 1, trip_fuel_used: Math.round(litres) });
    return message({ pgn: 127497, src: 6, data, timeUs });
  });
  const [found] = find([...messages, ...trips]).report.voyages;
  // A litre a minute.
  assert.ok(Math.abs(found!.fuel_l! - 90) <= 2, `${found!.fuel_l}`);
  assert.deepEqual(found!.engines.map(({ instance, fuel_l }) => [instance, fuel_l]), [[0, null], [1, found!.fuel_l]]);
});

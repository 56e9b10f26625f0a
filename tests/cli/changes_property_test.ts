import assert from "node:assert/strict";
import { ChangeTracker } from "../../cli/commands/dump/changes.ts";
import { decode, describePgn, encode } from "../../src/pgn/mod.ts";
import { vectorPayloads } from "../support/payloads.ts";
import { Random } from "../support/random.ts";

Deno.test("changes: of a random walk every value is within its tolerance of what was told last", () => {
  const random = new Random(1);
  const tracker = new ChangeTracker();
  const tolerance = 0.05;
  const turn = 2 * Math.PI;
  let [angle, told, count] = [1, NaN, 0];
  for (let step = 0; step < 20_000; step++) {
    angle = (angle + (random.next() - 0.5) * 0.06 + turn) % turn;
    const data = encode(130306, { wind_speed: 5, wind_angle: angle, wind_reference: "apparent" });
    const value = decode(130306, data)?.wind_angle;
    assert.ok(typeof value === "number");
    const apart = Math.abs(value - told) % turn;
    const isFar = !(Math.min(apart, turn - apart) <= tolerance + 1e-9);
    const change = tracker.see({ src: 1, pgn: 130306, data }, step);
    assert.equal(change !== undefined, isFar, `step ${step}: ${value} after ${told}`);
    if (change) [told, count] = [value, count + 1];
  }
  assert.ok(count > 100 && count < 10_000, `${count} were told`);
});

Deno.test("changes: the same payload is never told again, and a changed bit of a described PGN only in a field", () => {
  const random = new Random(2);
  let untold = 0;
  for (const { pgn, payload } of vectorPayloads()) {
    const tracker = new ChangeTracker();
    const see = (data: Uint8Array) => tracker.see({ src: 1, pgn, data }, 0);
    assert.deepEqual(see(payload), { change: "snapshot" });
    assert.equal(see(payload.slice()), undefined);
    const { layouts = [] } = describePgn(pgn) ?? {};
    const isPublic = layouts.length > 0 && layouts.every(({ matches }) => matches === undefined);
    if (!isPublic || !decode(pgn, payload)) continue;
    for (let round = 0; payload.length > 0 && round < 20; round++) {
      const changed = payload.slice();
      changed[random.int(changed.length)]! ^= 1 << random.int(8);
      const same = JSON.stringify(decode(pgn, changed)) === JSON.stringify(decode(pgn, payload));
      const told = see(changed);
      if (same) assert.equal(told, undefined, `${pgn}`);
      if (told?.change === "delta") assert.ok(told.fields.length > 0, `${pgn}`);
      see(payload);
      untold += same ? 1 : 0;
    }
  }
  assert.ok(untold > 100, `${untold} were reserved bits`);
});

Deno.test("changes: random payloads of all PGNs are taken, and memory stays bounded", () => {
  const random = new Random(3);
  const tracker = new ChangeTracker({ maxMessages: 500 });
  const pgns = [...new Set(vectorPayloads().map(({ pgn }) => pgn)), 64001, 0, 131071];
  let timeMs = 0;
  for (let round = 0; round < 20_000; round++) {
    timeMs += random.int(50) - (random.chance(0.001) ? 10_000 : 0);
    const data = random.bytes(random.pick([0, 1, 7, 8, 8, 8, 20, 223]));
    const idle = tracker.silences(timeMs);
    assert.ok(idle.every(({ sinceMs }) => sinceMs <= timeMs));
    const change = tracker.see({ src: random.int(4), pgn: random.pick(pgns), data }, timeMs);
    assert.ok(change === undefined || ["snapshot", "delta"].includes(change.change));
    assert.ok(tracker.size <= 500);
  }
});

import assert from "node:assert/strict";
import { parseCanId } from "../../src/frame/mod.ts";
import { decode, type Decoded, encode, isFastPacket } from "../../src/pgn/mod.ts";
import type { PassageState } from "../../src/simulator/mod.ts";
import { canFrame, messages, record, type Told } from "./recording.ts";

/** Seven minutes of everything: what is sent by itself, and what is sent when asked for. */
function everything(): Told[] {
  const { boat, sent } = record();
  for (const pgn of [60928, 126464, 126996, 126998, 65001]) {
    boat.advance(boat.nowMs + 3000);
    for (const dst of [255, 2]) {
      boat.receive(canFrame(0x18ea0064 | (dst << 8), [pgn & 0xff, (pgn >> 8) & 0xff, pgn >> 16]));
    }
  }
  boat.advance(7 * 60_000);
  return messages(sent);
}

/** Fields with a sign read -1, which is all ones, as null: it comes back as their code for that, 7F at its end. */
function isSameButForMinusOnes(payload: Uint8Array, again: Uint8Array): boolean {
  return payload.length === again.length &&
    payload.every((byte, at) => byte === again[at] || (byte === 0xff && again[at] === 0x7f));
}

Deno.test("meaning: every payload is decoded, and encoded again to the same bytes", () => {
  const pgns = new Set<number>();
  let [all, minusOnes] = [0, 0];
  for (const { pgn, payload } of everything()) {
    const decoded = decode(pgn, payload);
    assert.ok(decoded, `${pgn} ${payload.toHex()}`);
    const again = encode(pgn, decoded);
    all++;
    pgns.add(pgn);
    if (again.toHex() === payload.toHex()) continue;
    minusOnes++;
    assert.ok(isSameButForMinusOnes(payload, again), `${pgn} ${payload.toHex()} → ${again.toHex()}`);
  }
  for (const pgn of [59392, 60928, 126464, 126993, 126996, 126998]) assert.ok(pgns.has(pgn), `${pgn} was sent`);
  assert.ok(pgns.size > 45 && minusOnes < 0.005 * all, `${minusOnes} of ${all} messages of ${pgns.size} PGNs`);
});

/** What a field of some messages must say. */
interface Truth {
  pgn: number;
  /** Which messages of the PGN; left out: all. */
  when?: Decoded;
  field: string;
  says: (passage: PassageState) => number;
  step: number;
}

const TRUTHS: readonly Truth[] = [
  { pgn: 129025, field: "latitude", says: ({ motion }) => motion.position.latitude, step: 1e-7 },
  { pgn: 129025, field: "longitude", says: ({ motion }) => motion.position.longitude, step: 1e-7 },
  { pgn: 129026, field: "cog", says: ({ motion }) => motion.courseOverGroundRad, step: 1e-4 },
  { pgn: 129026, field: "sog", says: ({ motion }) => motion.speedOverGroundMps, step: 0.01 },
  { pgn: 127251, field: "rate", says: ({ motion }) => motion.turnRateRadPerS, step: 1 / 32e6 },
  { pgn: 127257, field: "roll", says: ({ weather }) => weather.rollRad, step: 1e-4 },
  // Steps of 0.05°, and those of the field.
  { pgn: 127245, field: "position", says: ({ pilot }) => pilot.rudderRad, step: 0.05 * Math.PI / 180 + 1e-4 },
  {
    pgn: 130306,
    when: { wind_reference: "apparent" },
    field: "wind_speed",
    says: ({ weather }) => weather.wind.apparentSpeedMps,
    step: 0.01,
  },
  {
    pgn: 130306,
    when: { wind_reference: "true_north" },
    field: "wind_angle",
    says: ({ weather }) => weather.wind.trueFromRad,
    step: 1e-4,
  },
  { pgn: 128259, field: "speed_water", says: ({ motion }) => motion.speedThroughWaterMps, step: 0.01 },
  {
    pgn: 127488,
    when: { engine_instance: 1 },
    field: "engine_speed",
    says: ({ engines }) => engines[1].speedRpm,
    step: 0.25,
  },
  { pgn: 127508, when: { instance: 0 }, field: "current", says: ({ electrics }) => electrics.houseAmpere, step: 0.1 },
  {
    pgn: 127505,
    when: { instance: 0, fluid_type: 1 },
    field: "level",
    says: ({ tanks }) => tanks.freshWaterL / 6,
    step: 0.004,
  },
  {
    pgn: 130316,
    when: { instance: 0 },
    field: "actual_temperature",
    says: ({ engines }) => engines[0].exhaustK,
    step: 0.001,
  },
];

Deno.test("meaning: what is decoded is what is true at that moment, to half a step", () => {
  const met = new Set<Truth>();
  const check = (pgn: number, { data, passage }: { data: Uint8Array; passage: PassageState }) => {
    const decoded = decode(pgn, data) ?? {};
    for (const truth of TRUTHS) {
      const { when = {}, field, says, step } = truth;
      const actual = decoded[field];
      const isMeant = truth.pgn === pgn && Object.entries(when).every(([name, value]) => decoded[name] === value);
      // Less than a step below zero is -1 step, which reads as null.
      if (!isMeant || actual === null) continue;
      met.add(truth);
      const expected = says(passage);
      const isNear = typeof actual === "number" && Math.abs(actual - expected) <= 0.5 * step + 1e-9;
      assert.ok(isNear, `${pgn} ${field}: ${actual} instead of ${expected}`);
    }
  };
  const { boat } = record({
    send: (id, data) => {
      const { pgn } = parseCanId(id);
      if (!isFastPacket(pgn)) check(pgn, { data, passage: boat.passage });
    },
  });
  boat.advance(20_000);
  assert.deepEqual(TRUTHS.filter((truth) => !met.has(truth)), []);
});

/** Values of which real sensors know only whole steps. */
interface Steps {
  pgn: number;
  values: (decoded: Decoded) => unknown[];
  /** Size of a step, and what zero of them is. */
  step: number;
  zero?: number;
  /** Step of the field: what is said may be half of that off. */
  fieldStep: number;
}

const DEGREE = Math.PI / 180;

const STEPS: readonly Steps[] = [
  { pgn: 127245, values: ({ position, angle_order }) => [position, angle_order], step: 0.05 * DEGREE, fieldStep: 1e-4 },
  { pgn: 127237, values: (said) => [said.commanded_rudder_angle], step: 0.05 * DEGREE, fieldStep: 1e-4 },
  { pgn: 129540, values: anglesOfSatellites, step: DEGREE, fieldStep: 1e-4 },
  { pgn: 129038, values: ({ latitude, longitude }) => [latitude, longitude], step: 1 / 600_000, fieldStep: 1e-7 },
  { pgn: 129038, values: ({ heading }) => [heading], step: DEGREE, fieldStep: 1e-4 },
  { pgn: 129039, values: ({ cog }) => [cog], step: 0.1 * DEGREE, fieldStep: 1e-4 },
  { pgn: 129039, values: ({ sog }) => [sog], step: 185.2 / 3600, fieldStep: 0.01 },
  { pgn: 129284, values: ({ eta_time }) => [eta_time], step: 1, fieldStep: 1e-4 },
  { pgn: 130314, values: ({ pressure }) => [pressure], step: 1, fieldStep: 0.1 },
  { pgn: 127488, values: ({ engine_boost }) => [engine_boost], step: 2000, fieldStep: 100 },
  { pgn: 127489, values: ({ oil_pressure }) => [oil_pressure], step: 4000, fieldStep: 100 },
  { pgn: 127489, values: ({ temperature }) => [temperature], step: 1, zero: 273.15, fieldStep: 0.01 },
  { pgn: 127489, values: ({ alternator_potential }) => [alternator_potential], step: 0.05, fieldStep: 0.01 },
];

function anglesOfSatellites({ satellites }: Decoded): unknown[] {
  assert.ok(Array.isArray(satellites));
  return satellites.flatMap((each) => {
    assert.ok(typeof each === "object" && each !== null && "elevation" in each && "azimuth" in each);
    return [each.elevation, each.azimuth];
  });
}

Deno.test("meaning: values come in the steps of real sensors, not in those of their fields", () => {
  const told = everything();
  for (const { pgn, values, step, zero = 0, fieldStep } of STEPS) {
    const decoded = told.filter((message) => message.pgn === pgn).map(({ payload }) => decode(pgn, payload) ?? {});
    // Less than a step below zero is -1 step, which reads as null.
    const numbers = decoded.flatMap(values).filter((value) => typeof value === "number");
    assert.ok(numbers.length > 10, `${pgn}: ${numbers.length} values`);
    for (const value of numbers) {
      const off = Math.abs(value - zero - step * Math.round((value - zero) / step));
      assert.ok(off <= fieldStep / 2 + 1e-9, `${pgn}: ${value} is ${off} off`);
    }
  }
});

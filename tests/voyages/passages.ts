import { Random } from "../support/random.ts";
import { PassageMaker, type Receiver } from "./passage.ts";

/** When passages begin. */
export const START_MS = Date.UTC(2026, 6, 1, 6, 0, 7);
const HOUR = 3600;
const MINUTE = 60;

/** Makes a passage. */
type Kind = (boat: PassageMaker, random: Random) => void;

/** Receivers from good to bad. */
export const RECEIVERS: readonly Receiver[] = [
  { whiteM: 1, slowM: 3, speedMps: 0.05, outliers: 0 },
  { whiteM: 3, slowM: 5, speedMps: 0.08, outliers: 1 / 3000 },
  { whiteM: 5, slowM: 8, speedMps: 0.12, outliers: 1 / 900 },
  { whiteM: 9, slowM: 10, speedMps: 0.15, outliers: 1 / 300 },
];

/** Tacks against the wind. */
function beat(boat: PassageMaker, { hours, knots }: { hours: number; knots: number }): void {
  const course = boat.headingRad;
  const tacks = Math.round(hours * 3);
  for (let i = 0; i < tacks; i++) {
    const headingRad = course + (i % 2 === 0 ? 0.75 : -0.75);
    boat.go(hours * HOUR / tacks, { knots, headingRad, wander: 0.15, rampS: 20 });
  }
}

function run(boat: PassageMaker, random: Random, hours: number): void {
  for (let left = hours; left > 0; left -= 0.7) {
    boat.go(Math.min(left, 0.7) * HOUR, {
      knots: 4.5 + 2 * random.next(),
      headingRad: boat.headingRad + random.next() - 0.5,
      wander: 0.1,
    });
  }
}

function motor(boat: PassageMaker, random: Random, hours: number): void {
  for (let left = hours; left > 0; left -= 0.5) {
    boat.go(Math.min(left, 0.5) * HOUR, {
      knots: 5.5 + 1.5 * random.next(),
      headingRad: boat.headingRad + 1.2 * (random.next() - 0.5),
      engine: true,
    });
  }
}

const before = (random: Random) => HOUR * (0.8 + 1.5 * random.next());

/** What boats do, with the number of voyages in it. */
export const KINDS: Readonly<Record<string, Kind>> = {
  "a day under sail": (boat, random) => {
    boat.berth(before(random), { engineFor: 4 * MINUTE });
    boat.voyage(() => {
      boat.leaveBerth();
      motor(boat, random, 0.3);
      beat(boat, { hours: 2, knots: 5 });
      run(boat, random, 1.5);
      boat.reachBerth();
    });
    boat.berth(before(random));
  },
  "a motor trip to an anchorage and back": (boat, random) => {
    boat.berth(before(random), { engineFor: 3 * MINUTE });
    boat.voyage(() => {
      boat.leaveBerth();
      motor(boat, random, 1.2);
      boat.go(90, { knots: 1.5, engine: true, rampS: 60 });
    });
    boat.anchor(before(random) + HOUR, { radiusM: 25 + 20 * random.next(), gusts: 2, weighs: true });
    boat.voyage(() => {
      motor(boat, random, 0.8);
      boat.reachBerth();
    });
    boat.berth(before(random));
  },
  "a night at sea": (boat, random) => {
    boat.berth(before(random), { engineFor: 6 * MINUTE });
    boat.voyage(() => {
      boat.leaveBerth();
      motor(boat, random, 0.5);
      run(boat, random, 7);
      boat.withoutPosition(() => run(boat, random, 1));
      beat(boat, { hours: 2, knots: 4.5 });
      motor(boat, random, 1);
      boat.reachBerth();
    });
    boat.berth(before(random));
  },
  "locks and a bridge": (boat, random) => {
    boat.berth(before(random), { engineFor: 2 * MINUTE });
    boat.voyage(() => {
      boat.leaveBerth();
      for (const minutes of [17, 6, 11]) {
        motor(boat, random, 0.5 + 0.4 * random.next());
        boat.go(80, { knots: 2, engine: true });
        boat.stop(minutes * MINUTE);
        boat.go(100, { knots: 2.2, engine: true, rampS: 20 });
      }
      motor(boat, random, 0.6);
      boat.reachBerth();
    });
    boat.berth(before(random));
  },
  "a gusty bay, left under sail": (boat, random) => {
    const radiusM = 50 + 50 * random.next();
    boat.anchor(before(random) + 2 * HOUR, { radiusM, gusts: 12, chargeFrom: 1200, chargeFor: 2400 });
    boat.voyage(() => {
      boat.go(0.4 * HOUR, { knots: 4, rampS: 75, wander: 0.1 });
      run(boat, random, 1.4);
      motor(boat, random, 0.3);
      boat.go(60, { knots: 1.2, engine: true, rampS: 50 });
    });
    boat.anchor(before(random) + 5 * HOUR, { radiusM: 60 + 40 * random.next(), gusts: 12 });
  },
  "fishing and heaving to": (boat, random) => {
    boat.berth(before(random), { engineFor: 2 * MINUTE });
    boat.voyage(() => {
      boat.leaveBerth();
      motor(boat, random, 0.7);
      boat.stop(15 * MINUTE, { driftMps: 0.25, engine: false });
      motor(boat, random, 0.4);
      boat.stop(18 * MINUTE, { driftMps: 0.5, engine: false });
      run(boat, random, 0.8);
      motor(boat, random, 0.4);
      boat.reachBerth();
    });
    boat.berth(before(random));
  },
  "a bay for lunch, and on": (boat, random) => {
    boat.anchor(before(random), { radiusM: 40, gusts: 3, weighs: true });
    boat.voyage(() => {
      motor(boat, random, 0.4);
      run(boat, random, 1);
      boat.go(60, { knots: 1.5, engine: true, rampS: 40 });
    });
    boat.anchor(55 * MINUTE, { radiusM: 30, gusts: 2, weighs: true });
    boat.voyage(() => {
      run(boat, random, 0.9);
      motor(boat, random, 0.3);
      boat.reachBerth();
    });
    boat.berth(before(random));
  },
  "switched off at night": (boat, random) => {
    boat.berth(before(random), { engineFor: 2 * MINUTE });
    boat.voyage(() => {
      boat.leaveBerth();
      motor(boat, random, 1);
      boat.reachBerth();
    });
    boat.berth(6 * MINUTE);
    boat.switchedOff(() => boat.berth(9 * HOUR));
    boat.berth(8 * MINUTE, { engineFor: 3 * MINUTE });
    boat.voyage(() => {
      boat.leaveBerth();
      motor(boat, random, 0.8);
      boat.reachBerth();
    });
    boat.berth(before(random));
  },
  "a motor boat": (boat, random) => {
    boat.berth(before(random), { engineFor: 5 * MINUTE });
    boat.voyage(() => {
      boat.leaveBerth();
      boat.go(0.4 * HOUR, { knots: 24, engine: true });
      boat.go(0.3 * HOUR, { knots: 17, headingRad: boat.headingRad + 2, engine: true });
      boat.reachBerth();
    });
    boat.berth(before(random));
  },
  "a calm": (boat, random) => {
    boat.anchor(before(random), { radiusM: 20, gusts: 0.2, chargeFrom: 600, chargeFor: 1200, weighs: true });
    boat.voyage(() => {
      boat.go(0.3 * HOUR, { knots: 3.5, engine: true });
      boat.go(0.8 * HOUR, { knots: 1.3, headingRad: boat.headingRad + 0.4, wander: 0.3 });
      boat.go(0.5 * HOUR, { knots: 2.4, wander: 0.2 });
      motor(boat, random, 0.5);
      boat.reachBerth();
    });
    boat.withoutPosition(() => boat.berth(0.9 * HOUR));
    boat.berth(HOUR);
  },
};

/** A passage with its truth. */
export interface Passage {
  name: string;
  boat: PassageMaker;
}

/** The passage of a number: kinds, receivers and seeds in turn. */
export function passageOf(number: number): Passage {
  const names = Object.keys(KINDS);
  const name = names[number % names.length]!;
  const random = new Random(1000 + number);
  const receiver = RECEIVERS[Math.floor(number / names.length) % RECEIVERS.length]!;
  const boat = new PassageMaker(random, { startMs: START_MS, receiver });
  KINDS[name]!(boat, random);
  return { name: `${number}: ${name}`, boat };
}

/** Days at anchor in a bay with gusts, tide and a charging engine. */
export function anchorDays(seed: number, days: number): PassageMaker {
  const random = new Random(seed);
  const boat = new PassageMaker(random, { startMs: START_MS, receiver: RECEIVERS[seed % RECEIVERS.length]! });
  const lost = { lostFrom: 20 * HOUR, lostFor: HOUR };
  boat.anchor(days * 24 * HOUR, { radiusM: 100, gusts: 15, chargeFrom: 8 * HOUR, chargeFor: HOUR, ...lost });
  return boat;
}

/** Days in a marina. */
export function marinaDays(seed: number, days: number): PassageMaker {
  const random = new Random(seed);
  const boat = new PassageMaker(random, { startMs: START_MS, receiver: RECEIVERS[seed % RECEIVERS.length]! });
  for (let day = 0; day < days; day++) {
    boat.berth(10 * HOUR, { engineFor: 1200 }).withoutPosition(() => boat.berth(HOUR)).berth(13 * HOUR);
  }
  return boat;
}

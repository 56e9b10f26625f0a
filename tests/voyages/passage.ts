import type { Random } from "../support/random.ts";

/** What a boat measures in a second. A value that is left out was not sent. */
export interface Sample {
  timeMs: number;
  latitude?: number;
  longitude?: number;
  sogMps?: number;
  headingRad?: number;
  rpm?: number;
  fuelLph?: number;
  trueWindMps?: number;
  apparentWindMps?: number;
}

/** A voyage as it really was. */
export interface TrueVoyage {
  startMs: number;
  endMs: number;
  /** Way over ground, metres. */
  distanceM: number;
  /** Seconds with the engine on. */
  runningS: number;
}

/** Errors of a receiver. */
export interface Receiver {
  /** Standard deviations of errors that change at once, and within minutes, metres. */
  whiteM: number;
  slowM: number;
  /** Standard deviation of the speed, m/s. */
  speedMps: number;
  /** Part of the positions that are kilometres off. */
  outliers: number;
}

/** Time constant of the slow errors, seconds. */
const SLOW_S = 150;
/** Half a tide, seconds. */
const TIDE_S = 22_300;
const DAY_S = 86_400;
const DEGREE_M = 111_195;
const KNOT = 0.514444;
const TURN = 2 * Math.PI;

/** A boat whose true track is known second by second; calls say what it does, one after the other. */
export class PassageMaker {
  readonly samples: Sample[] = [];
  readonly voyages: TrueVoyage[] = [];
  readonly #random: Random;
  readonly #receiver: Receiver;
  readonly #origin: { latitude: number; longitude: number };
  #timeMs: number;
  #x = 0;
  #y = 0;
  #headingRad: number;
  #slowX = 0;
  #slowY = 0;
  #engine = false;
  #isLost = false;
  #isOff = false;
  #windMps: number;
  #speedMps = 0;
  #open: TrueVoyage | undefined;

  constructor(
    random: Random,
    { startMs, receiver, origin = { latitude: 54.4, longitude: 10.2 } }: {
      startMs: number;
      receiver: Receiver;
      origin?: { latitude: number; longitude: number };
    },
  ) {
    this.#random = random;
    this.#receiver = receiver;
    this.#timeMs = startMs;
    this.#origin = origin;
    this.#headingRad = TURN * this.#random.next();
    this.#windMps = 4 + 6 * this.#random.next();
  }

  get timeMs(): number {
    return this.#timeMs;
  }

  /** Lies in port. */
  berth(seconds: number, { engineFor = 0 } = {}): this {
    const [x, y, heading] = [this.#x, this.#y, this.#headingRad];
    const phase = TURN * this.#random.next();
    for (let s = 0; s < seconds; s++) {
      this.#engine = s >= seconds - engineFor;
      const sway = 0.4 * Math.sin(s / 9 + phase);
      this.#headingRad = heading + 0.02 * Math.sin(s / 31 + phase);
      this.#to(x + sway * Math.cos(heading), y + sway * Math.sin(heading));
    }
    [this.#x, this.#y, this.#headingRad] = [x, y, heading];
    return this;
  }

  /**
   * Lies at anchor: falls back from where it let go of the anchor, swings in gusts and with the tide. `weighs`: at the end it
   * goes back to the anchor and takes it up.
   */
  anchor(
    seconds: number,
    {
      radiusM,
      gusts = 1,
      chargeFrom = Infinity,
      chargeFor = 3600,
      lostFrom = Infinity,
      lostFor = 3600,
      weighs = false,
    }: {
      radiusM: number;
      /** In 25 minutes, about; each lasts a minute and gives 1.5 kn. */
      gusts?: number;
      /** Seconds of each day: the engine charges the batteries. */
      chargeFrom?: number;
      chargeFor?: number;
      /** Seconds: there are no positions. */
      lostFrom?: number;
      lostFor?: number;
      weighs?: boolean;
    },
  ): this {
    const [anchorX, anchorY] = [this.#x, this.#y];
    const wind = this.#headingRad + Math.PI;
    const yaw = {
      amplitude: 0.25 + 0.2 * this.#random.next(),
      periodS: 150 + 120 * this.#random.next(),
      phase: TURN * this.#random.next(),
    };
    const weighS = weighs ? Math.round(radiusM / 0.55) + 45 : 0;
    let gust = 0;
    let gustEnd = 0;
    let [radius, angle] = [0, wind];
    for (let s = 0; s < seconds - weighS; s++) {
      const ofDay = s % DAY_S;
      this.#engine = ofDay >= chargeFrom && ofDay < chargeFrom + chargeFor;
      this.#isLost = s >= lostFrom && s < lostFrom + lostFor;
      if (s > gustEnd && this.#random.next() < gusts / 1500) {
        [gust, gustEnd] = [(this.#random.next() < 0.5 ? -1 : 1) * 0.75, s + 60];
      }
      if (s > gustEnd) gust = 0;
      // The tide turns within a quarter of an hour; the boat follows at the speed of a gust at most.
      const tide = seconds > 4 * 3600 ? tideAt(s) : 0;
      const wanted = wind + tide + yaw.amplitude * Math.sin(TURN * s / yaw.periodS + yaw.phase);
      const most = 0.75 / Math.max(radius, 5);
      angle += gust === 0 ? clamp(wanted - angle, 0.6 * most) : clamp(gust, most);
      radius = Math.min(radiusM * (0.94 + 0.06 * Math.sin(s / 47)), radius + 0.4);
      this.#headingRad = angle + Math.PI + 0.3 * Math.sin(TURN * s / yaw.periodS + yaw.phase + 1);
      this.#to(anchorX + radius * Math.sin(angle), anchorY + radius * Math.cos(angle));
    }
    for (let s = 0; s < weighS; s++) {
      this.#engine = true;
      radius = Math.max(0, radius - 0.55);
      this.#to(anchorX + radius * Math.sin(angle), anchorY + radius * Math.cos(angle));
    }
    return this;
  }

  /** A voyage. */
  voyage(way: () => void): this {
    this.#open = { startMs: this.#timeMs, endMs: 0, distanceM: 0, runningS: 0 };
    way();
    this.voyages.push({ ...this.#open, endMs: this.#timeMs });
    this.#open = undefined;
    return this;
  }

  /** Leaves a berth: astern, a stop, ahead and out of the harbour. */
  leaveBerth({ engine = true } = {}): this {
    const heading = this.#headingRad;
    this.go(25 + 20 * this.#random.next(), { knots: 1.6, headingRad: heading + Math.PI, engine, rampS: 6 });
    this.stop(8 + 10 * this.#random.next());
    return this.go(90 + 90 * this.#random.next(), { knots: 3, headingRad: heading + 1.5, engine, rampS: 15 });
  }

  /** Enters a harbour, and stops at a berth. */
  reachBerth(): this {
    this.go(120 + 90 * this.#random.next(), { knots: 3, headingRad: this.#headingRad + 0.9, engine: true, rampS: 20 });
    this.go(30 + 20 * this.#random.next(), { knots: 1.6, headingRad: this.#headingRad + 0.5, engine: true, rampS: 10 });
    return this;
  }

  /** Goes on a course. Speed and heading change within `rampS` seconds from those before. `wander`: of speed under sail. */
  go(
    seconds: number,
    { knots, headingRad = this.#headingRad, engine = false, rampS = 30, wander = 0 }: {
      knots: number;
      headingRad?: number;
      engine?: boolean;
      rampS?: number;
      wander?: number;
    },
  ): this {
    this.#engine = engine;
    const phase = TURN * this.#random.next();
    const begin = this.#speedMps;
    for (let s = 0; s < seconds; s++) {
      const full = KNOT * knots * (1 + wander * Math.sin(s / 97 + phase));
      const speed = begin + (full - begin) * Math.min(1, (s + 1) / rampS);
      const turn = Math.atan2(Math.sin(headingRad - this.#headingRad), Math.cos(headingRad - this.#headingRad));
      this.#headingRad += clamp(turn, 0.06);
      this.#step(speed);
    }
    return this;
  }

  /** Stops within a voyage. `driftMps`: it drifts meanwhile. */
  stop(seconds: number, { driftMps = 0, engine = this.#engine } = {}): this {
    this.#engine = engine;
    for (let s = 0; s < seconds; s++) {
      const speed = this.#speedMps > driftMps ? Math.max(driftMps, this.#speedMps - 0.15) : driftMps;
      this.#step(speed);
    }
    return this;
  }

  /** Loses the positions while something happens. */
  withoutPosition(way: () => void): this {
    this.#isLost = true;
    way();
    this.#isLost = false;
    return this;
  }

  /** Records nothing while something happens. */
  switchedOff(way: () => void): this {
    this.#isOff = true;
    way();
    this.#isOff = false;
    return this;
  }

  /** Turns by an angle. */
  turn(angleRad: number): this {
    this.#headingRad += angleRad;
    return this;
  }

  get headingRad(): number {
    return this.#headingRad;
  }

  #step(speedMps: number): void {
    const [x, y] = [this.#x + speedMps * Math.sin(this.#headingRad), this.#y + speedMps * Math.cos(this.#headingRad)];
    this.#to(x, y);
  }

  #to(x: number, y: number): void {
    const speed = Math.hypot(x - this.#x, y - this.#y);
    [this.#x, this.#y, this.#speedMps] = [x, y, speed];
    this.#timeMs += 1000;
    if (this.#open) {
      this.#open.distanceM += speed;
      if (this.#engine) this.#open.runningS++;
    }
    if (!this.#isOff) this.samples.push(this.#measure(speed));
  }

  #measure(speed: number): Sample {
    const { whiteM, slowM, speedMps, outliers } = this.#receiver;
    const keep = 1 - 1 / SLOW_S;
    const push = slowM * Math.sqrt(1 - keep * keep);
    this.#slowX = keep * this.#slowX + push * this.#normal();
    this.#slowY = keep * this.#slowY + push * this.#normal();
    let [x, y] = [this.#x + this.#slowX + whiteM * this.#normal(), this.#y + this.#slowY + whiteM * this.#normal()];
    if (this.#random.next() < outliers) {
      const [far, angle] = [500 + 15_000 * this.#random.next() ** 2, TURN * this.#random.next()];
      [x, y] = [x + far * Math.sin(angle), y + far * Math.cos(angle)];
    }
    const { latitude, longitude } = this.#origin;
    const wind = Math.max(0, this.#windMps + 1.5 * Math.sin(this.#timeMs / 40_000) + 0.8 * this.#normal());
    return {
      timeMs: this.#timeMs,
      headingRad: (this.#headingRad % TURN + TURN) % TURN,
      rpm: this.#engine ? 1900 : 0,
      fuelLph: this.#engine ? 4 : 0,
      trueWindMps: wind,
      apparentWindMps: wind + speed,
      ...!this.#isLost && {
        latitude: latitude + y / DEGREE_M,
        longitude: longitude + x / (DEGREE_M * Math.cos(latitude * Math.PI / 180)),
        sogMps: Math.abs(speed + speedMps * this.#normal()),
      },
    };
  }

  /** Normally distributed, standard deviation 1. */
  #normal(): number {
    return Math.sqrt(-2 * Math.log(1 - this.#random.next())) * Math.cos(TURN * this.#random.next());
  }
}

/** Direction of the tide after some seconds: it turns in the middle of each of its halves. */
function tideAt(s: number): number {
  const half = Math.floor(s / TIDE_S);
  const turned = 1 / (1 + Math.exp(-(s - (half + 0.5) * TIDE_S) / 200));
  return Math.PI * (half % 2 === 0 ? turned : 1 - turned);
}

function clamp(value: number, most: number): number {
  return Math.min(most, Math.max(-most, value));
}

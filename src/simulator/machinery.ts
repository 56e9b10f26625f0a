import { createSwell, type Random, type Swell, swellAt } from "./random.ts";

/** One diesel with its gearbox. */
export interface Engine {
  readonly speedRpm: number;
  readonly coolantK: number;
  readonly oilK: number;
  readonly oilPressurePa: number;
  readonly exhaustK: number;
  readonly gearOilK: number;
  readonly loadPercent: number;
  readonly fuelRateLph: number;
  readonly hoursS: number;
  readonly tripFuelL: number;
}

/** Speed of one engine over time. */
export interface Throttle {
  readonly cruiseRpm: number;
  /** Changes by the skipper. */
  readonly settings: Swell;
  /** Changes by waves and governor. */
  readonly hunting: Swell;
}

/** Contents of the tanks, litres. */
export interface Tanks {
  readonly fuelPortL: number;
  readonly fuelStarboardL: number;
  readonly freshWaterL: number;
  readonly greyWaterL: number;
  readonly blackWaterL: number;
}

/** Sizes of the tanks, litres. */
export const TANK_CAPACITY_L: Tanks = {
  fuelPortL: 400,
  fuelStarboardL: 400,
  freshWaterL: 600,
  greyWaterL: 160,
  blackWaterL: 120,
};

/** Phase of the charger of the house battery. */
export type ChargePhase = { type: "off" } | { type: "bulk" } | { type: "absorption" } | { type: "float" };

/** The 12 V system. */
export interface Electrics {
  /** 0-1. */
  readonly stateOfCharge: number;
  readonly houseVolt: number;
  /** Into the battery is positive. */
  readonly houseAmpere: number;
  readonly houseK: number;
  readonly loadAmpere: number;
  readonly startPortVolt: number;
  readonly startStarboardVolt: number;
  readonly charge: ChargePhase;
  readonly dischargedAs: number;
}

/** Switched loads. */
export interface Switches {
  readonly instruments: boolean;
  readonly autopilot: boolean;
  readonly navigationLights: boolean;
  readonly cabinLights: boolean;
  readonly refrigerator: boolean;
  readonly bilgePump: boolean;
  readonly waterPump: boolean;
}

/** Capacity of the house bank. */
export const HOUSE_CAPACITY_AH = 600;

/** Engine speed at rated power. */
export const RATED_RPM = 3200;
const COOLANT_HOT_K = 355;
const COOLANT_LAG_S = 180;
const OIL_LAG_S = 300;
const HOUR_S = 3600;
/** A tank below this fraction of its capacity is refilled. */
const REFILL_BELOW = 0.08;
const REFILL_TO = 0.95;
/** A waste tank above this fraction of its capacity is pumped out. */
const PUMP_OUT_ABOVE = 0.9;
/** State of charge at which bulk, absorption and float begin. */
const CHARGE_BELOW = 0.8;
const ABSORB_ABOVE = 0.92;
const FLOAT_ABOVE = 0.99;
const BULK_AMPERE = 95;
const ABSORPTION_AMPERE = 45;
const REST_VOLT = 13.1;

/** A random throttle. */
export function createThrottle(random: Random): Throttle {
  return {
    cruiseRpm: 2150 + 40 * random(),
    settings: createSwell(random, { amplitude: 160, periodsS: [600, 1700] }),
    hunting: createSwell(random, { amplitude: 14, periodsS: [1.7, 3.9, 6.1] }),
  };
}

/** An engine that has run for a few minutes. */
export function createEngine(random: Random): Engine {
  return {
    speedRpm: 2100,
    coolantK: 330,
    oilK: 335,
    oilPressurePa: 380_000,
    exhaustK: 520,
    gearOilK: 320,
    loadPercent: 50,
    fuelRateLph: 5,
    hoursS: Math.round((1200 + 600 * random()) * HOUR_S),
    tripFuelL: 0,
  };
}

/** Speed of an engine at a time. */
export function engineSpeedAt(throttle: Throttle, timeS: number): number {
  return throttle.cruiseRpm + swellAt(throttle.settings, timeS) + swellAt(throttle.hunting, timeS);
}

/** The engine after `dtS` seconds at a speed. */
export function stepEngine(engine: Engine, { speedRpm, dtS }: { speedRpm: number; dtS: number }): Engine {
  const power = (speedRpm / RATED_RPM) ** 2.6;
  const fuelRateLph = 0.7 + 15 * power;
  const coolantK = engine.coolantK + (COOLANT_HOT_K - engine.coolantK) / COOLANT_LAG_S * dtS;
  const oilK = engine.oilK + (COOLANT_HOT_K + 5 + 18 * power - engine.oilK) / OIL_LAG_S * dtS;
  return {
    speedRpm,
    coolantK,
    oilK,
    oilPressurePa: 180_000 + 250_000 * Math.min(1, speedRpm / RATED_RPM) - 900 * (oilK - 335),
    exhaustK: engine.exhaustK + (430 + 350 * power - engine.exhaustK) / 40 * dtS,
    gearOilK: engine.gearOilK + (338 + 14 * power - engine.gearOilK) / OIL_LAG_S * dtS,
    loadPercent: 100 * power,
    fuelRateLph,
    hoursS: engine.hoursS + dtS,
    tripFuelL: engine.tripFuelL + fuelRateLph * dtS / HOUR_S,
  };
}

/** The tanks after `dtS` seconds. */
export function stepTanks(tanks: Tanks, use: { portLph: number; starboardLph: number; dtS: number }): Tanks {
  const hours = use.dtS / HOUR_S;
  const waterL = 5.5 * hours;
  return {
    fuelPortL: drawn(tanks.fuelPortL - use.portLph * hours, TANK_CAPACITY_L.fuelPortL),
    fuelStarboardL: drawn(tanks.fuelStarboardL - use.starboardLph * hours, TANK_CAPACITY_L.fuelStarboardL),
    freshWaterL: drawn(tanks.freshWaterL - waterL, TANK_CAPACITY_L.freshWaterL),
    greyWaterL: filled(tanks.greyWaterL + waterL * 0.8, TANK_CAPACITY_L.greyWaterL),
    blackWaterL: filled(tanks.blackWaterL + waterL * 0.15, TANK_CAPACITY_L.blackWaterL),
  };
}

function drawn(litres: number, capacityL: number): number {
  return litres < REFILL_BELOW * capacityL ? REFILL_TO * capacityL : litres;
}

function filled(litres: number, capacityL: number): number {
  return litres > PUMP_OUT_ABOVE * capacityL ? 0 : litres;
}

/** State of the switched loads at a time. */
export function switchesAt(timeS: number): Switches {
  return {
    instruments: true,
    autopilot: true,
    navigationLights: true,
    cabinLights: Math.floor(timeS / 1100) % 3 === 1,
    refrigerator: timeS % 900 < 380,
    bilgePump: timeS % 640 >= 600,
    waterPump: timeS % 170 < 12,
  };
}

function loadOf(switches: Switches): number {
  return (switches.instruments ? 6.5 : 0) + (switches.autopilot ? 5 : 0) + (switches.navigationLights ? 2.1 : 0) +
    (switches.cabinLights ? 3.2 : 0) + (switches.refrigerator ? 5.4 : 0) + (switches.bilgePump ? 8.3 : 0) +
    (switches.waterPump ? 7.2 : 0);
}

function nextPhase(phase: ChargePhase, stateOfCharge: number): ChargePhase {
  switch (phase.type) {
    case "off":
      return stateOfCharge < CHARGE_BELOW ? { type: "bulk" } : phase;
    case "bulk":
      return stateOfCharge > ABSORB_ABOVE ? { type: "absorption" } : phase;
    case "absorption":
      return stateOfCharge > FLOAT_ABOVE ? { type: "float" } : phase;
    case "float":
      return stateOfCharge < FLOAT_ABOVE - 0.02 ? { type: "off" } : phase;
  }
}

const CHARGE_AMPERE = { off: 0, bulk: BULK_AMPERE, absorption: ABSORPTION_AMPERE, float: 4 } as const;

/** The batteries after `dtS` seconds. */
export function stepElectrics(electrics: Electrics, on: { switches: Switches; timeS: number; dtS: number }): Electrics {
  const loadAmpere = loadOf(on.switches) + 0.4 * Math.sin(on.timeS / 3.1);
  const houseAmpere = CHARGE_AMPERE[electrics.charge.type] - loadAmpere;
  const chargedAs = houseAmpere * on.dtS;
  const stateOfCharge = Math.min(
    1,
    Math.max(0.1, electrics.stateOfCharge + chargedAs / (HOUSE_CAPACITY_AH * HOUR_S)),
  );
  return {
    stateOfCharge,
    houseVolt: REST_VOLT + 0.5 * (stateOfCharge - 0.6) + 0.006 * houseAmpere,
    houseAmpere,
    houseK: electrics.houseK + (297 + 0.06 * Math.abs(houseAmpere) - electrics.houseK) / 1800 * on.dtS,
    loadAmpere,
    startPortVolt: 14.1 + 0.04 * Math.sin(on.timeS / 41),
    startStarboardVolt: 14.15 + 0.04 * Math.sin(on.timeS / 53),
    charge: nextPhase(electrics.charge, stateOfCharge),
    dischargedAs: Math.max(0, (1 - stateOfCharge) * HOUSE_CAPACITY_AH * HOUR_S),
  };
}

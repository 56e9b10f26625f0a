import type { Fields } from "../../pgn/mod.ts";
import {
  type Broadcast,
  broadcast,
  device,
  type DeviceSpec,
  MANUFACTURER,
  manufacturerFields,
  type View,
} from "./device.ts";
import { type Electrics, HOUSE_CAPACITY_AH, TANK_CAPACITY_L, type Tanks } from "../machinery.ts";
import { inSteps } from "../navigation.ts";
import { airAt } from "../weather.ts";

/** Charge air pressure at full load. */
const FULL_BOOST_PA = 160_000;
/** Resolution of an engine's J1939 data (SAE J1939-71: SPN 102, 100, 110, 175, 168) where that of the field is finer. */
const ENGINE_STEP = { boostPa: 2000, oilPressurePa: 4000, coolantK: 1, oilK: 1 / 32, alternatorVolt: 0.05 };
/** Battery instances. */
const HOUSE = 0;
const START_PORT = 1;
const START_STARBOARD = 2;
/** Kind of direct current of PGN 127506. */
const BATTERY = 0;
/** States of PGN 127507. */
const CHARGER_STATE = { off: 0, bulk: 1, absorption: 2, float: 5 } as const;
/** Maximum value of PGN 127497. */
const MAX_TRIP_FUEL_L = 65_532;
const ZERO_CELSIUS_K = 273.15;

/** Gateway of one engine: port is instance 0, starboard 1. Both are delivered with the same preferred address. */
export function engineGateway(side: "port" | "starboard"): DeviceSpec {
  const instance = side === "port" ? 0 : 1;
  const engineOf = ({ passage }: View) => passage.engines[instance];
  return device(side === "port" ? "enginePort" : "engineStarboard", engineBroadcasts(instance, engineOf));
}

/** Rounds a temperature in kelvins to steps that count from 0 °C. */
function celsiusInSteps(kelvins: number, step: number): number {
  return ZERO_CELSIUS_K + inSteps(kelvins - ZERO_CELSIUS_K, step);
}

function engineBroadcasts(instance: 0 | 1, engineOf: (view: View) => View["passage"]["engines"][0]): Broadcast[] {
  return [
    broadcast({ pgn: 127488, prio: 2, intervalMs: 100 }, (view) => {
      const { speedRpm, loadPercent } = engineOf(view);
      return {
        engine_instance: instance,
        engine_speed: speedRpm,
        engine_boost: inSteps(FULL_BOOST_PA * loadPercent / 100, ENGINE_STEP.boostPa),
      };
    }),
    broadcast({ pgn: 127489, prio: 2, intervalMs: 500 }, (view) => {
      const engine = engineOf(view);
      const { startPortVolt, startStarboardVolt } = view.passage.electrics;
      return {
        engine_instance: instance,
        oil_pressure: inSteps(engine.oilPressurePa, ENGINE_STEP.oilPressurePa),
        oil_temperature: celsiusInSteps(engine.oilK, ENGINE_STEP.oilK),
        temperature: celsiusInSteps(engine.coolantK, ENGINE_STEP.coolantK),
        alternator_potential: inSteps(
          instance === 0 ? startPortVolt : startStarboardVolt,
          ENGINE_STEP.alternatorVolt,
        ),
        fuel_rate: engine.fuelRateLph,
        total_engine_hours: engine.hoursS,
        discrete_status_1: 0,
        discrete_status_2: 0,
        percent_engine_load: engine.loadPercent,
      };
    }),
    broadcast({ pgn: 127493, prio: 2, intervalMs: 1000 }, (view) => ({
      instance,
      transmission_gear: "Forward",
      oil_pressure: 1_650_000,
      oil_temperature: engineOf(view).gearOilK,
      discrete_status1: 0,
    })),
    broadcast({ pgn: 127497, prio: 5, intervalMs: 1000 }, (view) => ({
      instance,
      trip_fuel_used: Math.min(engineOf(view).tripFuelL, MAX_TRIP_FUEL_L),
      instantaneous_fuel_economy: engineOf(view).fuelRateLph,
    })),
  ];
}

/** Battery hub with shunt and charger. Also sends the manufacturer's registers. */
export function batteryHub(): DeviceSpec {
  const battery = (instance: number, values: (electrics: Electrics) => Fields): Broadcast => ({
    pgn: 127508,
    prio: 6,
    intervalMs: 1500,
    fields: ({ passage, sid }) => ({ instance, ...values(passage.electrics), sid }),
  });
  return device("batteryHub", [
    battery(HOUSE, ({ houseVolt, houseAmpere, houseK }) => ({
      voltage: houseVolt,
      current: houseAmpere,
      temperature: houseK,
    })),
    battery(START_PORT, ({ startPortVolt }) => ({ voltage: startPortVolt })),
    battery(START_STARBOARD, ({ startStarboardVolt }) => ({ voltage: startStarboardVolt })),
    broadcast({ pgn: 127506, prio: 6, intervalMs: 1500 }, houseDetails),
    broadcast({ pgn: 127507, prio: 6, intervalMs: 1500 }, ({ passage: { electrics } }) => ({
      instance: 0,
      battery_instance: HOUSE,
      operating_state: CHARGER_STATE[electrics.charge.type],
      charge_mode: 0,
      charger_enable: 1,
      equalization_pending: 0,
    })),
    ...victronRegisters(),
  ]);
}

function houseDetails({ passage: { electrics }, sid }: View): Fields {
  const { stateOfCharge, houseAmpere } = electrics;
  const remainingAh = stateOfCharge * HOUSE_CAPACITY_AH;
  return {
    sid,
    instance: HOUSE,
    dc_type: BATTERY,
    state_of_charge: stateOfCharge * 100,
    state_of_health: 98,
    time_remaining: houseAmpere < 0 ? -remainingAh / houseAmpere * 3600 : null,
    ripple_voltage: 0.02,
    capacity_remaining: remainingAh,
  };
}

/** Registers of the battery monitor. */
function victronRegisters(): Broadcast[] {
  const register = (name: string, steps: (electrics: Electrics) => number): Broadcast => ({
    pgn: 61184,
    prio: 7,
    intervalMs: 2000,
    // The field is unsigned: negative numbers are sent as two's complement.
    fields: ({ passage }) => ({
      ...manufacturerFields(MANUFACTURER.victron),
      register: { name },
      payload: Math.round(steps(passage.electrics)) >>> 0,
    }),
  });
  return [
    register("State of Charge", ({ stateOfCharge }) => stateOfCharge * 10_000),
    register("DC Channel 1 Voltage", ({ houseVolt }) => houseVolt * 100),
    register("DC Channel 1 Current", ({ houseAmpere }) => houseAmpere * 10),
    register("Discharge Since Full", ({ dischargedAs }) => -dischargedAs / 360),
  ];
}

/** Kinds of fluid of PGN 127505. */
const FLUID = { fuel: 0, freshWater: 1, greyWater: 2, blackWater: 5 } as const;

const TANKS: readonly { key: keyof Tanks; instance: number; fluid: number }[] = [
  { key: "fuelPortL", instance: 0, fluid: FLUID.fuel },
  { key: "fuelStarboardL", instance: 1, fluid: FLUID.fuel },
  { key: "freshWaterL", instance: 0, fluid: FLUID.freshWater },
  { key: "greyWaterL", instance: 0, fluid: FLUID.greyWater },
  { key: "blackWaterL", instance: 0, fluid: FLUID.blackWater },
];

/** Gateway of the tank senders. */
export function tankGateway(): DeviceSpec {
  return device(
    "tankGateway",
    TANKS.map(({ key, instance, fluid }) => ({
      pgn: 127505,
      prio: 6,
      intervalMs: 2500,
      fields: ({ passage }) => ({
        instance,
        fluid_type: fluid,
        level: 100 * passage.tanks[key] / TANK_CAPACITY_L[key],
        capacity: TANK_CAPACITY_L[key],
      }),
    })),
  );
}

/** Thermometers in the engine rooms and in the refrigerator. Also sends exhaust temperatures as a proprietary message. */
export function thermometers(): DeviceSpec {
  const outside = ({ passage }: View) => airAt(passage.climate, passage.timeMs / 1000).airK;
  const every2s = (pgn: number, fields: Broadcast["fields"]) => broadcast({ pgn, prio: 5, intervalMs: 2000 }, fields);
  const exhaust = (pgn: number, { instance, common }: { instance: 0 | 1; common: Fields }) =>
    every2s(pgn, ({ sid, passage }) => ({
      ...common,
      sid,
      instance,
      actual_temperature: passage.engines[instance].exhaustK,
    }));
  const standard = { temperature_source: "exhaust_gas" };
  const maretron = { ...manufacturerFields(MANUFACTURER.maretron), source: "Exhaust Gas Temperature" };
  return device("thermometers", [
    exhaust(130316, { instance: 0, common: standard }),
    exhaust(130316, { instance: 1, common: standard }),
    exhaust(130823, { instance: 0, common: maretron }),
    exhaust(130823, { instance: 1, common: maretron }),
    every2s(130312, (view) => ({
      sid: view.sid,
      instance: 0,
      temperature_source: "engine_room",
      actual_temperature: outside(view) + 0.25 * (view.passage.engines[0].coolantK - outside(view)),
    })),
    every2s(130312, ({ sid, passage: { switches } }) => ({
      sid,
      instance: 1,
      temperature_source: "refrigeration",
      actual_temperature: ZERO_CELSIUS_K + (switches.refrigerator ? 4.2 : 5.6),
      set_temperature: ZERO_CELSIUS_K + 5,
    })),
  ]);
}

/** Switch panel. */
export function switchBank(): DeviceSpec {
  return device("switchBank", [{
    pgn: 127501,
    prio: 3,
    intervalMs: 1000,
    fields: ({ passage: { switches } }) => ({ instance: 0, indicators: Object.values(switches).map(Number) }),
  }]);
}

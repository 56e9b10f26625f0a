import { type Broadcast, type DeviceSpec, marineName, type View } from "./device.ts";
import { HOUSE_CAPACITY_AH, TANK_CAPACITY_L, type Tanks } from "./machinery.ts";
import * as machine from "./payloads_machinery.ts";
import { MAKER, packMaretronTemperature, packVictronRegister, VICTRON_REGISTER } from "./payloads_maker.ts";
import { packTemperature, packTemperatureExtended } from "./payloads_weather.ts";
import { airAt } from "./weather.ts";

/** Charge air pressure at full load. */
const FULL_BOOST_PA = 160_000;
/** Battery instances. */
const HOUSE = 0;
const START_PORT = 1;
const START_STARBOARD = 2;
const ZERO_CELSIUS_K = 273.15;

/** Gateway of one engine: port is instance 0, starboard 1. Both are delivered with the same preferred address. */
export function engineGateway(side: "port" | "starboard"): DeviceSpec {
  const instance = side === "port" ? 0 : 1;
  const engineOf = ({ passage }: View) => passage.engines[instance];
  return {
    name: marineName({
      unique: 30_417 + instance * 13,
      maker: MAKER.yachtDevices,
      deviceClass: 50,
      deviceFunction: 160,
      instance,
    }),
    preferredAddress: 16,
    product: {
      code: 7_310,
      model: "YDEG-04",
      softwareVersion: "1.17 21/09/2023",
      modelVersion: "YDEG-04N",
      serial: `0004${3_017 + instance}`,
      loadEquivalency: 1,
    },
    configuration: [`Engine ${side}`, "", "Yacht Devices Ltd., www.yachtd.com"],
    powerOnMs: 40 + instance * 67,
    receives: [],
    broadcasts: engineBroadcasts(instance, engineOf),
  };
}

function engineBroadcasts(instance: 0 | 1, engineOf: (view: View) => View["passage"]["engines"][0]): Broadcast[] {
  return [
    {
      pgn: 127488,
      prio: 2,
      intervalMs: 100,
      pack: (view) => {
        const { speedRpm, loadPercent } = engineOf(view);
        return machine.packEngineRapid({ instance, speedRpm, boostPa: FULL_BOOST_PA * loadPercent / 100 });
      },
    },
    {
      pgn: 127489,
      prio: 2,
      intervalMs: 500,
      pack: (view) => {
        const { electrics } = view.passage;
        const alternatorVolt = instance === 0 ? electrics.startPortVolt : electrics.startStarboardVolt;
        return machine.packEngineDynamic({ instance, alternatorVolt, ...engineOf(view) });
      },
    },
    {
      pgn: 127493,
      prio: 2,
      intervalMs: 1000,
      pack: (view) =>
        machine.packTransmission({ instance, gear: 0, oilPressurePa: 1_650_000, oilK: engineOf(view).gearOilK }),
    },
    {
      pgn: 127497,
      prio: 5,
      intervalMs: 1000,
      pack: (view) => {
        const { tripFuelL, fuelRateLph } = engineOf(view);
        return machine.packEngineTrip({ instance, fuelUsedL: tripFuelL, instantLph: fuelRateLph });
      },
    },
  ];
}

/** Hub of the batteries with shunt and charger. Speaks its maker's registers, too. */
export function batteryHub(): DeviceSpec {
  const battery = (
    instance: number,
    values: (view: View) => { volt: number; ampere?: number; temperatureK?: number },
  ) =>
    ({
      pgn: 127508,
      prio: 6,
      intervalMs: 1500,
      pack: (view: View) => machine.packBattery({ sid: view.sid, instance, ...values(view) }),
    }) satisfies Broadcast;
  return {
    name: marineName({ unique: 422_118, maker: MAKER.victron, deviceClass: 35, deviceFunction: 170 }),
    preferredAddress: 30,
    product: {
      code: 49_236,
      model: "Cerbo GX",
      softwareVersion: "v3.42",
      modelVersion: "MK2",
      serial: "HQ2142CFGHJ",
      loadEquivalency: 1,
    },
    configuration: ["House bank 600 Ah LiFePO4", "Nav station", "Victron Energy B.V."],
    powerOnMs: 74,
    receives: [127501],
    broadcasts: [
      battery(HOUSE, ({ passage: { electrics } }) => ({
        volt: electrics.houseVolt,
        ampere: electrics.houseAmpere,
        temperatureK: electrics.houseK,
      })),
      battery(START_PORT, ({ passage: { electrics } }) => ({ volt: electrics.startPortVolt })),
      battery(START_STARBOARD, ({ passage: { electrics } }) => ({ volt: electrics.startStarboardVolt })),
      { pgn: 127506, prio: 6, intervalMs: 1500, pack: packHouseDetails },
      {
        pgn: 127507,
        prio: 6,
        intervalMs: 1500,
        pack: ({ passage: { electrics } }) =>
          machine.packCharger({ instance: 0, batteryInstance: HOUSE, phase: electrics.charge }),
      },
      ...victronRegisters(),
    ],
  };
}

function packHouseDetails({ passage: { electrics }, sid }: View): Uint8Array {
  const remainingAh = electrics.stateOfCharge * HOUSE_CAPACITY_AH;
  return machine.packDcDetails({
    sid,
    instance: HOUSE,
    chargePercent: electrics.stateOfCharge * 100,
    healthPercent: 98,
    ...(electrics.houseAmpere < 0 ? { remainingS: -remainingAh / electrics.houseAmpere * 3600 } : {}),
    rippleVolt: 0.02,
    remainingAh,
  });
}

function victronRegisters(): Broadcast[] {
  const register = (id: number, rawValue: (view: View) => number): Broadcast => ({
    pgn: 61184,
    prio: 7,
    intervalMs: 2000,
    pack: (view) => packVictronRegister({ register: id, rawValue: Math.round(rawValue(view)) }),
  });
  return [
    register(VICTRON_REGISTER.stateOfCharge, ({ passage }) => passage.electrics.stateOfCharge * 10_000),
    register(VICTRON_REGISTER.dcVoltage, ({ passage }) => passage.electrics.houseVolt * 100),
    register(VICTRON_REGISTER.dcCurrent, ({ passage }) => passage.electrics.houseAmpere * 10),
    register(VICTRON_REGISTER.dischargeSinceFull, ({ passage }) => -passage.electrics.dischargedAs / 360),
  ];
}

const TANKS: readonly { key: keyof Tanks; instance: number; fluid: keyof typeof machine.FLUID }[] = [
  { key: "fuelPortL", instance: 0, fluid: "fuel" },
  { key: "fuelStarboardL", instance: 1, fluid: "fuel" },
  { key: "freshWaterL", instance: 0, fluid: "freshWater" },
  { key: "greyWaterL", instance: 0, fluid: "greyWater" },
  { key: "blackWaterL", instance: 0, fluid: "blackWater" },
];

/** Gateway of the tank senders. */
export function tankGateway(): DeviceSpec {
  return {
    name: marineName({ unique: 118_540, maker: MAKER.yachtDevices, deviceClass: 75, deviceFunction: 150 }),
    preferredAddress: 50,
    product: {
      code: 7_722,
      model: "YDTA-04",
      softwareVersion: "1.05 12/02/2022",
      modelVersion: "YDTA-04N",
      serial: "00118540",
      loadEquivalency: 1,
    },
    configuration: ["Tanks", "", "Yacht Devices Ltd., www.yachtd.com"],
    powerOnMs: 150,
    receives: [],
    broadcasts: TANKS.map(({ key, instance, fluid }) => ({
      pgn: 127505,
      prio: 6,
      intervalMs: 2500,
      pack: ({ passage }) => {
        const capacityL = TANK_CAPACITY_L[key];
        return machine.packFluidLevel({
          instance,
          fluid,
          capacityL,
          levelPercent: 100 * passage.tanks[key] / capacityL,
        });
      },
    })),
  };
}

/** Thermometers in the engine rooms and in the refrigerator. Sends exhaust temperatures in its maker's way, too. */
export function thermometers(): DeviceSpec {
  const exhaust = (instance: 0 | 1) => (view: View) =>
    ({ sid: view.sid, instance, source: "exhaustGas", actualK: view.passage.engines[instance].exhaustK }) as const;
  const outside = ({ passage }: View) => airAt(passage.climate, passage.timeMs / 1000).airK;
  const every2s = (pgn: number, pack: Broadcast["pack"]): Broadcast => ({ pgn, prio: 5, intervalMs: 2000, pack });
  return {
    name: marineName({ unique: 1_580_965, maker: MAKER.maretron, deviceClass: 75, deviceFunction: 130 }),
    preferredAddress: 52,
    product: {
      code: 16_710,
      model: "TMP100",
      softwareVersion: "1.4.3",
      modelVersion: "TMP100-01",
      serial: "1580965",
      loadEquivalency: 2,
    },
    configuration: ["Engine rooms and galley", "", "Maretron, LLP"],
    powerOnMs: 171,
    receives: [],
    broadcasts: [
      every2s(130316, (view) => packTemperatureExtended(exhaust(0)(view))),
      every2s(130316, (view) => packTemperatureExtended(exhaust(1)(view))),
      every2s(130823, (view) => packMaretronTemperature(exhaust(0)(view))),
      every2s(130823, (view) => packMaretronTemperature(exhaust(1)(view))),
      every2s(130312, (view) =>
        packTemperature({
          sid: view.sid,
          instance: 0,
          source: "engineRoom",
          actualK: outside(view) + 0.25 * (view.passage.engines[0].coolantK - outside(view)),
        })),
      every2s(130312, (view) =>
        packTemperature({
          sid: view.sid,
          instance: 1,
          source: "refrigerator",
          actualK: ZERO_CELSIUS_K + (view.passage.switches.refrigerator ? 4.2 : 5.6),
          setK: ZERO_CELSIUS_K + 5,
        })),
    ],
  };
}

/** Switch panel. */
export function switchBank(): DeviceSpec {
  return {
    name: marineName({ unique: 209_771, maker: MAKER.yachtDevices, deviceClass: 30, deviceFunction: 140 }),
    preferredAddress: 60,
    product: {
      code: 7_511,
      model: "YDCC-04",
      softwareVersion: "1.31 02/05/2023",
      modelVersion: "YDCC-04N",
      serial: "00209771",
      loadEquivalency: 2,
    },
    configuration: ["Circuit control, nav station", "", "Yacht Devices Ltd., www.yachtd.com"],
    powerOnMs: 196,
    receives: [127502],
    broadcasts: [{
      pgn: 127501,
      prio: 3,
      intervalMs: 1000,
      pack: ({ passage: { switches } }) => machine.packSwitchBank({ instance: 0, on: Object.values(switches) }),
    }],
  };
}

import type { PgnMapping, Row } from "./types.ts";

/** Alarm bits of a status field: last part of the path, and the message, from the lowest bit on. */
type Alarms = readonly (readonly [path: string, message: string])[];

const ENGINE_1: Alarms = [
  ["checkEngine", "Check % Engine"],
  ["overTemperature", "% Engine Over Temperature"],
  ["lowOilPressure", "% Engine Low Oil Pressure"],
  ["lowOilLevel", "% Engine Low Oil Level"],
  ["lowFuelPressure", "% Engine Low Fuel Pressure"],
  ["lowSystemVoltage", "% Low System Voltage"],
  ["lowCoolantLevel", "% Engine Low Coolant Level"],
  ["waterFlow", "% Engine Water Flow"],
  ["waterInFuel", "% Water in Fuel"],
  ["chargeIndicator", "% Engine Charge Indicator"],
  ["preheatIndicator", "% Preheat Indicator"],
  ["highBoostPressure", "% Engine High Boost Pressure"],
  ["revLimitExceeded", "% Engine Rev Limit Exceeded"],
  ["eGRSystem", "% Engine EGR System"],
  ["throttlePositionSensor", "% Engine Throttle Position Sensor"],
  ["emergencyStopMode", "% Engine Emergency Stop Mode"],
];
const ENGINE_2: Alarms = [
  ["warningLevel1", "% Engine Warning Level 1"],
  ["warningLevel2", "% Engine Warning Level 2"],
  ["powerReduction", "% Engine Power Reduction"],
  ["maintenanceNeeded", "% Engine Maintenance Needed"],
  ["commError", "% Engine Comm Error"],
  ["subOrSecondaryThrottle", "% Engine Sub or Secondary Throttle"],
  ["neutralStartProtect", "% Neutral Start Protect"],
  ["shuttingDown", "% Engine Shutting Down"],
];
const TRANSMISSION: Alarms = [
  ["checkTransmission", "Check % Engine"],
  ["overTemperature", "% Transmission Over Temperature"],
  ["lowOilPressure", "% Transmission Low Oil Pressure"],
  ["lowOilLevel", "% Transmission Low Oil Level"],
  ["sailDrive", "% Transmission Sail Drive"],
];

function alarms(path: string, { field, engine, list }: { field: string; engine: string; list: Alarms }): Row[] {
  return list.map(([name, message], bit) => [
    `notifications.${path}.${name}`,
    field,
    { alarm: { bit, message: message.replace("%", `{${engine}|engineTitle}`) } },
  ]);
}

const ENGINE = "propulsion.{engine_instance|engine}";
const DRIVE = "propulsion.{instance|engine}";

/** Engines and transmissions. */
export const ENGINES: readonly PgnMapping[] = [
  {
    pgn: 127488,
    rows: [
      [`${ENGINE}.revolutions`, "engine_speed", { as: "perMinute" }],
      [`${ENGINE}.drive.trimState`, "engine_tilt_trim", { as: "trim" }],
      [`${ENGINE}.boostPressure`, "engine_boost"],
    ],
  },
  {
    pgn: 127489,
    rows: [
      [`${ENGINE}.temperature`, "temperature"],
      [`${ENGINE}.alternatorVoltage`, "alternator_potential"],
      [`${ENGINE}.fuel.rate`, "fuel_rate", { as: "litresPerHour" }],
      [`${ENGINE}.oilPressure`, "oil_pressure"],
      [`${ENGINE}.runTime`, "total_engine_hours"],
      [`${ENGINE}.oilTemperature`, "oil_temperature"],
      [`${ENGINE}.coolantPressure`, "coolant_pressure"],
      [`${ENGINE}.engineLoad`, "percent_engine_load", { as: "ratio" }],
      [`${ENGINE}.engineTorque`, "percent_engine_torque", { as: "ratio" }],
      [`${ENGINE}.fuel.pressure`, "fuel_pressure"],
      ...alarms(ENGINE, { field: "discrete_status_1", engine: "engine_instance", list: ENGINE_1 }),
      ...alarms(ENGINE, { field: "discrete_status_2", engine: "engine_instance", list: ENGINE_2 }),
    ],
  },
  {
    pgn: 127493,
    rows: [
      [`${DRIVE}.transmission.oilTemperature`, "oil_temperature"],
      [`${DRIVE}.transmission.gear`, "transmission_gear", { as: "label" }],
      [`${DRIVE}.transmission.oilPressure`, "oil_pressure"],
      ...alarms(`${DRIVE}.transmission`, { field: "discrete_status1", engine: "instance", list: TRANSMISSION }),
    ],
  },
  {
    pgn: 127497,
    rows: [
      [`${DRIVE}.trip.fuelUsed`, "trip_fuel_used", { as: "litres" }],
      [`${DRIVE}.trip.fuelRate.average`, "fuel_rate_average", { as: "litresPerHour" }],
      [`${DRIVE}.trip.fuelRate.economy`, "fuel_rate_economy", { as: "litresPerHour" }],
      [`${DRIVE}.trip.fuelRate.instantaneousEconomy`, "instantaneous_fuel_economy", { as: "litresPerHour" }],
    ],
  },
];

import type { PgnMapping, Row } from "./types.ts";

const BATTERY = "electrical.batteries.{instance}";
const CHARGER = "electrical.chargers.{instance}";
const INVERTER = "electrical.inverters.{instance}";
const CONVERTER = "electrical.converter.{src}.{connection_number}";
const SWITCH = "electrical.switches.bank.{instance}.{number}";
/** Fields of one line of AC whose names in Signal K are the same. */
const LINE = {
  voltage: "voltage",
  current: "current",
  frequency: "frequency",
  breaker_size: "breakerSize",
  real_power: "realPower",
  reactive_power: "reactivePower",
  power_factor: "powerFactor",
} as const;

/** Values of each line of AC; `state` is the one that only this PGN has. */
function lines(path: string, state: string): Row[] {
  const names = { [state]: state, ...LINE };
  return Object.entries(names).map(([field, name]) => [
    `${path}.{instance}.{line|phase}.${name}`,
    field,
    { each: "list" },
  ]);
}

function phase(pgn: number, name: string): PgnMapping {
  const path = `electrical.ac.{src}.{connection_number}.phase.${name}`;
  return { pgn, prepare: "address", rows: [[`${path}.power`, "power"], [`${path}.current`, "ac_rms_current"]] };
}

/** PGNs of Maretron: total energy, then for each phase reactive power, power and quantities. */
function maretron(first: number, kind: string): PgnMapping[] {
  const path = `electrical.${kind}.{device_instance!}`;
  const prepare = "deviceInstance";
  const energy: PgnMapping = {
    pgn: first,
    prepare,
    rows: [
      [`${path}.total.energyExport`, "total_energy_export", { as: "kilowattHours" }],
      [`${path}.total.energyImport`, "total_energy_import", { as: "kilowattHours" }],
    ],
  };
  return [
    energy,
    ...["phase.C", "phase.B", "phase.A", "total"].flatMap((phase, index): PgnMapping[] => {
      const [reactive, power, quantities] = [1, 2, 3].map((offset) => first + 3 * index + offset);
      const quantity = `${path}.${phase === "total" ? "average" : phase}`;
      return [
        {
          pgn: reactive ?? 0,
          prepare,
          rows: [
            [`${path}.${phase}.reactivePower`, "reactive_power"],
            [`${path}.${phase}.powerFactor`, "power_factor", { as: "powerFactor" }],
            [`${path}.${phase}.powerFactorLagging`, "power_factor_lagging", { as: "lower" }],
          ],
        },
        {
          pgn: power ?? 0,
          prepare,
          rows: [
            [`${path}.${phase}.realPower`, "real_power"],
            [`${path}.${phase}.apparentPower`, "apparent_power"],
          ],
        },
        {
          pgn: quantities ?? 0,
          prepare,
          rows: [
            [`${quantity}.lineLineVoltage`, "line_line_ac_rms_voltage"],
            [`${quantity}.lineNeutralVoltage`, "line_neutral_ac_rms_voltage"],
            // Some of these PGNs have shorter names.
            [`${quantity}.lineLineVoltage`, "line_line_voltage"],
            [`${quantity}.lineNeutralVoltage`, "line_neutral_voltage"],
            [`${quantity}.frequency`, "ac_frequency"],
            [`${quantity}.current`, "ac_rms_current"],
          ],
        },
      ];
    }),
  ];
}

/** Batteries, chargers, inverters, AC, switches. */
export const ELECTRICAL: readonly PgnMapping[] = [
  {
    pgn: 127501,
    prepare: "switches",
    rows: [
      [`${SWITCH}.state`, "is_on", { each: "switches" }],
      [`${SWITCH}.order`, "number", { each: "switches" }],
    ],
  },
  { pgn: 127503, rows: lines("electrical.ac", "acceptability") },
  { pgn: 127504, rows: lines("electrical.inverters", "waveform") },
  {
    pgn: 127506,
    rows: [
      [`${BATTERY}.capacity.stateOfCharge`, "state_of_charge", { as: "ratio" }],
      [`${BATTERY}.capacity.stateOfHealth`, "state_of_health", { as: "ratio" }],
      [`${BATTERY}.capacity.timeRemaining`, "time_remaining", { orNull: true }],
    ],
  },
  {
    pgn: 127507,
    rows: [
      [`${CHARGER}.operatingState`, "operating_state", { as: "lower" }],
      [`${CHARGER}.chargeMode`, "charge_mode", { as: "lower" }],
      [`${CHARGER}.enabled`, "charger_enable", { as: "isOn" }],
      [`${CHARGER}.equalizationPending`, "equalization_pending", { as: "isOn" }],
      [`${CHARGER}.equalizationTimeRemaining`, "equalization_time", { orNull: true }],
    ],
  },
  {
    pgn: 127508,
    rows: [
      [`${BATTERY}.voltage`, "voltage"],
      [`${BATTERY}.current`, "current"],
      [`${BATTERY}.temperature`, "temperature"],
    ],
  },
  {
    pgn: 127509,
    rows: [
      [`${INVERTER}.operatingState`, "operating_state", { as: "lower" }],
      [`${INVERTER}.enabled`, "inverter_enable", { as: "isOn" }],
    ],
  },
  {
    pgn: 127510,
    rows: [
      [`${CHARGER}.enabled`, "charger_enable", { as: "isOn" }],
      [`${CHARGER}.chargeCurrentLimit`, "charge_current_limit"],
      [`${CHARGER}.chargingAlgorithm`, "charging_algorithm", { as: "chargingAlgorithm" }],
      [`${CHARGER}.chargeMode`, "charger_mode", { as: "lower" }],
      [`${CHARGER}.estimatedTemperature`, "estimated_temperature", { as: "lower" }],
      [`${CHARGER}.equalizeOneTimeEnabled`, "equalize_one_time", { as: "isOn" }],
      [`${CHARGER}.overChargeEnabled`, "over_charge_enable", { as: "isOn" }],
      [`${CHARGER}.equalizeTime`, "equalize_time"],
    ],
  },
  {
    pgn: 127511,
    rows: [
      [`${INVERTER}.enabled`, "inverter_enable_disable", { as: "isOn" }],
      [`${INVERTER}.inverterMode`, "inverter_mode", { as: "lower" }],
      [`${INVERTER}.loadSenseEnabled`, "load_sense_enable_disable", { as: "isOn" }],
      [`${INVERTER}.loadSensePowerThreshold`, "load_sense_power_threshold"],
      [`${INVERTER}.loadSenseInterval`, "load_sense_interval"],
    ],
  },
  {
    pgn: 127513,
    rows: [
      [`${BATTERY}.batteryType`, "battery_type", { as: "lower" }],
      [`${BATTERY}.supportsEqualization`, "supports_equal", { as: "isOn" }],
      [`${BATTERY}.nominalVoltage`, "nominal_voltage", { as: "volts" }],
      [`${BATTERY}.chemistry`, "chemistry", { as: "chemistry" }],
      [`${BATTERY}.capacity.nominal`, "nominal_capacity", { as: "ampereHours" }],
      [`${BATTERY}.temperatureCoefficient`, "temperature_coeff"],
      [`${BATTERY}.peukertExponent`, "peukert_exponent"],
      [`${BATTERY}.chargeEfficiencyFactor`, "charge_eff_factor"],
    ],
  },
  phase(127744, "A"),
  phase(127745, "B"),
  phase(127746, "C"),
  {
    pgn: 127750,
    prepare: "address",
    rows: [
      [`${CONVERTER}.operatingState`, "operating_state", { as: "lower" }],
      [`${CONVERTER}.temperatureState`, "temperature_state", { as: "lower" }],
      [`${CONVERTER}.overloadState`, "overload_state", { as: "lower" }],
      [`${CONVERTER}.lowDCVoltageState`, "low_dc_voltage_state", { as: "lower" }],
      [`${CONVERTER}.rippleState`, "ripple_state", { as: "lower" }],
    ],
  },
  {
    pgn: 127751,
    prepare: "address",
    rows: [
      ["electrical.dc.{src}.{connection_number}.voltage", "dc_voltage"],
      ["electrical.dc.{src}.{connection_number}.current", "dc_current"],
    ],
  },
  ...maretron(65005, "ac"),
  ...maretron(65018, "generators"),
];

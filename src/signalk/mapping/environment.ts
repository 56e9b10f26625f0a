import type { PgnMapping } from "./types.ts";

/** Temperatures, humidity, pressure, tanks. */
export const ENVIRONMENT: readonly PgnMapping[] = [
  {
    pgn: 127505,
    rows: [
      ["tanks.{fluid_type|tank}.{instance}.currentLevel", "level", { as: "ratio" }],
      ["tanks.{fluid_type|tank}.{instance}.capacity", "capacity", { as: "litres" }],
    ],
  },
  {
    pgn: 130310,
    rows: [
      ["environment.outside.temperature", "outside_temperature"],
      ["environment.outside.pressure", "atmospheric_pressure"],
      ["environment.water.temperature", "water_temperature"],
    ],
  },
  {
    pgn: 130311,
    rows: [
      ["{temperature_source|temperature}", "temperature"],
      ["{humidity_source|humidity}", "humidity", { as: "ratio" }],
      ["environment.outside.pressure", "atmospheric_pressure"],
    ],
  },
  { pgn: [130312, 130316], rows: [["{temperature_source|temperature}", "actual_temperature"]] },
  { pgn: 130313, rows: [["{humidity_source|humidity}", "actual_humidity", { as: "ratio" }]] },
  { pgn: 130314, rows: [["{pressure_source|pressure}", "pressure"]] },
  {
    pgn: 65285,
    when: { manufacturer_code: "Lowrance" },
    rows: [["{temperature_source|temperature}", "actual_temperature"]],
  },
];

import { type Quantity, readUnit } from "./quantity.ts";

/** All unit systems. */
export const UNIT_SYSTEMS = ["nautical", "metric", "si"] as const;

/** System of display units; `si` shows values as in JSON. */
export type UnitSystem = (typeof UNIT_SYSTEMS)[number];

/** A display unit for values of at least `from`. */
export interface Step {
  /** Symbol of the unit. */
  readonly unit: string;
  /** Maximum number of decimals. */
  readonly digits: number;
  /** Lowest absolute value, in this unit. Default 0. */
  readonly from?: number;
}

/** Display format of a value. */
export type DisplayFormat =
  /** A number with a unit: the first step whose `from` the value reaches. */
  | { readonly form: "number"; readonly steps: readonly Step[] }
  /** A course or bearing: three digits before the point, and its reference. */
  | { readonly form: "direction" }
  /** An angle relative to the bow, to port or starboard. */
  | { readonly form: "side" }
  | { readonly form: "latitude" | "longitude" | "east or west" | "date" | "time of day" | "offset from UTC" }
  /** A temperature difference: converted without an offset. */
  | { readonly form: "difference" };

/** The properties of a field that decide its display format. */
export interface MeasuredField {
  readonly name: string;
  /** Unit in the decoded payload. */
  readonly unit: string;
}

/** Display formats by field name, where the unit is not enough: the first matching row. */
interface Row {
  readonly unit: string;
  readonly names: RegExp;
  readonly nautical: DisplayFormat;
  /** Default: the nautical format. */
  readonly metric?: DisplayFormat;
}

const number = (...steps: Step[]): DisplayFormat => ({ form: "number", steps });
const METRES = number({ unit: "m", digits: 1 });
const METRES_PER_SECOND = number({ unit: "m/s", digits: 1 });

const ROWS: readonly Row[] = [
  { unit: "deg", names: /latitude(?!_delta)(?:_corner\d)?(?:_of_vessel_reported)?$/, nautical: { form: "latitude" } },
  { unit: "deg", names: /longitude(?!_delta)(?:_corner\d)?(?:_of_vessel_reported)?$/, nautical: { form: "longitude" } },
  {
    unit: "rad",
    names:
      /^(?:cog|set|track|bearing|course|azimuth|(?:.*_)?heading|wind_direction|current_flow_direction)$|^(?:bearing|heading)_|_heading_(?:true|magnetic)$|^orientation_/,
    nautical: { form: "direction" },
  },
  { unit: "deg", names: /delta/, nautical: number({ unit: "°", digits: 6 }) },
  { unit: "rad", names: /^(?:variation|deviation)$/, nautical: { form: "east or west" } },
  { unit: "rad", names: /wind_angle$|^wind_datum$/, nautical: { form: "side" } },
  {
    unit: "m",
    names: /distance|^log$|^trip_log$|^xte|^cpa$|radial_position_error_maximum_threshold/,
    nautical: number({ unit: "nm", digits: 2, from: 0.1 }, { unit: "m", digits: 0 }),
    metric: number({ unit: "km", digits: 2, from: 1 }, { unit: "m", digits: 0 }),
  },
  { unit: "m/s", names: /wind/, nautical: number({ unit: "kn", digits: 1 }), metric: METRES_PER_SECOND },
  { unit: "m/s", names: /sound|elevator|windlass|output_speed/, nautical: METRES_PER_SECOND },
  { unit: "K", names: /offset/, nautical: { form: "difference" } },
  { unit: "Pa", names: /atmospheric|^air_/, nautical: number({ unit: "hPa", digits: 1 }) },
  { unit: "s", names: /^(?:seconds_today|eta_time|position_time)$/, nautical: { form: "time of day" } },
  { unit: "s", names: /^local_offset$/, nautical: { form: "offset from UTC" } },
  { unit: "s", names: /hours$/, nautical: number({ unit: "h", digits: 1 }) },
  { unit: "d", names: /./, nautical: { form: "date" } },
  { unit: "%", names: /./, nautical: number({ unit: "%", digits: 1 }) },
];

/** Display formats by quantity, for fields without a row above. */
const FORMATS: Readonly<Record<Quantity, DisplayFormat | { nautical: DisplayFormat; metric: DisplayFormat }>> = {
  "angle": number({ unit: "°", digits: 1 }),
  "rate of turn": number({ unit: "°/s", digits: 1 }),
  "speed": { nautical: number({ unit: "kn", digits: 1 }), metric: number({ unit: "km/h", digits: 1 }) },
  "length": METRES,
  "temperature": number({ unit: "°C", digits: 1 }),
  "pressure": number({ unit: "bar", digits: 2 }),
  "pressure tendency": number({ unit: "hPa/h", digits: 2 }),
  "voltage": number({ unit: "V", digits: 2 }),
  "current": number({ unit: "A", digits: 1 }),
  "power": number({ unit: "W", digits: 0 }),
  "apparent power": number({ unit: "VA", digits: 0 }),
  "reactive power": number({ unit: "VAR", digits: 0 }),
  "energy": number({ unit: "kWh", digits: 2 }),
  "charge": number({ unit: "Ah", digits: 1 }),
  "frequency": number({ unit: "MHz", digits: 3, from: 1 }, { unit: "kHz", digits: 3, from: 10 }, {
    unit: "Hz",
    digits: 1,
  }),
  "rotation": number({ unit: "rpm", digits: 0 }),
  "volume": number({ unit: "L", digits: 1 }),
  "flow": number({ unit: "L/h", digits: 1 }),
  "ratio": number({ unit: "%", digits: 1 }),
  "concentration": number({ unit: "ppt", digits: 1, from: 1 }, { unit: "ppm", digits: 1 }),
  "duration": number({ unit: "h", digits: 1, from: 2 }, { unit: "min", digits: 1, from: 2 }, { unit: "s", digits: 3 }),
  "level": number({ unit: "dB", digits: 1 }),
  "magnetic field": number({ unit: "µT", digits: 2 }),
  "power factor": number({ unit: "cos φ", digits: 2 }),
  "slope": number({ unit: "m/m", digits: 9 }),
  "clock drift": number({ unit: "s/s", digits: 15 }),
  "root of a length": number({ unit: "sqrt(m)", digits: 3 }),
};

/** Display format of a field in nautical or metric units; undefined for an unknown unit. */
export function displayFormatOf(
  { name, unit }: MeasuredField,
  system: Exclude<UnitSystem, "si">,
): DisplayFormat | undefined {
  const measure = readUnit(unit);
  if (measure === undefined) return undefined;
  const row = ROWS.find((each) => each.unit === unit && each.names.test(name)) ?? FORMATS[measure.quantity];
  if ("form" in row) return row;
  return system === "nautical" ? row.nautical : row.metric ?? row.nautical;
}

/** A unit of a quantity: `value · times + plus` is the value in the base unit. */
export interface Unit {
  /** Symbol, such as `kn` or `°C`. */
  readonly symbol: string;
  /** Other accepted spellings. */
  readonly words?: readonly string[];
  /** Default 1. */
  readonly times?: number;
  /** Default 0. */
  readonly plus?: number;
}

const DEGREE = Math.PI / 180;
const NAUTICAL_MILE = 1852;
const FOOT = 0.3048;
const US_GALLON = 3.785411784;

/** Units by quantity; the first of each is its base unit. */
const QUANTITIES = {
  "angle": [
    { symbol: "rad", words: ["radian", "radians"] },
    { symbol: "°", words: ["deg", "degree", "degrees"], times: DEGREE },
    { symbol: "semi-circle", words: ["semicircle"], times: Math.PI },
  ],
  "rate of turn": [
    { symbol: "rad/s" },
    { symbol: "°/s", words: ["deg/s"], times: DEGREE },
    { symbol: "°/min", words: ["deg/min"], times: DEGREE / 60 },
    { symbol: "semi-circle/s", words: ["semicircle/s"], times: Math.PI },
  ],
  "speed": [
    { symbol: "m/s" },
    { symbol: "kn", words: ["kt", "kts", "knot", "knots"], times: NAUTICAL_MILE / 3600 },
    { symbol: "km/h", words: ["kmh", "kph"], times: 1 / 3.6 },
    { symbol: "mph", times: 0.44704 },
  ],
  "length": [
    { symbol: "m", words: ["metre", "metres", "meter", "meters"] },
    { symbol: "nm", words: ["nmi"], times: NAUTICAL_MILE },
    { symbol: "km", times: 1000 },
    { symbol: "cm", times: 0.01 },
    { symbol: "mm", times: 0.001 },
    { symbol: "ft", words: ["foot", "feet"], times: FOOT },
    { symbol: "fathom", words: ["fathoms"], times: 6 * FOOT },
  ],
  "temperature": [
    { symbol: "K" },
    { symbol: "°C", words: ["C", "degC"], plus: 273.15 },
    { symbol: "°F", words: ["F", "degF"], times: 5 / 9, plus: 273.15 - 32 * 5 / 9 },
  ],
  "pressure": [
    { symbol: "Pa" },
    { symbol: "hPa", words: ["mbar"], times: 100 },
    { symbol: "kPa", times: 1000 },
    { symbol: "bar", times: 100_000 },
    { symbol: "psi", times: 6894.757293168 },
    { symbol: "inHg", times: 3386.389 },
  ],
  "pressure tendency": [
    { symbol: "Pa/h", words: ["Pa/hr"] },
    { symbol: "hPa/h", words: ["hPa/hr", "mbar/h"], times: 100 },
  ],
  "voltage": [{ symbol: "V" }, { symbol: "mV", times: 0.001 }],
  "current": [{ symbol: "A" }, { symbol: "mA", times: 0.001 }],
  "power": [{ symbol: "W" }, { symbol: "kW", times: 1000 }, { symbol: "hp", times: 745.69987158227 }],
  "apparent power": [{ symbol: "VA" }, { symbol: "kVA", times: 1000 }],
  "reactive power": [{ symbol: "VAR" }, { symbol: "kVAR", times: 1000 }],
  "energy": [{ symbol: "kWh" }, { symbol: "Wh", times: 0.001 }],
  "charge": [{ symbol: "Ah" }],
  "frequency": [{ symbol: "Hz" }, { symbol: "kHz", times: 1000 }, { symbol: "MHz", times: 1e6 }],
  "rotation": [{ symbol: "rpm" }],
  "volume": [
    { symbol: "L", words: ["litre", "litres", "liter", "liters"] },
    { symbol: "m3", words: ["m³"], times: 1000 },
    { symbol: "gal", times: US_GALLON },
  ],
  "flow": [{ symbol: "L/h" }, { symbol: "L/min", times: 60 }, { symbol: "gal/h", words: ["gph"], times: US_GALLON }],
  "ratio": [{ symbol: "%" }],
  "concentration": [{ symbol: "ppm" }, { symbol: "ppt", words: ["‰"], times: 1000 }],
  "duration": [
    { symbol: "s", words: ["sec", "second", "seconds"] },
    { symbol: "ms", times: 0.001 },
    { symbol: "min", words: ["minute", "minutes"], times: 60 },
    { symbol: "h", words: ["hr", "hour", "hours"], times: 3600 },
    { symbol: "d", words: ["day", "days"], times: 86_400 },
  ],
  "level": [{ symbol: "dB" }],
  "magnetic field": [{ symbol: "T" }, { symbol: "µT", words: ["uT"], times: 1e-6 }],
  "power factor": [{ symbol: "cos φ", words: ["Cos Phi"] }],
  "slope": [{ symbol: "m/m" }],
  "clock drift": [{ symbol: "s/s" }],
  "root of a length": [{ symbol: "sqrt(m)" }],
} as const satisfies Record<string, readonly Unit[]>;

/** Physical quantity of a unit. */
export type Quantity = keyof typeof QUANTITIES;

/** A unit with its quantity. */
export interface Measure {
  readonly quantity: Quantity;
  readonly unit: Unit;
}

const bySpelling = new Map<string, Measure>();
const byLowerCase = new Map<string, Measure>();
for (const [quantity, units] of Object.entries(QUANTITIES) as [Quantity, readonly Unit[]][]) {
  for (const unit of units) {
    for (const word of [unit.symbol, ...unit.words ?? []]) {
      bySpelling.set(word, { quantity, unit });
      byLowerCase.set(word.toLowerCase(), { quantity, unit });
    }
  }
}

/** Finds a unit by its spelling, case-insensitive as a fallback. Undefined for an unknown unit. */
export function readUnit(text: string): Measure | undefined {
  return bySpelling.get(text) ?? byLowerCase.get(text.toLowerCase());
}

/** Symbols of the units of a quantity. */
export function unitsOf(quantity: Quantity): string[] {
  return QUANTITIES[quantity].map(({ symbol }) => symbol);
}

/** Converts a value to another unit of the same quantity. */
export function convert(value: number, from: Unit, to: Unit): number {
  if (from === to) return value;
  return (value * (from.times ?? 1) + (from.plus ?? 0) - (to.plus ?? 0)) / (to.times ?? 1);
}

/** Groups of quantities, in the order in which people look for them. */
export const CATEGORIES = [
  "position",
  "course",
  "speed",
  "depth",
  "wind",
  "environment",
  "engine",
  "electrical",
  "tank",
  "steering",
] as const;
/** Group of a quantity. */
export type Category = (typeof CATEGORIES)[number];

/** A quantity that a skipper reads, and where it is in the messages. */
export interface QuantityRow {
  /** Name for programs. `{field}` stands for the value of a decoded field: `engine.{engine_instance}.speed`. */
  readonly key: string;
  /** Group. */
  readonly category: Category;
  /** Name for people, with the same placeholders. */
  readonly label: string;
  /** PGN of the messages with it. */
  readonly pgn: number;
  /** Decoded field with the value. */
  readonly field: string;
  /** Unit of the value; undefined: a text. */
  readonly unit?: string;
  /** A second field: the value is an object of both. Only for a position. */
  readonly also?: string;
  /** Decoded fields that must have one of these values. */
  readonly when?: Readonly<Record<string, string | readonly string[]>>;
  /** Words for the numbers of a field in a placeholder. */
  readonly words?: Readonly<Record<string, readonly string[]>>;
  /** Usual interval of the PGN, milliseconds: until a source's own interval is known. */
  readonly intervalMs: number;
}

const FLUIDS = { fluid_type: ["fuel", "water", "gray water", "live well", "oil", "black water"] } as const;
const ENGINES = ["Single Engine or Dual Engine Port", "Dual Engine Starboard"] as const;

interface Group {
  category: Category;
  pgn: number;
  intervalMs: number;
}

/** Rows of one PGN. */
function rows(group: Group, each: readonly Omit<QuantityRow, keyof Group>[]): QuantityRow[] {
  return each.map((row) => ({ ...group, ...row }));
}

/** Temperatures by source and instance, of the two PGNs that have both. */
function temperatures(pgn: number): QuantityRow[] {
  return rows({ category: "environment", pgn, intervalMs: 2000 }, [{
    key: "temperature.{temperature_source}.{instance}",
    label: "{temperature_source} temperature {instance}",
    field: "actual_temperature",
    unit: "K",
  }]);
}

/** Wind by its reference; `key` names it. */
function wind(key: string, { label, reference }: { label: string; reference: string }): QuantityRow[] {
  return rows({ category: "wind", pgn: 130306, intervalMs: 100 }, [
    {
      key: `wind.${key}.speed`,
      label: `${label} speed`,
      field: "wind_speed",
      unit: "m/s",
      when: { wind_reference: reference },
    },
    {
      key: `wind.${key}.angle`,
      label: `${label} angle`,
      field: "wind_angle",
      unit: "rad",
      when: { wind_reference: reference },
    },
  ]);
}

/**
 * All quantities, in the order in which they are shown. Several rows with one key are several ways to the same quantity, the
 * better one first.
 */
export const QUANTITIES: readonly QuantityRow[] = [
  ...rows({ category: "position", pgn: 129025, intervalMs: 100 }, [
    { key: "position", label: "Position", field: "latitude", also: "longitude", unit: "deg" },
  ]),
  ...rows({ category: "position", pgn: 129029, intervalMs: 1000 }, [
    { key: "position", label: "Position", field: "latitude", also: "longitude", unit: "deg" },
    { key: "gnss.fix", label: "GNSS fix", field: "gnss_method" },
    { key: "gnss.satellites", label: "Satellites used", field: "num_svs" },
    { key: "gnss.hdop", label: "HDOP", field: "hdop" },
  ]),
  ...rows({ category: "speed", pgn: 129026, intervalMs: 250 }, [
    { key: "sog", label: "Speed over ground", field: "sog", unit: "m/s" },
  ]),
  ...rows({ category: "course", pgn: 129026, intervalMs: 250 }, [
    { key: "cog.true", label: "Course over ground", field: "cog", unit: "rad", when: { cog_reference: "true" } },
    {
      key: "cog.magnetic",
      label: "Course over ground, magnetic",
      field: "cog",
      unit: "rad",
      when: { cog_reference: "magnetic" },
    },
  ]),
  ...rows({ category: "course", pgn: 127250, intervalMs: 100 }, [
    { key: "heading.true", label: "Heading", field: "heading", unit: "rad", when: { heading_reference: "true" } },
    {
      key: "heading.magnetic",
      label: "Heading, magnetic",
      field: "heading",
      unit: "rad",
      when: { heading_reference: "magnetic" },
    },
  ]),
  ...rows({ category: "course", pgn: 127251, intervalMs: 100 }, [
    { key: "rate_of_turn", label: "Rate of turn", field: "rate", unit: "rad/s" },
  ]),
  ...rows({ category: "course", pgn: 127258, intervalMs: 1000 }, [
    { key: "variation", label: "Magnetic variation", field: "variation", unit: "rad" },
  ]),
  ...rows({ category: "speed", pgn: 128259, intervalMs: 1000 }, [
    { key: "stw", label: "Speed through water", field: "speed_water", unit: "m/s" },
  ]),
  ...rows({ category: "speed", pgn: 128275, intervalMs: 1000 }, [
    { key: "log", label: "Log", field: "log", unit: "m" },
    { key: "trip", label: "Trip", field: "trip_log", unit: "m" },
  ]),
  ...rows({ category: "depth", pgn: 128267, intervalMs: 1000 }, [
    { key: "depth", label: "Depth below transducer", field: "depth", unit: "m" },
    { key: "depth.offset", label: "Transducer offset", field: "offset", unit: "m" },
  ]),
  ...wind("apparent", { label: "Apparent wind", reference: "apparent" }),
  ...wind("true_water", { label: "True wind", reference: "true_water" }),
  ...wind("true_boat", { label: "True wind over ground", reference: "true_boat" }),
  ...wind("north", { label: "True wind from north", reference: "true_north" }),
  ...wind("magnetic_north", { label: "True wind from magnetic north", reference: "magnetic_north" }),
  ...temperatures(130316),
  ...temperatures(130312),
  ...rows({ category: "environment", pgn: 130310, intervalMs: 500 }, [
    { key: "temperature.sea.0", label: "sea temperature", field: "water_temperature", unit: "K" },
    { key: "temperature.outside.0", label: "outside temperature", field: "outside_temperature", unit: "K" },
    { key: "pressure.atmospheric.0", label: "atmospheric pressure", field: "atmospheric_pressure", unit: "Pa" },
  ]),
  ...rows({ category: "environment", pgn: 130311, intervalMs: 500 }, [
    {
      key: "temperature.{temperature_source}.0",
      label: "{temperature_source} temperature",
      field: "temperature",
      unit: "K",
    },
    { key: "humidity.{humidity_source}.0", label: "{humidity_source} humidity", field: "humidity", unit: "%" },
    { key: "pressure.atmospheric.0", label: "atmospheric pressure", field: "atmospheric_pressure", unit: "Pa" },
  ]),
  ...rows({ category: "environment", pgn: 130313, intervalMs: 2000 }, [
    {
      key: "humidity.{humidity_source}.{instance}",
      label: "{humidity_source} humidity {instance}",
      field: "actual_humidity",
      unit: "%",
    },
  ]),
  ...rows({ category: "environment", pgn: 130314, intervalMs: 2000 }, [
    {
      key: "pressure.{pressure_source}.{instance}",
      label: "{pressure_source} pressure {instance}",
      field: "pressure",
      unit: "Pa",
    },
  ]),
  ...rows({ category: "engine", pgn: 127488, intervalMs: 100 }, [
    {
      key: "engine.{engine_instance}.speed",
      label: "Engine {engine_instance} speed",
      field: "engine_speed",
      unit: "rpm",
    },
    {
      key: "engine.{engine_instance}.boost",
      label: "Engine {engine_instance} boost pressure",
      field: "engine_boost",
      unit: "Pa",
    },
  ]),
  ...rows({ category: "engine", pgn: 127489, intervalMs: 500 }, [
    {
      key: "engine.{engine_instance}.temperature",
      label: "Engine {engine_instance} temperature",
      field: "temperature",
      unit: "K",
    },
    {
      key: "engine.{engine_instance}.oil_pressure",
      label: "Engine {engine_instance} oil pressure",
      field: "oil_pressure",
      unit: "Pa",
    },
    {
      key: "engine.{engine_instance}.oil_temperature",
      label: "Engine {engine_instance} oil temperature",
      field: "oil_temperature",
      unit: "K",
    },
    {
      key: "engine.{engine_instance}.fuel_rate",
      label: "Engine {engine_instance} fuel rate",
      field: "fuel_rate",
      unit: "L/h",
    },
    {
      key: "engine.{engine_instance}.alternator",
      label: "Engine {engine_instance} alternator",
      field: "alternator_potential",
      unit: "V",
    },
    {
      key: "engine.{engine_instance}.hours",
      label: "Engine {engine_instance} hours",
      field: "total_engine_hours",
      unit: "s",
    },
    {
      key: "engine.{engine_instance}.load",
      label: "Engine {engine_instance} load",
      field: "percent_engine_load",
      unit: "%",
    },
  ]),
  ...rows({ category: "engine", pgn: 127493, intervalMs: 100 }, [
    { key: "gear.{instance}", label: "Gear {instance}", field: "transmission_gear", words: { instance: ENGINES } },
  ]),
  ...rows({ category: "electrical", pgn: 127508, intervalMs: 1500 }, [
    { key: "battery.{instance}.voltage", label: "Battery {instance} voltage", field: "voltage", unit: "V" },
    { key: "battery.{instance}.current", label: "Battery {instance} current", field: "current", unit: "A" },
    { key: "battery.{instance}.temperature", label: "Battery {instance} temperature", field: "temperature", unit: "K" },
  ]),
  ...rows({ category: "electrical", pgn: 127506, intervalMs: 1500 }, [
    { key: "battery.{instance}.charge", label: "Battery {instance} charge", field: "state_of_charge", unit: "%" },
    {
      key: "battery.{instance}.time_remaining",
      label: "Battery {instance} time remaining",
      field: "time_remaining",
      unit: "s",
    },
  ]),
  ...rows({ category: "tank", pgn: 127505, intervalMs: 2500 }, [
    {
      key: "tank.{fluid_type}.{instance}.level",
      label: "{fluid_type} tank {instance}",
      field: "level",
      unit: "%",
      words: FLUIDS,
    },
    {
      key: "tank.{fluid_type}.{instance}.capacity",
      label: "{fluid_type} tank {instance} capacity",
      field: "capacity",
      unit: "L",
      words: FLUIDS,
    },
  ]),
  ...rows({ category: "steering", pgn: 127245, intervalMs: 100 }, [
    { key: "rudder.{instance}", label: "Rudder {instance}", field: "position", unit: "rad" },
  ]),
  ...rows({ category: "steering", pgn: 127257, intervalMs: 1000 }, [
    { key: "pitch", label: "Pitch", field: "pitch", unit: "rad" },
    { key: "roll", label: "Heel", field: "roll", unit: "rad" },
  ]),
];

/** PGNs that carry a quantity. */
export const QUANTITY_PGNS: readonly number[] = [...new Set(QUANTITIES.map(({ pgn }) => pgn))].sort((a, b) => a - b);

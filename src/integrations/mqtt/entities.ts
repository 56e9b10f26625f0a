import type { Decoder, Value } from "../../broker/mod.ts";
import type { Decoded, DecodedValue } from "../../pgn/mod.ts";

/** An entity of Home Assistant with its current value. */
export interface Entity {
  /** Last level of its topic. */
  key: string;
  /** Display name. */
  name: string;
  kind: "position" | "sensor";
  value: number | { latitude: number; longitude: number };
  unit: string;
  /** Home Assistant's `device_class`. */
  deviceClass: string | undefined;
}

/** A measured value: a field of a PGN, and how it is displayed. */
interface Sensor {
  key: string;
  name: string;
  field: string;
  measure: keyof typeof MEASURES;
  /** Whether this payload contains the value; default always. */
  when?: (decoded: Decoded) => boolean;
  /** Distinguishes several sensors of a kind in key and name; default nothing. */
  which?: (decoded: Decoded) => string;
}

const DEGREES = 180 / Math.PI;

/** Display of values; `digits` is the resolution of the bus. */
const MEASURES = {
  speed: { unit: "m/s", deviceClass: "speed", digits: 2, from: (value: number) => value },
  angle: { unit: "°", deviceClass: undefined, digits: 1, from: (value: number) => value * DEGREES },
  depth: { unit: "m", deviceClass: "distance", digits: 2, from: (value: number) => value },
  temperature: { unit: "°C", deviceClass: "temperature", digits: 2, from: (value: number) => value - 273.15 },
  voltage: { unit: "V", deviceClass: "voltage", digits: 2, from: (value: number) => value },
  current: { unit: "A", deviceClass: "current", digits: 1, from: (value: number) => value },
  charge: { unit: "%", deviceClass: "battery", digits: 0, from: (value: number) => value },
  level: { unit: "%", deviceClass: undefined, digits: 1, from: (value: number) => value },
} as const;

const isSea = ({ temperature_source: source }: Decoded) => wordOf(source) === "sea";
const instance = ({ instance }: Decoded) => wordOf(instance);
const heading = ({ heading_reference: reference }: Decoded) => wordOf(reference);
const course = ({ cog_reference: reference }: Decoded) => wordOf(reference);
const wind = ({ wind_reference: reference }: Decoded) => wordOf(reference);
const tank = ({ fluid_type: type, instance }: Decoded) => `${fluidOf(type)} ${wordOf(instance)}`;

const seaTemperature: Sensor = {
  key: "water_temperature",
  name: "Water temperature",
  field: "actual_temperature",
  measure: "temperature",
  when: isSea,
};

/** Values published for Home Assistant, by PGN. */
const SENSORS: ReadonlyMap<number, readonly Sensor[]> = new Map(
  [
    [127250, [{ key: "heading", name: "Heading", field: "heading", measure: "angle", which: heading }]],
    [127505, [{ key: "tank", name: "Tank", field: "level", measure: "level", which: tank }]],
    [127506, [{
      key: "battery_charge",
      name: "Battery charge",
      field: "state_of_charge",
      measure: "charge",
      which: instance,
    }]],
    [127508, [
      { key: "battery_voltage", name: "Battery voltage", field: "voltage", measure: "voltage", which: instance },
      { key: "battery_current", name: "Battery current", field: "current", measure: "current", which: instance },
    ]],
    [128259, [{ key: "speed_water", name: "Speed through water", field: "speed_water", measure: "speed" }]],
    [128267, [{ key: "depth", name: "Depth below transducer", field: "depth", measure: "depth" }]],
    [129026, [
      { key: "speed_ground", name: "Speed over ground", field: "sog", measure: "speed" },
      { key: "course", name: "Course over ground", field: "cog", measure: "angle", which: course },
    ]],
    [130306, [
      { key: "wind_speed", name: "Wind speed", field: "wind_speed", measure: "speed", which: wind },
      { key: "wind_angle", name: "Wind angle", field: "wind_angle", measure: "angle", which: wind },
    ]],
    [130310, [{ ...seaTemperature, field: "water_temperature", when: () => true }]],
    [130311, [{ ...seaTemperature, field: "temperature" }]],
    [130312, [seaTemperature]],
    [130316, [seaTemperature]],
  ] satisfies [number, Sensor[]][],
);

/** Fluid types by their number in the standard. */
const FLUIDS = ["fuel", "water", "gray water", "live well", "oil", "black water"];
const POSITION_PGN = 129025;

/** Entities in the newest frame of a PGN; values that are not available are omitted. */
export function readEntities({ pgn, data, length }: Value, decoder: Decoder): Entity[] {
  const sensors = SENSORS.get(pgn);
  if (!sensors && pgn !== POSITION_PGN) return [];
  const decoded = decoder.decode(pgn, data.subarray(0, length));
  if (!decoded) return [];
  return sensors ? sensors.flatMap((sensor) => readSensor(sensor, decoded)) : readPosition(decoded);
}

function readSensor({ key, name, field, measure, when, which }: Sensor, decoded: Decoded): Entity[] {
  const raw = decoded[field];
  if (typeof raw !== "number" || when?.(decoded) === false) return [];
  const { unit, deviceClass, digits, from } = MEASURES[measure];
  const label = which?.(decoded) ?? "";
  const value = Number(from(raw).toFixed(digits));
  if (label === "") return [{ key, name, kind: "sensor", value, unit, deviceClass }];
  const suffix = label.toLowerCase().replace(/[^a-z\d]+/g, "_");
  return [{ key: `${key}_${suffix}`, name: `${name} (${label})`, kind: "sensor", value, unit, deviceClass }];
}

function readPosition({ latitude, longitude }: Decoded): Entity[] {
  if (typeof latitude !== "number" || typeof longitude !== "number") return [];
  const value = { latitude, longitude };
  return [{ key: "position", name: "Position", kind: "position", value, unit: "", deviceClass: undefined }];
}

function fluidOf(type: DecodedValue | undefined): string {
  return (typeof type === "number" ? FLUIDS[type] : undefined) ?? wordOf(type);
}

/** A decoded value as text: the name of a lookup, or its number. */
function wordOf(value: DecodedValue | undefined): string {
  if (typeof value === "string") return value.replaceAll("_", " ");
  if (typeof value === "number") return String(value);
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return wordOf(value.name ?? value.id);
  return "";
}

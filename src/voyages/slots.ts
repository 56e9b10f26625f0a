import { averageOf, type Bucket, findSeriesField, type Series, type SeriesField } from "../series/mod.ts";
import { offsetM, type Position } from "./geo.ts";
import { MAX_JUMP_M, MAX_SPEED_MPS, RUNNING_RPM, SLOT_MS } from "./thresholds.ts";

/** A position and its time, milliseconds since 1970. */
export interface Fix extends Position {
  timeMs: number;
}

/** Average and maximum of a speed, m/s. */
export interface Speeds {
  avg: number;
  max: number;
}

/** One engine in a slot. */
export interface EngineSlot {
  instance: number;
  /** Part of the slot in which it ran, 0 to 1; undefined: its speed is not known. */
  running: number | undefined;
  /** Average fuel rate, litres per hour. */
  fuelLph: number | undefined;
  /** Fuel since its counter was reset, litres. */
  tripFuelL: number | undefined;
}

/** What a boat measured in {@linkcode SLOT_MS}. A value is undefined where there was none. */
export interface Slot {
  /** Its start, a multiple of {@linkcode SLOT_MS}. */
  startMs: number;
  fix: Fix | undefined;
  /** Speed over ground. */
  sog: Speeds | undefined;
  headingRad: number | undefined;
  /** Engines with values, by instance. */
  engines: readonly EngineSlot[];
  trueWind: Speeds | undefined;
  apparentWind: Speeds | undefined;
}

/** Fields with the position, the better ones first. */
const POSITIONS = [["129025.latitude", "129025.longitude"], ["129029.latitude", "129029.longitude"]] as const;
const SOG = "129026.sog";
const HEADING = "127250.heading";
const WIND = "130306.wind_speed";
const RPM = "127488.engine_speed";
const FUEL_RATE = "127489.fuel_rate";
const TRIP_FUEL = "127497.trip_fuel_used";

const fieldsOf = (texts: readonly string[]) => texts.map(findSeriesField);

/** The fields that voyages are found by, as those of series; the first two are the position of PGN 129025. */
export const wayFields = (): SeriesField[] => fieldsOf([...POSITIONS[0], SOG, HEADING, RPM]);
/** The position of PGN 129029, for boats without 129025. */
export const slowPositionFields = (): SeriesField[] => fieldsOf(POSITIONS[1]);
/** The fields of what was measured besides. */
export const useFields = (): SeriesField[] => fieldsOf([RPM, FUEL_RATE, TRIP_FUEL, WIND]);
/** All of them. */
export const voyageFields = (): SeriesField[] =>
  fieldsOf([...POSITIONS.flat(), SOG, HEADING, RPM, FUEL_RATE, TRIP_FUEL, WIND]);

/**
 * The slots of series with buckets of {@linkcode SLOT_MS}, in the order of time. Of several devices with the same value one
 * is taken: the one with the lowest address that does not lack most values of the slot.
 */
export function* slotsOf(list: Iterable<Series>): Generator<Slot, void> {
  const sorted = [...list].sort((a, b) => compare(a.origin.bus, b.origin.bus) || a.origin.src - b.origin.src);
  const byField = Map.groupBy(sorted, ({ field }) => field.text);
  const of = (text: string) => byField.get(text) ?? [];
  const positions = POSITIONS.map(([latitude, longitude]) => pairsOf(of(latitude), of(longitude)));
  const engines = enginesOf(of(RPM), { rates: of(FUEL_RATE), trips: of(TRIP_FUEL) });
  const [apparent, real] = partition(of(WIND), ({ origin }) => origin.keys.wind_reference === "apparent");
  const starts = new Set(sorted.flatMap(({ buckets }) => [...buckets.keys()]));
  for (const start of [...starts].sort((a, b) => a - b)) {
    const sog = speedsOf(of(SOG), start);
    const heading = pick(of(HEADING), start);
    yield {
      startMs: start * SLOT_MS,
      sog,
      fix: fixOf(positions, { start, maxMps: sog?.max ?? MAX_SPEED_MPS }),
      headingRad: heading && (averageOf(heading.bucket, heading.series.field) ?? undefined),
      engines: engines.flatMap((engine) => engineAt(engine, start) ?? []),
      trueWind: speedsOf(real, start),
      apparentWind: speedsOf(apparent, start),
    };
  }
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function partition<T>(list: readonly T[], test: (item: T) => boolean): [T[], T[]] {
  return [list.filter(test), list.filter((item) => !test(item))];
}

interface Picked {
  series: Series;
  bucket: Bucket;
}

/** The first series that has at least half as many values in a slot as any other. */
function pick(list: readonly Series[], start: number): Picked | undefined {
  let most = 0;
  for (const { buckets } of list) most = Math.max(most, buckets.get(start)?.count ?? 0);
  if (most === 0) return undefined;
  for (const series of list) {
    const bucket = series.buckets.get(start);
    if (bucket && 2 * bucket.count >= most) return { series, bucket };
  }
  return undefined;
}

function speedsOf(list: readonly Series[], start: number): Speeds | undefined {
  const { bucket } = pick(list, start) ?? {};
  return bucket && { avg: bucket.sum / bucket.count, max: bucket.max };
}

/** Latitudes of devices, with their longitudes. */
interface Pairs {
  latitudes: readonly Series[];
  longitudes: ReadonlyMap<Series, Series>;
}

function pairsOf(latitudes: readonly Series[], longitudes: readonly Series[]): Pairs {
  const keyOf = ({ origin: { bus, src, name } }: Series) => `${bus} ${src} ${name}`;
  const byDevice = new Map(longitudes.map((series) => [keyOf(series), series]));
  const pairs = new Map<Series, Series>();
  for (const latitude of latitudes) {
    const longitude = byDevice.get(keyOf(latitude));
    if (longitude) pairs.set(latitude, longitude);
  }
  return { latitudes: [...pairs.keys()], longitudes: pairs };
}

function fixOf(
  positions: readonly Pairs[],
  { start, maxMps }: { start: number; maxMps: number },
): Fix | undefined {
  for (const { latitudes, longitudes } of positions) {
    const latitude = pick(latitudes, start);
    const longitude = latitude && longitudes.get(latitude.series);
    const east = longitude?.buckets.get(start);
    if (!latitude || !longitude || !east) continue;
    const north = latitude.bucket;
    const { x, y } = offsetM(
      { latitude: north.min, longitude: east.min },
      { latitude: north.max, longitude: east.max },
    );
    const average = averageOf(east, longitude.field);
    // One position far off spoils an average.
    if (Math.hypot(x, y) <= MAX_JUMP_M + maxMps * SLOT_MS / 1000 && average !== null) {
      return { latitude: north.sum / north.count, longitude: average, timeMs: (start + 0.5) * SLOT_MS };
    }
    return { latitude: Number(north.last), longitude: Number(east.last), timeMs: Math.floor(north.lastUs / 1000) };
  }
  return undefined;
}

/** The series of one engine. */
interface Engine {
  instance: number;
  speeds: readonly Series[];
  rates: readonly Series[];
  trips: readonly Series[];
}

function enginesOf(
  speeds: readonly Series[],
  { rates, trips }: { rates: readonly Series[]; trips: readonly Series[] },
): Engine[] {
  const instances = new Set([...speeds, ...rates, ...trips].map(instanceOf));
  const of = (list: readonly Series[], instance: number) => list.filter((series) => instanceOf(series) === instance);
  return [...instances].sort((a, b) => a - b).map((instance) => ({
    instance,
    speeds: of(speeds, instance),
    rates: of(rates, instance),
    trips: of(trips, instance),
  }));
}

/** PGN 127497 has words for its first two instances. */
function instanceOf({ origin: { keys } }: Series): number {
  const instance = keys.engine_instance ?? keys.instance;
  return typeof instance === "number" ? instance : instance === "Dual Engine Starboard" ? 1 : 0;
}

function engineAt({ instance, speeds, rates, trips }: Engine, start: number): EngineSlot | undefined {
  const speed = pick(speeds, start)?.bucket;
  const rate = pick(rates, start)?.bucket;
  const trip = pick(trips, start)?.bucket;
  if (!speed && !rate && !trip) return undefined;
  return {
    instance,
    running: speed && runningOf(speed),
    fuelLph: rate && rate.sum / rate.count,
    tripFuelL: trip && Number(trip.last),
  };
}

/** Part of a slot in which an engine ran. */
function runningOf({ min, max, sum, count }: Bucket): number {
  if (max < RUNNING_RPM) return 0;
  return min >= RUNNING_RPM ? 1 : Math.min(1, sum / count / max);
}

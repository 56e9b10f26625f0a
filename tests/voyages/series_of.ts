import { findSeriesField, Series, type SeriesOrigin } from "../../src/series/mod.ts";
import { type Slot, SLOT_MS, slotsOf } from "../../src/voyages/mod.ts";
import type { Sample } from "./passage.ts";

const ORIGIN: SeriesOrigin = { bus: "can0", src: 3, name: 0n, keys: {} };

/** Fields of samples, as devices send them. */
const FIELDS = [
  ["129025.latitude", ({ latitude }) => latitude, {}],
  ["129025.longitude", ({ longitude }) => longitude, {}],
  ["129026.sog", ({ sogMps }) => sogMps, { cog_reference: "true" }],
  ["127250.heading", ({ headingRad }) => headingRad, { heading_reference: "true" }],
  ["127488.engine_speed", ({ rpm }) => rpm, { engine_instance: 0 }],
  ["127489.fuel_rate", ({ fuelLph }) => fuelLph, { engine_instance: 0 }],
  ["130306.wind_speed", ({ trueWindMps }) => trueWindMps, { wind_reference: "true_north" }],
  ["130306.wind_speed", ({ apparentWindMps }) => apparentWindMps, { wind_reference: "apparent" }],
] as const satisfies readonly [string, (sample: Sample) => number | undefined, SeriesOrigin["keys"]][];

/** The series of samples: what the journal would give, without its frames. */
export function seriesOf(samples: readonly Sample[]): Series[] {
  return FIELDS.map(([text, valueOf, keys]) => {
    const field = findSeriesField(text);
    const series = new Series(field, { origin: { ...ORIGIN, keys } });
    for (const sample of samples) {
      const value = valueOf(sample);
      if (value !== undefined) series.at(Math.floor(sample.timeMs / SLOT_MS)).add(value, field, sample.timeMs * 1000);
    }
    return series;
  });
}

/** The slots of samples. */
export function slotsOfSamples(samples: readonly Sample[]): Slot[] {
  return [...slotsOf(seriesOf(samples))];
}

/** The rows of a boat's values, in a fixed order. */
import type { Decoded } from "@vessel/gateway/pgn";
import { type UnitSystem, valueText } from "@vessel/gateway/units";
import { NOTHING } from "../../client/frame_text.ts";
import type { BoatValue, BoatValues, Source } from "./boat_values.ts";

/** A row of the panel. */
export interface PanelRow {
  title: string;
  /** Texts of its values, at least one. */
  texts: readonly string[];
}

/** A row that every boat has. */
interface FixedRow {
  title: string;
  /** Parts of the row; each lists its sources, the preferred one first. */
  parts: readonly (readonly Source[])[];
}

const isSource = (field: string, label: string) => (decoded: Decoded) => decoded[field] === label;
const temperatures = (label: string): Source[] => [
  { pgn: 130316, fields: ["actual_temperature"], where: isSource("temperature_source", label) },
  { pgn: 130312, fields: ["actual_temperature"], where: isSource("temperature_source", label) },
  { pgn: 130311, fields: ["temperature"], where: isSource("temperature_source", label) },
];
const wind = (reference: string): Source[] => [
  { pgn: 130306, fields: ["wind_speed", "wind_angle"], where: isSource("wind_reference", reference) },
];
/** Time and date: the time is UTC, the offset is that of the boat's clocks. */
const LOCAL_TIME = 129033;
const POSITION = ["latitude", "longitude"];

const FIXED_ROWS: readonly FixedRow[] = [
  { title: "Position", parts: [[{ pgn: 129025, fields: POSITION }, { pgn: 129029, fields: POSITION }]] },
  { title: "SOG, COG", parts: [[{ pgn: 129026, fields: ["sog", "cog"] }, { pgn: 130577, fields: ["sog", "cog"] }]] },
  { title: "Heading", parts: [[{ pgn: 127250, fields: ["heading"] }]] },
  { title: "STW", parts: [[{ pgn: 128259, fields: ["speed_water"] }]] },
  { title: "Depth", parts: [[{ pgn: 128267, fields: ["depth"] }]] },
  { title: "Wind app.", parts: [wind("apparent")] },
  {
    title: "Wind true",
    parts: [[...wind("true_boat"), ...wind("true_water"), ...wind("true_north"), ...wind("magnetic_north")]],
  },
  { title: "Water", parts: [[...temperatures("sea"), { pgn: 130310, fields: ["water_temperature"] }]] },
  {
    title: "Air",
    parts: [
      [...temperatures("outside"), { pgn: 130310, fields: ["outside_temperature"] }],
      [
        { pgn: 130314, fields: ["pressure"], where: isSource("pressure_source", "atmospheric") },
        { pgn: 130311, fields: ["atmospheric_pressure"] },
        { pgn: 130310, fields: ["atmospheric_pressure"] },
      ],
    ],
  },
  {
    title: "Time",
    parts: [
      [
        { pgn: 126992, fields: ["days_since_1970", "seconds_today"] },
        { pgn: 129029, fields: ["days_since_1970", "seconds_today"] },
        { pgn: 129033, fields: ["date", "time"] },
      ],
      [{ pgn: LOCAL_TIME, fields: ["local_offset"] }],
    ],
  },
];

/** Equipment of which a boat may have several. */
interface Kind {
  title: (value: BoatValue, text: (field: string) => string) => string;
  sources: readonly Source[];
}

const DAY_MINUTES = 1440;
const ENGINE_FIELDS = ["temperature", "oil_pressure", "fuel_rate", "total_engine_hours"];
const numbered = (name: string, field: string) => ({ decoded }: BoatValue) => `${name} ${decoded[field] ?? NOTHING}`;
const KINDS: readonly Kind[] = [
  {
    title: numbered("Engine", "engine_instance"),
    sources: [{ pgn: 127488, fields: ["engine_speed"] }, { pgn: 127489, fields: ENGINE_FIELDS }],
  },
  {
    title: numbered("Battery", "instance"),
    sources: [
      { pgn: 127508, fields: ["voltage", "current"] },
      { pgn: 127506, fields: ["state_of_charge"] },
    ],
  },
  {
    title: ({ decoded }, text) =>
      `${decoded.fluid_type === null ? "Tank" : text("fluid_type")} ${decoded.instance ?? NOTHING}`,
    sources: [{ pgn: 127505, fields: ["level", "capacity"] }],
  },
];

/** PGNs that the panel shows. */
export const PANEL_PGNS: readonly number[] = [
  ...new Set([...FIXED_ROWS.flatMap(({ parts }) => parts.flat()), ...KINDS.flatMap(({ sources }) => sources)]
    .map(({ pgn }) => pgn)),
];

/** Navigation and weather: always the same rows. */
export function navigationRows(values: BoatValues, units: UnitSystem): PanelRow[] {
  return FIXED_ROWS.map(({ title, parts }) => {
    const texts = parts.flatMap((sources) => {
      const value = values.best(sources);
      const fields = sources.find((source) => source.pgn === value?.pgn)?.fields ?? [];
      if (value === undefined) return [];
      const found = values.texts(value, { fields, units });
      return fields.includes("local_offset") ? [`local ${localTime(value)}`] : found;
    });
    return { title, texts: texts.length === 0 ? [NOTHING] : texts };
  });
}

/** Engines, batteries and tanks, sorted by kind and number. */
export function equipmentRows(values: BoatValues, units: UnitSystem): PanelRow[] {
  return KINDS.flatMap(({ title, sources }) => {
    const found = values.all(sources);
    const titleOf = (value: BoatValue) =>
      title(value, (field) => values.texts(value, { fields: [field], units })[0] ?? "");
    const names = [...new Set(found.map(titleOf))].sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
    return names.map((name) => {
      const texts = sources.flatMap((source) => {
        const value = values.best([source], (each) => titleOf(each) === name);
        return value ? values.texts(value, { fields: source.fields, units }) : [];
      });
      return { title: name, texts };
    });
  });
}

/** Local time of the boat with its offset: `14:03+02:00`. */
function localTime({ decoded: { time, local_offset } }: BoatValue): string {
  const [, hours, minutes] = /^(\d+):(\d\d)/.exec(String(time)) ?? [];
  if (hours === undefined || minutes === undefined || typeof local_offset !== "number") return NOTHING;
  const offset = valueText(local_offset, { name: "local_offset", unit: "s" }, { system: "metric" });
  const local = (Number(hours) * 60 + Number(minutes) + Math.round(local_offset / 60) + 2 * DAY_MINUTES) % DAY_MINUTES;
  const two = (value: number) => String(Math.floor(value)).padStart(2, "0");
  return `${two(local / 60)}:${two(local % 60)}${offset}`;
}

import type { DecodedFieldValue, FieldSeries, LabelledDevice, PgnDetails, SeriesReply } from "@vessel/gateway/client";
import { oneFieldText, type UnitSystem } from "@vessel/gateway/units";
import { deviceTitle } from "../device_rows.ts";
import { fieldsOf, plainText } from "../plain_text.ts";
import { angleLines, type Value } from "./angles.ts";
import { type LineValues, longestStep } from "./columns.ts";
import { type DrawnField, type Measure, measureKey, measureOf } from "./measure.ts";
import { isChosen, seriesLabel, splitField } from "./quantity_fields.ts";
import { keyOf } from "./refresh.ts";

/** One field of one sensor. */
export interface Line {
  /** The same for the same sensor in another reply. */
  id: string;
  /** Quantity or field, with its instance. */
  name: string;
  /** The device. */
  source: string;
  series: FieldSeries;
  drawn: LineValues;
}

/** Lines that share an axis. */
export interface Chart {
  id: string;
  /** `strip`: spans of labels instead of lines. */
  type: "lines" | "strip";
  title: string;
  lines: Line[];
  measure: Measure;
}

/** What charts are made of. */
export interface ChartsOf {
  chosen: readonly string[];
  devices: readonly LabelledDevice[];
  system: UnitSystem;
}

/** The charts of a reply: one for each unit, and one for all labels. */
export function chartsOf({ series: all, bucket_ms }: SeriesReply, { chosen, devices, system }: ChartsOf): Chart[] {
  const wanted = all.filter((each) => chosen.some((id) => isChosen(id, each)));
  const groups = Map.groupBy(wanted, (each) => each.kind === "label" ? "strip" : measureKey(fieldOf(each), system));
  return Array.from(groups, ([id, list]): Chart => {
    const [first] = list;
    const largest = list.reduce((most, { min, max }) => Math.max(most, largestOf(min), largestOf(max)), 0);
    const field = first ? fieldOf(first) : { name: "", unit: undefined, isAngle: false };
    const measure = measureOf(field, { system, largest });
    const lines = distinct(
      drawnOf(list, { measure, bucketMs: bucket_ms }).map((drawn, index) => lineOf(list, { index, drawn, devices })),
    );
    const names = [...new Set(lines.map(({ name }) => name))];
    const title = names.length > MAX_NAMES ? `${names.slice(0, MAX_NAMES).join(", ")} …` : names.join(", ");
    return { id, type: id === "strip" ? "strip" : "lines", title, lines, measure };
  });
}

/** Names in the title of a chart. */
const MAX_NAMES = 3;

/** Choices without a value in a reply. */
export function emptyChoices(chosen: readonly string[], { series }: SeriesReply): string[] {
  return chosen.filter((id) => !series.some((each) => isChosen(id, each)));
}

/** Value of a line for people, with its unit; the PGN's description adds labels and digits. */
export function valueText(
  { series }: Line,
  value: DecodedFieldValue | undefined,
  { details, system }: { details: PgnDetails | undefined; system: UnitSystem },
): string {
  if (value === null || value === undefined) return "–";
  const [, name] = splitField(series.field);
  const { unit, keys = {} } = series;
  const fields = new Map(fieldsOf({ ...keys, [name]: value }, details));
  if (!fields.has(name)) fields.set(name, { name, type: "number", unit });
  return plainText(oneFieldText(name, { ...keys, [name]: value }, { fields, system, clean: plainText }) ?? "–");
}

function lineOf(
  list: readonly FieldSeries[],
  { index, drawn, devices }: { index: number; drawn: LineValues; devices: readonly LabelledDevice[] },
): Line {
  const series = list[index];
  if (!series) throw new RangeError(`no series ${index}`);
  return {
    id: keyOf(series),
    name: plainText(seriesLabel(series)),
    source: sourceText(series, devices),
    series,
    drawn,
  };
}

/** Devices send some quantities in several PGNs: then their numbers tell the lines apart. */
function distinct(lines: Line[]): Line[] {
  const textOf = ({ name, source }: Line) => `${name} ${source}`;
  const counts = Map.groupBy(lines, textOf);
  return lines.map((line) => {
    if (counts.get(textOf(line))?.length === 1) return line;
    return { ...line, source: `${line.source}, PGN ${splitField(line.series.field)[0]}` };
  });
}

/** Maker and model; with the address where several devices of the list have the same. */
function sourceText({ src, name, bus }: FieldSeries, devices: readonly LabelledDevice[]): string {
  const at = bus === undefined ? `address ${src}` : `address ${src} of ${plainText(bus)}`;
  const device = name === ""
    ? devices.find((each) => each.src === src && each.bus === bus && each.name === undefined)
    : devices.find((each) => each.name === name);
  if (!device) return name === "" ? at : `${at}, NAME ${name}`;
  const title = deviceTitle(device);
  const isShared = devices.some((each) => each !== device && deviceTitle(each) === title);
  return isShared ? `${title}, ${at}` : title;
}

function fieldOf({ field, unit, kind, keys = {} }: FieldSeries): DrawnField {
  const [, name] = splitField(field);
  return { name: shownName(name, keys), unit, isAngle: kind === "angle" };
}

/** Only a key says that a pressure is that of the air, or that a wind angle counts from north. */
function shownName(name: string, keys: Readonly<Record<string, unknown>>): string {
  if (/^atmospheric$/i.test(String(keys.pressure_source))) return `atmospheric_${name}`;
  return name === "wind_angle" && /north/.test(String(keys.wind_reference)) ? "wind_direction" : name;
}

function largestOf(values: readonly number[] | null): number {
  return values?.reduce((most, value) => Math.max(most, Math.abs(value)), 0) ?? 0;
}

/** The values of a chart's lines as they are drawn. */
function drawnOf(
  list: readonly FieldSeries[],
  { measure: { toShown, turn }, bucketMs }: { measure: Measure; bucketMs: number },
): LineValues[] {
  const shown = (values: readonly (number | null)[] | null) =>
    values?.map((value) => value === null ? null : toShown(value));
  const lines = list.map((each): LineValues => ({
    time: each.time,
    longestMs: longestStep(each, bucketMs),
    middle: shown(each.avg) ?? [],
    low: shown(each.min),
    high: shown(each.max),
  }));
  if (!turn) return lines;
  const angles = angleLines(lines.map(({ middle }) => middle), turn);
  return lines.map((line, index): LineValues => {
    const middle = angles.values[index] ?? [];
    // The extremes move with their average.
    const follow = (values: readonly Value[] | undefined) =>
      values?.map((value, i) => {
        const [from, to] = [line.middle[i], middle[i]];
        return value == null || from == null || to == null ? null : value + to - from;
      });
    return {
      ...line,
      middle,
      low: follow(line.low),
      high: follow(line.high),
      breaks: angles.breaks[index] ?? new Set(),
    };
  });
}

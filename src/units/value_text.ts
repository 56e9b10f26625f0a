import { displayFormatOf, type MeasuredField, type Step, type UnitSystem } from "./display_format.ts";
import { convert, type Measure, readUnit } from "./quantity.ts";

/** Options of {@linkcode valueText}. */
export interface ValueTextOptions {
  system: UnitSystem;
  /** Resolution, in the unit of the field: limits the digits shown. */
  resolution?: number | undefined;
  /** Reference of a direction, `T` or `M`; for a wind angle, the bow. */
  reference?: "T" | "M" | "bow" | undefined;
}

const TURN = 360;
const DAY_MS = 86_400_000;
const DEGREES: Measure | undefined = readUnit("deg");

/** Formats a measured value with its unit: `12.4 kn`, `088.2°M`, `54°19.234′N`, `2024-06-01`. */
export function valueText(value: number, field: MeasuredField, options: ValueTextOptions): string {
  const { system, resolution, reference } = options;
  const measure = readUnit(field.unit);
  const format = system === "si" ? undefined : displayFormatOf(field, system);
  if (measure === undefined || format === undefined) return withUnit(String(value), measure?.unit.symbol ?? field.unit);
  const isRelative = reference === "bow" || format.form === "side" && reference === undefined;
  switch (format.form) {
    case "number":
      return numberText(value, { measure, steps: format.steps, resolution });
    case "direction":
    case "side":
      return isRelative ? sideText(degrees(value, measure)) : directionText(degrees(value, measure), reference);
    case "east or west":
      return eastWestText(degrees(value, measure));
    case "latitude":
      return coordinateText(value, { letters: "NS", width: 2, system });
    case "longitude":
      return coordinateText(value, { letters: "EW", width: 3, system });
    case "date":
      return dateText(value);
    case "time of day":
      return `${clockText(value)} UTC`;
    case "offset from UTC":
      return offsetText(value);
    case "difference":
      return `${fixed(value, digitsFor(resolution, 1))} K`;
  }
}

function numberText(
  value: number,
  { measure, steps, resolution }: { measure: Measure; steps: readonly Step[]; resolution: number | undefined },
): string {
  const sizes = steps.map((step) => ({ step, unit: readUnit(step.unit)?.unit ?? measure.unit }));
  const fitting = sizes.find(({ step, unit }) => Math.abs(convert(value, measure.unit, unit)) >= (step.from ?? 0));
  const { step, unit } = fitting ?? { step: { digits: 3 }, unit: measure.unit };
  const scale = (measure.unit.times ?? 1) / (unit.times ?? 1);
  const digits = digitsFor(resolution === undefined ? undefined : resolution * scale, step.digits);
  return withUnit(fixed(convert(value, measure.unit, unit), digits), unit.symbol);
}

/** Appends a unit: degrees without a space, all other units after one. */
function withUnit(text: string, symbol: string): string {
  return symbol.startsWith("°") && symbol !== "°C" ? text + symbol : `${text} ${symbol}`;
}

function degrees(value: number, { unit }: Measure): number {
  return DEGREES === undefined ? value : convert(value, unit, DEGREES.unit);
}

function directionText(angle: number, reference: string | undefined): string {
  const rounded = Number(around(angle).toFixed(1)) % TURN;
  return `${rounded.toFixed(1).padStart(5, "0")}°${reference ?? ""}`;
}

function sideText(angle: number): string {
  const from = around(angle);
  const side = from > TURN / 2 ? "port" : "starboard";
  return `${fixed(from > TURN / 2 ? TURN - from : from, 0)}° ${side}`;
}

/** Formats variation and deviation, which are positive to the east. */
function eastWestText(angle: number): string {
  const text = `${fixed(Math.abs(angle), 1)}°`;
  return Number(text.slice(0, -1)) === 0 ? text : text + (angle < 0 ? "W" : "E");
}

function around(angle: number): number {
  return ((angle % TURN) + TURN) % TURN;
}

function coordinateText(
  value: number,
  { letters, width, system }: { letters: string; width: number; system: UnitSystem },
): string {
  const letter = letters[value < 0 ? 1 : 0] ?? "";
  if (system === "metric") return `${Math.abs(value).toFixed(5)}°${letter}`;
  const thousandths = Math.round(Math.abs(value) * 60_000);
  const minutes = (thousandths % 60_000 / 1000).toFixed(3).padStart(6, "0");
  return `${String(Math.floor(thousandths / 60_000)).padStart(width, "0")}°${minutes}′${letter}`;
}

function dateText(days: number): string {
  const date = new Date(days * DAY_MS);
  return Number.isNaN(date.getTime()) ? `${days} d` : date.toISOString().slice(0, 10);
}

function clockText(seconds: number): string {
  const whole = Math.floor(seconds);
  const two = (count: number) => String(Math.floor(count)).padStart(2, "0");
  return `${two(whole / 3600)}:${two(whole / 60 % 60)}:${two(whole % 60)}`;
}

/** Formats a time offset as RFC 3339: `+02:00`. */
function offsetText(seconds: number): string {
  return `${seconds < 0 ? "-" : "+"}${clockText(Math.abs(seconds)).replace(/:\d\d$/, "")}`;
}

/** Number of decimals of a resolution, at most `most`. */
function digitsFor(resolution: number | undefined, most: number): number {
  if (resolution === undefined) return most;
  return Math.min(most, Math.max(0, Math.ceil(-Math.log10(resolution) - 1e-9)));
}

/** As `toFixed`, without a negative zero. */
function fixed(value: number, digits: number): string {
  return value.toFixed(digits).replace(/^-(?=0(?:\.0*)?$)/, "");
}

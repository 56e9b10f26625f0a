import { convert, displayFormatOf, readUnit, type UnitSystem } from "@vessel/gateway/units";
import { inTurn } from "./angles.ts";

/** A field whose values are drawn. */
export interface DrawnField {
  name: string;
  unit: string | undefined;
  isAngle: boolean;
}

/** How the values of a chart are drawn. */
export interface Measure {
  /** Unit of the drawn values, for people; empty: none. */
  unit: string;
  /** A full turn, in drawn values; undefined: they are no angles. */
  turn: { turn: number; from: number } | undefined;
  /** Drawn value. */
  toShown: (value: number) => number;
  /** Text at the axis, of a drawn value; `step`: the distance of two of them. */
  tickText: (shown: number, step: number) => string;
}

type Format = ReturnType<typeof displayFormatOf>;

/** Fields with the same text share a chart: they are shown in the same way and in the same unit. */
export function measureKey(field: DrawnField, system: UnitSystem): string {
  const { unit, name, isAngle } = field;
  if (unit === undefined) return name;
  const format = formatOf(field, system);
  const form = format?.form === "direction" || format?.form === "side" ? { form: format.form } : format;
  return JSON.stringify([readUnit(unit)?.quantity ?? unit, form ?? unit, isAngle]);
}

/** The measure of a chart. @param largest the largest absolute value of all its lines: it decides between m and nm */
export function measureOf(
  field: DrawnField,
  { system, largest }: { system: UnitSystem; largest: number },
): Measure {
  const format = formatOf(field, system);
  const measure = readUnit(field.unit ?? "");
  if (!format || !measure) return plainMeasure(field, measure?.unit.symbol ?? field.unit ?? "");
  const degrees = readUnit("deg")?.unit ?? measure.unit;
  const toDegrees = (value: number) => convert(value, measure.unit, degrees);
  switch (format.form) {
    case "number": {
      const steps = format.steps.map((step) => ({ step, unit: readUnit(step.unit)?.unit ?? measure.unit }));
      const { unit } =
        steps.find(({ step, unit }) => Math.abs(convert(largest, measure.unit, unit)) >= (step.from ?? 0)) ??
          { unit: measure.unit };
      const turn = field.isAngle ? { turn: convert(2 * Math.PI, measure.unit, unit), from: 0 } : undefined;
      return { unit: unit.symbol, turn, toShown: (value) => convert(value, measure.unit, unit), tickText: decimals };
    }
    case "direction":
      return { unit: "°", turn: { turn: 360, from: 0 }, toShown: toDegrees, tickText: directionText };
    case "side":
      return {
        unit: "° port, starboard",
        turn: { turn: 360, from: -180 },
        toShown: toDegrees,
        tickText: letters("PS"),
      };
    case "east or west":
      return { unit: "°", turn: { turn: 360, from: -180 }, toShown: toDegrees, tickText: letters("WE") };
    case "longitude":
      return { unit: "°", turn: { turn: 360, from: -180 }, toShown: toDegrees, tickText: letters("WE") };
    case "latitude":
      return { unit: "°", turn: undefined, toShown: toDegrees, tickText: letters("SN") };
    default:
      return plainMeasure(field, format.form === "difference" ? "K" : field.unit ?? "");
  }
}

function formatOf({ name, unit }: DrawnField, system: UnitSystem): Format {
  return unit === undefined || system === "si" ? undefined : displayFormatOf({ name, unit }, system);
}

function plainMeasure({ unit, isAngle }: DrawnField, symbol: string): Measure {
  const turn = isAngle ? { turn: unit === "deg" ? 360 : 2 * Math.PI, from: 0 } : undefined;
  return { unit: symbol, turn, toShown: (value) => value, tickText: decimals };
}

const MAX_DIGITS = 9;

/** As many decimals as the distance of two neighbours has: 2.5 needs one. */
function decimals(shown: number, step: number): string {
  let digits = 0;
  for (let scaled = step; digits < MAX_DIGITS && Math.abs(scaled - Math.round(scaled)) > scaled * 1e-6; scaled *= 10) {
    digits++;
  }
  return shown.toFixed(digits).replace(/^-(?=0(?:\.0*)?$)/, "");
}

/** Values beyond a turn are the same directions. */
function directionText(shown: number, step: number): string {
  const text = decimals(inTurn(shown, { turn: 360, from: 0 }), step);
  return `${text.padStart(text.includes(".") ? text.length - text.indexOf(".") + 3 : 3, "0")}°`;
}

function letters([negative, positive]: string): (shown: number, step: number) => string {
  return (shown, step) => {
    const value = inTurn(shown, { turn: 360, from: -180 });
    const text = `${decimals(Math.abs(value), step)}°`;
    return value === 0 || value === -180 ? text : text + (value < 0 ? negative : positive);
  };
}

import { directionField, numberField, sidedField } from "./line.ts";
import { lineIf, type SentenceRow } from "./sentence.ts";
import { BAR, CELSIUS, DEGREES, FATHOMS, FEET, INCHES_OF_MERCURY, KMH, KNOTS, MILES } from "./units.ts";
import type { Directions, SentenceValues } from "./values.ts";

const SECONDS_PER_MINUTE = 60;

function headings(values: SentenceValues): Directions {
  return values.directions("heading.true", "heading.magnetic");
}

/** Depth with its three units. */
function depths(depth: number): string[] {
  const field = (factor: number) => numberField(depth, { factor, digits: 2 });
  return [field(FEET), "f", field(1), "M", field(FATHOMS), "F"];
}

/** True wind by the water, else by the ground. */
function trueWind(values: SentenceValues): { angle: number | undefined; speed: number | undefined } {
  const key = ["true_water", "true_boat"].find((each) => values.number(`wind.${each}.speed`) !== undefined);
  return wind(values, key ?? "true_water");
}

function wind(values: SentenceValues, key: string): { angle: number | undefined; speed: number | undefined } {
  return { angle: values.number(`wind.${key}.angle`), speed: values.number(`wind.${key}.speed`) };
}

function speeds(speed: number | undefined): string[] {
  const field = (factor: number) => numberField(speed, { factor, digits: 2 });
  return [field(KNOTS), "N", field(1), "M", field(KMH), "K"];
}

/** Direction the true wind comes from. */
function windDirection(values: SentenceValues): Directions & { speed: number | undefined } {
  const [byTrue, byMagnetic] = [wind(values, "north"), wind(values, "magnetic_north")];
  // Of two devices one is used, with its angle and speed.
  if (byTrue.angle === undefined) return { ...values.completed(undefined, byMagnetic.angle), speed: byMagnetic.speed };
  const isOne = values.isOneSource("wind.north.angle", "wind.magnetic_north.angle");
  return { ...values.completed(byTrue.angle, isOne ? byMagnetic.angle : undefined), speed: byTrue.speed };
}

function mwd(values: SentenceValues): string[] {
  const direction = windDirection(values);
  const field = (factor: number) => numberField(direction.speed, { factor, digits: 2 });
  return [
    directionField(direction.true),
    "T",
    directionField(direction.magnetic),
    "M",
    field(KNOTS),
    "N",
    field(1),
    "M",
  ];
}

function windLines(
  { angle, speed }: { angle: number | undefined; speed: number | undefined },
  reference: "R" | "T",
): readonly (readonly string[])[] {
  if (angle === undefined || speed === undefined) return [];
  return [[directionField(angle), reference, numberField(speed, { factor: KNOTS, digits: 2 }), "N", "A"]];
}

function pressureFields(pascals: number | undefined): string[] {
  return [
    ...[numberField(pascals, { factor: INCHES_OF_MERCURY, digits: 4 }), pascals === undefined ? "" : "I"],
    ...[numberField(pascals, { factor: BAR, digits: 5 }), pascals === undefined ? "" : "B"],
  ];
}

function celsiusFields(kelvin: number | undefined): string[] {
  return [numberField(kelvin, CELSIUS), kelvin === undefined ? "" : "C"];
}

/** Composite of the weather. */
function mda(values: SentenceValues): string[] {
  return [
    ...pressureFields(values.number(PRESSURE)),
    ...celsiusFields(values.number(AIR)),
    ...celsiusFields(values.number(SEA)),
    numberField(values.number("humidity.outside.0"), { digits: 0 }),
    // Absolute humidity, and a dew point that would not fit.
    ...["", "", ""],
    ...mwd(values),
  ];
}

const PRESSURE = "pressure.atmospheric.0";
const AIR = "temperature.outside.0";
const SEA = "temperature.sea.0";

/** Sentences of heading, depth, speed, wind and weather. */
export const SAILING_SENTENCES: readonly SentenceRow[] = [
  {
    id: "HDG",
    talker: "II",
    lines: (values) => {
      const { magnetic } = headings(values);
      return lineIf(magnetic, () => [directionField(magnetic), "", "", ...sidedField(values.variation, ["E", "W"])]);
    },
  },
  {
    id: "HDM",
    talker: "II",
    lines: (values) => lineIf(headings(values).magnetic, () => [directionField(headings(values).magnetic), "M"]),
  },
  {
    id: "HDT",
    talker: "II",
    lines: (values) => lineIf(headings(values).true, () => [directionField(headings(values).true), "T"]),
  },
  {
    id: "ROT",
    talker: "II",
    lines: (values) => {
      const rate = values.number("rate_of_turn");
      return lineIf(rate, () => [numberField(rate, { factor: DEGREES * SECONDS_PER_MINUTE, digits: 2 }), "A"]);
    },
  },
  {
    id: "DBT",
    talker: "II",
    lines: (values) => {
      const depth = values.number("depth");
      return depth === undefined ? [] : [depths(depth)];
    },
  },
  {
    id: "DPT",
    talker: "II",
    lines: (values) => {
      const fields = ["depth", "depth.offset"].map((key) => numberField(values.number(key), { digits: 2 }));
      return lineIf(values.number("depth"), () => [...fields, ""]);
    },
  },
  {
    id: "DBS",
    talker: "II",
    lines: (values) => {
      const [depth, offset] = [values.number("depth"), values.number("depth.offset")];
      // A negative offset is that to the keel.
      return depth === undefined || offset === undefined || offset < 0 ? [] : [depths(depth + offset)];
    },
  },
  {
    id: "VHW",
    talker: "II",
    lines: (values) => {
      const [heading, speed] = [headings(values), values.number("stw")];
      return lineIf(speed, () => [
        ...[directionField(heading.true), "T", directionField(heading.magnetic), "M"],
        ...[numberField(speed, { factor: KNOTS, digits: 2 }), "N", numberField(speed, { factor: KMH, digits: 2 }), "K"],
      ]);
    },
  },
  {
    id: "VLW",
    talker: "II",
    lines: (values) => {
      const field = (key: string) => numberField(values.number(key), { factor: MILES, digits: 2 });
      return lineIf(values.number("log") ?? values.number("trip"), () => [field("log"), "N", field("trip"), "N"]);
    },
  },
  {
    id: "MWV",
    talker: "II",
    lines: (values) => [...windLines(wind(values, "apparent"), "R"), ...windLines(trueWind(values), "T")],
  },
  { id: "MWD", talker: "II", lines: (values) => lineIf(windDirection(values).speed, () => mwd(values)) },
  {
    id: "VWR",
    talker: "II",
    isObsolete: true,
    lines: (values) => {
      const { angle, speed } = wind(values, "apparent");
      return lineIf(angle, () => [...sidedField(angle, ["R", "L"]), ...speeds(speed)]);
    },
  },
  {
    id: "VWT",
    talker: "II",
    isObsolete: true,
    lines: (values) => {
      const { angle, speed } = trueWind(values);
      return lineIf(angle, () => [...sidedField(angle, ["R", "L"]), ...speeds(speed)]);
    },
  },
  {
    id: "MTW",
    talker: "II",
    lines: (values) => lineIf(values.number(SEA), () => celsiusFields(values.number(SEA))),
  },
  {
    id: "MTA",
    talker: "II",
    lines: (values) => lineIf(values.number(AIR), () => celsiusFields(values.number(AIR))),
  },
  {
    id: "MMB",
    talker: "II",
    lines: (values) => lineIf(values.number(PRESSURE), () => pressureFields(values.number(PRESSURE))),
  },
  {
    id: "MDA",
    talker: "II",
    isObsolete: true,
    lines: (values) =>
      lineIf(
        values.number(PRESSURE) ?? values.number(AIR) ?? values.number(SEA) ?? windDirection(values).speed,
        () => mda(values),
      ),
  },
];

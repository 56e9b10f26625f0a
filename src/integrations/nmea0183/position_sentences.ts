import { dateFields, directionField, numberField, positionFields, sidedField, timeField } from "./line.ts";
import { lineIf, type SentenceRow } from "./sentence.ts";
import { KMH, KNOTS } from "./units.ts";
import type { Directions, MessageFields, SentenceValues } from "./values.ts";

/** Fix quality of GGA by the method of PGN 129029: the numbers are the same up to 8. */
const MAX_METHOD = 8;
/** Mode of GSA by that of PGN 129539: 1D, 2D, 3D. */
const FIX_MODES = ["1", "2", "3"];
const AUTOMATIC_MODE = 3;
/** Mode indicator of a position by the method: no fix, autonomous, differential, precise, RTK, float, estimated, manual, simulator. */
const MODES = ["N", "A", "D", "P", "R", "F", "E", "M", "S"];
/** An estimated, manual or simulated position has status V (IEC 61162-1). */
const VALID_MODES: ReadonlySet<string> = new Set(["A", "D", "P", "R", "F"]);
/** Satellite states of PGN 129540 that say that it is used. */
const USED = new Set([2, 5]);
const GSA_SATELLITES = 12;
const GSV_SATELLITES = 4;
/** A GSV counts its lines with one digit. */
const MAX_GSV_LINES = 9;

/** Mode indicator of the position. */
function modeOf(values: SentenceValues): string {
  if (!values.position) return "N";
  return MODES[values.ofGnss(129029)?.number("gnss_method") ?? 1] ?? "A";
}

/** Mode indicator of course and speed, which a device may have without a position. */
function speedModeOf(values: SentenceValues): string {
  return MODES[values.ofSource("sog", 129029)?.number("gnss_method") ?? 1] ?? "A";
}

function qualityOf(values: SentenceValues): string {
  if (!values.position) return "0";
  const method = values.ofGnss(129029)?.number("gnss_method") ?? 1;
  return method <= MAX_METHOD ? String(method) : "1";
}

/** Data valid or not. A reader must learn at once that the position is lost: these sentences go on, with V. */
function statusOf(values: SentenceValues): string {
  return VALID_MODES.has(modeOf(values)) ? "A" : "V";
}

/** Course over ground of one device: if possible, of that whose speed is used. */
function courseOf(values: SentenceValues): Directions {
  const keys = ["cog.true", "cog.magnetic"].filter((each) => values.number(each) !== undefined);
  const key = keys.find((each) => values.isOneSource(each, "sog")) ?? keys[0] ?? "";
  const ofOne = (each: string) => values.isOneSource(each, key) ? values.number(each) : undefined;
  return values.completed(ofOne("cog.true"), ofOne("cog.magnetic"));
}

function hasPosition(values: SentenceValues): true | undefined {
  return values.wasKnown("position") || undefined;
}

function rmc(values: SentenceValues): string[] {
  const [day, month, year] = dateFields(values.timeMs);
  return [
    timeField(values.timeMs),
    statusOf(values),
    ...positionFields(values.position),
    numberField(values.number("sog"), { factor: KNOTS, digits: 2 }),
    directionField(courseOf(values).true),
    day + month + year.slice(2),
    ...sidedField(values.variation, ["E", "W"]),
    modeOf(values),
  ];
}

function gga(values: SentenceValues): string[] {
  const gnss = values.position && values.ofGnss(129029);
  const [altitude, separation] = [gnss?.number("altitude"), gnss?.number("geoidal_sep")];
  return [
    timeField(values.timeMs),
    ...positionFields(values.position),
    qualityOf(values),
    numberField(gnss?.number("num_svs"), { digits: 0, width: 2 }),
    numberField(gnss?.number("hdop"), { digits: 2 }),
    ...[numberField(altitude), altitude === undefined ? "" : "M"],
    ...[numberField(separation), separation === undefined ? "" : "M"],
    ...["", ""],
  ];
}

function vtg(values: SentenceValues): string[] {
  const course = courseOf(values);
  const speed = values.number("sog");
  return [
    ...[directionField(course.true), "T", directionField(course.magnetic), "M"],
    ...[numberField(speed, { factor: KNOTS, digits: 2 }), "N", numberField(speed, { factor: KMH, digits: 2 }), "K"],
    speedModeOf(values),
  ];
}

function gsa(dops: MessageFields, values: SentenceValues): string[] {
  const used = values.ofGnss(129540)?.list("satellites").filter((each) => USED.has(each.number("status") ?? 0)) ?? [];
  const numbers = used.slice(0, GSA_SATELLITES).map((each) => numberField(each.number("prn"), { digits: 0, width: 2 }));
  return [
    dops.number("desired_mode") === AUTOMATIC_MODE ? "A" : "M",
    FIX_MODES[dops.number("actual_mode") ?? -1] ?? "1",
    ...Array.from({ length: GSA_SATELLITES }, (_, index) => numbers[index] ?? ""),
    numberField(values.ofGnss(129029)?.number("pdop"), { digits: 2 }),
    ...["hdop", "vdop"].map((field) => numberField(dops.number(field), { digits: 2 })),
  ];
}

/** GSV has no negative numbers. Some devices send a ratio of -1 for a satellite that they do not track. */
function fromZero(value: number | undefined): number | undefined {
  return value !== undefined && value >= 0 ? value : undefined;
}

function gsv(view: MessageFields): string[][] {
  const satellites = view.list("satellites").slice(0, MAX_GSV_LINES * GSV_SATELLITES);
  const lines = Math.max(1, Math.ceil(satellites.length / GSV_SATELLITES));
  const whole = { digits: 0, width: 2 };
  return Array.from({ length: lines }, (_, index) => [
    ...[String(lines), String(index + 1), numberField(satellites.length, whole)],
    ...satellites.slice(index * GSV_SATELLITES, (index + 1) * GSV_SATELLITES).flatMap((each) => [
      numberField(each.number("prn"), whole),
      numberField(fromZero(each.number("elevation")), { factor: 180 / Math.PI, ...whole }),
      // All three digits of a direction, and an empty field where there is none.
      directionField(each.number("azimuth"), 0).replace(/^\d+$/, (text) => text.padStart(3, "0")),
      numberField(fromZero(each.number("snr")), whole),
    ]),
  ]);
}

/** Sentences of position, course over ground, time and satellites. */
export const POSITION_SENTENCES: readonly SentenceRow[] = [
  { id: "RMC", talker: "GP", lines: (values) => lineIf(hasPosition(values), () => rmc(values)) },
  { id: "GGA", talker: "GP", lines: (values) => lineIf(hasPosition(values), () => gga(values)) },
  {
    id: "GLL",
    talker: "GP",
    lines: (values) =>
      lineIf(hasPosition(values), () => [
        ...positionFields(values.position),
        timeField(values.timeMs),
        statusOf(values),
        modeOf(values),
      ]),
  },
  { id: "VTG", talker: "GP", lines: (values) => lineIf(values.number("sog"), () => vtg(values)) },
  {
    id: "ZDA",
    talker: "GP",
    lines: ({ timeMs }) => lineIf(timeMs, () => [timeField(timeMs), ...dateFields(timeMs), "00", "00"]),
  },
  {
    id: "GSA",
    talker: "GP",
    lines: (values) => {
      const dops = values.ofGnss(129539);
      return dops ? [gsa(dops, values)] : [];
    },
  },
  {
    id: "GSV",
    talker: "GP",
    lines: (values) => {
      const view = values.ofGnss(129540);
      return view ? gsv(view) : [];
    },
  },
];

import { directionField, numberField, positionFields, textField, timeField } from "./line.ts";
import { lineIf, type SentenceRow } from "./sentence.ts";
import { KNOTS, MILES } from "./units.ts";
import type { Directions, SentenceValues } from "./values.ts";

/** Largest cross-track error and range of RMB, nautical miles. */
const MAX_RMB_ERROR = 9.99;
const MAX_RMB_RANGE = 999.9;
/** Longest name of a waypoint, characters: two of them fit in RMB. */
const MAX_WAYPOINT_CHARS = 7;
const MODE = "A";

/** The active leg: what PGNs 129283, 129284 and 129285 of one device say about it. */
interface Leg {
  /** Metres from the track; positive: the boat is right of it. */
  xte: number | undefined;
  origin: string;
  destination: string;
  position: { latitude: number; longitude: number } | undefined;
  distance: number | undefined;
  /** From the boat. */
  bearing: Directions;
  /** Of the leg. */
  track: Directions;
  speed: number | undefined;
  hasArrived: boolean;
  hasPassed: boolean;
  isRhumbLine: boolean;
}

function legOf(values: SentenceValues): Leg | undefined {
  // The error of one plotter with the bearing of another would steer an autopilot to neither's waypoint.
  const plotter = values.beside(129284, 129283);
  const [data, xte] = [plotter(129284), plotter(129283)];
  if (!data || xte?.number("nav_term") === 1) return undefined;
  const isMagnetic = data.text("bearing_reference") === "magnetic";
  const direction = (field: string): Directions => {
    const value = data.number(field);
    return isMagnetic ? values.completed(undefined, value) : values.completed(value, undefined);
  };
  const [latitude, longitude] = [data.number("dest_latitude"), data.number("dest_longitude")];
  const nameOf = (field: string): string => {
    const number = data.number(field);
    if (number === undefined) return "";
    const point = plotter(129285)?.list("waypoints").find((each) => each.number("id") === number);
    return textField(point?.text("name") ?? String(number), MAX_WAYPOINT_CHARS);
  };
  return {
    xte: xte?.number("xte"),
    origin: nameOf("origin_wp_number"),
    destination: nameOf("dest_wp_number"),
    position: latitude === undefined || longitude === undefined || Math.abs(latitude) > 90 || Math.abs(longitude) > 180
      ? undefined
      : { latitude, longitude },
    distance: data.number("distance_to_wp"),
    bearing: direction("bearing_position_to_dest"),
    track: direction("bearing_origin_to_dest"),
    speed: data.number("wp_closing_velocity"),
    hasArrived: data.number("arrival_circle_entered") === 1,
    hasPassed: data.number("perp_crossed") === 1,
    isRhumbLine: data.number("calc_type") === 1,
  };
}

/** Cross-track error in nautical miles and the side to steer to. */
function errorFields(
  xte: number | undefined,
  { most = Infinity, digits = 3 }: { most?: number; digits?: number } = {},
): string[] {
  if (xte === undefined) return ["", ""];
  return [numberField(Math.min(Math.abs(xte) * MILES, most), { digits }), xte > 0 ? "L" : "R"];
}

/** A direction by its true value if there is one, and its letter. */
function bearingFields({ true: byTrue, magnetic }: Directions): string[] {
  if (byTrue !== undefined) return [directionField(byTrue), "T"];
  return magnetic === undefined ? ["", ""] : [directionField(magnetic), "M"];
}

/** Without a cross-track error there is nothing to steer by: no sentence. */
function apb(leg: Leg): string[] | undefined {
  if (leg.xte === undefined) return undefined;
  return [
    ...["A", "A", ...errorFields(leg.xte), "N"],
    ...[leg.hasArrived ? "A" : "V", leg.hasPassed ? "A" : "V"],
    ...bearingFields(leg.track),
    leg.destination,
    ...bearingFields(leg.bearing),
    ...bearingFields(leg.bearing),
    MODE,
  ];
}

function rmb(leg: Leg): string[] | undefined {
  if (leg.xte === undefined) return undefined;
  const range = leg.distance === undefined ? undefined : Math.min(leg.distance * MILES, MAX_RMB_RANGE);
  return [
    "A",
    ...errorFields(leg.xte, { most: MAX_RMB_ERROR, digits: 2 }),
    leg.origin,
    leg.destination,
    ...positionFields(leg.position),
    numberField(range, { digits: range !== undefined && range < 99 ? 2 : 1 }),
    directionField(leg.bearing.true),
    numberField(leg.speed, { factor: KNOTS }),
    leg.hasArrived ? "A" : "V",
    MODE,
  ];
}

/** BWC and BWR: bearing and distance to the waypoint. A plotter without an active one has neither. */
function bearingTo(values: SentenceValues, leg: Leg): string[] | undefined {
  if ((leg.bearing.true ?? leg.bearing.magnetic ?? leg.distance) === undefined) return undefined;
  return [
    timeField(values.timeMs),
    ...positionFields(leg.position),
    ...[directionField(leg.bearing.true), "T", directionField(leg.bearing.magnetic), "M"],
    ...[numberField(leg.distance, { factor: MILES, digits: 2 }), "N"],
    leg.destination,
    MODE,
  ];
}

/** Set and drift of the current. */
function vdr(values: SentenceValues): readonly (readonly string[])[] {
  const message = values.message(129291);
  const [set, drift] = [message?.number("set"), message?.number("drift")];
  const isMagnetic = message?.text("set_reference")?.toLowerCase() === "magnetic";
  const direction = isMagnetic ? values.completed(undefined, set) : values.completed(set, undefined);
  return lineIf(drift, () => [
    ...[directionField(direction.true), "T", directionField(direction.magnetic), "M"],
    ...[numberField(drift, { factor: KNOTS, digits: 2 }), "N"],
  ]);
}

/** Heading that the autopilot steers. */
function hsc(values: SentenceValues): readonly (readonly string[])[] {
  const message = values.message(127237);
  const heading = message?.number("heading_to_steer_course");
  const isMagnetic = message?.text("heading_reference")?.toLowerCase() === "magnetic";
  const direction = isMagnetic ? values.completed(undefined, heading) : values.completed(heading, undefined);
  return lineIf(heading, () => [directionField(direction.true), "T", directionField(direction.magnetic), "M"]);
}

/** A sentence about the active leg. */
function legSentence(id: string, fields: (leg: Leg, values: SentenceValues) => string[] | undefined): SentenceRow {
  return {
    id,
    talker: "GP",
    lines: (values) => {
      const leg = legOf(values);
      const made = leg && fields(leg, values);
      return made ? [made] : [];
    },
  };
}

/** Sentences of route, autopilot and current. */
export const ROUTE_SENTENCES: readonly SentenceRow[] = [
  legSentence("APB", apb),
  legSentence("RMB", rmb),
  legSentence("BWC", (leg, values) => leg.isRhumbLine ? undefined : bearingTo(values, leg)),
  legSentence("BWR", (leg, values) => leg.isRhumbLine ? bearingTo(values, leg) : undefined),
  legSentence("XTE", ({ xte }) => xte === undefined ? undefined : ["A", "A", ...errorFields(xte), "N", MODE]),
  { id: "VDR", talker: "II", lines: vdr },
  { id: "HSC", talker: "II", lines: hsc },
];

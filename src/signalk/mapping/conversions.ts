import type { DecodedValue } from "../../pgn/mod.ts";
import { isWordsName, wordFor, type WordsName } from "./words.ts";
import { atonType, shipType } from "./ais_types.ts";
import type { Json } from "../types.ts";

/** Seconds of a day. */
const DAY_S = 86_400;
/** Cubic metres per second in one litre per hour. */
const LITRES_PER_HOUR = 3_600_000;
/** Known facts about a satellite with which it is listed. */
const MIN_SATELLITE_FACTS = 4;

/** Converts the values of a row's source; undefined: no value. */
export type Conversion = (...values: DecodedValue[]) => Json | undefined;

/** A conversion of one number. */
function number(convert: (value: number) => Json | undefined): Conversion {
  return (value) => typeof value === "number" ? convert(value) : undefined;
}

/** A conversion of two numbers. */
function pair(convert: (a: number, b: number) => Json | undefined): Conversion {
  return (a, b) => typeof a === "number" && typeof b === "number" ? convert(a, b) : undefined;
}

function isoTime(days: number, seconds: number): string | undefined {
  const time = new Date(Math.round((days * DAY_S + seconds) * 1000));
  return Number.isNaN(time.getTime()) ? undefined : time.toISOString();
}

const SWITCHED_ON: ReadonlySet<DecodedValue> = new Set<DecodedValue>([1, "Yes", "On", "on"]);

function satellites(list: DecodedValue): Json | undefined {
  if (!Array.isArray(list)) return undefined;
  const known = list.flatMap((each): Json[] => {
    if (typeof each !== "object" || each === null || Array.isArray(each)) return [];
    if (Object.values(each).filter((fact) => fact !== null).length < MIN_SATELLITE_FACTS) return [];
    const facts = { id: each.prn, elevation: each.elevation, azimuth: each.azimuth, SNR: each.snr };
    return [Object.fromEntries(
      Object.entries(facts).flatMap(([key, fact]) => typeof fact === "number" ? [[key, fact]] : []),
    )];
  });
  return { count: known.length, satellites: known };
}

/** Reaching a waypoint is news, no danger. */
const ARRIVALS: ReadonlySet<DecodedValue> = new Set<DecodedValue>([
  "WP Arrival",
  "Pilot Way Point Advance",
  "Pilot Route Complete",
]);

function seatalkAlarm(status: DecodedValue, id: DecodedValue): Json {
  const isOff = status === "Alarm condition not met";
  return {
    state: isOff ? "normal" : ARRIVALS.has(id) ? "alert" : "alarm",
    method: status === "Alarm condition met and not silenced" ? ["visual", "sound"] : ["visual"],
    message: typeof id === "string" ? id : `Unknown Seatalk Alarm ${id}`,
  };
}

/** Modes of a Simrad autopilot, in rising precedence. */
const SIMNET_MODES = { Standby: "standby", "No Drift": "auto", Heading: "heading", Wind: "wind", Nav: "route" };

function simnetMode(modes: DecodedValue): Json | undefined {
  if (!Array.isArray(modes)) return undefined;
  return Object.entries(SIMNET_MODES).findLast(([label]) => modes.includes(label))?.[1];
}

/** `Group 1` as `group1`. */
export function camelCase(text: string): string {
  const words = text.toLowerCase().split(/[^a-z0-9]+/).filter((word) => word !== "");
  return words.map((word, index) => index === 0 ? word : word.charAt(0).toUpperCase() + word.slice(1)).join("");
}

const FUNCTIONS = {
  /** Per cent → ratio. */
  ratio: number((value) => value / 100),
  /** Per cent → ratio where positive: a trim below zero is a raw ratio. */
  trim: number((value) => value > 0 ? value / 100 : value),
  /** Revolutions per minute → Hz. */
  perMinute: number((value) => value / 60),
  /** l/h → m³/s. */
  litresPerHour: number((value) => value / LITRES_PER_HOUR),
  /** l → m³. */
  litres: number((value) => value / 1000),
  /** Ah → C. */
  ampereHours: number((value) => value * 3600),
  /** kWh → J. */
  kilowattHours: number((value) => value * 3_600_000),
  /** The definitions have it twice too large: it is 2 where real and apparent power are equal. */
  powerFactor: number((value) => value / 2),
  /** `12v` → 12. */
  volts: (value) => typeof value === "string" ? Number.parseInt(value) : value,
  /** 0 to 2π → -π to π. */
  signedAngle: number((value) => value > Math.PI ? value - 2 * Math.PI : value),
  positive: number((value) => value > 0 ? value : undefined),
  negative: number((value) => value < 0 ? value : undefined),
  /** Depth below the surface by an offset to the waterline. */
  belowSurface: pair((depth, offset) => offset > 0 ? depth + offset : undefined),
  /** Depth below the keel by an offset to the keel. */
  belowKeel: pair((depth, offset) => offset < 0 ? depth + offset : undefined),
  /** Position of an antenna from the centre line, positive to starboard, by its distance from starboard and the beam. */
  fromCenter: pair((fromStarboard, beam) => fromStarboard > 0 && beam > 0 ? beam / 2 - fromStarboard : undefined),
  /** Days since 1970 and seconds of the day → RFC 3339. */
  dateTime: pair(isoTime),
  /** The same of an estimated time of arrival: without a time, or with an impossible one, the begin of the day. */
  eta: (days, seconds) => {
    if (typeof days !== "number" || days <= 0) return undefined;
    return isoTime(days, typeof seconds === "number" && seconds < DAY_S ? seconds : 0);
  },
  /** Seconds until a date and time, from a third time in seconds since 1970. */
  secondsUntil: (days, seconds, now) =>
    typeof days === "number" && typeof seconds === "number" && typeof now === "number"
      ? days * DAY_S + seconds - now
      : undefined,
  /** Whether a switch is on. */
  isOn: (value) => SWITCHED_ON.has(value),
  /** A text that is not empty. */
  text: (value) => typeof value === "string" ? value.replaceAll("\0", "").trim() || undefined : undefined,
  mmsi: number((value) => String(value)),
  paddedMmsi: number((value) => String(value).padStart(9, "0")),
  imo: number((value) => value > 0 ? `IMO ${value}` : undefined),
  shipType,
  atonType,
  satellites,
  seatalkAlarm,
  simnetMode,
  simnetAlarm: (id) => ({
    state: "warn",
    method: ["visual"],
    message: typeof id === "string" ? id : `Unknown Simnet Alarm ${id}`,
  }),
  /** Day or night: 4 is night. */
  nightMode: (value) => value === 4 ? 1 : 0,
  camel: (value) => typeof value === "string" ? camelCase(value) : undefined,
  specialManeuver: (code) => code === 1 ? "not engaged" : code === 2 ? "engaged" : "not available",
  fusionSource: (id) => `entertainment.device.fusion1.avsource.source${id}`,
  /** A frequency in the unit of its band: kHz for AM, MHz for FM. */
  tunerFrequency: (frequency, band) =>
    typeof frequency === "number" ? frequency / (band === "AM" ? 1e3 : 1e6) : undefined,
  isMuted: (value) => value === "Mute On",
  fusionState: (value) => value === "On" ? "on" : "off",
  fusionPlayback: (value) => value === "Paused" || value === "Stopped" ? "Paused" : "Playing",
  /** The label of the definition; a code without label stays a number. */
  label: (value) => value,
  /** The label in lower case; nothing for a code without one. */
  lower: (value) => typeof value === "string" ? value.toLowerCase() : undefined,
} as const satisfies Record<string, Conversion>;

/** A conversion, or a table of words. */
export type ConversionName = keyof typeof FUNCTIONS | WordsName;

/** Conversions that get the label of a code, not the code. */
export const LABELLED: ReadonlySet<ConversionName> = new Set<ConversionName>(["label", "lower"]);

/** The conversion with a name. */
export function conversionOf(name: ConversionName): Conversion {
  if (!isWordsName(name)) return FUNCTIONS[name];
  return (value) => typeof value === "string" || typeof value === "number" ? wordFor(name, value) : undefined;
}

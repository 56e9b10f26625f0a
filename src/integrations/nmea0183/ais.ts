import { describePgn } from "../../pgn/mod.ts";
import type { DecodedValues } from "../../quantities/mod.ts";
import { aisBits, aisSentences, type AisValues } from "./ais_bits.ts";
import { AIS_LAYOUTS } from "./ais_layouts.ts";
import { DEGREES, KNOTS } from "./units.ts";

const DAY_MS = 86_400_000;
/** Steps of AIS in a degree: 1/10 000 minute. */
const POSITION_STEPS = 600_000;
/** Speeds at and above this value are sent as it; 1023 is "not available". */
const MAX_SPEED = 1022;
const MAX_ALTITUDE = 4094;
/** Nine digits. */
const MAX_MMSI = 999_999_999;
/** Turning faster than this, in the units of AIS. */
const MAX_TURN = 126;
const TURN_FACTOR = 4.733;
/** Communication state that is not available in NMEA 2000: 19 bits. */
const NO_RADIO = 2 ** 19 - 1;
const MAX_NAME_CHARS = 20;
const MAX_NAME_EXTENSION_CHARS = 14;
/** MMSI of an auxiliary craft, such as a tender: 98 and seven digits. */
const AUXILIARY_CRAFT = { from: 980_000_000, to: 989_999_999 };

/** Message types of each PGN; the first is used when the message names another one. */
const TYPES: Readonly<Record<number, readonly number[]>> = {
  129038: [1, 2, 3],
  129039: [18],
  129040: [19],
  129041: [21],
  129793: [4, 11],
  129794: [5],
  129798: [9],
  129802: [14],
  129809: [24],
  129810: [24],
};

/** PGNs that become AIS sentences. */
export const AIS_PGNS: readonly number[] = Object.keys(TYPES).map(Number);

/** An AIS message as sentences. */
export interface AisReport {
  readonly mmsi: number;
  /** True for the own vessel; undefined: the message does not say. */
  readonly isOwn: boolean | undefined;
  readonly lines: readonly string[];
}

// The npm package ggencoder encodes AIS, too, but not the types 4, 9, 14 and 19; type 5 becomes one line of more than 82
// characters; seconds, channel and "not available" of course and speed are lost; numbers are cut off instead of rounded.
/**
 * AIS sentences of a decoded message: `!AIVDO` for the own vessel, else `!AIVDM`; undefined: not an AIS message, or one
 * without MMSI.
 *
 * @param options.group 0 to 9: identifies sentences that belong together
 * @param options.isOwnMmsi for messages that do not say whose they are
 */
export function aisReport(
  pgn: number,
  { decoded, group, isOwnMmsi = () => false }: {
    decoded: DecodedValues;
    group: number;
    isOwnMmsi?: (mmsi: number) => boolean;
  },
): AisReport | undefined {
  const types = TYPES[pgn];
  const fields = new AisFields(pgn, decoded);
  const mmsi = fields.code("user_id") ?? fields.code("source_id");
  if (!types || mmsi === undefined || mmsi > MAX_MMSI) return undefined;
  const id = fields.code("message_id");
  const type = types.find((each) => each === id) ?? types[0] ?? 0;
  const layout = AIS_LAYOUTS[pgn === 129810 ? partB(mmsi) : String(type)] ?? [];
  const values = { ...commonOf(fields), ...OTHERS[pgn]?.(fields), type, mmsi };
  const transceiver = fields.code("ais_transceiver_info") ?? fields.code("ais_transceiver_information");
  const isOwn = transceiver === undefined ? undefined : OWN.has(transceiver);
  return {
    mmsi,
    isOwn,
    lines: aisSentences(aisBits(layout, values), {
      talker: isOwn ?? isOwnMmsi(mmsi) ? "AIVDO" : "AIVDM",
      channel: channelOf(transceiver),
      group,
    }),
  };
}

/** Transceiver information: own information that was not broadcast. */
const NOT_BROADCAST = 4;
/** Transceiver information of the own vessel; 2 and 3: transmitted on channel A and B. */
const OWN = new Set([2, 3, NOT_BROADCAST]);

function channelOf(transceiver = 0): "A" | "B" | "" {
  if (transceiver === NOT_BROADCAST) return "";
  return transceiver % 2 === 1 ? "B" : "A";
}

function partB(mmsi: number): string {
  return mmsi >= AUXILIARY_CRAFT.from && mmsi <= AUXILIARY_CRAFT.to ? "24.1 auxiliary" : "24.1";
}

/** Fields that several PGNs share, where they have them. */
function commonOf(fields: AisFields): AisValues {
  return {
    repeat: fields.code("repeat_indicator"),
    accuracy: fields.code("position_accuracy"),
    ...fields.position(),
    course: fields.course(),
    heading: fields.heading(),
    speed: fields.scaled("sog", { factor: KNOTS * 10, most: MAX_SPEED }),
    second: fields.code("time_stamp"),
    raim: fields.code("raim"),
    radio: fields.radio(),
    assigned: fields.code("ais_mode") ?? fields.code("assigned_mode_flag"),
    dte: fields.code("dte"),
    fix: fields.code("gnss_type") ?? fields.code("position_fix_type"),
    name: fields.text("name"),
    callsign: fields.text("callsign"),
    ship_type: fields.code("ship_type") ?? fields.code("type_of_ship"),
  };
}

const SHIP_SIZE: SizeFields = {
  length: "ship_length",
  beam: "ship_beam",
  references: ["position_ref_bow", "position_ref_starboard"],
};

/** Fields of one PGN. */
const OTHERS: Readonly<Record<number, (fields: AisFields) => AisValues>> = {
  129038: (fields) => ({
    status: fields.code("nav_status"),
    turn: fields.turn(),
    maneuver: fields.code("special_maneuver_indicator"),
  }),
  129039: (fields) => ({
    carrier_sense: fields.code("unit_type"),
    display: fields.code("integrated_display"),
    dsc: fields.code("dsc_flag"),
    band: fields.code("band"),
    msg22: fields.code("can_handle_msg22"),
    radio_flag: fields.code("ais_comm_state"),
  }),
  129040: (fields) =>
    fields.size({
      length: "length",
      beam: "beam",
      references: ["position_reference_from_bow", "position_reference_from_starboard"],
    }),
  129041: (fields) => {
    const name = fields.text("aton_name") ?? "";
    return {
      ...fields.size({
        length: "aton_structure_length",
        beam: "aton_structure_beam",
        references: ["position_ref_true_north", "position_ref_starboard"],
      }),
      aid_type: fields.code("aton_type"),
      name: name.slice(0, MAX_NAME_CHARS),
      name_extension: name.slice(MAX_NAME_CHARS, MAX_NAME_CHARS + MAX_NAME_EXTENSION_CHARS),
      off_position: fields.code("off_position_indicator"),
      aton_status: fields.code("aton_status"),
      virtual: fields.code("virtual_aton_flag"),
    };
  },
  129793: (fields) => {
    const { second, ...rest } = fields.dayAndTime("position_date", "position_time");
    return { ...rest, seconds: second };
  },
  129794: (fields) => {
    const eta = fields.dayAndTime("eta_date", "eta_time");
    return {
      ...fields.size(SHIP_SIZE),
      ...{ eta_month: eta.month, eta_day: eta.day, eta_hour: eta.hour, eta_minute: eta.minute },
      version: fields.code("ais_version_indicator"),
      imo: fields.code("imo_number"),
      draught: fields.scaled("draught", { factor: 10, most: 255 }),
      destination: fields.text("destination"),
    };
  },
  129798: (fields) => ({
    altitude: fields.scaled("altitude", { most: MAX_ALTITUDE }),
    // Aircraft have knots, not tenths.
    speed: fields.scaled("sog", { factor: KNOTS, most: MAX_SPEED }),
  }),
  129802: (fields) => ({ text: fields.text("safety_related_text") }),
  129810: (fields) => ({
    ...fields.size(SHIP_SIZE),
    part: 1,
    vendor: fields.text("vendor_id"),
    mothership: fields.code("mothership_mmsi"),
  }),
};

/** Names of the fields of a vessel's size. */
interface SizeFields {
  length: string;
  beam: string;
  /** Distance of the antenna from the bow and from the starboard side. */
  references: readonly [string, string];
}

type DatePart = "year" | "month" | "day" | "hour" | "minute" | "second";

/** Codes of a PGN's labelled fields, by field and label. */
const codes = new Map<number, ReadonlyMap<string, ReadonlyMap<string, number>>>();

function codesOf(pgn: number): ReadonlyMap<string, ReadonlyMap<string, number>> {
  const known = codes.get(pgn);
  if (known) return known;
  const byField = new Map<string, ReadonlyMap<string, number>>();
  for (const field of describePgn(pgn)?.layouts[0]?.fields ?? []) {
    if (field.type === "group" || !field.labels) continue;
    byField.set(field.name, new Map(Object.entries(field.labels).map(([code, label]) => [label, Number(code)])));
  }
  codes.set(pgn, byField);
  return byField;
}

/** Fields of a decoded AIS message in the units of AIS. */
class AisFields {
  readonly #decoded: DecodedValues;
  readonly #codes: ReadonlyMap<string, ReadonlyMap<string, number>>;

  constructor(pgn: number, decoded: DecodedValues) {
    this.#decoded = decoded;
    this.#codes = codesOf(pgn);
  }

  /** A number as it is, or the number of a label. */
  code(field: string): number | undefined {
    const value = this.#decoded[field];
    if (typeof value === "number") return Number.isInteger(value) ? value : undefined;
    return typeof value === "string" ? this.#codes.get(field)?.get(value) : undefined;
  }

  /** Communication state: a number, or hexadecimal bytes, the lowest first. */
  radio(): number | undefined {
    const value = this.#decoded.communication_state;
    if (typeof value !== "string") return this.code("communication_state");
    const state = Number.parseInt(value.match(/../g)?.reverse().join("") ?? "", 16);
    return state < NO_RADIO ? state : undefined;
  }

  text(field: string): string | undefined {
    const value = this.#decoded[field];
    return typeof value === "string" ? value : undefined;
  }

  /** A number in other units, from 0 to `most`. */
  scaled(field: string, { factor = 1, most }: { factor?: number; most: number }): number | undefined {
    const value = this.#decoded[field];
    return typeof value === "number" ? Math.min(Math.max(Math.round(value * factor), 0), most) : undefined;
  }

  position(): AisValues {
    const { latitude, longitude } = this.#decoded;
    if (typeof latitude !== "number" || typeof longitude !== "number") return {};
    if (Math.abs(latitude) > 90 || Math.abs(longitude) > 180) return {};
    return { lat: Math.round(latitude * POSITION_STEPS), lon: Math.round(longitude * POSITION_STEPS) };
  }

  course(): number | undefined {
    const course = this.scaled("cog", { factor: DEGREES * 10, most: Infinity });
    return course === undefined ? undefined : course % 3600;
  }

  heading(): number | undefined {
    const field = this.#decoded.heading === undefined ? "true_heading" : "heading";
    const heading = this.scaled(field, { factor: DEGREES, most: Infinity });
    return heading === undefined ? undefined : heading % 360;
  }

  /** 4.733 times the square root of degrees per minute. */
  turn(): number | undefined {
    const rate = this.#decoded.rate_of_turn;
    if (typeof rate !== "number") return undefined;
    const turn = Math.min(Math.round(TURN_FACTOR * Math.sqrt(Math.abs(rate) * DEGREES * 60)), MAX_TURN);
    return rate < 0 ? -turn : turn;
  }

  /** Distances from the antenna to the four sides. */
  size({ length, beam, references: [bow, starboard] }: SizeFields): AisValues {
    const along = (field: string, most: number) => this.scaled(field, { most }) ?? 0;
    const [toBow, toStarboard] = [along(bow, 511), along(starboard, 63)];
    return {
      to_bow: toBow,
      to_stern: Math.min(Math.max(along(length, 1022) - toBow, 0), 511),
      to_port: Math.min(Math.max(along(beam, 126) - toStarboard, 0), 63),
      to_starboard: toStarboard,
    };
  }

  /** Parts of a date and a time, as far as the message has them. */
  dayAndTime(date: string, time: string): Partial<Record<DatePart, number>> {
    const [days, seconds] = [this.#decoded[date], this.#decoded[time]];
    const at = typeof days === "number" ? new Date(days * DAY_MS) : undefined;
    const second = typeof seconds === "number" && seconds < 86_400 ? Math.floor(seconds) : undefined;
    return {
      ...at && { year: at.getUTCFullYear(), month: at.getUTCMonth() + 1, day: at.getUTCDate() },
      ...second !== undefined &&
        { hour: Math.floor(second / 3600), minute: Math.floor(second / 60) % 60, second: second % 60 },
    };
  }
}

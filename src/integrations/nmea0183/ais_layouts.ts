import { type AisField, number, spare, text } from "./ais_bits.ts";

/** Longitude that means "not available": 181 degrees in 1/10 000 minute. */
const NO_LONGITUDE = 181 * 600_000;
/** Latitude that means "not available": 91 degrees. */
const NO_LATITUDE = 91 * 600_000;

const HEAD = [number("type", 6), number("repeat", 2), number("mmsi", 30)];
const POSITION = [number("accuracy", 1), number("lon", 28, NO_LONGITUDE), number("lat", 27, NO_LATITUDE)];
const COURSE = number("course", 12, 3600);
const HEADING = number("heading", 9, 511);
const SPEED = number("speed", 10, 1023);
const SECOND = number("second", 6, 60);
const RAIM = number("raim", 1);
const ASSIGNED = number("assigned", 1);
const DTE = number("dte", 1, 1);
const FIX = number("fix", 4);
const SHIP_NAME = text("name", 120);
const CALLSIGN = text("callsign", 42);
const SIZE = [number("to_bow", 9), number("to_stern", 9), number("to_port", 6), number("to_starboard", 6)];

const POSITION_A = [
  ...HEAD,
  ...[number("status", 4, 15), number("turn", 8, -128), SPEED, ...POSITION, COURSE, HEADING, SECOND],
  ...[number("maneuver", 2), spare(3), RAIM, number("radio", 19)],
];
const BASE_STATION = [
  ...HEAD,
  ...[number("year", 14), number("month", 4), number("day", 5)],
  ...[number("hour", 5, 24), number("minute", 6, 60), number("seconds", 6, 60)],
  ...[...POSITION, FIX, spare(10), RAIM, number("radio", 19)],
];

/** NMEA 2000 has the vendor, the model and the serial number as one text of seven characters. */
const PART_B = [...HEAD, number("part", 2), number("ship_type", 8), text("vendor", 42), CALLSIGN];

/**
 * Fields of the AIS messages by type (ITU-R M.1371-5, annex 8). Type 24 is in two parts: 24 and 24.1, in which an auxiliary
 * craft has the MMSI of its mothership instead of its size.
 */
export const AIS_LAYOUTS: Readonly<Record<string, readonly AisField[]>> = {
  "1": POSITION_A,
  "2": POSITION_A,
  "3": POSITION_A,
  "4": BASE_STATION,
  "5": [
    ...HEAD,
    ...[number("version", 2), number("imo", 30), CALLSIGN, SHIP_NAME, number("ship_type", 8), ...SIZE, FIX],
    ...[number("eta_month", 4), number("eta_day", 5), number("eta_hour", 5, 24), number("eta_minute", 6, 60)],
    ...[number("draught", 8), text("destination", 120), DTE, spare(1)],
  ],
  "9": [
    ...HEAD,
    ...[number("altitude", 12, 4095), SPEED, ...POSITION, COURSE, SECOND],
    ...[spare(8), DTE, spare(3), ASSIGNED, RAIM, number("radio", 20)],
  ],
  "11": BASE_STATION,
  "14": [...HEAD, spare(2), text("text", 0)],
  "18": [
    ...[...HEAD, spare(8), SPEED, ...POSITION, COURSE, HEADING, SECOND, spare(2)],
    ...[number("carrier_sense", 1), number("display", 1), number("dsc", 1), number("band", 1), number("msg22", 1)],
    ...[ASSIGNED, RAIM, number("radio_flag", 1), number("radio", 19)],
  ],
  "19": [
    ...[...HEAD, spare(8), SPEED, ...POSITION, COURSE, HEADING, SECOND, spare(4)],
    ...[SHIP_NAME, number("ship_type", 8), ...SIZE, FIX, RAIM, DTE, ASSIGNED, spare(4)],
  ],
  "21": [
    ...[...HEAD, number("aid_type", 5), SHIP_NAME, ...POSITION, ...SIZE, FIX, SECOND, number("off_position", 1)],
    ...[number("aton_status", 8), RAIM, number("virtual", 1), ASSIGNED, spare(1), text("name_extension", 0)],
  ],
  "24": [...HEAD, spare(2), SHIP_NAME],
  "24.1": [...PART_B, ...SIZE, spare(6)],
  "24.1 auxiliary": [...PART_B, number("mothership", 30), spare(6)],
};

import type { DefinitionSpec, FieldSpec } from "../spec.ts";

const GARMIN: FieldSpec[] = [
  { bits: 11, match: 229, why: "Garmin's code; existing clients have no name for it in these messages" },
  { bits: 2 },
  { bits: 3 },
];

/** Manufacturers' own messages. */
export const PROPRIETARY_DEFINITIONS: readonly DefinitionSpec[] = [
  {
    pgn: 61184,
    id: "victronBatteryRegister",
    description: "Victron: battery register",
    why: "names that existing clients use, and the names of the registers, which canboat's package lacks",
    fields: [
      { name: "manufacturer_code", bits: 11, match: 358, label_table: "MANUFACTURER_CODE" },
      { bits: 2 },
      { name: "industry_code", bits: 3, label_table: "INDUSTRY_CODE" },
      { name: "register", type: "lookup", table: "victron_register", bits: 16 },
      { name: "payload", bits: 32 },
    ],
  },
  {
    pgn: 65284,
    id: "bepMarineCzoneCircuitStatus",
    description: "BEP Marine: CZone circuit status",
    why: "existing clients decode only the manufacturer, with the codes as numbers",
    fields: [
      { name: "manufacturer_code", bits: 11, match: 295, label_table: "MANUFACTURER_CODE" },
      { bits: 2 },
      { name: "industry_code", bits: 3, label_table: "INDUSTRY_CODE" },
      { bits: 8, why: "dipswitch by canboat: existing clients have no name for it" },
      { bits: 8, why: "type by canboat: existing clients have no name for it" },
      { bits: 32, why: "bitmap by canboat: existing clients have no name for it" },
    ],
  },
  {
    pgn: 65300,
    id: "carlingSwitchboardStatus",
    description: "Carling: switchboard status",
    why: "existing clients decode only the manufacturer, with the codes as numbers",
    fields: [
      { name: "manufacturer_code", bits: 11, match: 176, label_table: "MANUFACTURER_CODE" },
      { bits: 2 },
      { name: "industry_code", bits: 3, label_table: "INDUSTRY_CODE" },
      { bits: 8, why: "type of message by canboat: existing clients have no name for it" },
      { bits: 40, why: "data by canboat: existing clients have no name for it" },
    ],
  },
  {
    pgn: 126720,
    id: "garminNavigationToWaypoint",
    description: "Garmin: navigation to the next waypoint",
    why: "sent by Garmin plotters, unknown to canboat; derived from a frame of 42 bytes",
    fields: [
      ...GARMIN,
      { bits: 16, match: 0x0661 },
      { bits: 16 },
      { name: "distance_to_waypoint", bits: 32, per: 100, unit: "m", tolerance: 5 },
      { bits: 32 },
      { name: "eta_time", bits: 32, per: 10_000, unit: "s", tolerance: 10 },
      { name: "eta_date", bits: 16, unit: "d" },
      { bits: 48 },
      { name: "waypoint_latitude", bits: 32, signed: true, per: 10_000_000, unit: "deg", tolerance: 0.00001 },
      { name: "waypoint_longitude", bits: 32, signed: true, per: 10_000_000, unit: "deg", tolerance: 0.00001 },
    ],
  },
  {
    pgn: 126720,
    id: "garminNavigationToDestination",
    description: "Garmin: navigation to the destination",
    why: "sent by Garmin plotters, unknown to canboat; derived from a frame of 29 bytes",
    fields: [
      ...GARMIN,
      { bits: 16, match: 0x0712 },
      { bits: 16 },
      { bits: 8 },
      { name: "distance_to_destination", bits: 32, per: 100, unit: "m", tolerance: 5 },
      { name: "eta_time", bits: 32, per: 10_000, unit: "s", tolerance: 10 },
      { name: "eta_date", bits: 16, unit: "d" },
      { name: "destination_id", bits: 32 },
      { name: "destination_latitude", bits: 32, signed: true, per: 10_000_000, unit: "deg", tolerance: 0.00001 },
      { name: "destination_longitude", bits: 32, signed: true, per: 10_000_000, unit: "deg", tolerance: 0.00001 },
    ],
  },
];

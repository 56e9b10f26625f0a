import type { AisContext, PgnMapping, Row } from "./types.ts";

const POSITION: Row = ["navigation.position", { longitude: "longitude", latitude: "latitude" }];
const MMSI: Row = ["", { mmsi: "user_id" }, { as: "mmsi" }];
const NAME: Row = ["", { name: "name" }, { as: "text" }];
const CALL_SIGN: Row = ["", { "communication.callsignVhf": "callsign" }, { as: "text" }];

function sensor(aisClass: string): Row {
  return ["sensors.ais.class", "user_id", { is: aisClass }];
}

function moving(heading: string): Row[] {
  return [
    ["navigation.speedOverGround", "sog"],
    ["navigation.courseOverGroundTrue", "cog"],
    POSITION,
    ["navigation.headingTrue", heading],
  ];
}

/** What a vessel is: PGNs name these fields differently. */
function design(
  { type, length, beam, starboard, bow }: Record<"type" | "length" | "beam" | "starboard" | "bow", string>,
): Row[] {
  return [
    ["design.length", { overall: length }, { as: "positive" }],
    ["design.aisShipType", type, { as: "shipType" }],
    ["design.beam", beam],
    ["sensors.ais.fromBow", bow],
    ["sensors.ais.fromCenter", [starboard, beam], { as: "fromCenter" }],
  ];
}

const STANDARD_DESIGN = design({
  type: "ship_type",
  length: "ship_length",
  beam: "ship_beam",
  starboard: "position_ref_starboard",
  bow: "position_ref_bow",
});
const OTHER_DESIGN = design({
  type: "type_of_ship",
  length: "length",
  beam: "beam",
  starboard: "position_reference_from_starboard",
  bow: "position_reference_from_bow",
});

function about(context: AisContext, mappings: readonly Omit<PgnMapping, "context">[]): PgnMapping[] {
  return mappings.map((mapping) => ({ ...mapping, context }));
}

/** AIS: everything is about another vessel, aid, station or aircraft. */
export const AIS: readonly PgnMapping[] = [
  ...about("vessels", [
    {
      pgn: 129038,
      rows: [
        ...moving("heading"),
        ["navigation.rateOfTurn", "rate_of_turn"],
        ["navigation.state", "nav_status", { as: "navigationState" }],
        ["navigation.specialManeuver", "special_maneuver_indicator?", { as: "specialManeuver" }],
        MMSI,
        sensor("A"),
      ],
    },
    { pgn: 129039, rows: [...moving("heading"), MMSI, sensor("B")] },
    { pgn: 129040, rows: [...moving("true_heading"), NAME, ...OTHER_DESIGN, MMSI, sensor("B")] },
    {
      pgn: 129794,
      rows: [
        sensor("A"),
        NAME,
        ["navigation.destination.commonName", "destination", { as: "text" }],
        ["navigation.destination.eta", ["eta_date", "eta_time?"], { as: "eta" }],
        ["design.draft", { maximum: "draught" }, { as: "positive" }],
        ...STANDARD_DESIGN,
        CALL_SIGN,
        MMSI,
        ["", { "registrations.imo": "imo_number" }, { as: "imo" }],
      ],
    },
    { pgn: 129809, rows: [sensor("B"), NAME, MMSI] },
    { pgn: 129810, rows: [...STANDARD_DESIGN, CALL_SIGN, MMSI] },
    { pgn: 130842, when: { manufacturer_code: "Simrad" }, rows: [NAME, ...OTHER_DESIGN, CALL_SIGN, MMSI] },
  ]),
  ...about("atons", [{
    pgn: 129041,
    rows: [
      ["", { name: "aton_name" }, { as: "text" }],
      POSITION,
      ["design.length", { overall: "aton_structure_length" }, { as: "positive" }],
      ["atonType", "aton_type", { as: "atonType" }],
      ["design.beam", "aton_structure_beam"],
      ["sensors.ais.fromCenter", ["position_ref_starboard", "aton_structure_beam"], { as: "fromCenter" }],
      ["virtual", "virtual_aton_flag", { as: "isOn" }],
      ["offPosition", "off_position_indicator", { as: "isOn" }],
      MMSI,
      sensor("ATON"),
    ],
  }]),
  ...about("shore.basestations", [{
    pgn: 129793,
    rows: [POSITION, ["", { mmsi: "user_id" }, { as: "paddedMmsi" }], sensor("BASE")],
  }]),
  ...about("sar", [{
    pgn: 129798,
    rows: [
      ["navigation.speedOverGround", "sog"],
      ["navigation.courseOverGroundTrue", "cog"],
      ["navigation.position", { longitude: "longitude", latitude: "latitude", altitude: "altitude?" }],
      ["", { mmsi: "user_id" }, { as: "paddedMmsi" }],
      sensor("SAR"),
    ],
  }]),
];

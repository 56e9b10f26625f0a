import { type DecodedValue, describePgn } from "../../pgn/mod.ts";
import type { Json } from "../types.ts";

/** Names of the types of ships in Signal K, by their code in AIS (ITU-R M.1371). */
const SHIP_TYPES: Readonly<Record<number, string>> = {
  20: "Wing In Ground",
  21: "Wing In Ground hazard cat A",
  22: "Wing In Ground hazard cat B",
  23: "Wing In Ground hazard cat C",
  24: "Wing In Ground hazard cat D",
  25: "Wing In Ground",
  26: "Wing In Ground",
  27: "Wing In Ground",
  28: "Wing In Ground",
  29: "Wing In Ground (no other information)",
  30: "Fishing",
  31: "Towing",
  32: "Towing exceeds 200m or wider than 25m",
  33: "Engaged in dredging or underwater operations",
  34: "Engaged in diving operations",
  35: "Engaged in military operations",
  36: "Sailing",
  37: "Pleasure",
  40: "High speed craft",
  41: "High speed craft carrying dangerous goods",
  42: "High speed craft hazard cat B",
  43: "High speed craft hazard cat C",
  44: "High speed craft hazard cat D",
  45: "High speed craft",
  46: "High speed craft",
  47: "High speed craft",
  48: "High speed craft",
  49: "High speed craft (no additional information)",
  50: "Pilot vessel",
  51: "SAR",
  52: "Tug",
  53: "Port tender",
  54: "Anti-pollution",
  55: "Law enforcement",
  56: "Spare",
  57: "Spare #2",
  58: "Medical",
  59: "RR Resolution No.18",
  60: "Passenger ship",
  61: "Passenger ship hazard cat A",
  62: "Passenger ship hazard cat B",
  63: "Passenger ship hazard cat C",
  64: "Passenger ship hazard cat D",
  65: "Passenger ship",
  66: "Passenger ship",
  67: "Passenger ship",
  68: "Passenger ship",
  69: "Passenger ship (no additional information)",
  70: "Cargo ship",
  71: "Cargo ship carrying dangerous goods",
  72: "Cargo ship hazard cat B",
  73: "Cargo ship hazard cat C",
  74: "Cargo ship hazard cat D",
  75: "Cargo ship",
  76: "Cargo ship",
  77: "Cargo ship",
  78: "Cargo ship",
  79: "Cargo ship (no additional information)",
  80: "Tanker",
  81: "Tanker carrying dangerous goods",
  82: "Tanker hazard cat B",
  83: "Tanker hazard cat C",
  84: "Tanker hazard cat D",
  85: "Tanker",
  86: "Tanker",
  87: "Tanker",
  88: "Tanker",
  89: "Tanker (no additional information)",
  90: "Other",
  91: "Other carrying dangerous goods",
  92: "Other hazard cat B",
  93: "Other hazard cat C",
  94: "Other hazard cat D",
  95: "Other",
  96: "Other",
  97: "Other",
  98: "Other",
  99: "Other (no additional information)",
};

/** Names of the types of aids to navigation in Signal K, by their code in AIS. */
const ATON_TYPES: Readonly<Record<number, string>> = {
  1: "Reference Point",
  3: "Fixed Structure Off Shore",
  4: "Emergency Wreck Marking Buoy",
  5: "Light, Without Sectors",
  6: "Light, With Sectors",
  7: "Leading Light Front",
  8: "Leading Light Rear",
  9: "Beacon, Cardinal N",
  10: "Beacon, Cardinal E",
  11: "Beacon, Cardinal S",
  12: "Beacon, Cardinal W",
  13: "Beacon, Port Hand",
  14: "Beacon, Starboard Hand",
  15: "Beacon, Preferred Channel Port Hand",
  16: "Beacon, Preferred Channel Starboard Hand",
  17: "Beacon, Isolated Danger",
  18: "Beacon, Safe Water",
  19: "Beacon, Special Mark",
  20: "Cardinal Mark N",
  21: "Cardinal Mark E",
  22: "Cardinal Mark S",
  23: "Cardinal Mark W",
  24: "Port Hand Mark",
  25: "Starboard Hand Mark",
  26: "Preferred Channel Port Hand",
  27: "Preferred Channel Starboard Hand",
  28: "Isolated danger",
  29: "Safe Water",
  30: "Special Mark",
  31: "Light Vessel/LANBY/Rigs",
};

/** PGN of AIS with all types of ships in its definition. */
const AIS_CLASS_A_STATIC = 129794;

let codes: ReadonlyMap<string, number> | undefined;

/** Codes of ship types by the labels of the definitions, with which some layouts are decoded. */
function shipCodes(): ReadonlyMap<string, number> {
  if (codes) return codes;
  const fields = describePgn(AIS_CLASS_A_STATIC)?.layouts.flatMap(({ fields }) => fields) ?? [];
  const field = fields.find(({ name }) => name === "ship_type");
  const labels = field && field.type !== "group" ? field.labels ?? {} : {};
  return codes = new Map(Object.entries(labels).map(([code, label]) => [label, Number(code)]));
}

function typeOf(code: DecodedValue | undefined, names: Readonly<Record<number, string>>): Json | undefined {
  const name = typeof code === "number" ? names[code] : undefined;
  return name === undefined || typeof code !== "number" ? undefined : { id: code, name };
}

/** Type of a ship by its code or label. */
export function shipType(type: DecodedValue): Json | undefined {
  return typeOf(typeof type === "string" ? shipCodes().get(type) : type, SHIP_TYPES);
}

/** Type of an aid to navigation by its code. */
export function atonType(type: DecodedValue): Json | undefined {
  return typeOf(type, ATON_TYPES);
}

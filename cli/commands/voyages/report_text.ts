import { type UnitSystem, valueText } from "@vessel/gateway/units";
import type { Position, StayRecord, VoyageRecord, VoyageReport } from "@vessel/gateway/voyages";
import { formatItems, type ItemColumn } from "../../program/table.ts";

/** A row: a voyage, or a time between two. */
type Row = { kind: "voyage"; voyage: VoyageRecord } | { kind: "stay"; stay: StayRecord };

const SYSTEM: UnitSystem = "nautical";
const METRES_PER_MILE = 1852;
const MPS_PER_KNOT = 1852 / 3600;
const WINDS = { true: "T", apparent: "A" } as const;
const STATES = { at_anchor: "at anchor", in_port: "in port", unknown: "unknown" } as const;

/** Narrower tables have no positions, characters. */
const WIDE = 130;

const COLUMNS: readonly ItemColumn<Row>[] = [
  { title: "START", text: (row) => timesOf(row).start.slice(0, "2026-01-02T03:04".length).replace("T", " ") },
  { title: "LASTED", align: "right", text: (row) => lastedText(timesOf(row)) },
  { title: "STATE", text: stateText },
  ofVoyage("NM", ({ distance_m: metres }) => (metres / METRES_PER_MILE).toFixed(1)),
  ofVoyage("AVG", ({ avg_speed: speed }) => knots(speed, 1)),
  ofVoyage("MAX", ({ max_speed: speed }) => speed === null ? "" : knots(speed, 1)),
  ofVoyage("ENGINE", ({ engines }) => engines.map(({ running_s: s }) => (s / 3600).toFixed(1)).join(" ")),
  ofVoyage("FUEL", ({ fuel_l: litres }) => litres === null ? "" : litres.toFixed(1)),
  ofVoyage("WIND", ({ wind }) => wind ? `${knots(wind.avg)}/${knots(wind.max)} ${WINDS[wind.reference]}` : ""),
];

const POSITIONS: readonly ItemColumn<Row>[] = [
  { title: "FROM", text: (row) => positionText(row.kind === "voyage" ? row.voyage.start_position : row.stay.position) },
  { title: "TO", text: (row) => row.kind === "voyage" ? positionText(row.voyage.end_position) : "" },
];

/** The voyages, and the times between them, as a table. */
export function reportText(
  { voyages, stays }: VoyageReport,
  { width, color }: { width: number; color: boolean },
): string {
  const rows: Row[] = [
    ...voyages.map((voyage) => ({ kind: "voyage", voyage }) as const),
    ...stays.map((stay) => ({ kind: "stay", stay }) as const),
  ];
  if (rows.length === 0) return "No positions were recorded in this time";
  rows.sort((a, b) => Date.parse(timesOf(a).start) - Date.parse(timesOf(b).start));
  return formatItems(rows, { columns: width < WIDE ? COLUMNS : [...COLUMNS, ...POSITIONS], width, color });
}

function ofVoyage(title: string, text: (voyage: VoyageRecord) => string): ItemColumn<Row> {
  return { title, align: "right", text: (row) => row.kind === "voyage" ? text(row.voyage) : "" };
}

function timesOf(row: Row): { start: string; end: string } {
  return row.kind === "voyage" ? row.voyage : row.stay;
}

function stateText(row: Row): string {
  if (row.kind === "stay") return STATES[row.stay.state];
  return row.voyage.is_complete ? "under way" : "incomplete";
}

function positionText(position: Position | null): string {
  if (position === null) return "";
  const text = (name: keyof Position) => valueText(position[name], { name, unit: "deg" }, { system: SYSTEM });
  return `${text("latitude")} ${text("longitude")}`;
}

function knots(speed: number, digits = 0): string {
  return (speed / MPS_PER_KNOT).toFixed(digits);
}

/** Hours and minutes: `26:05`. */
function lastedText({ start, end }: { start: string; end: string }): string {
  const minutes = Math.round((Date.parse(end) - Date.parse(start)) / 60_000);
  return `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, "0")}`;
}

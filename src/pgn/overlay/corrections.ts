import type { FieldSpec } from "../spec.ts";

/** A change of one field in a definition of canboat. */
export interface FieldCorrection {
  pgn: number;
  /** canboat's id of the layout. */
  id: string;
  /** Name of the field. */
  field: string;
  set: Partial<FieldSpec>;
  reason: string;
}

const NOISE = "measured: the last digits are noise, which are not reported as a change";
const COUNTED = "counter that grows constantly: single steps are not reported as a change";

/**
 * Corrections of definitions that the overlay has no layout for. Tolerances only: wherever there are recorded frames of
 * these PGNs, canboat's decoder of 2026-08, which is newer than the package, reads the same numbers.
 */
export const CORRECTIONS: readonly FieldCorrection[] = [
  { pgn: 127252, id: "heave", field: "heave", set: { tolerance: 0.05 }, reason: NOISE },
  { pgn: 127493, id: "transmissionParametersDynamic", field: "oil_pressure", set: { tolerance: 1000 }, reason: NOISE },
  {
    pgn: 127493,
    id: "transmissionParametersDynamic",
    field: "oil_temperature",
    set: { tolerance: 0.5 },
    reason: NOISE,
  },
  { pgn: 127497, id: "tripParametersEngine", field: "trip_fuel_used", set: { tolerance: 1 }, reason: COUNTED },
  { pgn: 127497, id: "tripParametersEngine", field: "fuel_rate_average", set: { tolerance: 0.2 }, reason: NOISE },
  { pgn: 127497, id: "tripParametersEngine", field: "fuel_rate_economy", set: { tolerance: 0.2 }, reason: NOISE },
  {
    pgn: 127497,
    id: "tripParametersEngine",
    field: "instantaneous_fuel_economy",
    set: { tolerance: 0.2 },
    reason: NOISE,
  },
  { pgn: 127503, id: "acInputStatus", field: "voltage", set: { tolerance: 1 }, reason: NOISE },
  { pgn: 127503, id: "acInputStatus", field: "current", set: { tolerance: 0.5 }, reason: NOISE },
  { pgn: 127503, id: "acInputStatus", field: "frequency", set: { tolerance: 0.05 }, reason: NOISE },
  { pgn: 127503, id: "acInputStatus", field: "real_power", set: { tolerance: 10 }, reason: NOISE },
  { pgn: 127503, id: "acInputStatus", field: "reactive_power", set: { tolerance: 10 }, reason: NOISE },
  { pgn: 127503, id: "acInputStatus", field: "power_factor", set: { tolerance: 0.02 }, reason: NOISE },
  { pgn: 127504, id: "acOutputStatus", field: "voltage", set: { tolerance: 1 }, reason: NOISE },
  { pgn: 127504, id: "acOutputStatus", field: "current", set: { tolerance: 0.5 }, reason: NOISE },
  { pgn: 127504, id: "acOutputStatus", field: "frequency", set: { tolerance: 0.05 }, reason: NOISE },
  { pgn: 127504, id: "acOutputStatus", field: "real_power", set: { tolerance: 10 }, reason: NOISE },
  { pgn: 127504, id: "acOutputStatus", field: "reactive_power", set: { tolerance: 10 }, reason: NOISE },
  { pgn: 127504, id: "acOutputStatus", field: "power_factor", set: { tolerance: 0.02 }, reason: NOISE },
  {
    pgn: 128777,
    id: "anchorWindlassOperatingStatus",
    field: "rode_counter_value",
    set: { tolerance: 0.1 },
    reason: NOISE,
  },
  {
    pgn: 128777,
    id: "anchorWindlassOperatingStatus",
    field: "windlass_line_speed",
    set: { tolerance: 0.05 },
    reason: NOISE,
  },
  {
    pgn: 128778,
    id: "anchorWindlassMonitoringStatus",
    field: "controller_voltage",
    set: { tolerance: 0.2 },
    reason: NOISE,
  },
  { pgn: 128778, id: "anchorWindlassMonitoringStatus", field: "motor_current", set: { tolerance: 1 }, reason: NOISE },
  {
    pgn: 128778,
    id: "anchorWindlassMonitoringStatus",
    field: "total_motor_time",
    set: { tolerance: 60 },
    reason: COUNTED,
  },
  { pgn: 130577, id: "directionData", field: "cog", set: { tolerance: 0.02 }, reason: NOISE },
  { pgn: 130577, id: "directionData", field: "sog", set: { tolerance: 0.1 }, reason: NOISE },
  { pgn: 130577, id: "directionData", field: "heading", set: { tolerance: 0.01 }, reason: NOISE },
  { pgn: 130577, id: "directionData", field: "speed_through_water", set: { tolerance: 0.1 }, reason: NOISE },
  { pgn: 130577, id: "directionData", field: "set", set: { tolerance: 0.02 }, reason: NOISE },
  { pgn: 130577, id: "directionData", field: "drift", set: { tolerance: 0.1 }, reason: NOISE },
  {
    pgn: 130578,
    id: "vesselSpeedComponents",
    field: "longitudinal_speed_water_referenced",
    set: { tolerance: 0.05 },
    reason: NOISE,
  },
  {
    pgn: 130578,
    id: "vesselSpeedComponents",
    field: "transverse_speed_water_referenced",
    set: { tolerance: 0.05 },
    reason: NOISE,
  },
  {
    pgn: 130578,
    id: "vesselSpeedComponents",
    field: "longitudinal_speed_ground_referenced",
    set: { tolerance: 0.05 },
    reason: NOISE,
  },
  {
    pgn: 130578,
    id: "vesselSpeedComponents",
    field: "transverse_speed_ground_referenced",
    set: { tolerance: 0.05 },
    reason: NOISE,
  },
  {
    pgn: 130578,
    id: "vesselSpeedComponents",
    field: "stern_speed_water_referenced",
    set: { tolerance: 0.05 },
    reason: NOISE,
  },
  {
    pgn: 130578,
    id: "vesselSpeedComponents",
    field: "stern_speed_ground_referenced",
    set: { tolerance: 0.05 },
    reason: NOISE,
  },
];

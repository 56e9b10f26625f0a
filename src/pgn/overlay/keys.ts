import type { FieldSpec } from "../spec.ts";

/** A row for the value after a key, or a change of canboat's row. */
export interface KeyRow {
  table: string;
  key: number;
  set: FieldSpec;
  reason: string;
}

const SIGNED = "recorded values have a sign, as canboat's analyzer of 2026-08 reads them";
const SIBLINGS = "named by canboat's analyzer of 2026-08; the scale is the one of its siblings";

/** Values after keys, where canboat's rows are wrong or missing. */
export const KEY_ROWS: readonly KeyRow[] = [
  ...[53, 105, 117, 154, 157, 271, 306, 307, 337, 338].map((key) => ({
    table: "BANDG_KEY_VALUE",
    key,
    set: { signed: true as const },
    reason: SIGNED,
  })),
  ...[83, 130, 155, 158, 270].map((key) => ({
    table: "BANDG_KEY_VALUE",
    key,
    set: { signed: true as const },
    reason: "an angle to either side or a latitude, as those beside it that were recorded with a sign",
  })),
  ...([[100, "Trip 1 Speed Avg"], [266, "Trip 1 Speed Max"], [268, "Trip 2 Speed Max"], [
    269,
    "Trip 2 Speed Avg",
  ]] as const)
    .map(([key, name]) => ({
      table: "BANDG_KEY_VALUE",
      key,
      set: { name, bits: 16, per: 100, unit: "m/s" },
      reason: SIBLINGS,
    })),
  {
    table: "BANDG_KEY_VALUE",
    key: 208,
    set: { name: "Trip 2 Distance", bits: 32, per: 100, unit: "m" },
    reason: SIBLINGS,
  },
  {
    table: "BANDG_KEY_VALUE",
    key: 267,
    set: { name: "Trip 2 Time", bits: 32, per: 1000, unit: "s" },
    reason: SIBLINGS,
  },
  ...([[4, "Rx Messages"], [5, "Tx Messages"], [7, "Fast Packet Errors"]] as const).map(([key, name]) => ({
    table: "NAVICO_DIAGNOSTIC",
    key,
    set: { name, bits: 32 },
    reason: "recorded as counts by canboat's analyzer of 2026-08",
  })),
];

import type { BoatHealth, BoatReplication, DecodedLastValue, Device, LastValues } from "@vessel/gateway/client";
import type { UnitSystem } from "@vessel/gateway/units";
import type { BoatValues } from "./boat_values.ts";
import type { Output } from "../../program/terminal.ts";
import type { DeviceRates } from "./rates.ts";

/** What a server has told at one time. */
export interface Sample {
  devices: readonly Device[];
  values: readonly LastValues<DecodedLastValue>[];
  /** Undefined of a boat in a cloud. */
  health: BoatHealth | undefined;
  /** Undefined where nothing is replicated, and of a boat in a cloud. */
  replication: BoatReplication | undefined;
}

/** What is looked at. */
export interface View {
  tab: number;
  /** First row that is shown of a list. */
  offset: number;
}

/** All that is shown. */
export interface Picture {
  view: View;
  sample: Sample;
  rates: DeviceRates;
  /** What the boat measures. */
  boat: BoatValues;
  units: UnitSystem;
  /** Which server it is. */
  place: string;
  /** Time of day. */
  time: string;
  /** Why the server does not answer; undefined while it does. */
  problem: string | undefined;
}

/** Room for a picture. */
export interface Frame extends Pick<Output, "columns" | "hasColor"> {
  rows: number;
}

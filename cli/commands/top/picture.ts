import type { BoatHealth, BoatReplication, DecodedLastValue, Device, LastValues } from "@vessel/gateway/client";
import type { UnitSystem } from "@vessel/gateway/units";
import type { Output } from "../../program/terminal.ts";
import type { BoatValues } from "./boat_values.ts";
import type { DeviceRates } from "./rates.ts";

/** Data of a server at one time. */
export interface Sample {
  devices: readonly Device[];
  values: readonly LastValues<DecodedLastValue>[];
  /** Undefined for a boat in a cloud. */
  health: BoatHealth | undefined;
  /** Undefined without replication, and for a boat in a cloud. */
  replication: BoatReplication | undefined;
}

/** Selected page and scroll position. */
export interface View {
  tab: number;
  /** Index of the first visible row. */
  offset: number;
}

/** Everything that is shown. */
export interface Picture {
  view: View;
  sample: Sample;
  rates: DeviceRates;
  /** Measured values. */
  boat: BoatValues;
  units: UnitSystem;
  /** The server, as text. */
  serverText: string;
  /** Time of day. */
  time: string;
  /** Why the server does not answer; undefined if it does. */
  problem: string | undefined;
}

/** Size of the terminal. */
export interface ScreenSize extends Pick<Output, "columns" | "hasColor"> {
  rows: number;
}

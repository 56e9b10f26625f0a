import type { Decoded } from "../pgn/mod.ts";

/** A value in Signal K: what JSON holds. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** A decoded message. */
export interface SignalKMessage {
  readonly pgn: number;
  readonly decoded: Decoded;
  /** Source address. */
  readonly src: number;
  /** NAME of the device; undefined: not known yet. */
  readonly name: bigint | undefined;
  /** Name of the bus. */
  readonly bus: string;
  /** Time of reception, microseconds since 1970. */
  readonly timeUs: number;
}

/** A value at a path. The path "" is the root of the context: its value is an object of several leaves. */
export interface SignalKValue {
  readonly path: string;
  readonly value: Json;
  /** Decoded field that the value is from, the first of several. */
  readonly field: string;
}

/** The values of one message. */
export interface SignalKDelta {
  /** `vessels.self`, or what AIS reports: `vessels.urn:mrn:imo:mmsi:366982330`. */
  readonly context: string;
  /** The device: `<bus>.<NAME in hex>`, and `<bus>.<address>` while its NAME is not known. */
  readonly source: string;
  readonly pgn: number;
  /** Source address at that time. */
  readonly src: number;
  /** Microseconds since 1970. */
  readonly timeUs: number;
  readonly values: readonly SignalKValue[];
}

import type { DecodedFieldValue } from "./types.ts";

/** Query for series. */
export interface SeriesQuery {
  /** A PGN and one of its fields each: `128267.depth`. */
  field: string[];
  /** Earliest time: RFC 3339 text or a date. */
  from: string | Date;
  /** Latest time; default now. */
  to?: string | Date;
  /** Maximum number of buckets; default 500. */
  points?: number;
  /** Source addresses; default all. */
  src?: number[];
}

/** Reply to a query for series. */
export interface SeriesReply {
  /** RFC 3339. */
  from: string;
  /** RFC 3339. */
  to: string;
  /** Width of a bucket, milliseconds. Buckets begin at its multiples since 1970. */
  bucket_ms: number;
  /** In the order of the fields, then by bus, address and keys. */
  series: FieldSeries[];
}

/** Values of one field of one sensor, in columns; only of buckets with values. */
export interface FieldSeries {
  /** PGN and field. */
  field: string;
  /** Unit of the values. */
  unit?: string;
  /** `label`: enumerations, texts, and numbers that are codes. */
  kind: "number" | "angle" | "label";
  /** Latest source address. */
  src: number;
  /** NAME of the device; empty while it is unknown. */
  name: string;
  /** Present when the server has more than one bus. */
  bus?: string;
  /** The values of `keys`, joined by points. */
  instance?: string;
  /** Fields that tell sensors in one device apart, such as instances and references. */
  keys?: { [name: string]: number | string };
  /** Starts of the buckets, milliseconds since 1970. */
  time: number[];
  /** Null for labels, and for angles from 0 to a full turn. */
  min: number[] | null;
  /** Null for labels. Angles are averaged as vectors; null where they cancel out. */
  avg: (number | null)[] | null;
  /** As `min`. */
  max: number[] | null;
  /** Value with the latest time. */
  last: DecodedFieldValue[];
  /** Number of values. */
  count: number[];
}

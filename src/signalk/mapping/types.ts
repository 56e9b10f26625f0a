import type { ConversionName } from "./conversions.ts";
import type { PrepareName } from "./prepare.ts";
import type { Json } from "../types.ts";

/**
 * What a row reads: one decoded field, several for one conversion, or the parts of an object by their key (a dot in a key
 * nests). `?` after a name: the field may be missing; otherwise a row with a missing field gives no value.
 */
export type Source = string | readonly string[] | Readonly<Record<string, string>>;

/** Conditions and conversion of a row. */
export interface Rule {
  /** Conversion; default: the value as it is decoded. */
  readonly as?: ConversionName;
  /** Decoded fields that must have one of these values; null: not available. */
  readonly when?: Condition;
  /** List of the message: one value for each of its objects, whose fields are read before those of the message. */
  readonly each?: string;
  /** The value, if the source is available. */
  readonly is?: Json;
  /** Null is sent for a source that is not available. */
  readonly orNull?: true;
  /** The value is a notification: `alarm` while this bit is set. */
  readonly alarm?: { readonly bit: number; readonly message: string };
}

/** Values that decoded fields must have. */
export type Condition = Readonly<Record<string, ConditionValue | readonly ConditionValue[]>>;
/** Value in a condition. */
export type ConditionValue = string | number | null;

/**
 * From decoded fields to a value of Signal K. `{field}` in a path stands for the value of a field (`default` where it is
 * missing), `{field!}` too, but without it there is no value, and `{field|words}` for its word in a table of `words.ts`.
 */
export type Row = readonly [path: string, source: Source, rule?: Rule];

/** Contexts of what AIS reports, without the MMSI. */
export type AisContext = "vessels" | "atons" | "shore.basestations" | "sar";

/** Rows of one PGN, or of several with the same rows. */
export interface PgnMapping {
  readonly pgn: number | readonly number[];
  /** The message is about another vessel, whose MMSI is in `user_id`; default: about the own one. */
  readonly context?: AisContext;
  /** Condition of all rows. */
  readonly when?: Condition;
  /** Prepares the decoded fields: adds what an earlier message said, or ends the mapping. */
  readonly prepare?: PrepareName;
  readonly rows: readonly Row[];
}

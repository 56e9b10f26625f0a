/** A PGN in the list of all. */
export interface KnownPgn {
  /** Parameter Group Number. */
  pgn: number;
  /** Human-readable name. */
  description: string;
  /** Framing: single frame, fast packet, or either. */
  framing: "single" | "fast" | "either";
  /** Transmission interval, milliseconds, if the standard has one. */
  interval_ms?: number;
  /** Number of layouts. */
  layouts: number;
}

/** Description of a PGN. */
export interface PgnDetails extends Omit<KnownPgn, "layouts"> {
  /** In order of precedence: the first layout whose `matches` hold is used. */
  layouts: PgnLayout[];
}

/** One layout of a payload. */
export interface PgnLayout {
  /** Name for programs. */
  id: string;
  /** Human-readable name. */
  description: string;
  /** Values that a payload must contain to match this layout. */
  matches?: { name?: string; bit: number; bits: number; value: number; label?: string }[];
  /** Whether every field and width is known. */
  complete: boolean;
  /** In the order of the payload. */
  fields: (PgnField | PgnGroup)[];
}

/** A field of a decoded payload. */
export interface PgnField {
  /** Key in the decoded object. */
  name: string;
  /** Type of the value; see the server's `/openapi.json`. */
  type: string;
  /** SI unit, or the one in the field's name. */
  unit?: string;
  /** Width of one value; omitted where the payload contains it. */
  bits?: number;
  /** Smallest value. */
  min?: number;
  /** Largest value. */
  max?: number;
  /** Step between two values; omitted for 1. */
  resolution?: number;
  /** Labels by raw value. */
  labels?: Record<string, string>;
  /** Name of the field that determines this one. */
  by?: string;
  /** Labels by the raw value of that field. */
  labels_by?: Record<string, Record<string, string>>;
  /** Of a number: labels of its bits, by bit number from 0. */
  bit_labels?: Record<string, string>;
  /** Of a key: units of the values that follow, by the raw value of the key. */
  key_units?: Record<string, string>;
  /** Smaller changes are insignificant. */
  tolerance?: number;
  /** The value is a list of this length. */
  repeat?: number;
}

/** A list of objects in a decoded payload. */
export interface PgnGroup {
  /** Key in the decoded object. */
  name: string;
  /** Distinguishes a group from a field. */
  type: "group";
  /** Name of the field with the number of objects. */
  count?: string;
  /** Fields of each object. */
  fields: PgnField[];
}

/** Where a decoded value is in a payload. */
export interface FieldSpan {
  /** Key in the decoded object; in lists with the index: `satellites.0.prn`. */
  name: string;
  /** First bit: 0 is the lowest bit of byte 0. */
  bit: number;
  /** Number of bits. */
  bits: number;
}

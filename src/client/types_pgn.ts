/** A PGN in the list of all. */
export interface KnownPgn {
  /** Its number. */
  pgn: number;
  /** Name for people. */
  description: string;
  /** How it travels. */
  framing: "single" | "fast" | "either";
  /** Milliseconds between two messages of a device, where the standard says. */
  interval_ms?: number;
  /** Number of layouts. */
  layouts: number;
}

/** All that is known about a PGN. */
export interface PgnDetails extends Omit<KnownPgn, "layouts"> {
  /** In the order in which they are tried: the first that matches describes a payload. */
  layouts: PgnLayout[];
}

/** One layout of a payload. */
export interface PgnLayout {
  /** Name for programs. */
  id: string;
  /** Name for people. */
  description: string;
  /** What a payload of this layout holds. */
  matches?: { name?: string; bit: number; bits: number; value: number; label?: string }[];
  /** Every field and width is known. */
  complete: boolean;
  /** In the order of the payload. */
  fields: (PgnField | PgnGroup)[];
}

/** A field of a decoded payload. */
export interface PgnField {
  /** Key in the decoded object. */
  name: string;
  /** What the value is: see the server's `/openapi.json`. */
  type: string;
  /** SI unit, or the one that the name says. */
  unit?: string;
  /** Width of one value; left out where the payload tells it. */
  bits?: number;
  /** Least value. */
  min?: number;
  /** Greatest value. */
  max?: number;
  /** Step between two values, where it is not 1. */
  resolution?: number;
  /** By raw value. */
  labels?: Record<string, string>;
  /** Field whose value decides this one. */
  by?: string;
  /** Labels by the raw value of that field. */
  labels_by?: Record<string, Record<string, string>>;
  /** Of a number: labels of its bits, by their place from 0. */
  bit_labels?: Record<string, string>;
  /** Of a key: units of the values that follow, by its raw value. */
  key_units?: Record<string, string>;
  /** A change of less than this is not worth telling. */
  tolerance?: number;
  /** The value is a list of so many. */
  repeat?: number;
}

/** A list of objects in a decoded payload. */
export interface PgnGroup {
  /** Key in the decoded object. */
  name: string;
  /** Tells it from a field. */
  type: "group";
  /** Field that says how many there are. */
  count?: string;
  /** Fields of each object. */
  fields: PgnField[];
}

/**
 * What a client wants to see (the specification's Filter resource). Every field is optional; several values of one
 * field are OR'd, different fields are AND'd, and the excluding fields have the last word.
 */
export interface Filter {
  /** Include these PGNs. */
  pgn?: number[];
  /** Exclude these PGNs. */
  exclude_pgn?: number[];
  /** Manufacturer names, in any case, or codes in decimal. */
  manufacturer?: string[];
  /** Device instances 0-252. */
  instance?: number[];
  /** Include these NAMEs, hex with or without `0x`. */
  name?: string[];
  /** Exclude these NAMEs. */
  exclude_name?: string[];
  /** Names of buses. */
  bus?: string[];
}

/** A filter holds something that cannot be understood; `field` says where. */
export class FilterError extends Error {
  /** `FilterError`. */
  override name = "FilterError";
  /** The list that is wrong. */
  readonly field: keyof Filter;

  /** @ignore */
  constructor(field: keyof Filter, message: string) {
    super(message);
    this.field = field;
  }
}

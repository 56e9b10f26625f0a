/**
 * Selects the frames that a client gets (the specification's Filter resource). Every field is optional. Several values of
 * one field are OR'd, different fields are AND'd; the excluding fields take precedence.
 */
export interface Filter {
  /** Include these PGNs. */
  pgn?: number[];
  /** Exclude these PGNs. */
  exclude_pgn?: number[];
  /** Manufacturer names, case-insensitive, or decimal codes. */
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

/** A filter is invalid; `field` names the list. */
export class FilterError extends Error {
  /** `FilterError`. */
  override name = "FilterError";
  /** The invalid list. */
  readonly field: keyof Filter;

  /** @ignore */
  constructor(field: keyof Filter, message: string) {
    super(message);
    this.field = field;
  }
}

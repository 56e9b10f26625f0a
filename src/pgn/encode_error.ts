/** A value cannot be encoded. */
export class EncodeError extends Error {
  /** Path of the field: `waypoints[2].latitude`; empty when the error does not concern a field. */
  readonly field: string;

  /**
   * Creates an error about a field or the whole message.
   *
   * @param field path of the field; default: no field
   */
  constructor(message: string, field = "") {
    super(message);
    this.name = "EncodeError";
    this.field = field;
  }
}

/** Throws an `EncodeError` about the field at `path`. */
export function fail(path: string, what: string): never {
  throw new EncodeError(`${path}: ${what}`, path);
}

const LONGEST_QUOTE = 40;

/** Formats a value for an error message. */
export function quote(value: unknown): string {
  if (typeof value === "string") {
    return JSON.stringify(value.length > LONGEST_QUOTE ? value.slice(0, LONGEST_QUOTE) + "…" : value);
  }
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object" && value !== null) return "an object";
  return typeof value === "function" ? "a function" : String(value);
}

/** The first names of a list, separated by commas. */
export function listed(names: Iterable<string>, most: number): string {
  const shown: string[] = [];
  for (const name of names) {
    shown.push(shown.length < most ? name : "…");
    if (shown.length > most) break;
  }
  return shown.join(", ");
}

/** Whether the value is an object and not a list. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether the value is missing: the field is sent as "not available". */
export function isNothing(value: unknown): value is null | undefined {
  return value === null || value === undefined;
}

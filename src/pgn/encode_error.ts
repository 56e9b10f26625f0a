/** What cannot be sent, and why. */
export class EncodeError extends Error {
  /** Path of the field: `waypoints[2].latitude`; empty when it is about no field. */
  readonly field: string;

  /**
   * An error about one field, or about the whole.
   *
   * @param field its path; left out: about no field
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

/** A value as an error message shows it. */
export function quote(value: unknown): string {
  if (typeof value === "string") {
    return JSON.stringify(value.length > LONGEST_QUOTE ? value.slice(0, LONGEST_QUOTE) + "…" : value);
  }
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object" && value !== null) return "an object";
  return typeof value === "function" ? "a function" : String(value);
}

/** The first names of a list, divided by commas. */
export function listed(names: Iterable<string>, most: number): string {
  const shown: string[] = [];
  for (const name of names) {
    shown.push(shown.length < most ? name : "…");
    if (shown.length > most) break;
  }
  return shown.join(", ");
}

/** True for objects that are no lists. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** True for what says nothing: the field is sent as not available. */
export function isNothing(value: unknown): value is null | undefined {
  return value === null || value === undefined;
}

import type { SentenceValues } from "./values.ts";

/** A sentence of NMEA 0183 and how it is made. */
export interface SentenceRow {
  /** Its three letters. */
  readonly id: string;
  /** Default talker. */
  readonly talker: "GP" | "II";
  /** Left out unless it is asked for: the standard advises against its use. */
  readonly isObsolete?: true;
  /** Fields after the name, of each line; no line while the values are missing. */
  readonly lines: (values: SentenceValues) => readonly (readonly string[])[];
}

/** One line, if at least one of its values exists. */
export function lineIf(exists: unknown, fields: () => readonly string[]): readonly (readonly string[])[] {
  return exists === undefined ? [] : [fields()];
}

/** A value in a decoded payload. */
export type DecodedValue =
  | number
  | string
  | null
  | DecodedValue[]
  | { [name: string]: DecodedValue };

/** Decoded fields of a payload by name. */
export type Decoded = { [name: string]: DecodedValue };

/** A value in a decoded payload. */
export type FieldValue = number | string | null | FieldValue[] | { [name: string]: FieldValue };

/** A decoded payload, or one of the objects in it. */
export type FieldValues = { readonly [name: string]: FieldValue };

/** Description of a field, as in `/pgns/{pgn}`. */
export interface DescribedField {
  readonly name: string;
  readonly type: string;
  readonly unit?: string | undefined;
  readonly resolution?: number | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly by?: string | undefined;
  readonly labels_by?: Readonly<Record<string, Readonly<Record<string, string>>>> | undefined;
  readonly bit_labels?: Readonly<Record<string, string>> | undefined;
  readonly key_units?: Readonly<Record<string, string>> | undefined;
  readonly repeat?: number | undefined;
  /** Fields of the objects in a list. */
  readonly fields?: readonly DescribedField[] | undefined;
}

/** Fields of a payload by name. */
export type DescribedFields = ReadonlyMap<string, DescribedField>;

/** A value in a decoded payload. */
export type FieldValue = number | string | null | FieldValue[] | { [name: string]: FieldValue };

/** A decoded payload, or one of the objects in it. */
export type FieldValues = { readonly [name: string]: FieldValue };

/** Description of a field, as in `/pgns/{pgn}`. */
export interface DescribedField {
  /** Key in the decoded object. */
  readonly name: string;
  /** Type of the value; `group`: a list of objects. */
  readonly type: string;
  /** Unit in the decoded payload. */
  readonly unit?: string | undefined;
  /** Step between two values; undefined for 1. */
  readonly resolution?: number | undefined;
  /** Labels by raw value. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
  /** Name of the field that determines this one. */
  readonly by?: string | undefined;
  /** Labels by the raw value of that field. */
  readonly labels_by?: Readonly<Record<string, Readonly<Record<string, string>>>> | undefined;
  /** Labels of the bits of a number, by bit number from 0. */
  readonly bit_labels?: Readonly<Record<string, string>> | undefined;
  /** Of a key: units of the values that follow, by the raw value of the key. */
  readonly key_units?: Readonly<Record<string, string>> | undefined;
  /** The value is a list of this length. */
  readonly repeat?: number | undefined;
  /** Fields of the objects in a list. */
  readonly fields?: readonly DescribedField[] | undefined;
}

/** Fields of a payload by name. */
export type DescribedFields = ReadonlyMap<string, DescribedField>;

/** Labels of numbers, with the same structure as the decoded payload; null for list items without a label. */
export type Labels = { [name: string]: LabelValue };

/** Label of a number; list of labels for a bit field; for a list, one entry per item. */
export type LabelValue = string | null | LabelValue[] | Labels;

/** Label of a number, or labels of its bits; undefined when none is known. */
export function labelOf(value: number, field: DescribedField, values: FieldValues): string | string[] | undefined {
  const { labels, labels_by, by, bit_labels } = field;
  if (bit_labels) return bitLabels(value, bit_labels);
  const table = labels_by && by !== undefined ? labels_by[String(codeOf(values[by]))] : labels;
  return table && Object.hasOwn(table, value) ? table[value] : undefined;
}

/** Labels of all numbers in a decoded payload that have one; undefined when none has. */
export function labelsOf(values: FieldValues, fields: DescribedFields): Labels | undefined {
  const found = Object.entries(values).flatMap(([name, value]): [string, LabelValue][] => {
    const field = fields.get(name);
    const label = field && labelsIn(value, field, values);
    return label === undefined ? [] : [[name, label]];
  });
  return found.length === 0 ? undefined : Object.fromEntries(found);
}

function labelsIn(value: FieldValue, field: DescribedField, values: FieldValues): LabelValue | undefined {
  if (typeof value === "number") return labelOf(value, field, values);
  if (!Array.isArray(value)) return undefined;
  const inner = field.fields && new Map(field.fields.map((each) => [each.name, each]));
  const labels = value.map((each) => {
    if (typeof each !== "object" || each === null || Array.isArray(each)) return labelsIn(each, field, values) ?? null;
    return inner ? labelsOf(each, inner) ?? null : null;
  });
  return labels.some((label) => label !== null) ? labels : undefined;
}

function bitLabels(value: number, labels: Readonly<Record<string, string>>): string[] {
  const set: string[] = [];
  // No shifts: numbers may have more than 32 bits.
  for (let bit = 0, rest = value; rest >= 1; bit++, rest = Math.floor(rest / 2)) {
    if (rest % 2 === 1) set.push(labels[bit] ?? `bit ${bit}`);
  }
  return set;
}

function codeOf(value: FieldValue | undefined): FieldValue | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value.id : value;
}

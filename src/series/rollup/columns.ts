import type { DecodedValue } from "../../pgn/mod.ts";
import { Bucket } from "../bucket.ts";
import type { SeriesField } from "../fields.ts";
import type { ByteReader, ByteWriter } from "./bytes.ts";

// The buckets of one field are written as columns of differences, which zstd compresses well. Values are whole multiples of
// the field's resolution and so exact. Where they are not, or are too large, they are written in 64 bits.

/** Bound for whole numbers: below it the differences of two of them, and their doubles, are exact. */
const MAX_WHOLE = 2 ** 50;
/** Maximum rounding error of a sum of values, in multiples of the resolution. */
const MAX_SUM_ERROR = 0.25;

/** Converts between values and multiples of the resolution. Divides where the decoder does, so that values are the same. */
class Steps {
  readonly #divisor: number;
  readonly #factor: number;

  constructor(resolution: number) {
    const divisor = Math.round(1 / resolution);
    const divides = resolution < 1 && Math.abs(1 / resolution - divisor) < 1e-6 * divisor;
    this.#divisor = divides ? divisor : 1;
    this.#factor = divides ? 1 : resolution;
  }

  /** Not rounded. */
  count(value: number): number {
    return value * this.#divisor / this.#factor;
  }

  value(count: number): number {
    return count * this.#factor / this.#divisor;
  }

  isExact(value: number): boolean {
    const count = Math.round(this.count(value));
    return Math.abs(count) < MAX_WHOLE && this.value(count) === value;
  }
}

/** One column of a field's buckets, in time order; undefined: the field had no value in that span of time. */
export type Buckets = readonly (Readonly<Bucket> | undefined)[];

/** How a column is written. */
export interface ColumnForm {
  /** True if values are multiples of the resolution. */
  isStepped: boolean;
  /** Values of labels. */
  labels: DecodedValue[];
}

/** Time of each bucket's end, microseconds since 1970. */
export type EndTimes = readonly number[];

/** Writes the columns of a field. Returns their form. */
export function writeColumns(
  writer: ByteWriter,
  { field, buckets, endsUs }: { field: SeriesField; buckets: Buckets; endsUs: EndTimes },
): ColumnForm {
  let before = 0;
  for (const bucket of buckets) {
    const count = bucket?.count ?? 0;
    writer.signed(count - before);
    before = count;
  }
  buckets.forEach((bucket, i) => bucket && writer.varint((endsUs[i] ?? 0) - 1 - bucket.lastUs));
  const present = buckets.filter((bucket) => bucket !== undefined);
  if (field.kind === "label") return writeLabels(writer, present);
  const steps = stepsOf(field, present);
  if (steps) writeSteps(writer, { field, steps, buckets: present });
  else for (const each of present) for (const value of floatsOf(field, each)) writer.float(value);
  return { isStepped: steps !== undefined, labels: [] };
}

/** Reads the columns of a field. @throws {RangeError} the bytes have ended */
export function readColumns(
  reader: ByteReader,
  { field, form, endsUs }: { field: SeriesField; form: ColumnForm; endsUs: EndTimes },
): (Bucket | undefined)[] {
  let before = 0;
  const buckets = endsUs.map(() => {
    before += reader.signed();
    if (before === 0) return undefined;
    const bucket = new Bucket();
    bucket.count = before;
    return bucket;
  });
  buckets.forEach((bucket, i) => {
    if (bucket) bucket.lastUs = (endsUs[i] ?? 0) - 1 - reader.varint();
  });
  const present = buckets.filter((bucket) => bucket !== undefined);
  if (field.kind === "label") { for (const each of present) each.last = form.labels[reader.varint()] ?? null; }
  else if (form.isStepped) readSteps(reader, { field, steps: new Steps(field.resolution ?? 1), buckets: present });
  else for (const each of present) readFloats(reader, { field, bucket: each });
  return buckets;
}

function writeLabels(writer: ByteWriter, buckets: readonly Readonly<Bucket>[]): ColumnForm {
  const indexes = new Map<string, number>();
  const labels: DecodedValue[] = [];
  for (const { last } of buckets) {
    const text = JSON.stringify(last);
    const index = indexes.get(text) ?? labels.push(last) - 1;
    indexes.set(text, index);
    writer.varint(index);
  }
  return { isStepped: false, labels };
}

/** The steps of a field if all its values are exact multiples. */
function stepsOf({ kind, resolution }: SeriesField, buckets: readonly Readonly<Bucket>[]): Steps | undefined {
  if (resolution === undefined) return undefined;
  const steps = new Steps(resolution);
  const isWhole = ({ min, max, sum, last, count }: Readonly<Bucket>) => {
    const total = steps.count(sum);
    // Also bounds the number that the sum is written as a difference to.
    const most = count * Math.max(Math.abs(steps.count(min)), Math.abs(steps.count(max)));
    return steps.isExact(min) && steps.isExact(max) && typeof last === "number" && steps.isExact(last) &&
      (kind === "angle" || (most < MAX_WHOLE && Math.abs(total - Math.round(total)) < MAX_SUM_ERROR));
  };
  return buckets.every(isWhole) ? steps : undefined;
}

interface StepColumns<B> {
  field: SeriesField;
  steps: Steps;
  buckets: readonly B[];
}

function writeSteps(writer: ByteWriter, { field, steps, buckets }: StepColumns<Readonly<Bucket>>): void {
  const whole = (value: DecodedValue) => Math.round(steps.count(Number(value)));
  let before = 0;
  for (const { min } of buckets) {
    writer.signed(whole(min) - before);
    before = whole(min);
  }
  for (const { min, max } of buckets) writer.varint(whole(max) - whole(min));
  for (const { min, last } of buckets) writer.varint(whole(last) - whole(min));
  if (field.kind === "number") {
    for (const { min, max, sum, count } of buckets) {
      writer.signed(whole(sum) - Math.floor(count * (whole(min) + whole(max)) / 2));
    }
    return;
  }
  // The vectors of equal angles follow from the angle.
  const varied = buckets.filter(({ min, max }) => min !== max);
  for (const { cos } of varied) writer.float(cos);
  for (const { sin } of varied) writer.float(sin);
}

function readSteps(reader: ByteReader, { field, steps, buckets }: StepColumns<Bucket>): void {
  const lows: number[] = [];
  let before = 0;
  for (const bucket of buckets) {
    before += reader.signed();
    lows.push(before);
    bucket.min = steps.value(before);
  }
  const highs = buckets.map((bucket, i) => {
    const high = (lows[i] ?? 0) + reader.varint();
    bucket.max = steps.value(high);
    return high;
  });
  buckets.forEach((bucket, i) => bucket.last = steps.value((lows[i] ?? 0) + reader.varint()));
  if (field.kind === "number") {
    buckets.forEach((bucket, i) => {
      const middle = Math.floor(bucket.count * ((lows[i] ?? 0) + (highs[i] ?? 0)) / 2);
      bucket.sum = steps.value(middle + reader.signed());
    });
    return;
  }
  for (const bucket of buckets) {
    const radians = bucket.min * (2 * Math.PI / field.turn);
    bucket.cos = bucket.count * Math.cos(radians);
    bucket.sin = bucket.count * Math.sin(radians);
  }
  const varied = buckets.filter(({ min, max }) => min !== max);
  for (const bucket of varied) bucket.cos = reader.float();
  for (const bucket of varied) bucket.sin = reader.float();
}

function floatsOf({ kind }: SeriesField, { min, max, last, sum, cos, sin }: Readonly<Bucket>): number[] {
  return [min, max, Number(last), ...(kind === "number" ? [sum] : [cos, sin])];
}

function readFloats(reader: ByteReader, { field, bucket }: { field: SeriesField; bucket: Bucket }): void {
  bucket.min = reader.float();
  bucket.max = reader.float();
  bucket.last = reader.float();
  if (field.kind === "number") bucket.sum = reader.float();
  else {
    bucket.cos = reader.float();
    bucket.sin = reader.float();
  }
}

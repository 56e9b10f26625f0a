import type { Bucket } from "../bucket.ts";
import type { SeriesField } from "../fields.ts";
import type { Series, SeriesOrigin } from "../series.ts";
import { ByteReader, ByteWriter } from "./bytes.ts";
import { type ColumnForm, readColumns, writeColumns } from "./columns.ts";

/** The fields of one sensor's PGN. */
export interface OriginSeries {
  origin: SeriesOrigin;
  series: readonly Series[];
}

/** One field of one sensor, as stored. */
export interface StoredSeries {
  origin: SeriesOrigin;
  field: SeriesField;
  /** With their start times, as numbers of bucket widths since 1970. */
  buckets: readonly (readonly [start: number, bucket: Bucket])[];
}

/** Header of a sensor in a section. */
interface SensorHeader {
  bus: string;
  src: number;
  /** NAME of the device, hex. */
  name: string;
  keys: Record<string, number | string>;
  /** Number of buckets. */
  count: number;
  /** In the order of their columns. */
  fields: (ColumnForm & { name: string; bytes: number })[];
}

/**
 * Encodes all sensors of one PGN. Fields without values are left out.
 *
 * @param options.pause called between sensors: the caller may let other work run
 */
export async function encodeSection(
  groups: readonly OriginSeries[],
  { bucketUs, pause }: { bucketUs: number; pause: () => Promise<void> },
): Promise<Uint8Array<ArrayBuffer>> {
  const body = new ByteWriter();
  const headers: SensorHeader[] = [];
  for (const { origin: { bus, src, name, keys }, series } of groups) {
    const present = series.filter(({ buckets }) => buckets.size > 0);
    const starts = [...new Set(present.flatMap(({ buckets }) => [...buckets.keys()]))].sort((a, b) => a - b);
    let before = 0;
    for (const start of starts) {
      body.signed(start - before);
      before = start;
    }
    const endsUs = starts.map((start) => (start + 1) * bucketUs);
    const fields = present.map(({ field, buckets }) => {
      const startAt = body.length;
      const form = writeColumns(body, { field, buckets: starts.map((start) => buckets.get(start)), endsUs });
      return { name: field.name, bytes: body.length - startAt, ...form };
    });
    headers.push({ bus, src, name: name.toString(16), keys: { ...keys }, count: starts.length, fields });
    await pause();
  }
  const head = new TextEncoder().encode(JSON.stringify(headers));
  const whole = new ByteWriter();
  whole.varint(head.length);
  whole.bytes(head);
  whole.bytes(body.take());
  return whole.take();
}

/**
 * Decodes the wanted fields of a section, one at a time.
 *
 * @throws {Error} it is damaged
 */
export function* decodeSection(
  bytes: Uint8Array,
  { fields: wanted, sources, bucketUs }: {
    fields: readonly SeriesField[];
    sources?: ReadonlySet<number> | undefined;
    bucketUs: number;
  },
): Generator<StoredSeries, void> {
  const reader = new ByteReader(bytes);
  // Not validated: the checksum shows that it is what was written.
  const headers: SensorHeader[] = JSON.parse(new TextDecoder().decode(reader.bytes(reader.varint())));
  for (const { bus, src, name, keys, count, fields } of headers) {
    const origin = { bus, src, name: BigInt(`0x${name}`), keys };
    const isWanted = sources?.has(src) ?? true;
    let before = 0;
    const starts = Array.from({ length: count }, () => before += reader.signed());
    const endsUs = starts.map((start) => (start + 1) * bucketUs);
    for (const form of fields) {
      const columns = reader.bytes(form.bytes);
      const field = isWanted ? wanted.find((each) => each.name === form.name) : undefined;
      if (field === undefined) continue;
      const buckets = readColumns(new ByteReader(columns), { field, form, endsUs });
      const present = buckets.flatMap((bucket, i): [number, Bucket][] => bucket ? [[starts[i] ?? 0, bucket]] : []);
      yield { origin, field, buckets: present };
    }
  }
}

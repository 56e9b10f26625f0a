import { decodeDigestNote, encodeDigestNote } from "../digest/window_digest.ts";
import {
  type BlockEnd,
  type BlockMetadata,
  type BootRecord,
  type FrameFates,
  type Gap,
  type GapReason,
  MAX_BUSES,
  type RunStart,
} from "../types.ts";
import {
  decodeBusCounts,
  decodeEnd,
  decodeFates,
  encodeBusCounts,
  encodeEnd,
  encodeFates,
  withFates,
} from "./counts.ts";

// Block metadata is our extension of the format. It follows the counted device entries inside the table's region, where
// other readers ignore it: entries of `tag u8 | length u16 | bytes`, each tag at most once. Readers skip unknown tags and
// excess bytes of a known tag. Reading stops at invalid bytes, which may be another extension; the frames stay readable.

/** Tag 1: `length u8 | UTF-8` for each bus, in the order of their indexes. */
const BUSES_TAG = 1;
/** Tag 2: 16 bytes that identify the epoch. */
const EPOCH_TAG = 2;
/**
 * Tag 3: boot id of 16 bytes, monotonic milliseconds f64, microseconds since 1970 i64, state of the wall clock u8; then, absent
 * in older files, of the start of the program: monotonic milliseconds f64, first sequence number u64.
 */
const BOOT_TAG = 3;
/** Tag 4: for each device entry one byte, the index of its bus. Omitted if all are 0. */
const ENTRY_BUSES_TAG = 4;
/** Tag 5: first missing sequence number u64, reason u8. */
const GAP_TAG = 5;
/** Tag 6: digests of windows of sequence numbers; see `window_digest.ts`. */
const DIGESTS_TAG = 6;
/** Tag 7: counters of each bus. Tag 8 is reserved for a hash chain over blocks. */
const COUNTS_TAG = 7;
/** Tag 10: what became of the frames of each bus. Tag 9 is not used. */
const FATES_TAG = 10;
/** Tag 11: the counters later in the block. */
const END_TAG = 11;

/** Bytes of an entry's tag and length. */
export const ENTRY_HEADER_BYTES = 3;
/** Bytes of an epoch and of a boot id. */
export const ID_BYTES = 16;
const BOOT_BYTES = ID_BYTES + 17;
const START_BYTES = 16;
const GAP_BYTES = 9;
/** Longest text, bytes: its length is one byte. */
const MAX_TEXT_BYTES = 255;

/** Codes on disk are indexes of these lists. */
const CLOCKS: readonly BootRecord["clock"][] = ["unknown", "synchronized", "unsynchronized"];
const GAP_REASONS: readonly (GapReason | undefined)[] = [undefined, "restart", "disk", "source"];

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** Content of a table after the device entries. */
export interface TableMetadata {
  metadata: BlockMetadata;
  /** Bus index of each device entry; undefined if all are 0. */
  entryBuses: Uint8Array | undefined;
  /** What became of the frames of each bus; part of the counters of the metadata. */
  fates?: readonly FrameFates[];
}

function entry(tag: number, bytes: Uint8Array): Uint8Array {
  return concat([Uint8Array.of(tag, bytes.length & 0xff, bytes.length >> 8), bytes]);
}

/** Encodes a text after its length byte. Truncates it, between characters, to `maxBytes`. */
export function shortText(text: string, maxBytes = MAX_TEXT_BYTES): Uint8Array {
  const bytes = new Uint8Array(1 + Math.min(text.length * 3, maxBytes));
  const { written } = encoder.encodeInto(text, bytes.subarray(1));
  bytes[0] = written;
  return bytes.subarray(0, 1 + written);
}

/** Concatenates byte arrays. */
export function concat(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const result = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    result.set(part, at);
    at += part.length;
  }
  return result;
}

function identifier(bytes: Uint8Array): Uint8Array {
  if (bytes.length !== ID_BYTES) {
    throw new RangeError(`Cannot write an id of ${bytes.length} bytes: expected ${ID_BYTES}`);
  }
  return bytes;
}

function bootBytes({ bootId, monoMs, timeUs, clock, start }: BootRecord): Uint8Array {
  const bytes = new Uint8Array(BOOT_BYTES + (start ? START_BYTES : 0));
  const view = new DataView(bytes.buffer);
  bytes.set(identifier(bootId));
  view.setFloat64(ID_BYTES, monoMs, true);
  view.setBigInt64(ID_BYTES + 8, BigInt(timeUs), true);
  bytes[ID_BYTES + 16] = CLOCKS.indexOf(clock);
  if (start) {
    view.setFloat64(BOOT_BYTES, start.monoMs, true);
    view.setBigUint64(BOOT_BYTES + 8, BigInt(start.firstSeq), true);
  }
  return bytes;
}

function gapBytes({ firstMissing, reason }: Gap): Uint8Array {
  const bytes = new Uint8Array(GAP_BYTES);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(firstMissing), true);
  bytes[8] = GAP_REASONS.indexOf(reason);
  return bytes;
}

/** Encodes block metadata. @throws {RangeError} too many buses, or an id without 16 bytes */
export function encodeMetadata(
  { buses, epoch, boot, gap, digests, counts, end }: BlockMetadata,
): Uint8Array<ArrayBuffer> {
  const parts: Uint8Array[] = [];
  if (buses) {
    if (buses.length > MAX_BUSES) throw new RangeError(`Cannot store ${buses.length} buses: at most ${MAX_BUSES}`);
    parts.push(entry(BUSES_TAG, concat(buses.map((name) => shortText(name)))));
  }
  if (epoch) parts.push(entry(EPOCH_TAG, identifier(epoch)));
  if (boot) parts.push(entry(BOOT_TAG, bootBytes(boot)));
  if (gap) parts.push(entry(GAP_TAG, gapBytes(gap)));
  if (digests) parts.push(entry(DIGESTS_TAG, encodeDigestNote(digests)));
  if (counts) parts.push(entry(COUNTS_TAG, encodeBusCounts(counts)));
  const fates = encodeFates(counts ?? []);
  if (fates.length > 0) parts.push(entry(FATES_TAG, fates));
  if (end) parts.push(encodeEndEntry(end));
  return concat(parts);
}

/** Encodes the entry with the counters later in the block. */
export function encodeEndEntry(end: BlockEnd): Uint8Array {
  return entry(END_TAG, encodeEnd(end));
}

/** Encodes the bus of each device entry; empty if all are 0. */
export function encodeEntryBuses(buses: readonly number[]): Uint8Array {
  return buses.some((bus) => bus !== 0) ? entry(ENTRY_BUSES_TAG, Uint8Array.from(buses)) : new Uint8Array(0);
}

/** Reads the valid entries. Does not throw. */
export function readMetadata(bytes: Uint8Array): TableMetadata {
  const result: TableMetadata = { metadata: {}, entryBuses: undefined };
  for (let at = 0; at + ENTRY_HEADER_BYTES <= bytes.length;) {
    const length = (bytes[at + 1] ?? 0) | ((bytes[at + 2] ?? 0) << 8);
    const start = at + ENTRY_HEADER_BYTES;
    if (start + length > bytes.length) break;
    readEntry(result, { tag: bytes[at] ?? 0, body: bytes.subarray(start, start + length) });
    at = start + length;
  }
  const { fates, metadata } = result;
  if (fates && metadata.counts) metadata.counts = withFates(metadata.counts, fates);
  return result;
}

function readEntry(result: TableMetadata, { tag, body }: { tag: number; body: Uint8Array }): void {
  const { metadata } = result;
  const view = new DataView(body.buffer, body.byteOffset, body.length);
  if (tag === BUSES_TAG) {
    const buses = readTexts(body);
    if (buses) metadata.buses = buses;
  } else if (tag === EPOCH_TAG && body.length >= ID_BYTES) metadata.epoch = body.slice(0, ID_BYTES);
  else if (tag === BOOT_TAG && body.length >= BOOT_BYTES) {
    const monoMs = view.getFloat64(ID_BYTES, true);
    const timeUs = Number(view.getBigInt64(ID_BYTES + 8, true));
    const clock = CLOCKS[body[ID_BYTES + 16] ?? 0] ?? "unknown";
    if (Number.isFinite(monoMs) && Number.isSafeInteger(timeUs)) {
      const start = readStart(body);
      metadata.boot = { bootId: body.slice(0, ID_BYTES), monoMs, timeUs, clock, ...(start && { start }) };
    }
  } else if (tag === ENTRY_BUSES_TAG && body.every((bus) => bus < MAX_BUSES)) result.entryBuses = body;
  else if (tag === GAP_TAG && body.length >= GAP_BYTES) {
    const firstMissing = Number(view.getBigUint64(0, true));
    const reason = GAP_REASONS[body[8] ?? 0];
    if (reason && Number.isSafeInteger(firstMissing)) metadata.gap = { firstMissing, reason };
  } else if (tag === DIGESTS_TAG) {
    const digests = decodeDigestNote(body);
    if (digests) metadata.digests = digests;
  } else if (tag === COUNTS_TAG) {
    const counts = decodeBusCounts(body);
    if (counts) metadata.counts = counts;
  } else if (tag === FATES_TAG) {
    const fates = decodeFates(body);
    if (fates) result.fates = fates;
  } else if (tag === END_TAG) {
    const end = decodeEnd(body);
    if (end) metadata.end = end;
  }
}

function readStart(body: Uint8Array): RunStart | undefined {
  if (body.length < BOOT_BYTES + START_BYTES) return undefined;
  const view = new DataView(body.buffer, body.byteOffset, body.length);
  const monoMs = view.getFloat64(BOOT_BYTES, true);
  const firstSeq = Number(view.getBigUint64(BOOT_BYTES + 8, true));
  return Number.isFinite(monoMs) && Number.isSafeInteger(firstSeq) ? { monoMs, firstSeq } : undefined;
}

function readTexts(body: Uint8Array): string[] | undefined {
  const texts: string[] = [];
  for (let at = 0; at < body.length && texts.length < MAX_BUSES;) {
    const length = body[at] ?? 0;
    const start = at + 1;
    if (start + length > body.length) return undefined;
    texts.push(decoder.decode(body.subarray(start, start + length)));
    at = start + length;
  }
  return texts;
}

import { removeIfExists, syncDirectory, writeAll } from "../../base/mod.ts";
import type { Message } from "../../frame/mod.ts";
import { readFileAt } from "../file/source.ts";
import { JOURNAL_FILE_MODE } from "../file/name.ts";
import { type OpenFile, requireInPlace } from "../file/journal_file.ts";
import { maxWalBytes, readWal, type Wal, WalBuffer, type WalHeader } from "./wal.ts";
import {
  type BlockDevice,
  type BlockEnd,
  type BlockMetadata,
  type BootRecord,
  type Gap,
  MAX_BLOCK_BYTES,
  MAX_BUSES,
  type RunStart,
} from "../types.ts";
import { decodeBusCounts, decodeFates, encodeBusCounts, encodeFates, withFates } from "../block/counts.ts";
import { decodeDigestNote, encodeDigestNote } from "../digest/window_digest.ts";

/** State at the start of a block, from which recovery rebuilds it. */
export interface Opening {
  /** Devices by address. */
  devices: readonly BlockDevice[];
  /** Metadata of the block. */
  metadata: BlockMetadata;
}

/** Encodes as JSON without bigints and bytes. The epoch is in the WAL's header. */
export function encodeOpening({ devices, metadata: { buses, boot, gap, digests, counts } }: Opening): unknown {
  return {
    devices: devices.map((device) => ({ ...device, name: device.name.toString(16) })),
    buses,
    boot: boot && { ...boot, bootId: boot.bootId.toHex() },
    gap,
    digests: digests && encodeDigestNote(digests).toHex(),
    counts: counts && encodeBusCounts(counts).toHex(),
    fates: counts && encodeFates(counts).toHex(),
  };
}

type Fields = Record<string, unknown>;

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null;
}

function isHex(value: unknown, digits: number): value is string {
  return typeof value === "string" && value.length <= digits && /^[0-9a-f]+$/.test(value);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function decodeDevice(value: unknown): BlockDevice[] {
  if (!isFields(value) || !isHex(value.name, 16) || !isCount(value.src) || !isCount(value.bus)) return [];
  const { bus, src, productCode, modelId, softwareVersion, modelVersion, modelSerial } = value;
  return [{
    bus,
    src,
    name: BigInt(`0x${value.name}`),
    activeFrom: 0,
    productCode: isCount(productCode) ? productCode : 0,
    modelId: text(modelId),
    softwareVersion: text(softwareVersion),
    modelVersion: text(modelVersion),
    modelSerial: text(modelSerial),
  }];
}

function decodeGap(value: unknown): Gap | undefined {
  if (!isFields(value) || !isCount(value.firstMissing)) return undefined;
  const { firstMissing, reason } = value;
  return reason === "restart" || reason === "disk" || reason === "source" ? { firstMissing, reason } : undefined;
}

function decodeBoot(value: unknown): BootRecord | undefined {
  if (!isFields(value) || !isHex(value.bootId, 32) || value.bootId.length !== 32) return undefined;
  const { monoMs, timeUs, clock, start } = value;
  if (typeof monoMs !== "number" || !isCount(timeUs)) return undefined;
  const quality = clock === "synchronized" || clock === "unsynchronized" ? clock : "unknown";
  const begun = decodeStart(start);
  return { bootId: Uint8Array.fromHex(value.bootId), monoMs, timeUs, clock: quality, ...(begun && { start: begun }) };
}

function decodeStart(value: unknown): RunStart | undefined {
  if (!isFields(value) || typeof value.monoMs !== "number" || !isCount(value.firstSeq)) return undefined;
  return { monoMs: value.monoMs, firstSeq: value.firstSeq };
}

/** Decodes hex; undefined if invalid, or longer than a record. */
function decodeBytes(value: unknown): Uint8Array | undefined {
  const isBytes = isHex(value, 0xffff) && value.length % 2 === 0;
  return isBytes ? Uint8Array.fromHex(value) : undefined;
}

/** Decodes the valid parts of an opening. Does not throw. */
export function decodeOpening(opening: unknown): Opening {
  if (!isFields(opening)) return { devices: [], metadata: {} };
  const devices = Array.isArray(opening.devices) ? opening.devices.flatMap(decodeDevice) : [];
  const gap = decodeGap(opening.gap);
  const boot = decodeBoot(opening.boot);
  const buses = Array.isArray(opening.buses) ? opening.buses.slice(0, MAX_BUSES).map(text) : undefined;
  const [digestBytes, countBytes] = [decodeBytes(opening.digests), decodeBytes(opening.counts)];
  const fateBytes = decodeBytes(opening.fates);
  const digests = digestBytes && decodeDigestNote(digestBytes);
  const fates = fateBytes && decodeFates(fateBytes);
  const counts = countBytes && withFates(decodeBusCounts(countBytes) ?? [], fates);
  const known = { ...(buses && { buses }), ...(boot && { boot }), ...(gap && { gap }) };
  return { devices, metadata: { ...known, ...(digests && { digests }), ...(counts && { counts }) } };
}

/** Names of the two WAL files, beside the journal's files. */
export const WAL_NAMES = ["tail-a", "tail-b"] as const;

/**
 * That the file is still at its path is checked this often: until its block is in the journal, the whole block is in memory,
 * and is written again.
 */
const FLUSHES_PER_CHECK = 5;

/** One WAL file and the block that goes into it. */
export class WalFile {
  readonly #directory: string;
  readonly #path: string;
  readonly #buffer = new WalBuffer();
  #open: OpenFile & { position: number } | undefined;
  /** Since the file was opened. */
  #flushes = 0;
  /** Incremented with each block: a write that completes after its block has ended is ignored. */
  #generation = 0;
  /** True until part of this block is on disk: the file still holds an older block, which is in the journal. */
  #isStale = true;
  /** Bytes of this block that are on disk. */
  #synced = 0;
  #lastSeq = 0;

  constructor(directory: string, name: string) {
    this.#directory = directory;
    this.#path = `${directory}/${name}`;
  }

  begin(header: WalHeader, opening: unknown): void {
    this.#buffer.begin(header);
    this.#buffer.addOpening(opening);
    this.#generation++;
    this.#isStale = true;
    this.#synced = 0;
    this.#lastSeq = 0;
  }

  add(seq: number, message: Message): void {
    this.#buffer.addFrame(message);
    this.#lastSeq = seq;
  }

  /** Adds counters that hold after the last added frame. */
  addCounters(end: BlockEnd): void {
    this.#buffer.addCounters(end);
  }

  /** Writes and syncs pending bytes. Returns the last durable frame of the block that was open at the call. */
  async flush(): Promise<number> {
    // Read together: frames, and even other blocks, arrive during the write.
    const generation = this.#generation;
    const isStale = this.#isStale;
    const offset = this.#synced;
    const lastSeq = this.#lastSeq;
    const bytes = this.#buffer.from(offset);
    if (bytes.length === 0) return lastSeq;
    const open = await this.#opened();
    const { file } = open;
    if (isStale) await file.truncate(0);
    if (open.position !== offset) await file.seek(offset, Deno.SeekMode.Start);
    // Unknown until all is written.
    open.position = NaN;
    await writeAll(file, bytes);
    open.position = offset + bytes.length;
    await file.syncData();
    if (generation !== this.#generation) return lastSeq;
    this.#isStale = false;
    this.#synced = offset + bytes.length;
    return lastSeq;
  }

  async #opened(): Promise<OpenFile & { position: number }> {
    if (this.#open) {
      if (this.#flushes++ % FLUSHES_PER_CHECK === 0) await requireInPlace(this.#open);
      return this.#open;
    }
    this.#flushes = 0;
    const path = this.#path;
    const file = await Deno.open(path, { write: true, create: true, mode: JOURNAL_FILE_MODE });
    this.#open = { file, path, info: await file.stat(), position: 0 };
    await syncDirectory(this.#directory);
    return this.#open;
  }

  /** Closes the file. The next flush opens it and writes the whole block again, as the file may have been replaced. */
  close(): void {
    try {
      this.#open?.file.close();
    } catch {
      // Closed by the system already.
    }
    this.#open = undefined;
    this.#synced = 0;
  }
}

/**
 * The two WAL files: while one block waits in memory to be written, the next block's frames
 * go to the other WAL, so that neither is overwritten before its block is durable.
 */
export class WalFiles {
  readonly #files: readonly [WalFile, WalFile];
  readonly #onFrame: (seq: number) => void;
  #current = 0;

  /** @param onFrame called for each added frame */
  constructor(directory: string, onFrame: (seq: number) => void) {
    this.#onFrame = onFrame;
    const [first, second] = WAL_NAMES;
    this.#files = [new WalFile(directory, first), new WalFile(directory, second)];
  }

  /** WAL of the open or last block. It may be flushed until the second block after it begins. */
  get current(): WalFile {
    return this.#files[this.#current] ?? this.#files[0];
  }

  /** Begins the WAL of a block, in the file that the block before did not use. */
  begin(header: WalHeader, opening: unknown): void {
    this.#current = 1 - this.#current;
    this.current.begin(header, opening);
  }

  /** Adds a frame of the open block; it is durable after the next flush. */
  add(seq: number, message: Message): void {
    this.current.add(seq, message);
    this.#onFrame(seq);
  }

  /**
   * Writes and syncs the open block. All blocks before the last one must be in the journal, as the file
   * may hold one of them. Returns the last durable frame.
   *
   * @param end the counters now
   */
  flush(end: BlockEnd | undefined): Promise<number> {
    if (end) this.current.addCounters(end);
    return this.current.flush();
  }

  /** Closes both files; flushing opens them again. */
  close(): void {
    for (const file of this.#files) file.close();
  }
}

/** A WAL file and its content. */
export interface StoredWal {
  path: string;
  /** Size of the file. */
  bytes: number;
  /** Undefined if the header is invalid. */
  wal: Wal | undefined;
}

async function readWalFile(path: string): Promise<StoredWal | undefined> {
  try {
    using file = await Deno.open(path);
    const { size: bytes } = await file.stat();
    // Bounds the read: the file may be anything.
    const length = Math.min(bytes, maxWalBytes(MAX_BLOCK_BYTES));
    return { path, bytes, wal: readWal(await readFileAt(file, { offset: 0, length })) };
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.IsADirectory) return undefined;
    throw error;
  }
}

/** Reads the WAL files of a directory, the older one first. */
export async function readWals(directory: string): Promise<StoredWal[]> {
  const wals = await Promise.all(WAL_NAMES.map((name) => readWalFile(`${directory}/${name}`)));
  const firstSeqOf = ({ wal }: StoredWal) => wal?.firstSeq ?? 0;
  return wals.filter((wal) => wal !== undefined).sort((one, other) => firstSeqOf(one) - firstSeqOf(other));
}

/** Removes the WAL files. All their frames must be in blocks. */
export async function removeWals(directory: string): Promise<void> {
  for (const name of WAL_NAMES) await removeIfExists(`${directory}/${name}`);
}

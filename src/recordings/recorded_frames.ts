import { errorText, type Logger } from "../base/mod.ts";
import {
  newRecordingSummary,
  PieceReader,
  RecordingAssembler,
  RecordingError,
  type RecordingSummary,
} from "../can/mod.ts";
import {
  addressKey,
  type Device,
  formatName,
  type Message,
  NAME_BYTES,
  nameFromBytes,
  parseName,
  sourceOfId,
  type StoredFrame,
} from "../frame/mod.ts";
import {
  ActiveDevices,
  type Block,
  type BlockDevice,
  BlockError,
  type BlockLocation,
  BlockReader,
  JournalIndex,
  MAX_BUSES,
  NO_PRODUCT,
  openBlockFile,
  readJournalDirectory,
} from "../journal/mod.ts";
import { manufacturerName, PGN, readProductInformation } from "../pgn/mod.ts";

/** Frames of a recording that lie together. */
export interface RecordedPart {
  /** Names of the buses by index; empty where the recording tells none. */
  readonly buses: readonly string[];
  /** Bytes of the file that it is; 0 where nobody knows. */
  readonly bytes: number;
  /**
   * Reads the next frame, and tells before it of the devices that are known from there on; false at the end. The number
   * is 0 where the recording has none.
   */
  next(into: StoredFrame, learn: (device: RecordedDevice) => void): boolean;
}

/** Who had which address when frames were recorded. */
export interface RecordedDevice {
  /** Index of the bus. */
  bus: number;
  /** Source address. */
  src: number;
  /** NAME. */
  name: bigint;
  /** What is known, as the API tells it. */
  device: Partial<Device>;
}

/** A recording that was found at a path. */
export interface RecordedInput {
  /** `journal`: a file of ours; `directory`: one with such files; `recording`: one of another program. */
  kind: "journal" | "directory" | "recording";
  /** `-`: standard input. */
  path: string;
  /** Bytes of a file. */
  bytes: number | undefined;
}

/** A recording cannot be read. */
export class OfflineError extends Error {
  /** `OfflineError`. */
  override readonly name = "OfflineError";
}

/** What reading needs, and whom it tells. */
export interface OfflineOptions {
  /** What is damaged is warned of. */
  log: Logger;
  /** What became of the lines of another program's recording. */
  onSummary?: (path: string, summary: RecordingSummary) => void;
}

/** Standard input as a path. */
const STDIN = "-";
/** Bytes of other programs' recordings whose messages lie in memory at a time. */
const PIECE_BYTES = 8192;
const MAGIC = [0x4c, 0x50, 0x4a] as const;

/** Looks what is at a path; `-` is standard input. @throws {OfflineError} it cannot be read */
export async function findRecorded(path: string): Promise<RecordedInput> {
  if (path === STDIN) return { kind: "recording", path, bytes: undefined };
  try {
    const { isDirectory, isFile, size } = await Deno.stat(path);
    if (isDirectory) {
      await readJournalDirectory(path);
      return { kind: "directory", path, bytes: undefined };
    }
    // Of a pipe nothing is read before its time.
    if (!isFile) return { kind: "recording", path, bytes: undefined };
    using file = await Deno.open(path);
    const head = new Uint8Array(MAGIC.length);
    await file.read(head);
    return { kind: MAGIC.every((byte, at) => head[at] === byte) ? "journal" : "recording", path, bytes: size };
  } catch (error) {
    throw new OfflineError(`Cannot read "${path}": ${errorText(error)}`, { cause: error });
  }
}

/**
 * Reads recordings one after the other: journal files as their blocks lie in them, directories by time with no number
 * twice, recordings of other programs as they come, numbered from 1. Damaged blocks are passed over.
 *
 * @throws {OfflineError} a file cannot be read, or is no recording
 */
export async function* readRecorded(
  inputs: readonly RecordedInput[],
  options: OfflineOptions,
): AsyncGenerator<RecordedPart, void> {
  let seq = 0;
  for (const input of inputs) {
    try {
      if (input.kind === "directory") yield* directoryParts(input.path, options);
      else if (input.kind === "journal") yield* fileParts(input.path, options);
      else {
        for await (const part of recordingParts(input.path, options)) {
          yield part.numbered(seq + 1);
          seq += part.length;
        }
      }
    } catch (error) {
      const isTold = error instanceof BlockError || error instanceof RecordingError ||
        error instanceof Deno.errors.NotFound;
      if (!isTold) throw error;
      throw new OfflineError(`Cannot read "${input.path}": ${errorText(error)}`, { cause: error });
    }
  }
}

async function* directoryParts(path: string, { log }: OfflineOptions): AsyncGenerator<RecordedPart, void> {
  const { wals } = await readJournalDirectory(path, { log });
  const unsealed = wals.flatMap(({ blocks }) => blocks.flatMap((block) => block.unsealed ?? []));
  const index = await JournalIndex.open(path, { log, unwritten: () => unsealed });
  const onDamage = (block: Block, error: BlockError) => index.noteDamaged(block, error);
  for await (const block of index.blocks({})) yield new BlockPart(block, { bytes: 0, onDamage });
}

async function* fileParts(path: string, { log }: OfflineOptions): AsyncGenerator<RecordedPart, void> {
  const { blocks, index: { damaged, state } } = await openBlockFile(path);
  if (state === "torn") log.warn("journal file is torn", { path });
  if (damaged > 0) log.warn("journal file has damaged blocks", { path, blocks: damaged });
  using reader = new BlockReader();
  const onDamage = (_: Block, error: BlockError) =>
    log.warn("damaged frames passed over", { path, reason: error.message });
  for (const place of blocks) {
    const block = await readPlace(reader, { path, place, log });
    if (block) yield new BlockPart(block, { bytes: place.bytes, onDamage });
  }
}

async function readPlace(
  reader: BlockReader,
  { path, place, log }: { path: string; place: BlockLocation; log: Logger },
): Promise<Block | undefined> {
  try {
    return await reader.read(path, place);
  } catch (error) {
    if (!(error instanceof BlockError)) throw error;
    log.warn("damaged block passed over", { path, offset: place.offset, reason: error.message });
    return undefined;
  }
}

/** The frames of a block. */
class BlockPart implements RecordedPart {
  readonly buses: readonly string[];
  readonly bytes: number;
  readonly #block: Block;
  readonly #cursor: ReturnType<Block["frames"]>;
  readonly #onDamage: (block: Block, error: BlockError) => void;
  readonly #devices: ActiveDevices;

  constructor(
    block: Block,
    { bytes, onDamage }: { bytes: number; onDamage: (block: Block, error: BlockError) => void },
  ) {
    this.#block = block;
    this.#cursor = block.frames();
    this.#onDamage = onDamage;
    this.#devices = new ActiveDevices(block.devices);
    this.buses = block.notes.buses ?? [""];
    this.bytes = bytes;
  }

  next(into: StoredFrame, learn: (device: RecordedDevice) => void): boolean {
    try {
      if (!this.#cursor.next(into)) return false;
    } catch (error) {
      if (!(error instanceof BlockError)) throw error;
      this.#onDamage(this.#block, error);
      return false;
    }
    this.#devices.advance(this.#cursor.index - 1, (device) => learn(recordedDevice(device)));
    return true;
  }
}

/** One part for each piece that was read: a wait for every message would cost more than reading it. */
async function* recordingParts(path: string, { onSummary }: OfflineOptions): AsyncGenerator<MessagePart, void> {
  const summary = newRecordingSummary();
  const file = path === STDIN ? undefined : await Deno.open(path);
  const claimed = new Map<number, BlockDevice>();
  const parts: MessagePart[] = [];
  const reader = new PieceReader({ summary });
  const assembler = new RecordingAssembler((message) => {
    if (message.bus >= MAX_BUSES) return;
    const buses = busesOf(summary);
    let part = parts.at(-1);
    if (part?.buses.length !== buses.length) parts.push(part = new MessagePart([...buses]));
    part.add(message, heardOf(message, claimed));
  });
  for await (const chunk of file?.readable ?? Deno.stdin.readable) {
    for (let at = 0; at < chunk.length; at += PIECE_BYTES) {
      for (const item of reader.push(chunk.subarray(at, at + PIECE_BYTES))) assembler.push(item);
      yield* parts.splice(0);
    }
  }
  for (const item of reader.end()) assembler.push(item);
  assembler.end();
  yield* parts;
  onSummary?.(path, summary);
}

function busesOf({ buses }: RecordingSummary): readonly string[] {
  return buses.length === 0 ? [""] : buses;
}

/** Messages of one piece of a recording. */
class MessagePart implements RecordedPart {
  readonly buses: readonly string[];
  readonly bytes = 0;
  readonly #messages: { message: Message; device: BlockDevice | undefined }[] = [];
  #firstSeq = 0;
  #read = 0;

  constructor(buses: readonly string[]) {
    this.buses = buses;
  }

  get length(): number {
    return this.#messages.length;
  }

  /** Adds a message, and what it tells of its sender. */
  add(message: Message, device: BlockDevice | undefined): void {
    this.#messages.push({ message, device });
  }

  /** Itself, with numbers. */
  numbered(firstSeq: number): this {
    this.#firstSeq = firstSeq;
    return this;
  }

  next(into: StoredFrame, learn: (device: RecordedDevice) => void): boolean {
    const next = this.#messages[this.#read];
    if (next === undefined) return false;
    const { message: { timeUs, id, pgn, bus, data, offset, length }, device } = next;
    Object.assign(into, { seq: this.#firstSeq + this.#read, timeUs, id, pgn, bus, data, offset, length });
    this.#read++;
    if (device) learn(recordedDevice(device));
    return true;
  }
}

/** What a message tells of its sender, with what it told before. */
function heardOf(message: Message, claimed: Map<number, BlockDevice>): BlockDevice | undefined {
  const { id, pgn, bus, data, offset, length } = message;
  const src = sourceOfId(id);
  const key = addressKey(bus, src);
  const known = claimed.get(key);
  const payload = data.subarray(offset, offset + length);
  const isClaim = pgn === PGN.addressClaim && length === NAME_BYTES;
  const product = pgn === PGN.productInformation ? readProductInformation(payload) : undefined;
  if (!isClaim && !(product && known)) return undefined;
  const name = isClaim ? nameFromBytes(payload) : known?.name ?? 0n;
  const rest = product ?? (known?.name === name ? known : NO_PRODUCT);
  const device = { ...NO_PRODUCT, ...rest, bus, src, name, activeFrom: 0 };
  claimed.set(key, device);
  return device;
}

function recordedDevice({ bus, src, name, ...product }: BlockDevice): RecordedDevice {
  const { manufacturerCode: code, deviceInstance, deviceClass, deviceFunction, uniqueNumber } = parseName(name);
  const texts = {
    model_id: product.modelId,
    software_version: product.softwareVersion,
    model_version: product.modelVersion,
    model_serial: product.modelSerial,
  };
  const device: Partial<Device> = {
    src,
    name: formatName(name),
    manufacturer: manufacturerName(code),
    manufacturer_code: code,
    device_class: deviceClass,
    device_function: deviceFunction,
    device_instance: deviceInstance,
    unique_number: uniqueNumber,
    ...(product.productCode > 0 && { product_code: product.productCode }),
    ...Object.fromEntries(Object.entries(texts).filter(([, text]) => text !== "")),
  };
  return { bus, src, name, device };
}

import { dirname } from "node:path";
import { errorText, type Logger } from "../base/mod.ts";
import { describeName, describeProduct } from "../broker/mod.ts";
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
  type Message,
  NAME_BYTES,
  nameFromBytes,
  sourceOfId,
  type StoredFrame,
} from "../frame/mod.ts";
import {
  ActiveDevices,
  type Block,
  type BlockDevice,
  BlockError,
  BlockReader,
  DirectoryClocks,
  JournalIndex,
  MAX_BUSES,
  NO_PRODUCT,
  openBlockFile,
  readClockSpans,
  readJournalDirectory,
  SourceUnavailableError,
} from "../journal/mod.ts";
import { PGN, readProductInformation } from "../pgn/mod.ts";

/** Consecutive frames of a recording: a block or a message. */
export interface RecordedPart {
  /** Names of the buses by index; an empty name if the recording has none. */
  readonly buses: readonly string[];
  /** Size in the file, bytes; 0 if unknown. */
  readonly bytes: number;
  /**
   * Reads the next frame; false at the end. Calls `learn` for each device that is known from this frame on. The sequence
   * number is 0 if the recording has none.
   */
  next(into: StoredFrame, learn: (device: RecordedDevice) => void): boolean;
}

/** A device and its address when frames were recorded. */
export interface RecordedDevice {
  /** Index of the bus. */
  bus: number;
  /** Source address. */
  src: number;
  /** 64-bit NAME. */
  name: bigint;
  /** The device in the form of the API, as far as it is known. */
  device: Partial<Device>;
}

/** Frames in other places than files, such as an object store. */
export interface RecordedBlocks {
  /** The blocks that may hold frames from a time on, microseconds since 1970, in the order in which they are read. */
  blocks(
    range: { fromUs?: number | undefined; toUs?: number | undefined; isCorrected?: boolean },
  ): AsyncIterable<Block>;
  /** Reports a block with unreadable frames despite a valid checksum. */
  noteDamaged(block: Block, error: BlockError): void;
  /** Number of damaged blocks found so far. */
  readonly damagedBlocks: number;
}

/** A recording that was found at a path. */
export type RecordedInput =
  & {
    /** Path; `-`: standard input. */
    path: string;
    /** Size of a file, bytes; undefined for anything else. */
    bytes: number | undefined;
  }
  & (
    /** `journal`: a journal file; `directory`: a journal directory; `recording`: a recording of another program. */
    | { kind: "journal" | "directory" | "recording" }
    | { kind: "blocks"; source: RecordedBlocks }
  );

/** A recording cannot be read. */
export class OfflineError extends Error {
  /** `OfflineError`. */
  override readonly name = "OfflineError";
}

/** Options of {@linkcode readRecorded}. */
export interface OfflineOptions {
  /** Gets warnings about damage. */
  log: Logger;
  /** Called after each recording of another program, with counts of its lines. */
  onSummary?: (path: string, summary: RecordingSummary) => void;
  /** Blocks that end before this time may be left out unread, microseconds since 1970; default: none are. */
  fromUs?: number | undefined;
  /** As well those that begin after this time; default: none. */
  toUs?: number | undefined;
  /** Called after each journal with damaged blocks, with their number. */
  onDamaged?: (path: string, blocks: number) => void;
  /** Called for each incomplete fast packet in recordings of other programs, with its bus and the identifier of its frames. */
  onIncomplete?: (bus: number, id: number) => void;
}

/** Standard input as a path. */
const STDIN = "-";
/** Bytes of other programs' recordings whose messages lie in memory at a time. */
const PIECE_BYTES = 8192;
/** First bytes of a journal file. */
const MAGIC = [0x4c, 0x50, 0x4a] as const;

/** Finds out the kind of recording at a path; `-` is standard input. @throws {OfflineError} it cannot be read */
export async function findRecorded(path: string): Promise<RecordedInput> {
  if (path === STDIN) return { kind: "recording", path, bytes: undefined };
  try {
    const { isDirectory, isFile, size } = await Deno.stat(path);
    if (isDirectory) {
      await readJournalDirectory(path);
      return { kind: "directory", path, bytes: undefined };
    }
    // The bytes of a pipe can be read only once.
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
 * Reads recordings in the given order: journal files in file order, directories by time without duplicate numbers,
 * recordings of other programs in stored order, numbered from 1. Skips damaged blocks.
 *
 * @throws {OfflineError} a file cannot be read, or is not a recording
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
      else if (input.kind === "blocks") yield* blockParts(input.source, { ...options, path: input.path });
      else {
        for await (const part of recordingParts(input.path, options)) {
          yield part.numbered(seq + 1);
          seq += part.length;
        }
      }
    } catch (error) {
      const isExpected = error instanceof BlockError || error instanceof RecordingError ||
        error instanceof Deno.errors.NotFound || error instanceof SourceUnavailableError;
      if (!isExpected) throw error;
      throw new OfflineError(`Cannot read "${input.path}": ${errorText(error)}`, { cause: error });
    }
  }
}

async function* blockParts(
  source: RecordedBlocks,
  { path, fromUs, toUs, onDamaged }: OfflineOptions & { path: string },
): AsyncGenerator<RecordedPart, void> {
  const onDamage = (block: Block, error: BlockError) => source.noteDamaged(block, error);
  for await (const block of source.blocks({ fromUs, toUs, isCorrected: true })) {
    yield new BlockPart(block, { bytes: 0, onDamage });
  }
  if (source.damagedBlocks > 0) onDamaged?.(path, source.damagedBlocks);
}

async function* directoryParts(path: string, options: OfflineOptions): AsyncGenerator<RecordedPart, void> {
  const { log } = options;
  const { wals } = await readJournalDirectory(path, { log });
  const unsealed = wals.flatMap(({ blocks }) => blocks.flatMap((block) => block.unsealed ?? []));
  const clock = await readClockSpans(path, { log });
  const index = await JournalIndex.open(path, { log, clock, unwritten: () => unsealed });
  yield* blockParts(index, { ...options, path });
}

async function* fileParts(path: string, { log, onDamaged }: OfflineOptions): AsyncGenerator<RecordedPart, void> {
  const { blocks, index: { damaged, state, header: { epochWord } } } = await openBlockFile(path);
  if (state === "torn") log.warn("journal file is torn", { path });
  if (damaged > 0) log.warn("journal file has damaged blocks", { path, blocks: damaged });
  const clocks = new DirectoryClocks();
  await clocks.add(dirname(path), { log });
  using reader = new BlockReader();
  let count = damaged;
  const onDamage = (_: Block, error: BlockError) => {
    count++;
    log.warn("damaged frames skipped", { path, reason: error.message });
  };
  for (const location of blocks) {
    const block = await reader.read(path, location).catch((error) => {
      if (!(error instanceof BlockError)) throw error;
      count++;
      log.warn("damaged block skipped", { path, offset: location.offset, reason: error.message });
    });
    if (block) yield new BlockPart(clocks.corrected(block, { path, epochWord }), { bytes: location.bytes, onDamage });
  }
  if (count > 0) onDamaged?.(path, count);
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
    this.buses = block.metadata.buses ?? [""];
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
async function* recordingParts(
  path: string,
  { onSummary, onIncomplete }: OfflineOptions,
): AsyncGenerator<MessagePart, void> {
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
    part.add(message, senderOf(message, claimed));
  }, { onIncomplete });
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

/** The sender of a claim or product information, with what earlier messages said; undefined for other messages. */
function senderOf(message: Message, claimed: Map<number, BlockDevice>): BlockDevice | undefined {
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

/** The device, without unknown parts of its product information. */
function recordedDevice({ bus, src, name, ...product }: BlockDevice): RecordedDevice {
  const known = Object.entries(describeProduct(product)).filter(([, value]) => value !== "" && value !== 0);
  return { bus, src, name, device: { src, ...describeName(name), ...Object.fromEntries(known) } };
}

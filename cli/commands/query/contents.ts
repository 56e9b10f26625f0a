import { errorText } from "@vessel/gateway/base";
import { addressKey, formatName, newStoredFrame, parseName, sourceOfId } from "@vessel/gateway/frame";
import {
  ActiveDevices,
  type Block,
  type BlockDevice,
  BlockError,
  type OrderedBlock,
  SeenBlocks,
} from "@vessel/gateway/journal";
import { manufacturerName } from "@vessel/gateway/pgn";
import { findGaps, type GapRow, type NumberedBlock } from "./gaps.ts";

/** A range of times, inclusive, microseconds since 1970. */
export interface TimeRange {
  fromUs: number;
  toUs: number;
}

/** Frames of a block that no earlier block has. */
export interface KeptBlock {
  location: OrderedBlock;
  /** Indexes of its first frame, and after its last one. */
  from: number;
  to: number;
}

/** The messages of a PGN. */
export interface KeptMessages {
  /** How many there are. */
  count: number;
  /** Blocks with at least one of them. */
  blocks: KeptBlock[];
}

/** A sender. */
export interface DeviceRow {
  bus: string | undefined;
  source: number;
  /** Undefined while its NAME is unknown, as the other texts. */
  name: string | undefined;
  manufacturer: string | undefined;
  model: string | undefined;
  /** Times of its messages, microseconds since 1970; undefined: it has sent none. */
  firstUs: number | undefined;
  lastUs: number | undefined;
  messages: number;
}

/** Contents of a recording. */
export interface Contents {
  /** By PGN. */
  messages: ReadonlyMap<number, KeptMessages>;
  devices: readonly DeviceRow[];
  gaps: readonly GapRow[];
  /** Names of the epochs by their first four bytes. */
  epochs: ReadonlyMap<number, string>;
  /** Blocks and frames that cannot be read, each with its file. */
  damage: readonly string[];
}

/** Reads a block. @throws {BlockError} it is damaged */
export type ReadBlock = (location: OrderedBlock) => Block;

/** Text of an epoch that no block names in full; empty if its file names none. */
function shortEpoch(epochWord: number): string {
  if (epochWord === 0) return "";
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setUint32(0, epochWord, true);
  return bytes.toHex();
}

/** Name of a block's bus; undefined if the block names none. */
export function busName(block: Block, bus: number): string | undefined {
  return block.metadata.buses?.[bus] || undefined;
}

/** Reads all frames of a range, once: counts them, and finds out which blocks have frames of which PGN. */
export function readContents(
  blocks: readonly OrderedBlock[],
  { read, range }: { read: ReadBlock; range: TimeRange },
): Contents {
  const counter = new Counter(range);
  const seen = new SeenBlocks();
  const numbered: NumberedBlock[] = [];
  const epochs = new Map<number, string>();
  const damage: string[] = [];
  for (const location of blocks) {
    const { path, offset, bytes, epochWord, unsealed } = location;
    try {
      const block = read(location);
      const { epoch, gap } = block.metadata;
      if (epoch !== undefined || !epochs.has(epochWord)) epochs.set(epochWord, epoch?.toHex() ?? shortEpoch(epochWord));
      let lastUs = block.baseTimeUs;
      for (const part of seen.fresh(block, epochWord)) {
        const from = block.frameCount === part.frameCount ? 0 : (part.baseSeq ?? 0) - (block.baseSeq ?? 0);
        const counted = counter.count(part, { location, from, to: from + part.frameCount });
        lastUs = Math.max(lastUs, counted.lastUs);
        const why = counted.damage;
        if (why !== undefined) damage.push(`"${path}": frames of the block at byte ${offset} skipped: ${why}`);
      }
      if (block.baseSeq === undefined || block.frameCount === 0) continue;
      const numbers = { firstSeq: block.baseSeq, lastSeq: block.baseSeq + block.frameCount - 1 };
      numbered.push({ path, offset, bytes, unsealed, ...numbers, timeUs: block.baseTimeUs, gap, epochWord, lastUs });
    } catch (error) {
      if (!(error instanceof BlockError)) throw error;
      damage.push(`"${path}": damaged block at byte ${offset} skipped: ${error.message}`);
    }
  }
  return { messages: counter.messages, devices: counter.devices, gaps: findGaps(numbered), epochs, damage };
}

/** Counts messages by PGN and by sender. */
class Counter {
  readonly messages = new Map<number, KeptMessages>();
  readonly #range: TimeRange;
  readonly #rows = new Map<string, DeviceRow>();
  /** Senders by address, in the current block. */
  readonly #holders = new Map<number, DeviceRow>();
  readonly #frame = newStoredFrame();

  constructor(range: TimeRange) {
    this.#range = range;
  }

  get devices(): DeviceRow[] {
    return [...this.#rows.values()];
  }

  /** Counts the frames of a block. Returns their latest time, and why the next one cannot be read. */
  count(block: Block, kept: KeptBlock): { lastUs: number; damage: string | undefined } {
    const { fromUs, toUs } = this.#range;
    const frame = this.#frame;
    const cursor = block.frames();
    const active = new ActiveDevices(block.devices);
    const learn = (device: BlockDevice) => this.#learn(block, device);
    this.#holders.clear();
    let lastUs = block.baseTimeUs;
    try {
      while (cursor.next(frame)) {
        active.advance(cursor.index - 1, learn);
        const { timeUs } = frame;
        if (timeUs > lastUs) lastUs = timeUs;
        if (timeUs < fromUs || timeUs > toUs) continue;
        this.#countMessage(kept);
        const source = sourceOfId(frame.id);
        const key = addressKey(frame.bus, source);
        const row = this.#holders.get(key) ?? this.#learn(block, { bus: frame.bus, src: source });
        row.messages++;
        if (!((row.firstUs ?? Infinity) <= timeUs)) row.firstUs = timeUs;
        if (!((row.lastUs ?? -Infinity) >= timeUs)) row.lastUs = timeUs;
      }
      return { lastUs, damage: undefined };
    } catch (error) {
      if (!(error instanceof BlockError)) throw error;
      return { lastUs, damage: errorText(error) };
    }
  }

  #countMessage(kept: KeptBlock): void {
    const { pgn } = this.#frame;
    let messages = this.messages.get(pgn);
    if (messages === undefined) this.messages.set(pgn, messages = { count: 0, blocks: [] });
    messages.count++;
    if (messages.blocks.at(-1) !== kept) messages.blocks.push(kept);
  }

  /** Notes that a device holds an address. Returns its row. */
  #learn(
    block: Block,
    { bus, src, name, modelId }: Pick<BlockDevice, "bus" | "src"> & Partial<BlockDevice>,
  ): DeviceRow {
    const busText = busName(block, bus);
    const key = `${src} ${name ?? ""} ${busText ?? ""}`;
    let row = this.#rows.get(key);
    if (row === undefined) {
      const manufacturer = name === undefined ? undefined : manufacturerName(parseName(name).manufacturerCode);
      const texts = { name: name === undefined ? undefined : formatName(name), manufacturer, model: undefined };
      row = { bus: busText, source: src, ...texts, firstUs: undefined, lastUs: undefined, messages: 0 };
      this.#rows.set(key, row);
    }
    if (modelId) row.model = modelId;
    this.#holders.set(addressKey(bus, src), row);
    return row;
  }
}

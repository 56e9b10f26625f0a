import { newStoredFrame, type StoredFrame } from "@vessel/gateway/frame";
import {
  ActiveDevices,
  type Block,
  BlockBuilder,
  type BlockDevice,
  type BlockMetadata,
  compress,
  openBlockFile,
} from "@vessel/gateway/journal";
import { fieldsOfPayload, isProprietary, type ItemDescription } from "@vessel/gateway/pgn";
import { blocksOf } from "../inspect/file.ts";
import { OutputFile } from "../repair/output.ts";
import type { ReportContent } from "./collect.ts";

const POSITION = /latitude|longitude/;
/** Types of fields whose meaning the payload alone does not tell. */
const OPAQUE: ReadonlySet<string> = new Set(["binary", "variable", "value", "parameters"]);
/** NAMEs of devices, which are described as bytes. */
const NAME_FIELD = /network_id_name$/;
/** Digits of a coordinate, in degrees or degrees and minutes. */
const COORDINATE = /\d[°º]|-?\d{1,3}\.\d{3,}|\d{1,3}\s+\d{1,2}\.\d/;
const WITHHELD = "(withheld: it may tell a position)";

/**
 * Whether a message may tell a position, by the definitions: a field is a latitude or longitude, the definition does not tell
 * what the field is, there is no definition, or a maker has defined it, of which not all fields are known.
 */
export function mayTellPosition(pgn: number, payload: Uint8Array): boolean {
  if (isProprietary(pgn)) return true;
  const fields = fieldsOfPayload(pgn, payload);
  return fields === undefined || fields.values().some(tellsPosition);
}

function tellsPosition(item: ItemDescription): boolean {
  if (item.type === "group") return item.fields.some(tellsPosition);
  return POSITION.test(item.name) || (OPAQUE.has(item.type) && !NAME_FIELD.test(item.name));
}

/** Smaller than others: each message that is left out begins another block. */
const BLOCK_BYTES = 16_384;

/**
 * Copies a journal file without the messages that may tell a position. Their numbers are missing in the copy.
 *
 * @returns messages left out, and those of blocks that cannot be read
 */
export async function copyWithoutPositions(
  path: string,
  { directory, name }: { directory: string; name: string },
): Promise<{ removed: number; kept: number }> {
  const file = await openBlockFile(path);
  const header = { ...file.index.header, version: 2, blockBytes: BLOCK_BYTES, compression: "zstd" } as const;
  const output = await OutputFile.create(directory, { name, header });
  const copy = new Copy();
  try {
    for await (const found of blocksOf(file)) {
      if (found.kind === "damaged") continue;
      copy.add(found.stored.block);
      for (const each of copy.take()) await output.append(each);
    }
    await output.end();
  } catch (error) {
    await output.abandon();
    throw error;
  }
  return { removed: copy.removed, kept: copy.kept };
}

/** Rebuilds blocks without the messages that may tell a position. */
class Copy {
  removed = 0;
  kept = 0;
  readonly #builder = new BlockBuilder({ blockBytes: BLOCK_BYTES });
  readonly #frame = newStoredFrame();
  #done: { timeUs: number; firstSeq: number; data: Uint8Array<ArrayBuffer> }[] = [];

  add(block: Block): void {
    const devices = new Map<string, BlockDevice>();
    const active = new ActiveDevices(block.devices);
    const { digests: _digests, gap, ...metadata } = block.metadata;
    let expected = gap?.firstMissing ?? block.baseSeq ?? 0;
    let isOpen = false;
    const frame = this.#frame;
    for (const cursor = block.frames(); cursor.next(frame);) {
      active.advance(cursor.index - 1, (device) => devices.set(`${device.bus} ${device.src}`, device));
      const { data, offset, length, pgn, seq } = frame;
      if (mayTellPosition(pgn, data.subarray(offset, offset + length))) {
        this.removed++;
        continue;
      }
      const reason = gap?.reason ?? "source";
      const missing = seq > expected ? { gap: { firstMissing: expected, reason } as const } : {};
      if (!isOpen || seq > expected) this.#begin({ ...metadata, ...missing }, devices);
      isOpen = true;
      this.#append(frame, () => this.#begin(metadata, devices));
      expected = seq + 1;
    }
    if (isOpen) this.#finish();
  }

  /** Blocks that are complete. */
  take() {
    return this.#done.splice(0);
  }

  #append(frame: StoredFrame, begin: () => void): void {
    this.kept++;
    if (this.#builder.append(frame.seq, frame) === "added") return;
    begin();
    this.#builder.append(frame.seq, frame);
  }

  #begin(metadata: BlockMetadata, devices: ReadonlyMap<string, BlockDevice>): void {
    this.#finish();
    this.#builder.begin({ devices: Array.from(devices.values(), (each) => ({ ...each, activeFrom: 0 })), metadata });
  }

  #finish(): void {
    if (this.#builder.frames === 0) return;
    const { firstTimeUs: timeUs, firstSeq } = this.#builder;
    this.#done.push({ timeUs, firstSeq, data: compress(this.#builder.finish(), "zstd") });
  }
}

/** The content without texts that may tell a position. */
export function withoutPositions({ doctor, alerts, events, health, ...content }: ReportContent): ReportContent {
  return {
    ...content,
    doctor: doctor && {
      ...doctor,
      findings: doctor.findings.map((each) => ({ ...each, text: withheld(each.text), advice: withheld(each.advice) })),
    },
    alerts: alerts.map((each) => ({ ...each, summary: withheld(each.summary) })),
    events: events.map((each) => ({ ...each, text: each.kind === "mark" ? WITHHELD : withheld(each.text) })),
    health: health && {
      ...health,
      components: Object.fromEntries(
        Object.entries(health.components).map((
          [name, { message, ...rest }],
        ) => [name, { ...rest, ...(message !== undefined && { message: withheld(message) }) }]),
      ),
    },
  };
}

function withheld(text: string): string {
  return COORDINATE.test(text) ? WITHHELD : text;
}

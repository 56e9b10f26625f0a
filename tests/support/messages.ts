import { buildCanId, type CanFrame, formatHex, type Message, type NameFields, pgnOfId } from "../../src/frame/mod.ts";

/** What a test wants to say of a frame; the rest has defaults. */
export interface FrameInit {
  pgn?: number;
  src?: number;
  dst?: number;
  prio?: number;
  bus?: number;
  data?: ArrayLike<number>;
  monoMs?: number;
  /** Default: `monoMs` after {@linkcode START_US}. */
  timeUs?: number;
}

/** 2026-01-02T03:04:05.000Z, when tests begin. */
export const START_US = Date.UTC(2026, 0, 2, 3, 4, 5) * 1000;

/** A CAN frame. Its bytes lie inside a larger buffer, as a bus hands them over. */
export function canFrame(init: FrameInit = {}): CanFrame {
  const { pgn = 127250, src = 1, dst = 255, prio = 2, data = [1, 2, 3, 4, 5, 6, 7, 8], monoMs = 0 } = init;
  const offset = 3;
  const buffer = new Uint8Array(data.length + 7).fill(0xee);
  buffer.set(Uint8Array.from(data), offset);
  const timeUs = init.timeUs ?? START_US + monoMs * 1000;
  return { id: buildCanId({ prio, pgn, src, dst }), timeUs, monoMs, data: buffer, offset, length: data.length };
}

/** A whole message. */
export function message(init: FrameInit = {}): Message {
  const frame = canFrame(init);
  return { ...frame, bus: init.bus ?? 0, pgn: pgnOfId(frame.id) };
}

/** A NAME whose fields are zero but for those given. */
export function nameFields(fields: Partial<NameFields> = {}): NameFields {
  return {
    uniqueNumber: 0,
    manufacturerCode: 0,
    deviceInstance: 0,
    deviceFunction: 0,
    deviceClass: 0,
    systemInstance: 0,
    industryGroup: 0,
    arbitraryAddressCapable: false,
    ...fields,
  };
}

/** An address claim (PGN 60928). */
export function claim(name: bigint, init: Omit<FrameInit, "pgn" | "data"> = {}): Message {
  const data = new Uint8Array(8);
  new DataView(data.buffer).setBigUint64(0, name, true);
  return message({ ...init, pgn: 60928, data });
}

/** Product information (PGN 126996) with `model` as its model, cut to `length` bytes. */
export function product(model: string, { length = 134, ...init }: FrameInit & { length?: number } = {}): Message {
  const data = new Uint8Array(134).fill(0xff);
  data.set([0x34, 0x08, 0x39, 0x05]);
  data.set(new TextEncoder().encode(model), 4);
  data.set(new TextEncoder().encode("1.0.2"), 36);
  data.set(new TextEncoder().encode("rev B"), 68);
  data.set(new TextEncoder().encode("SN-77"), 100);
  return message({ ...init, pgn: 126996, data: data.subarray(0, length) });
}

/** A message as a value that compares; buffers are reused, so take it at once. */
export interface Seen {
  pgn: number;
  id: number;
  bus: number;
  timeUs: number;
  data: string;
}

/** Copies what a test wants to compare of a message. */
export function seen({ pgn, id, bus, timeUs, data, offset, length }: Message): Seen {
  return { pgn, id, bus, timeUs, data: formatHex(data, { start: offset, length }) };
}

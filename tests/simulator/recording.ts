import { type CanFrame, parseCanId } from "../../src/frame/mod.ts";
import { isFastPacket } from "../../src/pgn/mod.ts";
import { SimulatedBoat, type SimulatedBoatOptions } from "../../src/simulator/mod.ts";

/** A frame of a simulated boat. */
export interface Sent {
  atMs: number;
  id: number;
  data: Uint8Array;
}

/** A whole message of a simulated boat. */
export interface Told {
  atMs: number;
  prio: number;
  pgn: number;
  src: number;
  dst: number;
  payload: Uint8Array;
}

/** A clock that stands still. */
export const STILL = { wallUs: () => START_US, monoMs: () => 0 };
/** 2025-06-15T12:00:00Z. */
export const START_US = Date.UTC(2025, 5, 15, 12) * 1000;

/** Records the frames of a simulated boat. */
export function record(options: Partial<SimulatedBoatOptions> = {}): { boat: SimulatedBoat; sent: Sent[] } {
  const sent: Sent[] = [];
  const boat: SimulatedBoat = new SimulatedBoat({
    seed: 1,
    startUs: START_US,
    clock: STILL,
    send: (id, data) => sent.push({ atMs: boat?.nowMs ?? 0, id, data }),
    ...options,
  });
  return { boat, sent };
}

/** Puts fast packets together again. Fails on anything that is not in order. */
export function messages(sent: readonly Sent[]): Told[] {
  const open = new Map<string, { header: number; length: number; bytes: number[]; next: number }>();
  const told: Told[] = [];
  for (const { atMs, id, data } of sent) {
    const { pgn, prio, src, dst } = parseCanId(id);
    const tell = (payload: Uint8Array) => told.push({ atMs, pgn, prio, src, dst, payload });
    if (!isFastPacket(pgn)) {
      tell(data);
      continue;
    }
    const key = `${pgn}/${src}`;
    const counter = data[0]! & 0x1f;
    if (counter === 0) {
      if (open.has(key)) throw new Error(`fast packet ${key} began before the last one ended`);
      open.set(key, { header: data[0]!, length: data[1]!, bytes: [...data.subarray(2)], next: 1 });
    } else {
      const packet = open.get(key)!;
      if (data[0] !== packet.header + packet.next++) throw new Error(`fast packet ${key} is out of order`);
      packet.bytes.push(...data.subarray(1));
    }
    const { length, bytes } = open.get(key)!;
    if (bytes.length < length) continue;
    open.delete(key);
    tell(Uint8Array.from(bytes.slice(0, length)));
  }
  if (open.size > 0) throw new Error(`unfinished fast packets: ${[...open.keys()]}`);
  return told;
}

/** A frame as a bus hands it over, inside a larger buffer. */
export function canFrame(id: number, data: readonly number[]): CanFrame {
  return { id, timeUs: 0, monoMs: 0, data: Uint8Array.from([0xaa, ...data, 0xbb]), offset: 1, length: data.length };
}

/** Eight bytes of a NAME. */
export function nameBytes(name: bigint): number[] {
  return Array.from({ length: 8 }, (_, i) => Number((name >> BigInt(8 * i)) & 0xffn));
}

/** Reads an unsigned little-endian number. */
export function unsigned(payload: Uint8Array, [at, length]: readonly [number, number]): number {
  let value = 0;
  for (let i = length - 1; i >= 0; i--) value = value * 256 + payload[at + i]!;
  return value;
}

/** Reads a two's complement little-endian number. */
export function signed(payload: Uint8Array, [at, length]: readonly [number, number]): number {
  const value = unsigned(payload, [at, length]);
  return value >= 2 ** (8 * length - 1) ? value - 2 ** (8 * length) : value;
}

import { Assembler, splitFastPacket } from "../../src/can/mod.ts";
import type { CanFrame } from "../../src/frame/mod.ts";
import { canFrame, type FrameInit, type Seen, seen } from "./messages.ts";

const TRANSPORT_CONTROL = 60416;
const TRANSPORT_DATA = 60160;

/** An assembler with all that it has emitted. */
export function collector(
  options: { bus?: number; maxAssemblies?: number } = {},
): { assembler: Assembler; out: Seen[] } {
  const out: Seen[] = [];
  return { assembler: new Assembler((message) => out.push(seen(message)), options), out };
}

/** Pushes frames one after the other. */
export function pushAll(assembler: Assembler, frames: Iterable<CanFrame>): void {
  for (const frame of frames) assembler.push(frame);
}

/** The frames of a fast packet. */
export function fast(
  payload: Uint8Array,
  { sequence = 0, ...init }: FrameInit & { sequence?: number } = {},
): CanFrame[] {
  return splitFastPacket(payload, sequence).map((data) => canFrame({ pgn: 129029, ...init, data }));
}

/** What a transport session carries, and between whom. */
export interface TransportInit extends FrameInit {
  /** PGN of the message inside. */
  inner?: number;
  payload: Uint8Array;
}

function announce(kind: number, { inner = 65240, payload, ...init }: TransportInit): CanFrame {
  const { length } = payload;
  const last = kind === 32 ? 0xff : 0x10;
  const pgn = [inner & 0xff, (inner >> 8) & 0xff, inner >> 16];
  const data = [kind, length & 0xff, length >> 8, Math.ceil(length / 7), last, ...pgn];
  return canFrame({ prio: 7, ...init, pgn: TRANSPORT_CONTROL, data });
}

/** Broadcast announcement. */
export function bam(init: TransportInit): CanFrame {
  return announce(32, { ...init, dst: 255 });
}

/** Request to send, to `dst`. */
export function rts(init: TransportInit): CanFrame {
  return announce(16, init);
}

/** Another connection management frame, from `src` to `dst`. */
export function control(
  kind: "cts" | "end" | "abort",
  { inner = 65240, ...init }: FrameInit & { inner?: number },
): CanFrame {
  const byte = { cts: 17, end: 19, abort: 255 }[kind];
  const data = [byte, 1, 1, 0xff, 0xff, inner & 0xff, (inner >> 8) & 0xff, inner >> 16];
  return canFrame({ prio: 7, ...init, pgn: TRANSPORT_CONTROL, data });
}

/** The data packets of a session, the last one padded with 0xFF. */
export function packets({ payload, inner: _, ...init }: TransportInit): CanFrame[] {
  return Array.from({ length: Math.ceil(payload.length / 7) }, (__, i) => {
    const data = new Uint8Array(8).fill(0xff);
    data[0] = i + 1;
    data.set(payload.subarray(i * 7, i * 7 + 7), 1);
    return canFrame({ prio: 7, ...init, pgn: TRANSPORT_DATA, data });
  });
}

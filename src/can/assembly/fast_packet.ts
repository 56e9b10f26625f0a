import { MAX_CAN_BYTES, MAX_FAST_PACKET_BYTES } from "../../frame/mod.ts";

/** Payload bytes in the first frame of a fast packet, after its two header bytes. */
export const FAST_FIRST_BYTES = 6;
/** Payload bytes in each following frame, after its header byte. */
export const FAST_NEXT_BYTES = 7;

/** Number of CAN frames of a fast packet with this many payload bytes. */
export function fastPacketFrames(length: number): number {
  return length <= FAST_FIRST_BYTES ? 1 : 1 + Math.ceil((length - FAST_FIRST_BYTES) / FAST_NEXT_BYTES);
}

/**
 * Splits a payload into the frames of an NMEA 2000 fast packet, the last one padded with 0xFF.
 *
 * @param payload 1 to 223 bytes
 * @param sequence sequence counter 0-7; consecutive messages of a PGN count up
 * @throws {RangeError} the payload does not fit
 */
export function splitFastPacket(payload: Uint8Array, sequence: number): Uint8Array<ArrayBuffer>[] {
  if (payload.length < 1 || payload.length > MAX_FAST_PACKET_BYTES) {
    throw new RangeError(`Cannot split ${payload.length} bytes: a fast packet carries 1 to ${MAX_FAST_PACKET_BYTES}`);
  }
  const frames: Uint8Array<ArrayBuffer>[] = [];
  let at = 0;
  for (let index = 0; index < fastPacketFrames(payload.length); index++) {
    const frame = new Uint8Array(MAX_CAN_BYTES).fill(0xff);
    frame[0] = ((sequence & 7) << 5) | index;
    if (index === 0) frame[1] = payload.length;
    const capacity = index === 0 ? FAST_FIRST_BYTES : FAST_NEXT_BYTES;
    frame.set(payload.subarray(at, at + capacity), MAX_CAN_BYTES - capacity);
    at += capacity;
    frames.push(frame);
  }
  return frames;
}

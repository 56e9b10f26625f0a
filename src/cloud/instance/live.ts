import { type Message, pgnOfId } from "../../frame/mod.ts";
import { MAX_BUSES } from "../../journal/mod.ts";
import { type LiveFrame, RangesFullError, RpcError } from "../../replication/mod.ts";
import type { Received } from "../state/received.ts";

/** The 29 bits of a CAN identifier; above them is the index of the bus. */
const ID_MASK = 0x1fffffff;
const BUS_SHIFT = 29;

/** Copies a live frame into a message, whose bytes are the frame's own. */
export function readLive({ timestampUs, canId, data }: LiveFrame, into: Message): void {
  into.id = canId & ID_MASK;
  into.bus = canId >>> BUS_SHIFT & (MAX_BUSES - 1);
  into.pgn = pgnOfId(into.id);
  into.timeUs = timestampUs;
  into.monoMs = timestampUs / 1000;
  into.data = data;
  into.length = data.length;
}

/**
 * Notes a live frame. Gives false when it was here before.
 *
 * @throws {RpcError} its number cannot be, or there are too many holes
 */
export function addLive(received: Received, seq: number): boolean {
  try {
    return received.addLive(seq);
  } catch (error) {
    if (error instanceof RangesFullError) throw new RpcError("RESOURCE_EXHAUSTED", `too many holes: ${error.message}`);
    if (error instanceof RangeError) throw new RpcError("INVALID_ARGUMENT", error.message);
    throw error;
  }
}

/** What a boat is told that is to come again later. */
export function unavailable(reason: string): RpcError {
  return new RpcError("UNAVAILABLE", reason);
}

import { CAN_ID_MASK, type Message, pgnOfId, unpackBus } from "../../frame/mod.ts";
import { type LiveFrame, RangesFullError, RpcError } from "../../replication/mod.ts";
import type { Received } from "../state/received.ts";

/** Copies a live frame into a message, whose bytes are the frame's own. */
export function readLive({ timestampUs, canId, data }: LiveFrame, into: Message): void {
  into.id = canId & CAN_ID_MASK;
  into.bus = unpackBus(canId);
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

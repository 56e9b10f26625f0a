import { RangesFullError, RpcError } from "../replication/mod.ts";
import type { Received } from "./received.ts";

/** What a boat is told for which nothing can be done now. */
export function unavailable(reason: string): RpcError {
  return new RpcError("UNAVAILABLE", reason);
}

/**
 * Notes that a live frame came. False when it was here before.
 *
 * @throws {RpcError} `RESOURCE_EXHAUSTED`: there are too many holes; `INVALID_ARGUMENT`: no frame has this number
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

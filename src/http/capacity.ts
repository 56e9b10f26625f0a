import { overloaded } from "./reply.ts";
import type { StreamHub } from "../stream/mod.ts";

/** Retry-After of a 503, seconds. */
export const RETRY_AFTER_S = 5;

export interface StreamAdmission {
  hub: StreamHub;
  /** Limits that may change while running. */
  limits: () => { maxStreams: number; streamBufferBytes: number };
}

/**
 * Checks that one more stream may be opened.
 *
 * @returns bufferBytes: maximum bytes that may wait for its client
 * @throws {ApiError} 503: all streams or all their memory are in use
 */
export function admitStream({ hub, limits }: StreamAdmission): { bufferBytes: number } {
  const { maxStreams, streamBufferBytes } = limits();
  if (hub.openStreams >= maxStreams) {
    throw overloaded(`All ${maxStreams} streams are in use: see -max-streams`, RETRY_AFTER_S);
  }
  if (hub.memory.isFull) {
    throw overloaded("Slow stream clients use all the stream memory: see -stream-memory", RETRY_AFTER_S);
  }
  return { bufferBytes: streamBufferBytes };
}

import { overloaded } from "./reply.ts";
import type { StreamHub } from "../stream/mod.ts";

/** Seconds after which a client that found no free place may try again. */
export const RETRY_AFTER_S = 5;

/** What decides whether another stream can be opened. */
export interface StreamRoom {
  hub: StreamHub;
  /** Limits that may change while running. */
  limits: () => { maxStreams: number; streamBufferBytes: number };
}

/**
 * Most bytes that may wait for one more stream.
 *
 * @throws {ApiError} 503, all streams or all their memory are in use
 */
export function admitStream({ hub, limits }: StreamRoom): { bufferBytes: number } {
  const { maxStreams, streamBufferBytes } = limits();
  if (hub.taken >= maxStreams) {
    throw overloaded(`All ${maxStreams} streams are in use: see -max-streams`, RETRY_AFTER_S);
  }
  if (hub.memory.isFull) {
    throw overloaded("Streams whose clients do not read use all their memory: see -stream-memory", RETRY_AFTER_S);
  }
  return { bufferBytes: streamBufferBytes };
}

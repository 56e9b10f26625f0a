import type { Range } from "../../replication/mod.ts";

/** Time without a block from a peer's boat before its holes are requested again, milliseconds. */
export const PEER_HOLES_WAIT_MS = 300_000;
/**
 * Newest frames that the boat then sends live again, so that the reconnect leaves no hole. They are in its ring, and are
 * fewer than the lag of 10 000 frames at which both sides reconnect.
 */
export const PEER_REPLAY_FRAMES = 5000;

/** Progress of a peer's boat while it streams. */
export interface PeerProgress {
  /** Its newest hole. */
  hole: Range | undefined;
  /** Size of its journal that it has declared. */
  journalBytes: number;
  /** Blocks received from it. */
  blocks: number;
}

/**
 * Requests holes in the open block of a peer's boat. Such a boat sends blocks only from its files, and reads them once for
 * each connection. Therefore the cloud ends its live stream once the journal has grown, which means that the open block was
 * written. The next handshake requests the holes again.
 *
 * Each hole is requested again once. The gap of the reconnect itself causes no further one: a stream is ended at most once
 * for each connection that the boat makes on its own. Pure.
 */
export class PeerHoles {
  /** Holes below this number were requested again. */
  #askedBelow = 1;
  #isAsking = false;
  /** Time of the last block, and the smallest journal size since. */
  #waiting: { sinceMs: number; blocks: number; journalBytes: number } | undefined;

  /** True after a stream was ended, until the next handshake. */
  get isAsking(): boolean {
    return this.#isAsking;
  }

  /** The boat has made a handshake. */
  noteHandshake(headSeq: number): void {
    if (this.#isAsking) this.#askedBelow = headSeq + 1;
    this.#isAsking = false;
    this.#waiting = undefined;
  }

  /** True, once, if the live stream must end now. Must be called every second while it is open. */
  isDue({ hole, journalBytes, blocks }: PeerProgress, nowMs: number): boolean {
    const waiting = this.#waiting;
    if (this.#isAsking || !hole || hole.end <= this.#askedBelow) this.#waiting = undefined;
    else if (waiting?.blocks !== blocks) this.#waiting = { sinceMs: nowMs, blocks, journalBytes };
    else {
      // Retention makes the journal smaller.
      waiting.journalBytes = Math.min(waiting.journalBytes, journalBytes);
      this.#isAsking = nowMs - waiting.sinceMs >= PEER_HOLES_WAIT_MS && journalBytes > waiting.journalBytes;
      return this.#isAsking;
    }
    return false;
  }
}

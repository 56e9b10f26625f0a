import type { Range } from "../../replication/mod.ts";

/** Time that a hole of a peer's boat has to stand, without any block from it, before it is asked for again, milliseconds. */
export const PEER_HOLES_WAIT_MS = 300_000;
/**
 * Newest frames that the boat sends live again after that, so that the reconnect leaves no hole. Its ring has them, and it
 * stays below the lag of 10 000 frames at which both sides reconnect.
 */
export const PEER_REPLAY_FRAMES = 5000;

/** What is known of a peer's boat while it streams. */
export interface PeerProgress {
  /** The newest of its holes. */
  hole: Range | undefined;
  /** Size of its journal, so it says. */
  journalBytes: number;
  /** Blocks that came from it. */
  blocks: number;
}

/**
 * Holes in the open block of a peer's boat. Such a boat sends as blocks only what is in its files, and reads them once for
 * each connection. So its live stream is ended once the journal has grown, which means that the open block was written: the
 * handshake that follows asks for the holes again.
 *
 * A hole is asked for again once, and the gap of the reconnect itself never causes another reconnect: a stream is ended at
 * most once for each time that the boat connects for a reason of its own. Pure.
 */
export class PeerHoles {
  /** Holes below this number were asked for again. */
  #askedBelow = 1;
  #isAsking = false;
  /** Since when no block has come, and the smallest size of the boat's journal since. */
  #waiting: { sinceMs: number; blocks: number; journalBytes: number } | undefined;

  /** Whether a stream was ended, and the boat has made no handshake since. */
  get isAsking(): boolean {
    return this.#isAsking;
  }

  /** The boat has made a handshake. */
  met(headSeq: number): void {
    if (this.#isAsking) this.#askedBelow = headSeq + 1;
    this.#isAsking = false;
    this.#waiting = undefined;
  }

  /** Whether the live stream is to be ended now; true once. To be called every second while it is open. */
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

import type { Clock, Logger } from "../base/mod.ts";

/** Current state of a slot. */
export interface SlotState {
  id: string;
  isConnected: boolean;
  /** Number of the next frame for its client. */
  cursor: number;
  /** After this time without a client its frames are given up, milliseconds. */
  timeoutMs: number;
}

/** Last observed and logged state of a slot. */
interface Seen {
  isConnected: boolean;
  /** Time of the last change, monotonic milliseconds. */
  sinceMs: number;
  /** `isConnected` as logged last; undefined before the first log line. */
  logged: boolean | undefined;
  loggedMs: number;
  /** Frames given up since the client was last connected, before filtering. */
  givenUpFrames: number;
}

/** A state must last this long before it is logged: clients reconnect. */
const SETTLED_MS = 10_000;
/** Shortest interval between two log lines about one slot. */
const SLOT_LOG_INTERVAL_MS = 60_000;

/** Logs when the client of a slot connects or disconnects, once per lasting change, and the frames given up meanwhile. */
export class SlotLog {
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #slots = new Map<string, Seen>();

  constructor({ clock, log }: { clock: Clock; log: Logger }) {
    this.#clock = clock;
    this.#log = log;
  }

  /** Updates the state of a slot. To be called periodically; `head` is the newest sequence number. */
  update({ id, isConnected, cursor, timeoutMs }: SlotState, head: number): void {
    const nowMs = this.#clock.monoMs();
    const seen = this.#seen(id, { isConnected, nowMs });
    if (seen.isConnected !== isConnected) Object.assign(seen, { isConnected, sinceMs: nowMs });
    if (seen.logged === isConnected || nowMs - seen.sinceMs < SETTLED_MS) return;
    if (nowMs - seen.loggedMs < SLOT_LOG_INTERVAL_MS) return;
    Object.assign(seen, { logged: isConnected, loggedMs: nowMs });
    if (isConnected) {
      const { givenUpFrames } = seen;
      this.#log.info("slot client connected", { client: id, ...(givenUpFrames > 0 && { givenUpFrames }) });
      seen.givenUpFrames = 0;
    } else {
      const waitingFrames = head + 1 - cursor;
      this.#log.warn("slot client away", { client: id, cursor, waitingFrames, givenUpAfterMs: timeoutMs });
    }
  }

  /** Records that the frames from the cursor to `head` are given up. Logged once until the client is connected again. */
  expired({ id, cursor }: SlotState, head: number): void {
    const count = head + 1 - cursor;
    if (count <= 0) return;
    const seen = this.#seen(id, { isConnected: false, nowMs: this.#clock.monoMs() });
    if (seen.givenUpFrames === 0) {
      this.#log.warn("slot frames given up, later ones as well until its client is connected", {
        client: id,
        fromSeq: cursor,
        toSeq: head,
      });
    }
    seen.givenUpFrames += count;
  }

  #seen(id: string, { isConnected, nowMs }: { isConnected: boolean; nowMs: number }): Seen {
    let seen = this.#slots.get(id);
    if (!seen) {
      seen = { isConnected, sinceMs: nowMs, logged: undefined, loggedMs: -Infinity, givenUpFrames: 0 };
      this.#slots.set(id, seen);
    }
    return seen;
  }
}

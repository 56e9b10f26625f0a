import type { Logger } from "../base/mod.ts";
import type { StoredFrame } from "../frame/mod.ts";
import { FallenBehindError, type FrameCursor, type ReadLimits } from "./cursor.ts";

/**
 * Why a stream has ended.
 *
 * - `left`: the client has disconnected
 * - `stopped`: the server is stopping
 * - `superseded`: another stream of the session was opened
 * - `deleted`: the session was deleted
 * - `new_epoch`: sequence numbers have started again at 1
 * - `failed`: reading failed, because of the disk or an internal error
 * - `fallen_behind`: the next frames have been deleted
 */
export type StreamEnd =
  | { code: "left" | "stopped" | "superseded" | "deleted" | "new_epoch" | "failed" }
  | { code: "fallen_behind"; oldestSeq: number };

/** Stream of a session's frames. The caller pulls the frames and writes them to the client. */
export class SessionStream {
  readonly #id: string;
  readonly #cursor: FrameCursor;
  readonly #log: Logger;
  readonly #ended: (how: StreamEnd) => void;
  #isOpen = true;

  /** @param options.ended called once, when the stream ends for any reason */
  constructor(
    id: string,
    { cursor, log, ended }: { cursor: FrameCursor; log: Logger; ended: (how: StreamEnd) => void },
  ) {
    this.#id = id;
    this.#cursor = cursor;
    this.#log = log;
    this.#ended = ended;
  }

  /** Highest number read, whether or not the filter accepted its frame. */
  get readThrough(): number {
    return this.#cursor.nextSeq - 1;
  }

  /** False when the stream has ended. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Waits for frames and reads them: see {@linkcode FrameCursor.read}. Returns their number; 0: the stream has ended. */
  async read(onFrame: (frame: StoredFrame) => void, limits: ReadLimits): Promise<number> {
    try {
      return await this.#cursor.read(onFrame, limits);
    } catch (error) {
      const client = this.#id;
      if (error instanceof FallenBehindError) {
        const { name, oldestSeq } = error;
        this.#log.warn("session has fallen behind", { client, error: name, next: this.#cursor.nextSeq, oldestSeq });
        this.end({ code: "fallen_behind", oldestSeq });
      } else {
        const stack = error instanceof Error ? error.stack : undefined;
        this.#log.error("session cannot be read", { client, error: String(error), stack });
        this.end({ code: "failed" });
      }
      return 0;
    }
  }

  /** Ends the stream; a waiting read returns 0. */
  end(how: StreamEnd): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#cursor.close();
    this.#ended(how);
  }
}

import type { Logger } from "../base/mod.ts";
import type { StoredFrame } from "../frame/mod.ts";
import { FallenBehindError, type FrameCursor, type ReadLimits } from "./cursor.ts";

/**
 * Why a stream has ended.
 *
 * - `left`: the client has gone
 * - `stopped`: the server stops
 * - `superseded`: the client has opened another one
 * - `deleted`: the session is no more
 * - `new_epoch`: numbers have begun again at 1
 * - `failed`: the frames cannot be read, by a fault of the disk or of ours
 * - `fallen_behind`: frames that were there are gone
 */
export type StreamEnd =
  | { code: "left" | "stopped" | "superseded" | "deleted" | "new_epoch" | "failed" }
  | { code: "fallen_behind"; oldestSeq: number };

/** The frames of a session on their way to its client, pulled by whoever writes them. */
export class SessionStream {
  readonly #id: string;
  readonly #cursor: FrameCursor;
  readonly #log: Logger;
  readonly #ended: (how: StreamEnd) => void;
  #isOpen = true;

  /** @param options.ended called once, whoever ends it */
  constructor(
    id: string,
    { cursor, log, ended }: { cursor: FrameCursor; log: Logger; ended: (how: StreamEnd) => void },
  ) {
    this.#id = id;
    this.#cursor = cursor;
    this.#log = log;
    this.#ended = ended;
  }

  /** Newest number that was read, whether or not its frame was wanted. */
  get readThrough(): number {
    return this.#cursor.nextSeq - 1;
  }

  /** False when it has ended. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Waits for frames, and gives them: see {@linkcode FrameCursor.read}. Returns how many; 0: the stream has ended. */
  async read(take: (frame: StoredFrame) => void, limits: ReadLimits): Promise<number> {
    try {
      return await this.#cursor.read(take, limits);
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

  /** Ends it; a read that waits gives 0. */
  end(how: StreamEnd): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#cursor.close();
    this.#ended(how);
  }
}

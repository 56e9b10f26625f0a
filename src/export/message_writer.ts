import type { StoredFrame } from "../frame/mod.ts";

/** Makes the bytes of a file out of messages. Pure: whoever adds messages takes the bytes, and writes them. */
export interface MessageWriter {
  /** Bytes that can be taken. */
  readonly waitingBytes: number;
  /** Values that have no bytes yet. */
  readonly waitingValues: number;
  /** To be called when a bus or the device at an address has another name than before. */
  originsChanged(): void;
  /** Adds a message. False: the format cannot carry it. */
  add(frame: StoredFrame): boolean;
  /** Makes bytes of all waiting values. */
  settle(): void;
  /** Takes the waiting bytes, which are valid until the next call but one. */
  take(): Uint8Array;
  /** The rest of the file, in pieces. */
  end(): Iterable<Uint8Array>;
}

/** A {@linkcode MessageWriter} that makes the bytes of each message at once. */
export abstract class RowWriter implements MessageWriter {
  readonly waitingValues = 0;
  abstract readonly waitingBytes: number;
  abstract add(frame: StoredFrame): boolean;
  abstract take(): Uint8Array;

  originsChanged(): void {}

  settle(): void {}

  end(): Iterable<Uint8Array> {
    return [this.take()];
  }
}

import { badBytes, BstReader, GatewayClock } from "./bst.ts";
import type { Reading, RecordingContext, RecordingReader } from "./recording.ts";

const [STX, ETX, DLE] = [0x02, 0x03, 0x10];
/** Longest message: 1785 bytes with header. Longer ones are dropped. */
export const MAX_BST_BYTES = 2048;

/** Reads a framed message without its checksum. */
export interface BstMessages {
  read(bytes: Uint8Array): Reading;
}

/**
 * Reads the serial line of Actisense's gateways: `DLE STX`, a message, a checksum that makes the sum zero, `DLE ETX`; a DLE
 * in the data is doubled.
 */
export class BstLine {
  readonly #messages: BstMessages;
  readonly #message = new Collected();
  readonly #stray = new Collected();
  #isAfterDle = false;
  #readings: Reading[] = [];

  /** @param messages reads the framed messages */
  constructor(messages: BstMessages) {
    this.#messages = messages;
  }

  /** Adds a reading to those that {@linkcode BstLine.takeReadings} returns. */
  report(reading: Reading): void {
    this.#readings.push(reading);
  }

  /** Returns the readings since the last call. */
  takeReadings(): Reading[] {
    const readings = this.#readings;
    this.#readings = [];
    return readings;
  }

  /** Whether a message has begun. */
  get isOpen(): boolean {
    return this.#message.isOpen;
  }

  push(byte: number): void {
    if (!this.#isAfterDle) {
      if (byte === DLE) this.#isAfterDle = true;
      else this.#add(byte);
      return;
    }
    this.#isAfterDle = false;
    if (byte === DLE) this.#add(byte);
    else if (byte === STX) this.#begin();
    else if (byte === ETX) this.#endMessage();
    else this.drop("DLE before a byte that it cannot mean");
  }

  /** Drops the message that has begun. */
  drop(why: string): void {
    this.endStray();
    this.report(badBytes(why, this.#message.close()));
  }

  /** Reports the bytes outside messages as one bad reading. */
  endStray(): void {
    const { total } = this.#stray;
    if (total > 0) this.report(badBytes(`${total} bytes outside of all records`, this.#stray.close()));
  }

  /**
   * Ends the reading.
   *
   * @param options.isCut something else was truncated that left no bytes
   */
  end({ isCut = false }: { isCut?: boolean } = {}): void {
    this.endStray();
    if (this.#message.isOpen) this.drop("cut off at the end");
    else if (this.#isAfterDle || isCut) this.report(badBytes("cut off at the end", new Uint8Array(0)));
    this.#isAfterDle = false;
  }

  #begin(): void {
    this.endStray();
    if (this.#message.isOpen) this.drop("cut off by the next one");
    this.#message.open();
  }

  #add(byte: number): void {
    if (!this.#message.isOpen) this.#stray.add(byte);
    else if (!this.#message.add(byte)) this.drop(`longer than ${MAX_BST_BYTES} bytes`);
  }

  #endMessage(): void {
    if (!this.#message.isOpen) return this.drop("an end without a beginning");
    const bytes = this.#message.close();
    if (bytes.length < 3) this.report(badBytes("too short", bytes));
    else if (bytes.reduce((sum, byte) => sum + byte, 0) % 256 !== 0) this.report(badBytes("wrong checksum", bytes));
    else this.report(this.#messages.read(bytes.subarray(0, -1)));
  }
}

/** Reads the serial line of an Actisense gateway (NGT-1, W2K-1, NGX-1), without the records of a log. */
export class ActisenseReader implements RecordingReader {
  readonly #line: BstLine;

  /** @param messages reads the framed messages; default {@linkcode BstReader} */
  constructor(context: RecordingContext, messages: BstMessages = new BstReader(context, new GatewayClock(context))) {
    this.#line = new BstLine(messages);
  }

  push(chunk: Uint8Array): Iterable<Reading> {
    for (const byte of chunk) this.#line.push(byte);
    return this.#line.takeReadings();
  }

  end(): Iterable<Reading> {
    this.#line.end();
    return this.#line.takeReadings();
  }
}

/** Collects the bytes between a start and an end mark. */
export class Collected {
  readonly #bytes = new Uint8Array(MAX_BST_BYTES);
  isOpen = false;
  /** Number of bytes received, which may exceed those collected. */
  total = 0;

  open(): void {
    this.isOpen = true;
    this.total = 0;
  }

  /** Adds a byte. Returns false when the capacity is exceeded. */
  add(byte: number): boolean {
    if (this.total < MAX_BST_BYTES) this.#bytes[this.total] = byte;
    this.total++;
    return this.total <= MAX_BST_BYTES;
  }

  /** Returns a copy of the collected bytes. */
  close(): Uint8Array<ArrayBuffer> {
    const bytes = this.#bytes.slice(0, Math.min(this.total, MAX_BST_BYTES));
    this.isOpen = false;
    this.total = 0;
    return bytes;
  }
}

import { badBytes, type BstReader } from "./bst.ts";
import type { Reading } from "./recording.ts";

const [STX, ETX, DLE] = [0x02, 0x03, 0x10];
/** Longest message: one of 1785 bytes with its header. Longer ones are not kept. */
export const MAX_BST_BYTES = 2048;

/**
 * The serial line of Actisense's gateways: `DLE STX`, a message, a byte that makes the sum zero, `DLE ETX`; a DLE that is
 * data stands twice.
 */
export class BstLine {
  readonly #messages: BstReader;
  readonly #tell: (reading: Reading) => void;
  readonly #message = new Collected();
  readonly #stray = new Collected();
  #isAfterDle = false;

  /**
   * @param messages reads what is framed
   * @param tell gets each reading as its last byte comes
   */
  constructor(messages: BstReader, tell: (reading: Reading) => void) {
    this.#messages = messages;
    this.#tell = tell;
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

  /** Gives up what has begun. */
  drop(why: string): void {
    this.endStray();
    this.#tell(badBytes(why, this.#message.close()));
  }

  /** What belongs to nothing is told in one. */
  endStray(): void {
    const { total } = this.#stray;
    if (total > 0) this.#tell(badBytes(`${total} bytes outside of all records`, this.#stray.close()));
  }

  /**
   * Nothing more comes.
   *
   * @param options.isCut something else was cut off that has no bytes to tell
   */
  end({ isCut = false }: { isCut?: boolean } = {}): void {
    this.endStray();
    if (this.#message.isOpen) this.drop("cut off at the end");
    else if (this.#isAfterDle || isCut) this.#tell(badBytes("cut off at the end", new Uint8Array(0)));
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
    if (bytes.length < 3) this.#tell(badBytes("too short", bytes));
    else if (bytes.reduce((sum, byte) => sum + byte, 0) % 256 !== 0) this.#tell(badBytes("wrong checksum", bytes));
    else this.#tell(this.#messages.read(bytes.subarray(0, -1)));
  }
}

/** Bytes between a beginning and an end. */
export class Collected {
  readonly #bytes = new Uint8Array(MAX_BST_BYTES);
  isOpen = false;
  /** Bytes that came, of which not all need be kept. */
  total = 0;

  open(): void {
    this.isOpen = true;
    this.total = 0;
  }

  /** False when there is no more room. */
  add(byte: number): boolean {
    if (this.total < MAX_BST_BYTES) this.#bytes[this.total] = byte;
    this.total++;
    return this.total <= MAX_BST_BYTES;
  }

  /** A copy of what is kept. */
  close(): Uint8Array<ArrayBuffer> {
    const bytes = this.#bytes.slice(0, Math.min(this.total, MAX_BST_BYTES));
    this.isOpen = false;
    this.total = 0;
    return bytes;
  }
}

import { createHash } from "node:crypto";
import { Registry } from "../../broker/mod.ts";
import type { Message } from "../../frame/mod.ts";
import { BlockBuilder, epochWordOf, MAX_BUSES, NO_PRODUCT, type SealedBlock } from "../../journal/mod.ts";

/** A block of a converted recording. */
export interface ConvertedBlock extends SealedBlock {
  /** True if the block begins a new file, because of the rotation interval. */
  beginsFile: boolean;
}

/** Number of messages that determine the epoch. */
const HEAD_MESSAGES = 8192;
/** Bytes of an epoch. */
const EPOCH_BYTES = 16;
/** Hashed bytes of a message besides its payload: time, identifier, bus, length. */
const HEADER_BYTES = 16;

/**
 * Numbers messages from 1 and builds blocks, with the devices that have identified themselves. Pure: the same messages give
 * the same bytes. Even the epoch is a hash of the first 8192 messages, so a recording that has grown since its last
 * conversion keeps its numbers.
 */
export class ConvertedBlocks {
  readonly #emit: (block: ConvertedBlock) => void;
  readonly #rotateUs: number;
  readonly #builder: BlockBuilder;
  readonly #registry = new Registry(Array.from({ length: MAX_BUSES }, (_, bus) => `${bus}`));
  readonly #buses: readonly string[];
  #head: Message[] | undefined = [];
  #epoch = new Uint8Array(0);
  #lastSeq = 0;
  /** Number of buses that the open block names; undefined while none is open. */
  #namedBuses: number | undefined;
  #fileSinceUs: number | undefined;
  #beginsFile = false;

  /**
   * @param options.buses names of the buses by index; may grow, up to four
   * @param options.rotateDurationMs a new file begins after this time; 0: never
   * @param options.emit gets each finished block
   */
  constructor({ buses, blockBytes, rotateDurationMs, emit }: {
    buses: readonly string[];
    blockBytes: number;
    rotateDurationMs: number;
    emit: (block: ConvertedBlock) => void;
  }) {
    this.#buses = buses;
    this.#emit = emit;
    this.#rotateUs = rotateDurationMs * 1000;
    this.#builder = new BlockBuilder({
      blockBytes,
      productOf: (bus, src) => this.#registry.get(bus, src)?.product,
    });
  }

  /** Number of the last message; 0 before the first. */
  get lastSeq(): number {
    return this.#lastSeq + (this.#head?.length ?? 0);
  }

  /** 16 bytes that identify the epoch; empty before it is known. */
  get epoch(): Uint8Array<ArrayBuffer> {
    return this.#epoch;
  }

  /** Adds a message; the object must not be reused. */
  add(message: Message): void {
    if (!this.#head) return this.#append(message);
    this.#head.push(message);
    if (this.#head.length >= HEAD_MESSAGES) this.#begin(this.#head);
  }

  /** Emits the last block. */
  end(): void {
    if (this.#head) this.#begin(this.#head);
    this.#seal();
  }

  #begin(head: readonly Message[]): void {
    this.#epoch = epochOf(head, this.#buses);
    this.#head = undefined;
    for (const message of head) this.#append(message);
  }

  #append(message: Message): void {
    this.#registry.note(message);
    this.#rotate(message.timeUs);
    if (this.#namedBuses !== undefined && this.#namedBuses < this.#buses.length) this.#seal();
    const seq = this.#lastSeq + 1;
    if (this.#namedBuses === undefined || this.#builder.append(seq, message) !== "added") {
      this.#seal();
      this.#open();
      if (this.#builder.append(seq, message) !== "added") {
        throw new RangeError("The message does not fit into an empty block");
      }
    }
    this.#lastSeq = seq;
  }

  /** Ends the file after the rotation interval, in either direction: the clock may have been set back. */
  #rotate(timeUs: number): void {
    const sinceUs = this.#fileSinceUs ??= timeUs;
    if (this.#rotateUs === 0 || Math.abs(timeUs - sinceUs) < this.#rotateUs) return;
    this.#seal();
    this.#beginsFile = true;
    this.#fileSinceUs = timeUs;
  }

  #open(): void {
    const devices = Array.from(
      this.#registry,
      ({ bus, src, name = 0n, product = NO_PRODUCT }) => ({ bus, src, name, activeFrom: 0, ...product }),
    ).filter(({ name }) => name !== 0n);
    const isNamed = this.#buses.some((name) => name !== "");
    this.#builder.begin({ devices, metadata: { epoch: this.#epoch, ...(isNamed && { buses: [...this.#buses] }) } });
    this.#namedBuses = this.#buses.length;
  }

  #seal(): void {
    if (this.#namedBuses === undefined) return;
    this.#namedBuses = undefined;
    const beginsFile = this.#beginsFile;
    this.#beginsFile = false;
    this.#emit({ ...this.#builder.seal(epochWordOf(this.#epoch)), beginsFile });
  }
}

function epochOf(messages: readonly Message[], buses: readonly string[]): Uint8Array<ArrayBuffer> {
  // Buses without any of these messages must not change the epoch.
  const named = messages.reduce((most, { bus }) => Math.max(most, bus + 1), 0);
  const hash = createHash("sha256").update(JSON.stringify(buses.slice(0, named)));
  const header = new DataView(new ArrayBuffer(HEADER_BYTES));
  for (const { id, bus, timeUs, data, offset, length } of messages) {
    header.setFloat64(0, timeUs, true);
    header.setUint32(8, id, true);
    header.setUint16(12, bus, true);
    header.setUint16(14, length, true);
    hash.update(new Uint8Array(header.buffer)).update(data.subarray(offset, offset + length));
  }
  return Uint8Array.from(hash.digest().subarray(0, EPOCH_BYTES));
}

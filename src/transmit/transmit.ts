import type { CanFrame } from "../frame/mod.ts";

/** A message to be sent on a bus. */
export interface OutgoingMessage {
  /** Index of the bus. */
  bus: number;
  /** 0 to 7. */
  prio: number;
  /** The lowest byte of an addressed PGN is 0. */
  pgn: number;
  /** 0 to 254. */
  src: number;
  /** 255: broadcast. */
  dst: number;
  /** Payload, up to 1785 bytes; must not change until it is sent. */
  data: Uint8Array;
}

/** A message was not sent or only partly sent. */
export class TransmitError extends Error {
  override readonly name = "TransmitError";
  /**
   * - `full`: the queue of the bus is full
   * - `too-long`: the payload exceeds the maximum of the transport protocol
   * - `bus`: the bus did not accept a frame
   * - `address`: the source address was lost to another device
   * - `withdrawn`: sending was no longer allowed when its turn came
   * - `aborted`: the receiver ended the transport session
   * - `silent`: the receiver did not answer in time
   * - `closed`: the server stops
   */
  readonly reason: "full" | "too-long" | "bus" | "address" | "withdrawn" | "aborted" | "silent" | "closed";

  constructor(reason: TransmitError["reason"], message: string) {
    super(message);
    this.reason = reason;
  }
}

/** Options of {@linkcode Transmit.send}. */
export interface TransmitOptions {
  /** Send before queued messages and without a rate limit: for single-frame network management. */
  urgent?: boolean;
  /** Called with the index of a message when its turn has come; false withdraws it. Must not throw. */
  mayLeave?: (index: number) => boolean;
}

/** Sends messages on the buses, framed, in order and within the rate limit. */
export interface Transmit {
  /**
   * Queues messages, all or none. Resolves when the last frame of the last message is sent.
   *
   * @throws {TransmitError} at once `full` or `too-long`: none is sent
   * @returns rejects with a {@linkcode TransmitError} when one of them fails; those after it are sent nevertheless
   */
  send(messages: readonly OutgoingMessage[], options?: TransmitOptions): Promise<void>;
}

/** Holds messages with source addresses of the virtual device. */
export interface AddressUser {
  /** Drops unsent messages from an address that another device has taken. */
  addressLost(bus: number, src: number): void;
}

/** Receives every frame of a bus, including the server's own: for transport sessions, address claims and requests. */
export interface FrameListener {
  /** A frame was received. The object and its buffer are reused. Must not throw. */
  heard(bus: number, frame: CanFrame): void;
}

/** State of the virtual device's address on a bus. */
export type OwnAddress =
  /** No virtual device: messages may have any source address. */
  | { kind: "none" }
  | { kind: "claiming" }
  | { kind: "claimed"; src: number; name: bigint }
  /** There is no free address. */
  | { kind: "cannot-claim" };

import type { CanFrame } from "../frame/mod.ts";

/** A message to be said on a bus. */
export interface OutgoingMessage {
  /** Index of the bus. */
  bus: number;
  /** 0 to 7. */
  prio: number;
  /** Of a PGN with a destination the lowest byte is 0. */
  pgn: number;
  /** 0 to 254. */
  src: number;
  /** 255: everybody. */
  dst: number;
  /** Payload, up to 1785 bytes; it is kept until it is sent. */
  data: Uint8Array;
}

/** A message that was not sent, or not wholly. */
export class TransmitError extends Error {
  override readonly name = "TransmitError";
  /**
   * - `full`: too many wait for the bus already
   * - `too-long`: no transport carries so many bytes
   * - `bus`: the bus took a frame not
   * - `address`: the address that it should come from was lost to another device
   * - `withdrawn`: it might not be sent any more when its turn came
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

/** How messages are sent. */
export interface TransmitOptions {
  /** Goes before what waits, and at once: network management, of single frames. */
  urgent?: boolean;
  /** Asked when the turn of a message has come, by its place in the list: false, and it is `withdrawn`. Must not throw. */
  mayLeave?: (index: number) => boolean;
}

/** The way of messages to the buses: as many frames as each takes, one message after the other, never too fast. */
export interface Transmit {
  /**
   * Takes messages, all or none. Resolves when the last frame of the last one is out.
   *
   * @throws {TransmitError} at once `full` or `too-long`: none is sent
   * @returns rejects with a {@linkcode TransmitError} when one of them fails; those after it are sent nevertheless
   */
  send(messages: readonly OutgoingMessage[], options?: TransmitOptions): Promise<void>;
}

/** Somebody who holds messages from addresses of ours. */
export interface AddressUser {
  /** Gives up whatever is not wholly out and comes from an address that we have no longer: it is another's by now. */
  addressLost(bus: number, src: number): void;
}

/** Somebody who must hear every frame of a bus, our own included: transport sessions, address claims, requests. */
export interface FrameListener {
  /** The object and its buffer are reused. Must not throw. */
  heard(bus: number, frame: CanFrame): void;
}

/** Whether we may speak with an address of our own on a bus. */
export type OwnAddress =
  /** We claim none: messages come from whatever source is asked for. */
  | { kind: "none" }
  | { kind: "claiming" }
  | { kind: "claimed"; src: number; name: bigint }
  /** There is no free address. */
  | { kind: "cannot-claim" };

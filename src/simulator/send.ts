import { splitFastPacket } from "../can/mod.ts";
import { BROADCAST_ADDRESS, buildCanId } from "../frame/mod.ts";
import { isFastPacket } from "../pgn/mod.ts";

/** Takes one CAN frame: 29-bit identifier and 0 to 8 bytes that nobody changes any more. */
export type SendFrame = (id: number, data: Uint8Array) => void;

/** One message of a node. */
export interface Outgoing {
  readonly pgn: number;
  readonly prio: number;
  readonly src: number;
  /** Default: everybody. */
  readonly dst?: number;
  readonly payload: Uint8Array;
}

/** Cuts the messages of one node into CAN frames and counts its fast packets, each PGN for itself. */
export class FrameSender {
  readonly #send: SendFrame;
  readonly #sequences = new Map<number, number>();

  constructor(send: SendFrame) {
    this.#send = send;
  }

  /** Sends a message as one frame or as a fast packet, whichever its PGN wants. */
  send({ pgn, prio, src, dst = BROADCAST_ADDRESS, payload }: Outgoing): void {
    const id = buildCanId({ pgn, prio, src, dst });
    if (!isFastPacket(pgn)) {
      this.#send(id, payload);
      return;
    }
    const sequence = this.#sequences.get(pgn) ?? 0;
    this.#sequences.set(pgn, (sequence + 1) & 7);
    for (const frame of splitFastPacket(payload, sequence)) this.#send(id, frame);
  }
}

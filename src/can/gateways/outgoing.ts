import type { Clock } from "../../base/mod.ts";
import { BROADCAST_ADDRESS, type CanFrame, destinationOfId, pgnOfId } from "../../frame/mod.ts";
import { PGN } from "../../pgn/mod.ts";
import { Assembler } from "../assembly/assembler.ts";
import type { GatewayWriter } from "./writers.ts";

/**
 * Converts frames to the format of a gateway. For gateways that accept complete messages the frames are reassembled, as on
 * reception, so that senders always pass frames.
 */
export class Outgoing {
  readonly #writer: GatewayWriter;
  readonly #clock: Clock;
  readonly #assembler: Assembler;
  readonly #frame: CanFrame = { id: 0, timeUs: 0, monoMs: 0, data: new Uint8Array(0), offset: 0, length: 0 };
  #output: Uint8Array[] = [];

  constructor(writer: GatewayWriter, clock: Clock) {
    this.#writer = writer;
    this.#clock = clock;
    this.#assembler = new Assembler(({ id, data, offset, length }) => {
      if (length > writer.maxBytes) throw new RangeError(`the gateway takes at most ${writer.maxBytes} bytes`);
      this.#output.push(writer.write(id, data.subarray(offset, offset + length)));
    });
  }

  /**
   * Returns the data to send now; empty while the frame waits for the others of its message.
   *
   * @throws {RangeError} the gateway cannot send this frame
   */
  push(id: number, data: Uint8Array): Uint8Array[] {
    if (this.#writer.takes === "frames") return [this.#writer.write(id, data)];
    const pgn = pgnOfId(id);
    const isTransport = pgn === PGN.transportControl || pgn === PGN.transportData;
    if (isTransport && destinationOfId(id) !== BROADCAST_ADDRESS) {
      throw new RangeError("the gateway sends complete messages, not sessions of the transport protocol");
    }
    const frame = this.#frame;
    frame.id = id;
    frame.monoMs = this.#clock.monoMs();
    frame.timeUs = this.#clock.wallUs();
    frame.data = data;
    frame.length = data.length;
    this.#output = [];
    const before = this.#assembler.drops.malformed;
    this.#assembler.push(frame);
    if (this.#assembler.drops.malformed > before) throw new RangeError("it is not a frame of a message");
    return this.#output;
  }

  /** Data of frames that were held as the first of a fast packet and were not continued. To be called when none follows. */
  flushHeld(): Uint8Array[] {
    this.#output = [];
    this.#assembler.expire(this.#clock.monoMs());
    return this.#output;
  }
}

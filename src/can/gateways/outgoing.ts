import type { Clock } from "../../base/mod.ts";
import { BROADCAST_ADDRESS, type CanFrame, destinationOfId, pgnOfId } from "../../frame/mod.ts";
import { PGN } from "../../pgn/mod.ts";
import { Assembler } from "../assembly/assembler.ts";
import type { GatewayWriter } from "./writers.ts";

/**
 * Makes of frames what a gateway takes. For one that takes whole messages they are put together as the frames of a bus
 * are, so that senders need not know.
 */
export class Outgoing {
  readonly #writer: GatewayWriter;
  readonly #clock: Clock;
  readonly #assembler: Assembler;
  readonly #frame: CanFrame = { id: 0, timeUs: 0, monoMs: 0, data: new Uint8Array(0), offset: 0, length: 0 };
  #made: Uint8Array[] = [];

  constructor(writer: GatewayWriter, clock: Clock) {
    this.#writer = writer;
    this.#clock = clock;
    this.#assembler = new Assembler(({ id, data, offset, length }) => {
      if (length > writer.maxBytes) throw new RangeError(`the gateway takes at most ${writer.maxBytes} bytes`);
      this.#made.push(writer.write(id, data.subarray(offset, offset + length)));
    });
  }

  /**
   * What is to be sent now; nothing while the frame waits for the others of its message.
   *
   * @throws {RangeError} the gateway cannot send this
   */
  push(id: number, data: Uint8Array): Uint8Array[] {
    if (this.#writer.takes === "frames") return [this.#writer.write(id, data)];
    const pgn = pgnOfId(id);
    const isTransport = pgn === PGN.transportControl || pgn === PGN.transportData;
    if (isTransport && destinationOfId(id) !== BROADCAST_ADDRESS) {
      throw new RangeError("the gateway sends whole messages, and no sessions of the transport protocol");
    }
    const frame = this.#frame;
    frame.id = id;
    frame.monoMs = this.#clock.monoMs();
    frame.timeUs = this.#clock.wallUs();
    frame.data = data;
    frame.length = data.length;
    this.#made = [];
    const before = this.#assembler.drops.malformed;
    this.#assembler.push(frame);
    if (this.#assembler.drops.malformed > before) throw new RangeError("it is no frame of a message");
    return this.#made;
  }

  /** Frames that looked like the first of a message and have stayed alone; to be asked for when nothing follows a frame. */
  late(): Uint8Array[] {
    this.#made = [];
    this.#assembler.expire(this.#clock.monoMs());
    return this.#made;
  }
}

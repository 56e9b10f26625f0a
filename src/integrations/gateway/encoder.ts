import { framingFor, splitFastPacket } from "../../can/mod.ts";
import { type Message, pgnOfId } from "../../frame/mod.ts";
import type { Chunk } from "../lines.ts";
import { LineBuffer } from "./bytes.ts";
import { FORMAT_TABLE, type GatewayFormat, type Outbound } from "./formats.ts";

/** A message without PGN: what a frame has. */
export type Payload = Pick<Message, "bus" | "id" | "timeUs" | "data" | "offset" | "length">;

/** Encodes frames and messages in one format, once for all clients. */
export class Encoder {
  readonly format: GatewayFormat;
  readonly #buses: readonly string[];
  readonly #buffer = new LineBuffer();
  readonly #frame: Outbound = {
    id: 0,
    timeUs: 0,
    data: new Uint8Array(0),
    offset: 0,
    length: 0,
    busName: "",
    isSent: false,
  };
  #counter = 0;

  /** @param buses names of the buses by index */
  constructor(format: GatewayFormat, buses: readonly string[]) {
    this.format = format;
    this.#buses = buses;
  }

  /** True if the format carries complete messages. */
  get carriesMessages(): boolean {
    return FORMAT_TABLE[this.format].carries === "messages";
  }

  /** Bytes encoded since the last {@linkcode Encoder.take}. */
  get length(): number {
    return this.#buffer.length;
  }

  /** Adds one line: a frame, or a message if the format carries messages. */
  add(payload: Payload, { isSent = false }: { isSent?: boolean } = {}): void {
    const { id, timeUs, data, offset, length, bus } = payload;
    const frame = this.#frame;
    frame.id = id;
    frame.timeUs = timeUs;
    frame.data = data;
    frame.offset = offset;
    frame.length = length;
    frame.busName = this.#buses[bus] ?? "";
    frame.isSent = isSent;
    FORMAT_TABLE[this.format].write(this.#buffer, frame);
  }

  /**
   * Adds a message, as frames if the format carries frames.
   *
   * @returns false if it is too long for a fast packet, or its PGN is not one
   */
  addMessage(message: Payload, { isSent = false }: { isSent?: boolean } = {}): boolean {
    const { data, offset, length } = message;
    const framing = framingFor(pgnOfId(message.id), length);
    if (this.carriesMessages || framing === "single") {
      this.add(message, { isSent });
      return true;
    }
    if (framing === "transport" || length === 0) return false;
    this.#counter = (this.#counter + 1) & 7;
    for (const frame of splitFastPacket(data.subarray(offset, offset + length), this.#counter)) {
      this.add({ ...message, data: frame, offset: 0, length: frame.length }, { isSent });
    }
    return true;
  }

  /** Returns the lines and starts again. */
  take(): Chunk {
    return this.#buffer.take();
  }
}

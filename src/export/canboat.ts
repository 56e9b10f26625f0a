import { destinationOfId, formatTimeUs, priorityOfId, sourceOfId, type StoredFrame } from "../frame/mod.ts";
import { decodeAsCanboat } from "../pgn/mod.ts";
import { ByteBuffer } from "./byte_buffer.ts";
import { RowWriter } from "./message_writer.ts";

/** Writes messages as lines of JSON as `analyzer -json -camel -si` of canboat prints them; see `decodeAsCanboat`. */
export class CanboatWriter extends RowWriter {
  readonly #buffer = new ByteBuffer();

  get waitingBytes(): number {
    return this.#buffer.length;
  }

  add({ id, pgn, timeUs, data, offset, length }: StoredFrame): boolean {
    const { description, fields } = decodeAsCanboat(pgn, data.subarray(offset, offset + length));
    this.#buffer.text(
      `{"timestamp":"${formatTimeUs(timeUs)}","prio":${priorityOfId(id)},"src":${sourceOfId(id)},` +
        `"dst":${destinationOfId(id)},"pgn":${pgn},"description":${JSON.stringify(description)},` +
        `"fields":${JSON.stringify(fields)}}\n`,
    );
    return true;
  }

  take(): Uint8Array {
    return this.#buffer.take();
  }
}

import { addDecoded, addLabels, type Broker, type FrameDetail, frameText } from "../../broker/mod.ts";
import type { StoredFrame } from "../../frame/mod.ts";

/** Approximate size of a piece, characters; small, so that compressing one takes little time. */
const PIECE_CHARACTERS = 16_384;
const encoder = new TextEncoder();

/** Writes a JSON list of frames in pieces. */
export class FrameListText {
  readonly #broker: Broker;
  readonly #detail: FrameDetail;
  #text = "[";
  #separator = "";

  constructor({ broker, detail }: { broker: Broker; detail: FrameDetail }) {
    this.#broker = broker;
    this.#detail = detail;
  }

  /** Appends a frame. Returns true when there is enough text for a piece. */
  add(frame: StoredFrame, busText: string): boolean {
    this.#text += this.#separator + this.#textOf(frame, busText);
    this.#separator = ",";
    return this.#text.length >= PIECE_CHARACTERS;
  }

  /** Takes the text since the last piece; it may be empty. */
  piece(): Uint8Array<ArrayBuffer> {
    const bytes = encoder.encode(this.#text);
    this.#text = "";
    return bytes;
  }

  /** Closes the list. Returns its last piece. */
  end(): Uint8Array<ArrayBuffer> {
    this.#text += "]";
    return this.piece();
  }

  #textOf(frame: StoredFrame, busText: string): string {
    const { decode, labels } = this.#detail;
    const text = frameText(frame, busText);
    if (!decode && !labels) return text;
    const { pgn, data, offset, length } = frame;
    const payload = data.subarray(offset, offset + length);
    const { decoder } = this.#broker;
    const decoded = addDecoded(text, decoder.json(pgn, payload));
    return labels ? addLabels(decoded, decoder.labels(pgn, payload)) : decoded;
  }
}

import { MAX_CAN_BYTES, MAX_PGN, readHex } from "../../frame/mod.ts";
import { AssumedClock } from "./clocks.ts";
import { bad, type LineReader, passed, type Reading, type RecordingContext } from "./recording.ts";
import { readSentence } from "./text.ts";

/** `MXPGN,01F801,2801,C1308AC40C5DE343`: PGN, with the destination in its lowest byte; attributes; bytes, last one first. */
const FRAME = /^MXPGN,([0-9A-F]{6}),([0-9A-F]{4}),([0-9A-F]*)$/i;
/** Bits of the attributes; a length above 8 is the number of a fast packet, whose frames have 8 bytes. */
const [TO_SEND, PRIORITY_SHIFT, LENGTH_SHIFT] = [0x8000, 12, 8];

/** Reads the sentences of ShipModul's MiniPlex: frames without times, among other sentences of NMEA 0183. */
export class MxpgnReader implements LineReader {
  readonly #clock: AssumedClock;

  constructor(context: RecordingContext) {
    this.#clock = new AssumedClock(context);
  }

  /** Whether a line is of this format. */
  static recognizes(line: string): boolean {
    return typeof readSentence(line, "MXPGN") === "string";
  }

  read(line: string): Reading {
    const sentence = readSentence(line, "MXPGN");
    if (typeof sentence !== "string") return sentence;
    const match = FRAME.exec(sentence);
    if (!match) return bad("not PGN, attributes and bytes in hex");
    const [pgn = 0, attributes = 0] = match.slice(1, 3).map((digits) => parseInt(digits, 16));
    if ((attributes & TO_SEND) !== 0) return passed("to_gateway");
    if (pgn > MAX_PGN) return passed("vendor_pgn");
    const length = Math.min((attributes >>> LENGTH_SHIFT) & 15, MAX_CAN_BYTES);
    const data = readHex(match[3] ?? "")?.reverse();
    if (data?.length !== length) return bad(`not ${length} bytes in hex`);
    const id = (((attributes >>> PRIORITY_SHIFT) & 7) << 26) | (pgn << 8) | (attributes & 0xff);
    return { type: "item", item: { kind: "frame", bus: 0, id, timeUs: this.#clock.next(), data } };
  }
}

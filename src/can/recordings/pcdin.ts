import { BROADCAST_ADDRESS, buildCanId, MAX_MESSAGE_BYTES, MAX_PGN, readHex } from "../../frame/mod.ts";
import { AssumedClock } from "./clocks.ts";
import { bad, type LineReader, passed, type Reading, type RecordingContext, whyNotHeader } from "./recording.ts";
import { readSentence } from "./text.ts";

/**
 * `PCDIN,01F119,00000000,0F,2AAF00D1067414FF`: PGN, time, source, payload. The time is not read: some gateways write
 * milliseconds since their start in hex, others seconds since 2010 in base 32, others zeros.
 */
const MESSAGE = /^PCDIN,([0-9A-F]{6}),[^,]*,([0-9A-F]{2}),([0-9A-F]+)$/i;
/** The usual priority of data. */
const ASSUMED_PRIORITY = 6;

/** Reads SeaSmart.Net sentences: complete messages without priority and destination, among others of NMEA 0183. */
export class PcdinReader implements LineReader {
  readonly #context: RecordingContext;
  readonly #clock: AssumedClock;

  constructor(context: RecordingContext) {
    this.#context = context;
    this.#clock = new AssumedClock(context);
  }

  /** Whether a line is of this format. */
  static recognizes(line: string): boolean {
    return typeof readSentence(line, "PCDIN") === "string";
  }

  read(line: string): Reading {
    const sentence = readSentence(line, "PCDIN");
    if (typeof sentence !== "string") return sentence;
    const match = MESSAGE.exec(sentence);
    if (!match) return bad("not PGN, time, source and payload");
    const [pgn = 0, src = 0] = match.slice(1, 3).map((digits) => parseInt(digits, 16));
    const data = readHex(match[3] ?? "");
    if (!data || data.length > MAX_MESSAGE_BYTES) return bad("invalid hex payload");
    if (pgn > MAX_PGN) return passed("vendor_pgn");
    const header = { prio: ASSUMED_PRIORITY, pgn, src, dst: BROADCAST_ADDRESS };
    const why = whyNotHeader(header);
    if (why !== undefined) return bad(why);
    this.#context.note("header_assumed");
    return {
      type: "item",
      item: { kind: "message", bus: 0, id: buildCanId(header), timeUs: this.#clock.next(), data },
    };
  }
}

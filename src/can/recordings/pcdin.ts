import { BROADCAST_ADDRESS, readHex } from "../../frame/mod.ts";
import { AssumedClock } from "./clocks.ts";
import { bad, type LineReader, messageOf, type Reading, type RecordingContext } from "./recording.ts";
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
    const header = { prio: ASSUMED_PRIORITY, pgn, src, dst: BROADCAST_ADDRESS };
    return messageOf(header, { data: readHex(match[3] ?? ""), time: () => this.#time() });
  }

  #time(): number {
    this.#context.note("header_assumed");
    return this.#clock.next();
  }
}

import { CAN_ID_MASK, MAX_CAN_BYTES, readHex } from "../../frame/mod.ts";
import { AssumedClock, assumedStartUs, readDate, readFraction, TimerClock } from "./clocks.ts";
import { bad, type LineReader, passed, type Reading, type RecordingContext } from "./recording.ts";

/** `(1502984866.421964) slcan0 09F112CC#FF725AFF7FFF7FFD`, optionally followed by the direction `R` or `T`. */
const LOG = /^\(([^)]+)\)\s+(\S+)\s+([0-9A-F]+)#(\S*)(?:\s+[RT])?$/i;
/** `can0  09F112CC   [8]  FF 72 5A`, optionally with a time, a direction, and the bytes as text. */
const SCREEN = /^(?:\(([^)]+)\)\s+)?(\S+)\s+(?:[RT]X\s+\S\s+\S\s+)?([0-9A-F]{3}|[0-9A-F]{8})\s+\[(\d+)\]\s*(.*)$/i;
/** `<0x18eeff01> [8] 05 a0 be 1c 00 a0 a0 c0` */
const OLD = /^<0x([0-9A-F]+)>\s+\[(\d+)\]\s*(.*)$/i;
/** The old form's heading. */
const HEADING = /^interface = \S+, family = /;
/** Seconds since 1970, or since the first frame. */
const SECONDS = /^(\d{1,11})\.(\d{1,9})$/;

const STANDARD_DIGITS = 3;
const EXTENDED_DIGITS = 8;
/** Marks error frames in SocketCAN's identifiers. */
const ERROR_FLAG = 0x20000000;
/** Earlier times (before 1973) count from the first frame. */
const MIN_DATE_SECONDS = 1e8;

/** Bus and time of a frame, as far as the line has them. */
interface Origin {
  time: string | undefined;
  name: string | undefined;
}

/** Reads the output of candump in any of its forms. */
export class CandumpReader implements LineReader {
  readonly #context: RecordingContext;
  readonly #assumed: AssumedClock;
  #timer: TimerClock | undefined;

  constructor(context: RecordingContext) {
    this.#context = context;
    this.#assumed = new AssumedClock(context);
  }

  /** Whether a line is of this format. */
  static recognizes(line: string): boolean {
    return LOG.test(line) || SCREEN.test(line) || OLD.test(line) || HEADING.test(line);
  }

  read(line: string): Reading {
    if (line === "" || line.startsWith("#") || HEADING.test(line)) return passed("comment");
    const log = LOG.exec(line);
    if (log) {
      const [, time, name, id = "", data = ""] = log;
      if (/^[R#]/i.test(data)) return passed("foreign_frame");
      return this.#frame(id, { time, name, data });
    }
    const screen = SCREEN.exec(line);
    if (screen) {
      const [, time, name, id = "", length = "", rest = ""] = screen;
      return this.#spaced(id, { time, name, length, rest });
    }
    const [, id, length = "", rest = ""] = OLD.exec(line) ?? [];
    if (id === undefined) return bad("not a line of candump");
    return this.#spaced(id, { time: undefined, name: undefined, length, rest });
  }

  /** Reads a line with a length and separate bytes. */
  #spaced(id: string, { time, name, length, rest }: Origin & { length: string; rest: string }): Reading {
    // Lengths of CAN FD frames have two digits.
    if (length.length > 1 || /remote request|ERRORFRAME/.test(rest)) return passed("foreign_frame");
    const pairs = /^((?:[0-9A-F]{2}\s*)*)(?:'.*')?$/i.exec(rest)?.[1];
    const data = pairs?.replaceAll(/\s+/g, "");
    if (data?.length !== 2 * Number(length)) return bad(`not ${length} bytes as the line says`);
    return this.#frame(id, { time, name, data });
  }

  #frame(digits: string, { time, name, data: hex }: Origin & { data: string }): Reading {
    if (digits.length === STANDARD_DIGITS) return passed("foreign_frame");
    const id = parseInt(digits, 16);
    if (digits.length !== EXTENDED_DIGITS) return bad(`identifier with ${digits.length} digits`);
    if ((id & ERROR_FLAG) !== 0) return passed("foreign_frame");
    if (id > CAN_ID_MASK) return bad("identifier with more than 29 bits");
    const data = readHex(hex);
    if (!data || data.length > MAX_CAN_BYTES) return bad("not up to 8 bytes in hex");
    const timeUs = this.#time(time);
    if (timeUs === undefined) return bad("invalid time");
    const bus = name === undefined ? 0 : this.#context.bus(name);
    if (bus === undefined) return bad("too many buses");
    return { type: "item", item: { kind: "frame", bus, id, timeUs, data } };
  }

  #time(text: string | undefined): number | undefined {
    if (text === undefined) return this.#assumed.next();
    const [, seconds, fraction = ""] = SECONDS.exec(text) ?? [];
    if (seconds === undefined) return readDate(text);
    const us = Number(seconds) * 1e6 + readFraction(fraction);
    if (Number(seconds) >= MIN_DATE_SECONDS) return Number.isSafeInteger(us) ? us : undefined;
    this.#timer ??= new TimerClock(assumedStartUs(this.#context), Infinity);
    return this.#timer.at(us);
  }
}

import { readHex } from "../../frame/mod.ts";
import { DayClock } from "./clocks.ts";
import { bad, type LineReader, messageOf, passed, type Reading, type RecordingContext } from "./recording.ts";

/** `A173321.107 23FF7 1F513 012F3070002F30709F`: time of day; source, destination, priority; PGN; payload; all in hex. */
const LINE = /^A(\d\d)(\d\d)(\d\d)(?:\.(\d{1,6}))? ([0-9A-F]{2})([0-9A-F]{2})([0-9A-F]) ([0-9A-F]{4,6}) ([0-9A-F]*)$/i;

/** Reads "N2K ASCII", as written by Actisense's W2K-1 and others: complete messages, times of day without a date. */
export class N2kAsciiReader implements LineReader {
  readonly #clock: DayClock;

  constructor(context: RecordingContext) {
    this.#clock = new DayClock(context);
  }

  /** Whether a line is of this format. */
  static recognizes(line: string): boolean {
    return LINE.test(line);
  }

  read(line: string): Reading {
    if (line === "" || line.startsWith("#")) return passed("comment");
    const match = LINE.exec(line);
    if (!match) return bad("not a line of N2K ASCII");
    const [src = 0, dst = 0, prio = 0, pgn = 0] = match.slice(5, 9).map((digits) => parseInt(digits, 16));
    const time = () => this.#clock.at(match.slice(1, 5));
    return messageOf({ prio, pgn, src, dst }, { data: readHex(match[9] ?? ""), time });
  }
}

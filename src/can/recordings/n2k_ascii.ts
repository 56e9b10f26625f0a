import { buildCanId, MAX_MESSAGE_BYTES, MAX_PGN, readHex } from "../../frame/mod.ts";
import { dayClock, readTimeOfDay, type WrappingClock } from "./clocks.ts";
import { bad, type LineReader, passed, type Reading, type RecordingContext, whyNotHeader } from "./recording.ts";

/** `A173321.107 23FF7 1F513 012F3070002F30709F`: time of day; source, destination, priority; PGN; payload; all in hex. */
const LINE = /^A(\d\d)(\d\d)(\d\d)(?:\.(\d{1,6}))? ([0-9A-F]{2})([0-9A-F]{2})([0-9A-F]) ([0-9A-F]{4,6}) ([0-9A-F]*)$/i;

/** Reads "N2K ASCII", as written by Actisense's W2K-1 and others: complete messages, times of day without a date. */
export class N2kAsciiReader implements LineReader {
  readonly #context: RecordingContext;
  #clock: WrappingClock | undefined;

  constructor(context: RecordingContext) {
    this.#context = context;
  }

  /** Whether a line is of this format. */
  static recognizes(line: string): boolean {
    return LINE.test(line);
  }

  read(line: string): Reading {
    if (line === "" || line.startsWith("#")) return passed("comment");
    const match = LINE.exec(line);
    if (!match) return bad("not a line of N2K ASCII");
    const [, hours = "", minutes = "", seconds = "", fraction = "", ...rest] = match;
    const sinceMidnightUs = readTimeOfDay({ hours, minutes, seconds, fraction });
    if (sinceMidnightUs === undefined) return bad("invalid time of day");
    const [src = 0, dst = 0, prio = 0, pgn = 0] = rest.slice(0, 4).map((digits) => parseInt(digits, 16));
    const data = readHex(rest[4] ?? "");
    if (!data || data.length > MAX_MESSAGE_BYTES) return bad("invalid hex payload");
    if (pgn > MAX_PGN) return passed("vendor_pgn");
    const why = whyNotHeader({ prio, pgn, src, dst });
    if (why !== undefined) return bad(why);
    this.#clock ??= dayClock(this.#context.startUs());
    const timeUs = this.#clock.at(sinceMidnightUs);
    return { type: "item", item: { kind: "message", bus: 0, id: buildCanId({ prio, pgn, src, dst }), timeUs, data } };
  }
}

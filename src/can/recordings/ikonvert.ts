import { assumedStartUs, TimerClock } from "./clocks.ts";
import { bad, type LineReader, messageOf, passed, type Reading, type RecordingContext } from "./recording.ts";

/** `!PDGY,129039,4,43,255,481.706,ErZc`: PGN, priority, source, destination, timer, payload in base64. */
const RECEIVED = /^!PDGY,(\d{1,8}),(\d{1,3}),(\d{1,3}),(\d{1,3}),(\d{1,6})(?:\.(\d{1,3}))?,([A-Z0-9+/]*={0,2})$/i;
/** `!PDGY,126208,255,AQ==`: PGN, destination, payload. */
const SENT = /^!PDGY,\d+,\d+,(?:[A-Z0-9+/]{4})*(?:[A-Z0-9+/]{2}==|[A-Z0-9+/]{3}=)?$/i;
/** `$PDGY,000000,4,,5,482,1,0`, the status of the network, and other texts. */
const STATUS = /^\$PDGY,[^!$]*$/;
/** The timer counts to 999999 ms. */
const ROUND_US = 1e9;

/** Reads the sentences of Digital Yacht's iKonvert: complete messages with a timer that wraps every 1000 s. */
export class IkonvertReader implements LineReader {
  readonly #context: RecordingContext;
  #clock: TimerClock | undefined;

  constructor(context: RecordingContext) {
    this.#context = context;
  }

  /** Whether a line is of this format. */
  static recognizes(line: string): boolean {
    return RECEIVED.test(line) || SENT.test(line) || STATUS.test(line);
  }

  read(line: string): Reading {
    if (line === "" || line.startsWith("#")) return passed("comment");
    if (STATUS.test(line)) return passed("status");
    if (SENT.test(line)) return passed("to_gateway");
    const match = RECEIVED.exec(line);
    if (!match) return bad("not a sentence");
    const [pgn = 0, prio = 0, src = 0, dst = 0, whole = 0] = match.slice(1, 6).map(Number);
    const data = fromBase64(match[7] ?? "");
    if (data?.length === 0) return bad("no payload");
    // After the point are milliseconds, not a fraction: 481.997 is followed by 482.36, 482.37 and 482.117.
    const ms = match[6] === undefined ? whole : whole * 1000 + Number(match[6]);
    return messageOf({ prio, pgn, src, dst }, { data, time: () => this.#time(ms) });
  }

  #time(ms: number): number {
    this.#clock ??= new TimerClock(assumedStartUs(this.#context), ROUND_US);
    return this.#clock.at(ms * 1000);
  }
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.fromBase64(text, { lastChunkHandling: "strict" });
  } catch {
    return undefined;
  }
}

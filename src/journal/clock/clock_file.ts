import {
  asRecord,
  AtomicFile,
  type DurableFile,
  type Logger,
  readCount,
  readJsonFile,
  readList,
  readNumber,
} from "../../base/mod.ts";
import { JOURNAL_FILE_MODE } from "../file/name.ts";
import { type ClockSpan, ClockSpans, isClockRate, MAX_CLOCK_SPANS } from "./clock_spans.ts";

/** Name of the file in a journal's directory. */
export const CLOCK_FILE = "clock.json";
const MAX_BYTES = 4 * 1024 * 1024;
const VERSION = 1;

/** The file with the corrections of a journal's times. */
export function clockFile(directory: string): DurableFile {
  return new AtomicFile(directory, { name: CLOCK_FILE, mode: JOURNAL_FILE_MODE, maxBytes: MAX_BYTES });
}

/** Reads the corrections of a journal's times; none if the file is missing or, with a line in the log, unreadable. */
export async function readClockSpans(directory: string, { log }: { log: Logger }): Promise<ClockSpans> {
  const what = "corrections of recorded times";
  return new ClockSpans(await readJsonFile(clockFile(directory), { what, parse: parseSpans, log }) ?? []);
}

/** The content of the file; beyond {@linkcode MAX_CLOCK_SPANS} the oldest corrections are left out. */
export function encodeSpans(spans: readonly ClockSpan[]): string {
  const kept = spans.slice(-MAX_CLOCK_SPANS).map(({ epochWord, firstSeq, lastSeq, recordedUs, trueUs, rate }) => ({
    epoch_word: epochWord,
    first_seq: firstSeq,
    last_seq: lastSeq ?? null,
    recorded_us: recordedUs,
    true_us: trueUs,
    rate,
  }));
  return JSON.stringify({ version: VERSION, spans: kept }) + "\n";
}

/** Reads the content of the file. @throws {SyntaxError|TypeError} it is none */
export function parseSpans(text: string): ClockSpan[] {
  const found = asRecord(JSON.parse(text));
  if (found["version"] !== VERSION) throw new TypeError(`expected version ${VERSION}`);
  return readList(found, "spans").map((each) => {
    const span = asRecord(each);
    const rate = readNumber(span, "rate");
    if (!isClockRate(rate)) throw new TypeError(`"rate" is impossible`);
    return {
      epochWord: readCount(span, "epoch_word"),
      firstSeq: readCount(span, "first_seq"),
      lastSeq: span["last_seq"] === null ? undefined : readCount(span, "last_seq"),
      recordedUs: readCount(span, "recorded_us"),
      trueUs: readCount(span, "true_us"),
      rate,
    };
  });
}

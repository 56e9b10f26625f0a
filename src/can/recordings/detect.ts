import { ActisenseReader } from "./bst_line.ts";
import { CandumpReader } from "./candump.ts";
import { CsvReader } from "./csv.ts";
import { EblReader } from "./ebl.ts";
import { IkonvertReader } from "./ikonvert.ts";
import { MxpgnReader } from "./mxpgn.ts";
import { N2kAsciiReader } from "./n2k_ascii.ts";
import { PcdinReader } from "./pcdin.ts";
import type { LineReader, RecordingContext, RecordingFormat, RecordingReader } from "./recording.ts";
import { TextReader } from "./text.ts";
import { YdwgReader } from "./ydwg.ts";

/** Class of a line reader. */
interface LineFormat {
  new (context: RecordingContext): LineReader;
  /** Whether a line is of this format. */
  recognizes(line: string): boolean;
}

/** Text formats, in the order in which detection tries them. */
const LINE_FORMATS: Readonly<Record<Exclude<RecordingFormat, "ebl" | "actisense">, LineFormat>> = {
  ydwg: YdwgReader,
  csv: CsvReader,
  ikonvert: IkonvertReader,
  "n2k-ascii": N2kAsciiReader,
  mxpgn: MxpgnReader,
  pcdin: PcdinReader,
  candump: CandumpReader,
};
const LINE_FORMAT_NAMES = Object.keys(LINE_FORMATS) as (keyof typeof LINE_FORMATS)[];

/** Creates the reader of a format. */
export function createReader(format: RecordingFormat, context: RecordingContext): RecordingReader {
  if (format === "ebl") return new EblReader(context);
  if (format === "actisense") return new ActisenseReader(context);
  return new TextReader(new LINE_FORMATS[format](context));
}

/** BST types that a gateway sends: two with complete messages, one with frames, and its own status. */
const BST_FORMS = [0x93, 0xd0, 0x95, 0xa0];

/**
 * Detects the format of a recording from its beginning: a record of the binary log, a message of a serial line, or the
 * first line of a known text format. Undefined when none is found.
 */
export function detectFormat(head: Uint8Array): RecordingFormat | undefined {
  if (hasEblRecord(head)) return "ebl";
  if (hasBstMessage(head)) return "actisense";
  for (const line of new TextDecoder().decode(head).split("\n")) {
    const found = LINE_FORMAT_NAMES.find((format) => LINE_FORMATS[format].recognizes(line.trim()));
    if (found) return found;
  }
  return undefined;
}

/** Whether there is ESC SOH and a type of the binary log, which no text contains. */
function hasEblRecord(head: Uint8Array): boolean {
  return head.some((byte, i) => byte === 0x1b && head[i + 1] === 0x01 && [0x01, 0x03, 0x07].includes(head[i + 2] ?? 0));
}

/** Whether there is DLE STX and a type that gateways send, which no text contains. */
function hasBstMessage(head: Uint8Array): boolean {
  return head.some((byte, i) => byte === 0x10 && head[i + 1] === 0x02 && BST_FORMS.includes(head[i + 2] ?? 0));
}

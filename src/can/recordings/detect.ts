import { CandumpReader } from "./candump.ts";
import { CsvReader } from "./csv.ts";
import { IkonvertReader } from "./ikonvert.ts";
import { N2kAsciiReader } from "./n2k_ascii.ts";
import type { RecordingFormat } from "./recording.ts";
import { YdwgReader } from "./ydwg.ts";

/** Text formats, each with a function that recognizes a line. */
const LINES: readonly { format: RecordingFormat; recognizes: (line: string) => boolean }[] = [
  { format: "ydwg", recognizes: YdwgReader.recognizes },
  { format: "csv", recognizes: CsvReader.recognizes },
  { format: "ikonvert", recognizes: IkonvertReader.recognizes },
  { format: "n2k-ascii", recognizes: N2kAsciiReader.recognizes },
  { format: "candump", recognizes: CandumpReader.recognizes },
];

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
    const found = LINES.find(({ recognizes }) => recognizes(line.trim()));
    if (found) return found.format;
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

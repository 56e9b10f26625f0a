import { CandumpReader } from "./candump.ts";
import { CsvReader } from "./csv.ts";
import { IkonvertReader } from "./ikonvert.ts";
import { N2kAsciiReader } from "./n2k_ascii.ts";
import type { RecordingFormat } from "./recording.ts";
import { YdwgReader } from "./ydwg.ts";

/** Formats of text, each with how to know a line of it. */
const LINES: readonly { format: RecordingFormat; recognizes: (line: string) => boolean }[] = [
  { format: "ydwg", recognizes: YdwgReader.recognizes },
  { format: "csv", recognizes: CsvReader.recognizes },
  { format: "ikonvert", recognizes: IkonvertReader.recognizes },
  { format: "n2k-ascii", recognizes: N2kAsciiReader.recognizes },
  { format: "candump", recognizes: CandumpReader.recognizes },
];

/** Messages that a gateway sends by itself: two of whole messages, one of frames, and its own state. */
const BST_FORMS = [0x93, 0xd0, 0x95, 0xa0];

/**
 * Format of a recording, judged by its beginning: by a record of the binary log, by a message of a serial line, or by the first line that belongs to a
 * format. Undefined when there is none.
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

/** ESC SOH and a type that the binary log has; no text has this. */
function hasEblRecord(head: Uint8Array): boolean {
  return head.some((byte, i) => byte === 0x1b && head[i + 1] === 0x01 && [0x01, 0x03, 0x07].includes(head[i + 2] ?? 0));
}

/** DLE STX and a message that gateways send; no text has this. */
function hasBstMessage(head: Uint8Array): boolean {
  return head.some((byte, i) => byte === 0x10 && head[i + 1] === 0x02 && BST_FORMS.includes(head[i + 2] ?? 0));
}

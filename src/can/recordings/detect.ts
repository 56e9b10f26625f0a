import { CandumpReader } from "./candump.ts";
import { CsvReader } from "./csv.ts";
import { IkonvertReader } from "./ikonvert.ts";
import type { RecordingFormat } from "./recording.ts";
import { YdwgReader } from "./ydwg.ts";

/** Formats of text, each with how to know a line of it. */
const LINES: readonly { format: RecordingFormat; recognizes: (line: string) => boolean }[] = [
  { format: "ydwg", recognizes: YdwgReader.recognizes },
  { format: "csv", recognizes: CsvReader.recognizes },
  { format: "ikonvert", recognizes: IkonvertReader.recognizes },
  { format: "candump", recognizes: CandumpReader.recognizes },
];

/**
 * Format of a recording, judged by its beginning: by a record of the binary log, or by the first line that belongs to a
 * format. Undefined when there is none.
 */
export function detectFormat(head: Uint8Array): RecordingFormat | undefined {
  if (hasEblRecord(head)) return "ebl";
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

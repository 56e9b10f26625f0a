import { MAX_CAN_BYTES, MAX_FAST_PACKET_BYTES } from "../../frame/mod.ts";
import { isFastPacket } from "../../pgn/mod.ts";
import { FAST_FIRST_BYTES } from "../assembly/fast_packet.ts";
import { readDate } from "./clocks.ts";
import { bad, type LineReader, messageOf, passed, type Reading, type RecordedItem } from "./recording.ts";

/** `2021-01-27T23:33:50.468Z,7,262400,0,255,15,12,01`: time, priority, PGN, source, destination, length, bytes. */
const LINE = /^([^,]+),(\d{1,3}),(\d{1,8}),(\d{1,5}),(\d{1,5}),(\d{1,4})((?:,[0-9A-F]{1,2})*)$/i;
const FORMAT = /^#\s*format\s*=\s*(\w+)/i;
/** Most streams remembered as reassembled. */
const MAX_SENDERS = 4096;

/**
 * Reads Actisense's and canboat's CSV. A heading may declare the lines as frames (`# format=PLAIN`) or complete messages
 * (`FAST`). Without one both can be mixed: a line longer than a frame is a message, and so are all later lines of the
 * same source and PGN; a short line is a frame, if it can be a fragment.
 */
export class CsvReader implements LineReader {
  #format = "";
  readonly #reassembled = new Set<number>();

  /** Whether a line is of this format. */
  static recognizes(line: string): boolean {
    return FORMAT.test(line) || readDate(LINE.exec(line)?.[1] ?? "") !== undefined;
  }

  read(line: string): Reading {
    if (line === "" || line.startsWith("#")) {
      this.#format = FORMAT.exec(line)?.[1]?.toUpperCase() ?? this.#format;
      return passed("comment");
    }
    const match = LINE.exec(line);
    if (!match) return bad("not a line of CSV");
    const timeUs = readDate(match[1] ?? "");
    if (timeUs === undefined) return bad("invalid date");
    const [prio = 0, pgn = 0, src = 0, dst = 0, length = 0] = match.slice(2, 7).map(Number);
    const data = Uint8Array.from((match[7] ?? "").split(",").slice(1), (byte) => parseInt(byte, 16));
    if (data.length !== length) return bad(`${data.length} bytes, not ${length} as the line says`);
    const reading = messageOf({ prio, pgn, src, dst }, { data, time: () => timeUs });
    if (reading.type === "item") reading.item.kind = this.#kind(pgn * 256 + src, { pgn, data });
    return reading;
  }

  #kind(sender: number, { pgn, data }: { pgn: number; data: Uint8Array }): RecordedItem["kind"] {
    if (data.length > MAX_CAN_BYTES) {
      if (this.#reassembled.size < MAX_SENDERS) this.#reassembled.add(sender);
      return "message";
    }
    if (this.#format === "PLAIN") return "frame";
    if (this.#format === "FAST" || this.#reassembled.has(sender)) return "message";
    return isFastPacket(pgn) && !canBeFragment(data) ? "message" : "frame";
  }
}

/** Whether this can be a fragment of a fast packet: a first one has a valid length and consistent padding. */
function canBeFragment(data: Uint8Array): boolean {
  const [head = 0, total = 0] = data;
  if (data.length < 2) return false;
  if ((head & 0x1f) !== 0) return true;
  if (total < 1 || total > MAX_FAST_PACKET_BYTES) return false;
  if (total >= FAST_FIRST_BYTES) return true;
  const filling = data.subarray(2 + total);
  return data.length >= 2 + total && (filling.every((byte) => byte === 0xff) || filling.every((byte) => byte === 0));
}

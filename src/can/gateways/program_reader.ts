import {
  buildCanId,
  CAN_ID_MASK,
  MAX_CAN_BYTES,
  MAX_MESSAGE_BYTES,
  NULL_ADDRESS,
  pgnOfId,
  readHex,
} from "../../frame/mod.ts";
import { BstReader, GatewayClock, TO_SEND } from "../recordings/bst.ts";
import { ActisenseReader } from "../recordings/bst_line.ts";
import { CandumpReader } from "../recordings/candump.ts";
import { N2kAsciiReader } from "../recordings/n2k_ascii.ts";
import {
  bad,
  type LineReader,
  passed,
  type Reading,
  type RecordedItem,
  type RecordingContext,
  type RecordingReader,
  whyNotHeader,
} from "../recordings/recording.ts";
import { TextReader } from "../recordings/text.ts";

/** Formats in which programs write to a gateway: a part of the recording formats. */
export type ProgramFormat = "ydwg" | "n2k-ascii" | "actisense" | "candump";

/** Header bytes of BST 94: form, length, priority, PGN, destination, length. */
const BST_HEADER_BYTES = 8;

/**
 * Reads what programs write to a gateway. Differs from a recording: there are no times, and often no source address,
 * because the gateway sends with its own.
 */
export class ProgramReader {
  readonly #reader: RecordingReader;
  #unreadable = 0;

  /** @param busOf index of a bus by the name in a line (candump); undefined makes the line unreadable. Default 0 */
  constructor(format: ProgramFormat, busOf: (name: string) => number | undefined = () => 0) {
    // Times do not matter.
    this.#reader = readerOf(format, { startUs: () => 0, note: () => {}, bus: busOf });
  }

  /** Lines or records that could not be read. */
  get unreadable(): number {
    return this.#unreadable;
  }

  /** The frames and messages of a piece of any size. A line or record may continue in the next piece. */
  *push(piece: Uint8Array): Iterable<RecordedItem> {
    for (const reading of this.#reader.push(piece)) {
      if (reading.type === "item") yield reading.item;
      else if (reading.type === "bad") this.#unreadable++;
    }
  }
}

function readerOf(format: ProgramFormat, context: RecordingContext): RecordingReader {
  switch (format) {
    case "ydwg":
      return new TextReader(new RawLineReader());
    case "n2k-ascii":
      return new TextReader(new N2kAsciiReader(context));
    case "candump":
      return new TextReader(new CandumpReader(context));
    case "actisense": {
      const others = new BstReader(context, new GatewayClock(context));
      return new ActisenseReader(context, {
        read: (bytes) => bytes[0] === TO_SEND ? readCommand(bytes) : others.read(bytes),
      });
    }
  }
}

/** `09F80115 A0 7D E6 18`, optionally after the time and direction that a gateway writes. */
const RAW_LINE = /^(?:\d\d:\d\d:\d\d\.\d{1,6} [RT] )?([0-9A-F]{8})((?: [0-9A-F]{2}){0,8})$/i;

/** Reads lines of RAW mode of Yacht Devices' gateways in the direction to the gateway. */
class RawLineReader implements LineReader {
  read(line: string): Reading {
    if (line === "" || line.startsWith("#")) return passed("comment");
    const [, digits, hex = ""] = RAW_LINE.exec(line) ?? [];
    if (digits === undefined) return bad("not a line of RAW mode");
    const id = parseInt(digits, 16);
    const data = readHex(hex.replaceAll(" ", ""));
    if (id > CAN_ID_MASK || !data || data.length > MAX_CAN_BYTES) return bad("not a frame");
    return { type: "item", item: { kind: "frame", bus: 0, id, timeUs: 0, data } };
  }
}

/** Reads a message of BST 94: prio, PGN, destination, length, payload; it has no source. */
function readCommand(bytes: Uint8Array): Reading {
  const [, length, prio = 0, specific = 0, format = 0, page = 0, dst = 0, count] = bytes;
  const data = bytes.slice(BST_HEADER_BYTES);
  if (length !== bytes.length - 2 || count !== data.length) return bad("wrong length");
  const pgn = pgnOfId((page << 24) | (format << 16) | (specific << 8));
  const header = { prio, pgn, src: NULL_ADDRESS, dst };
  const why = whyNotHeader(header) ?? (page > 3 || data.length > MAX_MESSAGE_BYTES ? "not a message" : undefined);
  if (why !== undefined) return bad(why);
  return { type: "item", item: { kind: "message", bus: 0, id: buildCanId(header), timeUs: 0, data } };
}

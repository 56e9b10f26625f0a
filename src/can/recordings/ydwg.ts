import { CAN_ID_MASK, MAX_CAN_BYTES, readHex } from "../../frame/mod.ts";
import { DayClock } from "./clocks.ts";
import { bad, type LineReader, passed, type Reading, type RecordingContext } from "./recording.ts";

/** `00:29:58.617 R 0DFF180D A2 8C 50 C0 FF FF FF FF`; T is a frame that the gateway sent, which the bus carried too. */
const LINE = /^(\d\d):(\d\d):(\d\d)\.(\d{1,6}) [RT] ([0-9A-F]{8})((?: [0-9A-F]{2})*)$/i;

/** Lines of RAW mode of Yacht Devices' gateways: times of day without a date. */
export class YdwgReader implements LineReader {
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
    if (!match) return bad("not a line of RAW mode");
    const [, , , , , digits = "", hex = ""] = match;
    const id = parseInt(digits, 16);
    if (id > CAN_ID_MASK) return bad("identifier with more than 29 bits");
    const data = readHex(hex.replaceAll(" ", ""));
    if (!data || data.length > MAX_CAN_BYTES) return bad("not up to 8 bytes in hex");
    const timeUs = this.#clock.at(match.slice(1, 5));
    if (timeUs === undefined) return bad("no time of day");
    return { type: "item", item: { kind: "frame", bus: 0, id, timeUs, data } };
  }
}

import { formatHex, parseCanId } from "../../frame/mod.ts";
import { formatSentence, type RecordingFormat } from "../recordings/mod.ts";

/** Encoder of the data sent to a gateway. */
export interface GatewayWriter {
  /** What the gateway accepts: CAN frames, or complete messages, which it splits itself. */
  readonly takes: "frames" | "messages";
  /** Whether the gateway echoes sent frames. */
  readonly echoes: boolean;
  /** Sent first, to make the gateway forward everything. */
  readonly hello?: Uint8Array;
  /** Longest payload, bytes. */
  readonly maxBytes: number;
  /** Encodes one frame or message. */
  write(id: number, data: Uint8Array): Uint8Array;
}

const [STX, ETX, DLE] = [0x02, 0x03, 0x10];
/** BST 94: a message to be sent; at most 223 bytes, as a fast packet. */
const BST_SEND = 0x94;
/** BST A1: a command; 0x11 sets the operating mode, of which 2 is "receive all" (canboat, actisense-serial). */
const NGT_STARTUP = [0xa1, 3, 0x11, 0x02, 0x00];
const IKONVERT_STARTUP = "$PDGY,N2NET_INIT,ALL\r\n";

const encoder = new TextEncoder();
const hex = (value: number, digits: number) => value.toString(16).toUpperCase().padStart(digits, "0");

/** Encoders by format. Nothing can be sent in other formats. */
export const GATEWAY_WRITERS: Readonly<Partial<Record<RecordingFormat, GatewayWriter>>> = {
  // Appendix E of Yacht Devices' manuals: as received, without time and direction; echoed with direction T.
  ydwg: {
    takes: "frames",
    echoes: true,
    maxBytes: 8,
    write: (id, data) => line([hex(id, 8), ...Array.from(data, (byte) => hex(byte, 2))].join(" ")),
  },
  // Actisense's description of ShipModul's format, "NMEA 2000 Transmission": bit 15 asks to send, the lowest byte is the
  // destination.
  mxpgn: {
    takes: "frames",
    echoes: false,
    maxBytes: 8,
    write: (id, data) => {
      const { prio, pgn, dst } = parseCanId(id);
      const attributes = 0x8000 | (prio << 12) | (data.length << 8) | dst;
      const bytes = formatHex(data.toReversed()).toUpperCase();
      return line(formatSentence(`MXPGN,${hex(pgn, 6)},${hex(attributes, 4)},${bytes}`));
    },
  },
  // The gateway sets the time itself.
  "n2k-ascii": {
    takes: "messages",
    echoes: false,
    maxBytes: 223,
    write: (id, data) => {
      const { prio, pgn, src, dst } = parseCanId(id);
      return line(`A000000.000 ${hex(src, 2)}${hex(dst, 2)}${prio} ${hex(pgn, 5)} ${formatHex(data).toUpperCase()}`);
    },
  },
  actisense: {
    takes: "messages",
    echoes: false,
    maxBytes: 223,
    hello: frameBst(NGT_STARTUP),
    write: (id, data) => {
      const { prio, pgn, dst } = parseCanId(id);
      const body = [prio, pgn & 0xff, (pgn >>> 8) & 0xff, pgn >>> 16, dst, data.length, ...data];
      return frameBst([BST_SEND, body.length, ...body]);
    },
  },
  ikonvert: {
    takes: "messages",
    echoes: false,
    maxBytes: 223,
    hello: encoder.encode(IKONVERT_STARTUP),
    write: (id, data) => {
      const { pgn, dst } = parseCanId(id);
      return line(`!PDGY,${pgn},${dst},${data.toBase64()}`);
    },
  },
};

function line(text: string): Uint8Array {
  return encoder.encode(`${text}\r\n`);
}

/** A framed message of Actisense's serial line, with its checksum. */
function frameBst(message: readonly number[]): Uint8Array {
  const sum = message.reduce((a, b) => a + b, 0);
  const doubled = [...message, -sum & 0xff].flatMap((byte) => byte === DLE ? [DLE, DLE] : [byte]);
  return Uint8Array.from([DLE, STX, ...doubled, DLE, ETX]);
}

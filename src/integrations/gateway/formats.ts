import type { ProgramFormat } from "../../can/mod.ts";
import { destinationOfId, pgnOfId, priorityOfId, sourceOfId } from "../../frame/mod.ts";
import type { LineBuffer } from "./bytes.ts";

/** Formats of the gateway server: RAW of Yacht Devices, N2K ASCII and BST 95 of Actisense, candump's log. */
export const GATEWAY_FORMATS = ["ydraw", "n2kascii", "bst", "candump"] as const;

/** One of {@linkcode GATEWAY_FORMATS}. */
export type GatewayFormat = typeof GATEWAY_FORMATS[number];

/** A frame or message on its way to clients. */
export interface Outbound {
  id: number;
  timeUs: number;
  data: Uint8Array;
  offset: number;
  length: number;
  /** Name of its bus. */
  busName: string;
  /** True if the gateway has sent it. */
  isSent: boolean;
}

/** A format in both directions. */
export interface FormatRow {
  /** CAN frames, or complete messages. */
  carries: "frames" | "messages";
  /** What clients write. */
  input: ProgramFormat;
  /** Adds one line or record. */
  write(to: LineBuffer, frame: Outbound): void;
}

const [STX, ETX, DLE] = [0x02, 0x03, 0x10];
const CAN_FRAME = 0x95;
const FRAME_HEADER_BYTES = 6;
const DAY_MS = 86_400_000;

/** The formats by name. */
export const FORMAT_TABLE: Readonly<Record<GatewayFormat, FormatRow>> = {
  // Appendix E of Yacht Devices' manuals: time of day in UTC; R: received from the bus, T: sent by the gateway.
  ydraw: {
    carries: "frames",
    input: "ydwg",
    write(to, { id, timeUs, data, offset, length, isSent }) {
      writeTime(to, { timeUs, colon: ":" });
      to.text(isSent ? " T " : " R ");
      to.hex(id, 8);
      for (let i = 0; i < length; i++) {
        to.byte(32);
        to.hex(data[offset + i] ?? 0, 2);
      }
      endText(to);
    },
  },
  n2kascii: {
    carries: "messages",
    input: "n2k-ascii",
    write(to, { id, timeUs, data, offset, length }) {
      to.text("A");
      writeTime(to, { timeUs, colon: "" });
      to.text(" ");
      to.hex(sourceOfId(id), 2);
      to.hex(destinationOfId(id), 2);
      to.hex(priorityOfId(id), 1);
      to.text(" ");
      to.hex(pgnOfId(id), 5);
      to.text(" ");
      for (let i = 0; i < length; i++) to.hex(data[offset + i] ?? 0, 2);
      endText(to);
    },
  },
  // "BST 95" of Actisense's SDK: length of what follows, time in milliseconds, identifier, data; framed with a checksum.
  bst: {
    carries: "frames",
    input: "actisense",
    write(to, { id, timeUs, data, offset, length }) {
      let sum = 0;
      const escaped = (byte: number) => {
        sum += byte;
        if (byte === DLE) to.byte(DLE);
        to.byte(byte);
      };
      to.byte(DLE);
      to.byte(STX);
      escaped(CAN_FRAME);
      escaped(FRAME_HEADER_BYTES + length);
      const ms = Math.floor(timeUs / 1000) % 0x10000;
      escaped(ms & 0xff);
      escaped(ms >>> 8);
      for (let shift = 0; shift < 32; shift += 8) escaped((id >>> shift) & 0xff);
      for (let i = 0; i < length; i++) escaped(data[offset + i] ?? 0);
      escaped(-sum & 0xff);
      to.byte(DLE);
      to.byte(ETX);
      to.endLine();
    },
  },
  candump: {
    carries: "frames",
    input: "candump",
    write(to, { id, timeUs, data, offset, length, busName }) {
      const us = String(timeUs % 1e6).padStart(6, "0");
      to.text(`(${Math.floor(timeUs / 1e6)}.${us}) ${busName} `);
      to.hex(id, 8);
      to.text("#");
      for (let i = 0; i < length; i++) to.hex(data[offset + i] ?? 0, 2);
      to.text("\n");
      to.endLine();
    },
  },
};

function endText(to: LineBuffer): void {
  to.text("\r\n");
  to.endLine();
}

/** Time of day in UTC with milliseconds. */
function writeTime(to: LineBuffer, { timeUs, colon }: { timeUs: number; colon: string }): void {
  const ms = Math.floor(timeUs / 1000) % DAY_MS;
  to.decimal(Math.floor(ms / 3_600_000), 2);
  to.text(colon);
  to.decimal(Math.floor(ms / 60_000) % 60, 2);
  to.text(colon);
  to.decimal(Math.floor(ms / 1000) % 60, 2);
  to.text(".");
  to.decimal(ms % 1000, 3);
}

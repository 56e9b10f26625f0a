import { FrameSplitter, framingFor, splitTransport } from "../can/mod.ts";
import { MAX_MESSAGE_BYTES, sourceOfId, type StoredFrame } from "../frame/mod.ts";
import { ByteBuffer } from "./byte_buffer.ts";
import { RowWriter } from "./message_writer.ts";
import type { Origins } from "./origins.ts";

/** A CAN frame: bytes `start` to `end` of `data`. */
export interface WrittenFrame {
  id: number;
  /** Microseconds since 1970. */
  timeUs: number;
  data: Uint8Array;
  start: number;
  end: number;
}

/** A file of CAN frames. */
export interface FrameFormat {
  /** Last time that the format can carry, microseconds since 1970; the first is 1970. */
  lastUs: number;
  /** Adds the beginning of the file. */
  begin(to: ByteBuffer): void;
  /** Adds a frame. `interfaceName`: its bus as an interface of Linux. */
  write(to: ByteBuffer, frame: WrittenFrame, interfaceName: string): void;
}

/**
 * Writes messages as the CAN frames that carry them: a recording has whole messages, so fast packets and sessions of the ISO
 * transport protocol are split again. All frames of a message have its time. Of a session the frames of the sender are
 * written; those of the receiver are not recorded.
 */
export class FrameWriter extends RowWriter {
  readonly #format: FrameFormat;
  readonly #origins: Origins;
  readonly #buffer = new ByteBuffer();
  /** Counters of fast packets, by bus. */
  readonly #splitters = new Map<number, FrameSplitter>();
  readonly #frame: WrittenFrame = { id: 0, timeUs: 0, data: new Uint8Array(0), start: 0, end: 0 };
  /** Names of interfaces, by bus. */
  #interfaces: string[] = [];
  #interface = "";

  constructor(format: FrameFormat, origins: Origins) {
    super();
    this.#format = format;
    this.#origins = origins;
    format.begin(this.#buffer);
  }

  get waitingBytes(): number {
    return this.#buffer.length;
  }

  override originsChanged(): void {
    this.#interfaces = [];
  }

  /** False: the time is not within the format, or no frames can carry so many bytes. */
  add({ id, bus, pgn, timeUs, data, offset, length }: StoredFrame): boolean {
    if (timeUs < 0 || timeUs > this.#format.lastUs) return false;
    const frame = this.#frame;
    frame.timeUs = timeUs;
    this.#interface = this.#interfaces[bus] ??= interfaceOf(this.#origins.busName(bus), bus);
    const framing = framingFor(pgn, length);
    if (framing === "single") {
      this.#add(id, { data, start: offset, end: offset + length });
      return true;
    }
    if (length === 0 || length > MAX_MESSAGE_BYTES) return false;
    const payload = data.subarray(offset, offset + length);
    if (framing === "transport") {
      for (const each of splitTransport(id, payload)) {
        this.#add(each.id, { data: each.data, start: 0, end: each.data.length });
      }
      return true;
    }
    let splitter = this.#splitters.get(bus);
    if (splitter === undefined) this.#splitters.set(bus, splitter = new FrameSplitter());
    for (const each of splitter.split(framing, { pgn, src: sourceOfId(id), data: payload })) {
      this.#add(id, { data: each, start: 0, end: each.length });
    }
    return true;
  }

  take(): Uint8Array {
    return this.#buffer.take();
  }

  #add(id: number, { data, start, end }: { data: Uint8Array; start: number; end: number }): void {
    const frame = this.#frame;
    frame.id = id;
    frame.data = data;
    frame.start = start;
    frame.end = end;
    this.#format.write(this.#buffer, frame, this.#interface);
  }
}

/** Most bytes of a record, or of a line besides the name of the bus. */
const FRAME_BYTES = 64;

/** The packet capture format of libpcap, version 2.4, microseconds. */
const PCAP = { magic: 0xa1b2c3d4, major: 2, minor: 4, snapBytes: 65_535, linkType: 227 } as const;
/** Bytes of a SocketCAN header before the payload. */
const SOCKETCAN_BYTES = 8;
/** Marks an identifier of 29 bits. */
const EXTENDED = 0x80000000;
const MAX_UINT32 = 2 ** 32 - 1;

/** Packet captures with SocketCAN headers (LINKTYPE_CAN_SOCKETCAN). They do not name the bus. */
export const PCAP_FORMAT: FrameFormat = {
  lastUs: (MAX_UINT32 + 1) * 1e6 - 1,
  begin(to) {
    to.reserve(FRAME_BYTES);
    to.uint32(PCAP.magic);
    to.uint32(PCAP.major | (PCAP.minor << 16));
    // Time zone and accuracy: always zero.
    to.uint32(0);
    to.uint32(0);
    to.uint32(PCAP.snapBytes);
    to.uint32(PCAP.linkType);
  },
  write(to, { id, timeUs, data, start, end }) {
    to.reserve(FRAME_BYTES);
    const seconds = Math.floor(timeUs / 1e6);
    to.uint32(seconds);
    to.uint32(timeUs - seconds * 1e6);
    const bytes = SOCKETCAN_BYTES + end - start;
    to.uint32(bytes);
    to.uint32(bytes);
    // The identifier is in network byte order.
    const word = (id | EXTENDED) >>> 0;
    for (let shift = 24; shift >= 0; shift -= 8) to.byte((word >>> shift) & 0xff);
    to.uint32(end - start);
    for (let i = start; i < end; i++) to.byte(data[i] ?? 0);
  },
};

const [OPEN, CLOSE, DOT, SPACE, HASH, LINE_END] = [40, 41, 46, 32, 35, 10];

/** The log format of can-utils, `(seconds.microseconds) bus identifier#data`, as `candump -l` writes it. */
export const CANDUMP_FORMAT: FrameFormat = {
  lastUs: Number.MAX_SAFE_INTEGER,
  begin() {},
  write(to, { id, timeUs, data, start, end }, interfaceName) {
    to.reserve(FRAME_BYTES);
    const seconds = Math.floor(timeUs / 1e6);
    to.byte(OPEN);
    // Ten digits, in halves that fit into 32 bits.
    to.padded(Math.floor(seconds / 1e5), 5);
    to.padded(seconds % 1e5, 5);
    to.byte(DOT);
    to.padded(timeUs - seconds * 1e6, 6);
    to.byte(CLOSE);
    to.byte(SPACE);
    to.text(interfaceName);
    to.reserve(FRAME_BYTES);
    to.byte(SPACE);
    to.hexWord(id);
    to.byte(HASH);
    to.hexUpper(data, start, end);
    to.byte(LINE_END);
  },
};

/** A bus as an interface of Linux; one without a name by its index. */
function interfaceOf(name: string, bus: number): string {
  return name === "" ? `can${bus}` : name.replaceAll(/\s/g, "_");
}

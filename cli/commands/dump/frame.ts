import type { ClientFrame } from "@vessel/gateway";
import {
  destinationOfId,
  formatHex,
  formatTimeUs,
  packBus,
  priorityOfId,
  readHex,
  sourceOfId,
  type StoredFrame,
} from "@vessel/gateway/frame";
import { decode, type Decoded } from "@vessel/gateway/pgn";

/** A frame to print, live or recorded. Costly members are computed on access. */
export abstract class DumpFrame {
  seq = 0;
  prio = 0;
  pgn = 0;
  src = 0;
  dst = 0;
  /** Undefined if there is only one bus. */
  bus?: string;
  #decoded: Decoded | undefined;
  #isDecoded = false;

  /** Time of reception, RFC 3339. */
  abstract readonly ts: string;
  /** The same in milliseconds since 1970. */
  abstract readonly timeMs: number;
  /** The payload, valid until the next frame: copy it to keep it. */
  abstract readonly data: Uint8Array;
  /** The payload in hex. */
  abstract readonly hex: string;
  /** Header fields as members of JSON: `"prio":2,…,`. */
  abstract readonly headText: string;

  /** Decoded fields; undefined without a definition. */
  get decoded(): Decoded | undefined {
    if (!this.#isDecoded) {
      this.#isDecoded = true;
      this.#decoded = decode(this.pgn, this.data);
    }
    return this.#decoded;
  }

  /** Resets the cached fields for the next frame. */
  begin(): void {
    this.#isDecoded = false;
  }
}

/** A recorded frame; one object is reused for all frames with the same bus names. */
export class StoredDump extends DumpFrame {
  /** Cache by bus and identifier: many frames share few of them. */
  readonly #heads = new Map<number, string>();
  #headKey = 0;
  #stored: StoredFrame | undefined;
  #data: Uint8Array | undefined;

  /** Sets the frame, which must not change while this object is used. */
  load(stored: StoredFrame, bus: string | undefined): this {
    const { id } = stored;
    this.begin();
    this.#stored = stored;
    this.#data = undefined;
    this.#headKey = packBus(id, stored.bus);
    this.seq = stored.seq;
    this.prio = priorityOfId(id);
    this.pgn = stored.pgn;
    this.src = sourceOfId(id);
    this.dst = destinationOfId(id);
    if (bus !== undefined) this.bus = bus;
    return this;
  }

  override get ts(): string {
    return formatTimeUs(this.#stored?.timeUs ?? 0);
  }

  override get timeMs(): number {
    return Math.floor((this.#stored?.timeUs ?? 0) / 1000);
  }

  override get data(): Uint8Array {
    const stored = this.#stored;
    return this.#data ??= stored
      ? stored.data.subarray(stored.offset, stored.offset + stored.length)
      : new Uint8Array(0);
  }

  override get hex(): string {
    return formatHex(this.data);
  }

  override get headText(): string {
    let text = this.#heads.get(this.#headKey);
    if (text === undefined) this.#heads.set(this.#headKey, text = formatHead(this));
    return text;
  }
}

/** A frame of a server. */
export class LiveDump extends DumpFrame {
  readonly ts: string;
  readonly hex: string;
  #data: Uint8Array | undefined;

  constructor({ seq, ts, prio, pgn, src, dst, bus, data }: ClientFrame) {
    super();
    Object.assign(this, { seq, prio, pgn, src, dst });
    if (bus !== undefined) this.bus = bus;
    this.ts = ts;
    this.hex = data;
  }

  override get timeMs(): number {
    return Date.parse(this.ts);
  }

  override get headText(): string {
    return formatHead(this);
  }

  override get data(): Uint8Array {
    return this.#data ??= readHex(this.hex) ?? new Uint8Array(0);
  }
}

function formatHead({ prio, pgn, src, dst, bus }: DumpFrame): string {
  const busText = bus === undefined ? "" : `"bus":${JSON.stringify(bus)},`;
  return `"prio":${prio},"pgn":${pgn},"src":${src},"dst":${dst},${busText}`;
}

/** A frame as the plain receiver sees it. */
export interface TpFrame {
  id: number;
  data: ArrayLike<number>;
}

/** A message that has come whole. */
export interface TpMessage {
  pgn: number;
  src: number;
  dst: number;
  data: number[];
}

/** What a receiver does when it is its turn to speak. */
export type TpMood = "ask" | "hold" | "again" | "silent" | "abort";

export interface TpReceiverOptions {
  /** Its address; broadcasts are heard whatever it is. */
  address: number;
  /** Packets that it asks for at a time, default 16. */
  window?: () => number;
  /** Default: always asks for what it needs. */
  mood?: () => TpMood;
}

interface Transfer {
  src: number;
  dst: number;
  pgn: number;
  total: number;
  packets: number;
  got: Map<number, number[]>;
  /** Last packet of those that it has asked for. */
  until: number;
  /** When it speaks again without having heard anything. */
  speakMs: number;
}

/** A receiver that waits for a packet asks again after so long (T1), and holds the sender by a word each (Th). */
const LOST_MS = 750;
const HOLD_MS = 500;

/**
 * The receiving side of ISO 11783-3 transport sessions, in the plainest way and sharing no code with the gateway. Takes
 * broadcasts and what is addressed to it.
 */
export class TpReceiver {
  readonly messages: TpMessage[] = [];
  /** Abort reasons that it has heard. */
  readonly aborts: number[] = [];
  /** What it has said, by kind. */
  readonly said: Record<string, number> = { cts: 0, hold: 0, end: 0, abort: 0 };
  readonly #options: Required<TpReceiverOptions>;
  readonly #transfers = new Map<string, Transfer>();

  constructor(options: TpReceiverOptions) {
    this.#options = { window: () => 16, mood: () => "ask", ...options };
  }

  /** Hears a frame; returns what it says to it. */
  hear({ id, data }: TpFrame, nowMs: number): TpFrame[] {
    const format = Math.floor(id / 65536) % 256;
    const dst = Math.floor(id / 256) % 256;
    const src = id % 256;
    const bytes = Array.from(data);
    if (dst !== 255 && dst !== this.#options.address) return [];
    if (format === 0xec) return this.#control(bytes, { src, dst, nowMs });
    if (format === 0xeb) return this.#packet(bytes, { src, dst, nowMs });
    return [];
  }

  /** Lets time pass; returns what it says by itself. */
  tick(nowMs: number): TpFrame[] {
    return [...this.#transfers.values()].filter((each) => nowMs >= each.speakMs)
      .flatMap((each) => this.#speak(each, nowMs));
  }

  #control(bytes: number[], { src, dst, nowMs }: { src: number; dst: number; nowMs: number }): TpFrame[] {
    const [kind, low = 0, high = 0, packets = 0, , p0 = 0, p1 = 0, p2 = 0] = bytes;
    const key = `${src}>${dst}`;
    if (kind === 255) {
      if (this.#transfers.delete(key)) this.aborts.push(low);
      return [];
    }
    if (kind !== 16 && kind !== 32) return [];
    const transfer: Transfer = {
      src,
      dst,
      pgn: p0 + 256 * p1 + 65536 * p2,
      total: low + 256 * high,
      packets,
      got: new Map(),
      until: 0,
      speakMs: Infinity,
    };
    this.#transfers.set(key, transfer);
    return kind === 16 ? this.#speak(transfer, nowMs) : [];
  }

  #packet(bytes: number[], { src, dst, nowMs }: { src: number; dst: number; nowMs: number }): TpFrame[] {
    const transfer = this.#transfers.get(`${src}>${dst}`);
    const number = bytes[0] ?? 0;
    if (!transfer || number < 1 || number > transfer.packets) return [];
    transfer.got.set(number, bytes.slice(1));
    transfer.speakMs = dst === 255 ? Infinity : nowMs + LOST_MS;
    if (dst === 255 && transfer.got.size === transfer.packets) this.#finish(transfer);
    return dst !== 255 && number === transfer.until ? this.#speak(transfer, nowMs) : [];
  }

  /** It is its turn: asks for what is missing, or says that all is here, or what its mood is. */
  #speak(transfer: Transfer, nowMs: number): TpFrame[] {
    const { got, packets, src } = transfer;
    transfer.speakMs = nowMs + LOST_MS;
    const missing = Array.from({ length: packets }, (_, i) => i + 1).find((number) => !got.has(number));
    const mood = this.#options.mood();
    if (mood === "silent") return [];
    if (mood === "abort") {
      this.#transfers.delete(`${src}>${transfer.dst}`);
      return [this.#say(transfer, "abort", [255, 2, 255, 255, 255])];
    }
    if (mood === "hold") {
      transfer.speakMs = nowMs + HOLD_MS;
      return [this.#say(transfer, "hold", [17, 0, 255, 255, 255])];
    }
    if (missing === undefined && mood !== "again") {
      this.#finish(transfer);
      const { total } = transfer;
      return [this.#say(transfer, "end", [19, total % 256, Math.floor(total / 256), packets, 255])];
    }
    const next = missing ?? packets;
    const from = mood === "again" ? Math.max(1, next - 1) : next;
    const count = Math.max(1, Math.min(this.#options.window(), packets - from + 1));
    transfer.until = from + count - 1;
    return [this.#say(transfer, "cts", [17, count, from, 255, 255])];
  }

  #finish({ src, dst, pgn, total, packets, got }: Transfer): void {
    const data = Array.from({ length: packets }, (_, i) => got.get(i + 1)!).flat();
    if (data.slice(total).some((byte) => byte !== 255)) throw new Error("the last packet is not padded");
    this.messages.push({ pgn, src, dst, data: data.slice(0, total) });
    this.#transfers.delete(`${src}>${dst}`);
  }

  #say({ src, pgn }: Transfer, kind: string, head: number[]): TpFrame {
    this.said[kind]!++;
    const id = 7 * 2 ** 26 + 0xec * 65536 + src * 256 + this.#options.address;
    return { id, data: [...head, pgn % 256, Math.floor(pgn / 256) % 256, Math.floor(pgn / 65536)] };
  }
}

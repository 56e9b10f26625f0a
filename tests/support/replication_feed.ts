import { systemClock } from "../../src/base/mod.ts";
import { splitFastPacket } from "../../src/can/mod.ts";
import { buildCanId } from "../../src/frame/mod.ts";
import { isFastPacket } from "../../src/pgn/mod.ts";
import { expectedLine } from "../../cli/commands/audit/expected.ts";
import { pause } from "./eventually.ts";
import { GatewayPeer } from "./gateway_peer.ts";

const TICK_MS = 10;

/** Messages that were put on the bus at once. */
export interface FedPiece {
  /** Numbers of the first and the last one. */
  first: number;
  last: number;
  /** Time before the first byte was written, microseconds since 1970. */
  atUs: number;
  /** Whether somebody listened. */
  isHeard: boolean;
}

/** How a feed is set up. */
export interface FeedOptions {
  /** Name of the bus; default `can0`. */
  name?: string;
  /** Time between two pieces, milliseconds; default 10. */
  pieceMs?: () => number;
  /** Messages that were put on the bus by an earlier feed; default 0. */
  earlier?: number;
  /** Called before each piece is written. */
  onPiece?: (piece: FedPiece) => void;
}

const SINGLE_PGNS = [127250, 127245, 130306, 128259, 127488];
const FAST_PGN = 129029;
const FAST_BYTES = 43;
/** Frames of each fast packet: 6 bytes in the first one, 7 in the others. */
export const FAST_FRAMES = 7;
/** One message in so many is a fast packet. */
export const FAST_EVERY = 16;
const SOURCES = [10, 11, 12, 13];
/**
 * Fast packets come from so many devices, one after the other: two of one device with the same counter lie so far apart that
 * their parts are not taken for each other's, though a busy machine makes up for seconds at once.
 */
const FAST_SOURCES = { first: 50, count: 199 };
/** Device whose fast packets never get their rest. */
const BROKEN_SOURCE = 49;

/**
 * A bus full of messages, each another one, behind a gateway over TCP, which loses nothing. It writes down what it put
 * there. While nobody listens there is no traffic.
 */
export class BusFeed implements AsyncDisposable {
  /** Messages a second. */
  rate = 0;
  /** Whether there are fast packets. On a bus that is fuller than any real one their parts are taken for each other's. */
  hasFastPackets = true;
  readonly #peer: GatewayPeer;
  readonly #truth: Deno.FsFile;
  readonly #truthPath: string;
  readonly #name: string;
  readonly #pieceMs: () => number;
  readonly #onPiece: ((piece: FedPiece) => void) | undefined;
  readonly #running: Promise<void>;
  #saying = Promise.resolve();
  #isStopped = false;
  #count: number;
  #fastSequence = 0;

  private constructor(
    truthPath: string,
    { name = "can0", pieceMs = () => TICK_MS, earlier = 0, onPiece }: FeedOptions,
  ) {
    this.#name = name;
    this.#pieceMs = pieceMs;
    this.#onPiece = onPiece;
    this.#count = earlier;
    this.#peer = new GatewayPeer();
    this.#truthPath = truthPath;
    this.#truth = Deno.openSync(truthPath, { write: true, create: true, truncate: true });
    this.#running = this.#run();
  }

  /** @param truthPath where what was put on the bus is written, as the audit reads it */
  static start(truthPath: string, options: FeedOptions = {}): BusFeed {
    return new BusFeed(truthPath, options);
  }

  /** What `-interface` of the boat has to be. */
  get source(): string {
    return `tcp://127.0.0.1:${this.#peer.port}?name=${this.#name}&silence=0#ydwg`;
  }

  /** File of what was put on the bus. */
  get truthPath(): string {
    return this.#truthPath;
  }

  /** Messages that were put on the bus so far, those of an earlier feed included. */
  get count(): number {
    return this.#count;
  }

  /** Whether the boat listens. */
  get isHeard(): boolean {
    return this.#peer.open > 0;
  }

  /** Puts so many messages on the bus at once, behind those that are on their way. */
  burst(count: number): Promise<void> {
    return this.#saying = this.#saying.then(() => this.#burst(count));
  }

  /** Hangs up, after the first frames of a fast packet that never gets its rest. Others may connect. */
  hangUp(frames = 0): Promise<void> {
    return this.#saying = this.#saying.then(async () => {
      const id = buildCanId({ prio: 3, pgn: FAST_PGN, src: BROKEN_SOURCE, dst: 255 });
      const parts = splitFastPacket(new Uint8Array(FAST_BYTES), this.#fastSequence++).slice(0, frames);
      await this.#peer.say(linesOf(id, parts).join(""));
      this.#peer.hangUp();
    });
  }

  async #burst(count: number): Promise<void> {
    const lines: string[] = [];
    const truth: string[] = [];
    const first = this.#count + 1;
    for (let i = 0; i < count; i++) this.#message({ lines, truth });
    // What is written down first may never be heard; what is heard must be written down.
    this.#write(truth.join(""));
    this.#onPiece?.({ first, last: this.#count, atUs: systemClock.wallUs(), isHeard: this.isHeard });
    try {
      await this.#peer.say(lines.join(""));
    } catch {
      // Nobody hears it: the boat is gone.
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isStopped = true;
    await this.#running;
    await this.#peer.stop();
    this.#truth.close();
  }

  async #run(): Promise<void> {
    let owed = 0;
    let lastMs = performance.now();
    while (!this.#isStopped) {
      await pause(this.#pieceMs());
      const nowMs = performance.now();
      owed = this.isHeard ? owed + (nowMs - lastMs) * this.rate / 1000 : 0;
      lastMs = nowMs;
      const count = Math.floor(owed);
      owed -= count;
      if (count > 0) await this.burst(count);
    }
  }

  #message({ lines, truth }: { lines: string[]; truth: string[] }): void {
    const number = ++this.#count;
    const isFast = this.hasFastPackets && number % FAST_EVERY === 0;
    const pgn = isFast ? FAST_PGN : SINGLE_PGNS[number % SINGLE_PGNS.length] ?? FAST_PGN;
    const src = isFast
      ? FAST_SOURCES.first + number / FAST_EVERY % FAST_SOURCES.count
      : SOURCES[number % SOURCES.length] ?? 0;
    const id = buildCanId({ prio: 3, pgn, src, dst: 255 });
    const payload = new Uint8Array(isFastPacket(pgn) ? FAST_BYTES : 8);
    for (let i = 4; i < payload.length; i++) payload[i] = (number * 31 + i * 17) & 0xff;
    // Noise, as of a sensor's last digits; another one on each bus.
    const mixed = Math.imul(number + this.#name.charCodeAt(this.#name.length - 1) * 0x10000, 2_654_435_761);
    new DataView(payload.buffer).setUint16(6, Math.imul(mixed ^ (mixed >>> 15), 1_597_334_677) >>> 16);
    new DataView(payload.buffer).setUint32(0, number, true);
    truth.push(`${expectedLine(id, payload)}\n`);
    const frames = isFastPacket(pgn) ? splitFastPacket(payload, this.#fastSequence++) : [payload];
    lines.push(...linesOf(id, frames));
  }

  #write(text: string): void {
    const bytes = new TextEncoder().encode(text);
    for (let at = 0; at < bytes.length;) at += this.#truth.writeSync(bytes.subarray(at));
  }
}

/** Frames that come now, as a YDWG sends them. */
function linesOf(id: number, frames: readonly Uint8Array[]): string[] {
  const time = new Date().toISOString().slice(11, 23);
  const head = `${time} R ${id.toString(16).toUpperCase().padStart(8, "0")}`;
  return frames.map((frame) => {
    const bytes = Array.from(frame, (byte) => byte.toString(16).toUpperCase().padStart(2, "0"));
    return `${head} ${bytes.join(" ")}\r\n`;
  });
}

import { type CanFrame, MAX_FAST_PACKET_BYTES, MAX_PGN, type Message, pgnOfId } from "../frame/mod.ts";
import { framingOf, PGN } from "../pgn/mod.ts";
import { type AssemblerDrops, newDrops } from "./assembler_drops.ts";
import { FAST_FIRST_BYTES, FAST_NEXT_BYTES, fastPacketFrames } from "./fast_packet.ts";
import { TransportListener } from "./iso_transport.ts";

/** A fragment that has waited this long for the next one belongs to a message that will not come. */
export const FAST_PACKET_TIMEOUT_MS = 750;
/** Unfinished messages kept for one bus. */
export const DEFAULT_MAX_ASSEMBLIES = 4096;
/** How often unfinished messages are looked through for stale ones. */
const EXPIRY_INTERVAL_MS = 50;
/** Bytes of a fragment buffer: a whole fast packet, its last frame with padding. */
const SLOT_BYTES = FAST_FIRST_BYTES + 31 * FAST_NEXT_BYTES;

interface Assembly {
  key: number;
  /** Bit n is set when fragment n is here. */
  mask: number;
  /** Number of fragments, 0 while the first one is missing. */
  frames: number;
  length: number;
  /** Header of the first fragment, or of any until that one comes. */
  id: number;
  touchedMs: number;
  data: Uint8Array<ArrayBuffer>;
}

/**
 * Makes whole messages of the frames of one bus: single frames pass through, fast packets and ISO transport sessions
 * are put together. Pure: the time comes with the frames.
 */
export class Assembler {
  readonly drops: AssemblerDrops = newDrops();
  readonly #emit: (message: Message) => void;
  readonly #message: Message;
  readonly #maxAssemblies: number;
  readonly #assemblies = new Map<number, Assembly>();
  readonly #free: Assembly[] = [];
  readonly #transport: TransportListener;
  #nextExpiryMs = 0;

  /**
   * @param emit gets each whole message; the object and its buffer are reused
   * @param options.bus index of the bus, told in every message
   * @param options.maxAssemblies most unfinished messages at once, default {@linkcode DEFAULT_MAX_ASSEMBLIES}
   */
  constructor(
    emit: (message: Message) => void,
    { bus = 0, maxAssemblies = DEFAULT_MAX_ASSEMBLIES }: { bus?: number; maxAssemblies?: number } = {},
  ) {
    this.#emit = emit;
    this.#maxAssemblies = maxAssemblies;
    this.#message = { bus, pgn: 0, id: 0, timeUs: 0, monoMs: 0, data: new Uint8Array(0), offset: 0, length: 0 };
    this.#transport = new TransportListener(this.drops, maxAssemblies);
  }

  /** Messages begun and not whole yet. */
  get pending(): number {
    return this.#assemblies.size + this.#transport.pending;
  }

  /** Takes one frame; emits a message when it is, or completes, one. */
  push(frame: CanFrame): void {
    if (frame.monoMs >= this.#nextExpiryMs) this.expire(frame.monoMs);
    const pgn = pgnOfId(frame.id);
    const framing = framingOf(pgn);
    if (framing === "single") {
      if (pgn === PGN.transportControl || pgn === PGN.transportData) this.#pushTransport(frame, pgn);
      else this.#pass(frame, pgn);
    } else if (framing === "either" && !this.#looksFast(frame)) {
      this.#pass(frame, pgn);
    } else {
      this.#pushFragment(frame, pgn);
    }
  }

  /** Drops what has waited too long. Called by `push` too; call it when the bus is silent. */
  expire(nowMs: number): void {
    this.#nextExpiryMs = nowMs + EXPIRY_INTERVAL_MS;
    for (const assembly of this.#assemblies.values()) {
      if (nowMs - assembly.touchedMs <= FAST_PACKET_TIMEOUT_MS) continue;
      this.drops.timeout++;
      this.#release(assembly);
    }
    this.#transport.expire(nowMs);
  }

  #pass(frame: CanFrame, pgn: number): void {
    const message = this.#message;
    message.pgn = pgn;
    message.id = frame.id;
    message.timeUs = frame.timeUs;
    message.monoMs = frame.monoMs;
    message.data = frame.data;
    message.offset = frame.offset;
    message.length = frame.length;
    this.#emit(message);
  }

  /** For PGNs that travel both ways: a first frame has number 0 and a possible length, a further one continues. */
  #looksFast(frame: CanFrame): boolean {
    if (frame.length < 2) return false;
    const head = frame.data[frame.offset] ?? 0;
    if ((head & 0x1f) !== 0) return this.#assemblies.has(assemblyKey(frame.id, head));
    const length = frame.data[frame.offset + 1] ?? 0;
    return length >= 1 && length <= MAX_FAST_PACKET_BYTES;
  }

  #pushFragment(frame: CanFrame, pgn: number): void {
    const head = frame.data[frame.offset] ?? 0;
    const index = head & 0x1f;
    const total = frame.data[frame.offset + 1] ?? 0;
    if (frame.length < 2 || (index === 0 && (total < 1 || total > MAX_FAST_PACKET_BYTES))) {
      this.drops.malformed++;
      return;
    }
    const key = assemblyKey(frame.id, head);
    let assembly = this.#assemblies.get(key);
    if (assembly && (assembly.mask >>> index) & 1) {
      this.drops.replaced++;
      this.#release(assembly);
      assembly = undefined;
    }
    assembly ??= this.#start(key);
    if (index === 0) {
      assembly.frames = fastPacketFrames(total);
      assembly.length = total;
    }
    if (index === 0 || assembly.mask === 0) assembly.id = frame.id;
    const beyond = assembly.frames > 0 && (assembly.mask | (1 << index)) >>> 0 >= 2 ** assembly.frames;
    if (beyond) {
      this.#refuse(assembly, index);
      if (index !== 0) return;
    }
    assembly.mask |= 1 << index;
    assembly.touchedMs = frame.monoMs;
    copyFragment(assembly.data, frame, index);
    if (assembly.frames > 0 && (assembly.mask >>> 0) === 2 ** assembly.frames - 1) this.#complete(assembly, frame, pgn);
  }

  /** A fragment beyond the end: the late one is dropped, or, when the length came last, those that were there. */
  #refuse(assembly: Assembly, index: number): void {
    if (index !== 0) {
      this.drops.unexpected++;
      return;
    }
    const valid = 2 ** assembly.frames - 1;
    for (let rest = (assembly.mask & ~valid) >>> 0; rest !== 0; rest &= rest - 1) this.drops.unexpected++;
    assembly.mask &= valid;
  }

  #complete(assembly: Assembly, frame: CanFrame, pgn: number): void {
    const message = this.#message;
    message.pgn = pgn;
    message.id = assembly.id;
    message.timeUs = frame.timeUs;
    message.monoMs = frame.monoMs;
    message.data = assembly.data;
    message.offset = 0;
    message.length = assembly.length;
    this.#release(assembly);
    this.#emit(message);
  }

  #start(key: number): Assembly {
    if (this.#assemblies.size >= this.#maxAssemblies) {
      const [oldest] = this.#assemblies.values();
      if (oldest) this.#release(oldest);
      this.drops.overflow++;
    }
    const assembly = this.#free.pop() ??
      { key, mask: 0, frames: 0, length: 0, id: 0, touchedMs: 0, data: new Uint8Array(SLOT_BYTES) };
    assembly.key = key;
    assembly.mask = 0;
    assembly.frames = 0;
    assembly.length = 0;
    this.#assemblies.set(key, assembly);
    return assembly;
  }

  #release(assembly: Assembly): void {
    this.#assemblies.delete(assembly.key);
    this.#free.push(assembly);
  }

  #pushTransport(frame: CanFrame, pgn: number): void {
    if (pgn === PGN.transportControl) return this.#transport.control(frame);
    const session = this.#transport.data(frame);
    if (!session) return;
    const message = this.#message;
    message.pgn = session.pgn;
    message.id = session.id;
    message.timeUs = frame.timeUs;
    message.monoMs = frame.monoMs;
    message.data = session.data;
    message.offset = 0;
    message.length = session.length;
    this.#emit(message);
  }
}

/** Source, PGN, destination and sequence counter in one small integer (29 bits), which a Map finds fastest. */
function assemblyKey(id: number, head: number): number {
  return ((id & 0xff) << 21) | (((id >>> 8) & MAX_PGN) << 3) | (head >>> 5);
}

/** Puts a fragment's bytes in their place; a short frame is filled up with 0xFF. */
function copyFragment(target: Uint8Array, frame: CanFrame, index: number): void {
  const header = index === 0 ? 2 : 1;
  const room = index === 0 ? FAST_FIRST_BYTES : FAST_NEXT_BYTES;
  const at = index === 0 ? 0 : FAST_FIRST_BYTES + (index - 1) * FAST_NEXT_BYTES;
  for (let i = 0; i < room; i++) {
    target[at + i] = header + i < frame.length ? frame.data[frame.offset + header + i] ?? 0xff : 0xff;
  }
}

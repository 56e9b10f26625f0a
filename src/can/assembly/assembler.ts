import {
  type CanFrame,
  MAX_CAN_BYTES,
  MAX_FAST_PACKET_BYTES,
  MAX_PGN,
  type Message,
  pgnOfId,
  sourceOfId,
} from "../../frame/mod.ts";
import { framingOf, PGN } from "../../pgn/mod.ts";
import { type AssemblerDrops, type FrameDrops, newDrops, newFrameDrops } from "./drops.ts";
import { CounterPeriods, REORDER_MS } from "./counter_periods.ts";
import { FAST_FIRST_BYTES, FAST_NEXT_BYTES, fastPacketFrames } from "./fast_packet.ts";
import { beginsFastPacket, FramingHabits } from "./framing_habits.ts";
import { TransportListener } from "./iso_transport.ts";

/** Longest wait for the next fragment; after it the message is given up. */
export const FAST_PACKET_TIMEOUT_MS = 750;
/** Default limit of incomplete messages per bus. */
export const DEFAULT_MAX_ASSEMBLIES = 4096;
/** Interval of checking incomplete messages for timeouts. */
const EXPIRY_INTERVAL_MS = 50;
/** Values of the sequence counter, the upper three bits of a fragment's first byte. */
const COUNTERS = 8;
/** Size of a reassembly buffer: a complete fast packet, including the padding of its last frame. */
const SLOT_BYTES = FAST_FIRST_BYTES + 31 * FAST_NEXT_BYTES;

interface Assembly {
  key: number;
  /** Bit n is set when fragment n has arrived. */
  mask: number;
  /** Number of fragments, 0 while the first one is missing. */
  frames: number;
  length: number;
  /** CAN identifier of the first fragment, or of another one until that arrives. */
  id: number;
  /** Monotonic and wall time of the latest fragment. */
  touchedMs: number;
  touchedUs: number;
  data: Uint8Array<ArrayBuffer>;
}

/**
 * Reassembles messages from the frames of one bus: single frames pass through, fast packets and ISO transport sessions
 * are reassembled. Pure: the time comes with the frames.
 */
export class Assembler {
  readonly drops: AssemblerDrops;
  readonly #frameDrops: FrameDrops;
  readonly #emit: (message: Message) => void;
  readonly #onIncomplete: ((id: number) => void) | undefined;
  readonly #message: Message;
  readonly #maxAssemblies: number;
  readonly #assemblies = new Map<number, Assembly>();
  readonly #free: Assembly[] = [];
  readonly #periods = new CounterPeriods();
  readonly #habits = new FramingHabits();
  readonly #transport: TransportListener;
  #nextExpiryMs = 0;
  /** 1 while the frame of a push is in no message, counted as dropped, nor kept for a message. */
  #inHand = 0;

  /**
   * @param emit gets each complete message; the object and its buffer are reused
   * @param options.bus index of the bus, set in every message
   * @param options.maxAssemblies most incomplete messages, default {@linkcode DEFAULT_MAX_ASSEMBLIES}
   * @param options.drops counts drops; default a new object
   * @param options.frameDrops counts the frames of these; default a new object
   * @param options.onIncomplete called for each incomplete fast packet, with the CAN identifier of its frames
   */
  constructor(
    emit: (message: Message) => void,
    { bus = 0, maxAssemblies = DEFAULT_MAX_ASSEMBLIES, drops = newDrops(), frameDrops = newFrameDrops(), onIncomplete }:
      {
        bus?: number;
        maxAssemblies?: number;
        drops?: AssemblerDrops | undefined;
        frameDrops?: FrameDrops | undefined;
        onIncomplete?: ((id: number) => void) | undefined;
      } = {},
  ) {
    this.#emit = emit;
    this.#onIncomplete = onIncomplete;
    this.drops = drops;
    this.#frameDrops = frameDrops;
    this.#maxAssemblies = maxAssemblies;
    this.#message = {
      bus,
      pgn: 0,
      id: 0,
      timeUs: 0,
      monoMs: 0,
      data: new Uint8Array(0),
      offset: 0,
      length: 0,
      frames: 1,
    };
    this.#transport = new TransportListener({ drops, frameDrops }, maxAssemblies);
  }

  /** Number of incomplete messages. */
  get pending(): number {
    return this.#assemblies.size + this.#transport.pending;
  }

  /** Frames kept for incomplete messages, and the one that is being processed. */
  get waitingFrames(): number {
    let frames = this.#inHand + this.#transport.waitingFrames;
    for (const { mask } of this.#assemblies.values()) frames += bitsOf(mask);
    return frames;
  }

  /** Processes a frame; emits the message that it is or completes. */
  push(frame: CanFrame): void {
    this.#inHand = 1;
    if (frame.monoMs >= this.#nextExpiryMs) this.expire(frame.monoMs);
    const pgn = pgnOfId(frame.id);
    const framing = framingOf(pgn);
    if (framing === "single") {
      if (pgn === PGN.transportControl || pgn === PGN.transportData) this.#pushTransport(frame, pgn);
      else this.#emitFrame(frame, pgn);
    } else if (framing === "fast") {
      this.#pushFragment(frame, pgn);
    } else {
      this.#pushEither(frame, pgn);
    }
  }

  /**
   * Gives up incomplete messages after their timeout. A frame that proves to be a single frame is emitted, with its own
   * time. `push` calls it too; call it when the bus is silent. A time before that of the last frame is harmless.
   */
  expire(nowMs: number): void {
    this.#nextExpiryMs = nowMs + EXPIRY_INTERVAL_MS;
    for (const assembly of this.#assemblies.values()) {
      if (nowMs - assembly.touchedMs <= FAST_PACKET_TIMEOUT_MS) continue;
      this.#giveUp(assembly, "timeout");
    }
    this.#transport.expire(nowMs);
  }

  #emitFrame(frame: CanFrame, pgn: number): void {
    const message = this.#message;
    this.#inHand = 0;
    message.frames = 1;
    message.pgn = pgn;
    message.id = frame.id;
    message.timeUs = frame.timeUs;
    message.monoMs = frame.monoMs;
    message.data = frame.data;
    message.offset = frame.offset;
    message.length = frame.length;
    this.#emit(message);
  }

  /**
   * Processes a frame of a PGN that devices send both as single frame and as fast packet. A possible first fragment is
   * held until the next frame shows which it is; from then on the framing of the source is known.
   */
  #pushEither(frame: CanFrame, pgn: number): void {
    const stream = assemblyKey(frame.id, 0);
    const head = frame.data[frame.offset] ?? 0;
    const index = head & 0x1f;
    const habit = this.#habits.of(stream);
    if (frame.length < 2 || (index === 0 && !beginsFastPacket(frame))) {
      this.#emitHeld(stream);
      this.#habits.learnPlain(stream);
      this.#emitFrame(frame, pgn);
    } else if (habit === "plain") {
      if (!this.#habits.continuesNoted(stream, frame)) return this.#emitFrame(frame, pgn);
      // The first fragment has been emitted as a single frame, so this message is lost; its other fragments are
      // collected like any message without a beginning, and counted when it is given up.
      this.#habits.learnFast(stream);
      this.#pushFragment(frame, pgn);
    } else if (index === 0) {
      if (habit === undefined && this.#emitHeld(stream)) this.#emitFrame(frame, pgn);
      else this.#pushFragment(frame, pgn);
    } else if (habit === "fast") {
      if (!this.#assemblies.has(assemblyKey(frame.id, head))) this.#habits.doubt(stream);
      this.#pushFragment(frame, pgn);
    } else if (this.#continuesHeld(frame, index)) {
      if (this.#pushFragment(frame, pgn)) this.#habits.learnFast(stream);
    } else {
      this.#emitFrame(frame, pgn);
    }
  }

  /** Whether a frame of a source with unknown framing is a fragment: fragment 1 must be the first to follow fragment 0. */
  #continuesHeld(frame: CanFrame, index: number): boolean {
    const assembly = this.#assemblies.get(assemblyKey(frame.id, frame.data[frame.offset] ?? 0));
    return assembly !== undefined && (index === 1 || assembly.mask !== 1) && this.#belongs(assembly, frame, index);
  }

  /** Emits the held frame of a stream, because another first frame shows that it was a single frame. False if none was held. */
  #emitHeld(stream: number): boolean {
    let passed = false;
    for (let counter = 0; counter < COUNTERS; counter++) {
      const assembly = this.#assemblies.get(stream | counter);
      if (assembly?.mask !== 1) continue;
      this.#release(assembly);
      this.#emitAsSingle(assembly);
      passed = true;
    }
    return passed;
  }

  /** Emits a released first fragment as the single frame that it was. */
  #emitAsSingle({ key, id, touchedUs, touchedMs, data, length }: Assembly): void {
    this.#habits.learnPlain(streamOf(key));
    data.copyWithin(MAX_CAN_BYTES - FAST_FIRST_BYTES, 0, FAST_FIRST_BYTES);
    data[0] = (key % COUNTERS) << 5;
    data[1] = length;
    const message = this.#message;
    message.pgn = pgnOfId(id);
    message.id = id;
    message.timeUs = touchedUs;
    message.monoMs = touchedMs;
    message.data = data;
    message.offset = 0;
    message.length = MAX_CAN_BYTES;
    message.frames = 1;
    this.#emit(message);
  }

  /** Processes a fragment of a fast packet; true when it completed its message. */
  #pushFragment(frame: CanFrame, pgn: number): boolean {
    const head = frame.data[frame.offset] ?? 0;
    const index = head & 0x1f;
    const total = frame.data[frame.offset + 1] ?? 0;
    if (frame.length < 2 || (index === 0 && (total < 1 || total > MAX_FAST_PACKET_BYTES))) {
      this.drops.malformed++;
      this.#dropInHand("malformed");
      return false;
    }
    const key = assemblyKey(frame.id, head);
    let assembly = this.#assemblies.get(key);
    if (assembly && !this.#belongs(assembly, frame, index)) {
      this.#giveUp(assembly, "replaced");
      assembly = undefined;
    }
    assembly ??= this.#start(key);
    if (index === 0) {
      assembly.frames = fastPacketFrames(total);
      assembly.length = total;
      this.#periods.begin(key, frame.monoMs);
    }
    if (index === 0 || assembly.mask === 0) assembly.id = frame.id;
    const beyond = assembly.frames > 0 && (assembly.mask | (1 << index)) >>> 0 >= 2 ** assembly.frames;
    if (beyond) {
      this.#refuse(assembly, index);
      if (index !== 0) return false;
    }
    assembly.mask |= 1 << index;
    this.#inHand = 0;
    assembly.touchedMs = frame.monoMs;
    assembly.touchedUs = frame.timeUs;
    copyFragment(assembly.data, frame, index);
    if (assembly.frames === 0 || (assembly.mask >>> 0) !== 2 ** assembly.frames - 1) return false;
    this.#release(assembly);
    this.#message.frames = assembly.frames;
    this.#emitWhole(assembly, frame, pgn);
    return true;
  }

  /**
   * Whether a fragment can belong to the message begun, or must belong to a later one with the same counter. Shortly after
   * the last fragment they may arrive in any order. Later they arrive in order, so only the very next one can follow, and
   * only while the next message is not due: otherwise the parts of two messages that both lost frames would be joined.
   */
  #belongs({ key, mask, touchedMs }: Assembly, { monoMs }: CanFrame, index: number): boolean {
    if ((mask >>> index) & 1) return false;
    if (monoMs - touchedMs <= REORDER_MS) return true;
    return mask >>> 0 === 2 ** index - 1 && !this.#periods.isOver(key, monoMs);
  }

  /** Drops fragments beyond the end: this one, or, when the first fragment came last, those that had arrived before. */
  #refuse(assembly: Assembly, index: number): void {
    if (index !== 0) {
      this.drops.unexpected++;
      return this.#dropInHand("unexpected");
    }
    const valid = 2 ** assembly.frames - 1;
    const beyond = bitsOf(assembly.mask & ~valid);
    this.drops.unexpected += beyond;
    this.#frameDrops.unexpected += beyond;
    assembly.mask &= valid;
  }

  /** Emits a reassembled message, with the time of the frame that completed it. */
  #emitWhole({ id, data, length }: Pick<Assembly, "id" | "data" | "length">, frame: CanFrame, pgn: number): void {
    const message = this.#message;
    message.pgn = pgn;
    message.id = id;
    message.timeUs = frame.timeUs;
    message.monoMs = frame.monoMs;
    message.data = data;
    message.offset = 0;
    message.length = length;
    this.#emit(message);
  }

  #start(key: number): Assembly {
    if (this.#assemblies.size >= this.#maxAssemblies) {
      const [oldest] = this.#assemblies.values();
      if (oldest) this.#giveUp(oldest, "overflow");
    }
    const assembly = this.#free.pop() ??
      { key, mask: 0, frames: 0, length: 0, id: 0, touchedMs: 0, touchedUs: 0, data: new Uint8Array(SLOT_BYTES) };
    assembly.key = key;
    assembly.mask = 0;
    assembly.frames = 0;
    assembly.length = 0;
    this.#assemblies.set(key, assembly);
    return assembly;
  }

  /** Counts an incomplete message as dropped, unless it proves to be a single frame. */
  #giveUp(assembly: Assembly, reason: "timeout" | "replaced" | "overflow"): void {
    this.#release(assembly);
    const isFirstOnly = assembly.mask === 1 && framingOf(pgnOfId(assembly.id)) === "either";
    if (isFirstOnly && this.#habits.of(streamOf(assembly.key)) !== "fast") return this.#emitAsSingle(assembly);
    this.drops[reason]++;
    this.#onIncomplete?.(assembly.id);
    this.#frameDrops[reason] += bitsOf(assembly.mask);
    if (isFirstOnly) this.#habits.doubt(streamOf(assembly.key));
  }

  #dropInHand(reason: "malformed" | "unexpected"): void {
    this.#inHand = 0;
    this.#frameDrops[reason]++;
  }

  #release(assembly: Assembly): void {
    this.#assemblies.delete(assembly.key);
    this.#free.push(assembly);
  }

  #pushTransport(frame: CanFrame, pgn: number): void {
    // The listener keeps the frame, counts it as dropped, or returns it in its message.
    this.#inHand = 0;
    if (pgn === PGN.transportControl) return this.#transport.control(frame);
    const session = this.#transport.data(frame);
    if (!session) return;
    this.#message.frames = session.frames;
    this.#emitWhole(session, frame, session.pgn);
  }
}

/** Source, PGN, destination and sequence counter in one small integer (29 bits), the fastest key of a Map. */
function assemblyKey(id: number, head: number): number {
  return (sourceOfId(id) << 21) | (((id >>> 8) & MAX_PGN) << 3) | (head >>> 5);
}

/** Number of bits that are set: of a mask of fragments, the frames that have arrived. */
function bitsOf(mask: number): number {
  let bits = 0;
  for (let rest = mask >>> 0; rest !== 0; rest = (rest & (rest - 1)) >>> 0) bits++;
  return bits;
}

/** The key without its counter: the stream of one PGN from one source to one destination. */
function streamOf(key: number): number {
  return key - key % COUNTERS;
}

/** Copies a fragment's bytes to their offset; a short frame is padded with 0xFF. */
function copyFragment(target: Uint8Array, frame: CanFrame, index: number): void {
  const header = index === 0 ? 2 : 1;
  const capacity = index === 0 ? FAST_FIRST_BYTES : FAST_NEXT_BYTES;
  const at = index === 0 ? 0 : FAST_FIRST_BYTES + (index - 1) * FAST_NEXT_BYTES;
  for (let i = 0; i < capacity; i++) {
    target[at + i] = header + i < frame.length ? frame.data[frame.offset + header + i] ?? 0xff : 0xff;
  }
}

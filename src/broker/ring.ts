import { type Message, pgnOfId, type StoredFrame } from "../frame/mod.ts";
import { RingPool } from "./ring_pool.ts";

/** Frames that a ring holds when nothing else is said. */
export const DEFAULT_RING_FRAMES = 65_536;
/** A ring's payload memory may grow to this many bytes a frame; longer traffic pushes the oldest frames out early. */
const MAX_BYTES_PER_FRAME = 256;
const FIRST_SLOTS = 1024;
/** First size of the payload memory; must hold the longest message. */
const FIRST_ARENA_BYTES = 16_384;
/** Bytes of a frame's header: number, time, start, identifier, length, bus. */
const HEADER_BYTES = 8 + 8 + 8 + 4 + 2 + 1;
/** For rings that share with nobody. */
const NO_POOL = new RingPool({ maxBytes: 0 });

/** How a ring is made. */
export interface RingOptions {
  /** Number of the first frame that will come, default 1. */
  firstSeq?: number;
  /** Where its memory comes from and goes to; default: it shares with nobody. */
  pool?: RingPool;
}

/**
 * The newest frames, found by sequence number. Headers lie in typed arrays and payloads in one arena, so that a full
 * ring costs a few megabytes and no garbage. Both grow on demand; before the first frame there is neither.
 */
export class Ring {
  /** Most frames it holds; a power of two. */
  readonly capacity: number;
  readonly #pool: RingPool;
  #headers = new Headers(0, new ArrayBuffer(0));
  #slots = 0;
  #arena = new Uint8Array(0);
  #maxArenaBytes: number;
  /** Bytes ever written to the arena, skipped ones included; modulo its size this is where the next payload goes. */
  #written = 0;
  #base: number;
  #head: number;
  #oldest: number;
  #goneThrough: number;

  /** @throws {RangeError} `capacity` is no power of two */
  constructor(capacity: number = DEFAULT_RING_FRAMES, { firstSeq = 1, pool = NO_POOL }: RingOptions = {}) {
    if (!(capacity >= 1) || !Number.isInteger(Math.log2(capacity))) {
      throw new RangeError(`Cannot make a ring of ${capacity} frames: the size must be a power of two`);
    }
    this.capacity = capacity;
    this.#pool = pool;
    this.#maxArenaBytes = this.#mostArenaBytes();
    this.#base = this.#head = this.#goneThrough = firstSeq - 1;
    this.#oldest = firstSeq;
  }

  /** Newest sequence number; the one before the first when empty. */
  get head(): number {
    return this.#head;
  }

  /** The number before the first that could be here. */
  get base(): number {
    return this.#base;
  }

  /** Highest number of a frame that was here and is no more; the base while there is none. */
  get goneThrough(): number {
    return this.#goneThrough;
  }

  /** Oldest sequence number that may still be here; head + 1 when empty. */
  get oldest(): number {
    return this.#oldest;
  }

  /** Frames between oldest and head. */
  get size(): number {
    return this.#head - this.#oldest + 1;
  }

  /** Forgets all frames; the next one is `firstSeq` or higher, by default numbers begin at 1 again. */
  clear(firstSeq = 1): void {
    this.#headers.seqs.fill(0);
    this.#written = 0;
    this.#base = this.#head = this.#goneThrough = firstSeq - 1;
    this.#oldest = firstSeq;
  }

  /** Lets all frames and their memory go. Numbers stay. */
  release(): void {
    if (this.#oldest <= this.#head) this.#goneThrough = this.#head;
    this.#oldest = this.#head + 1;
    this.#written = 0;
    this.#pool.give(this.#headers.memory);
    this.#pool.give(this.#arena.buffer);
    this.#headers = new Headers(0, new ArrayBuffer(0));
    this.#slots = 0;
    this.#arena = new Uint8Array(0);
    this.#maxArenaBytes = this.#mostArenaBytes();
  }

  /** Keeps a copy of a message under `seq`, which must be above the head. */
  push(seq: number, message: Message): void {
    if (this.#slots === 0) this.#begin();
    if (this.#oldest > this.#head) this.#oldest = seq;
    while (seq - this.#oldest >= this.#slots && this.#slots < this.capacity) this.#growSlots();
    if (seq - this.#slots >= this.#oldest) this.#moveOldest(seq - this.#slots + 1);
    const { length } = message;
    const start = this.#reserve(length);
    const slot = seq & (this.#slots - 1);
    const { seqs, times, starts, ids, buses, lengths } = this.#headers;
    seqs[slot] = seq;
    times[slot] = message.timeUs;
    starts[slot] = start;
    ids[slot] = message.id;
    buses[slot] = message.bus;
    lengths[slot] = length;
    const arena = this.#arena;
    const at = start % arena.length;
    const { data, offset } = message;
    for (let i = 0; i < length; i++) arena[at + i] = data[offset + i] ?? 0;
    this.#head = seq;
    this.#letGo();
  }

  /** Reads frame `seq` into `into`; false when it is not here. */
  read(seq: number, into: StoredFrame): boolean {
    if (seq < this.#oldest || seq > this.#head) return false;
    const slot = seq & (this.#slots - 1);
    const { seqs, times, starts, ids, buses, lengths } = this.#headers;
    if (seqs[slot] !== seq) return false;
    into.seq = seq;
    into.timeUs = times[slot] ?? 0;
    into.id = ids[slot] ?? 0;
    into.pgn = pgnOfId(into.id);
    into.bus = buses[slot] ?? 0;
    into.data = this.#arena;
    into.offset = (starts[slot] ?? 0) % this.#arena.length;
    into.length = lengths[slot] ?? 0;
    return true;
  }

  #begin(): void {
    this.#slots = Math.min(FIRST_SLOTS, this.capacity);
    this.#headers = new Headers(this.#slots, this.#pool.take(this.#slots * HEADER_BYTES));
    this.#arena = new Uint8Array(this.#pool.take(FIRST_ARENA_BYTES));
  }

  #mostArenaBytes(): number {
    return this.capacity * MAX_BYTES_PER_FRAME;
  }

  /** Finds room for `length` bytes in one piece; grows the arena rather than overwrite a frame that should stay. */
  #reserve(length: number): number {
    for (;;) {
      const oldestStart = this.#startOf(this.#oldest);
      if (oldestStart === undefined && this.#oldest < this.#head) {
        this.#letGo();
        continue;
      }
      const size = this.#arena.length;
      const at = this.#written % size;
      const start = at + length > size ? this.#written + size - at : this.#written;
      const overwrites = start + length > (oldestStart ?? Infinity) + size;
      if (overwrites && size < this.#maxArenaBytes) {
        this.#resizeArena(size * 2);
        continue;
      }
      this.#written = start + length;
      return start;
    }
  }

  #startOf(seq: number): number | undefined {
    const slot = seq & (this.#slots - 1);
    const { seqs, starts } = this.#headers;
    return seqs[slot] === seq ? starts[slot] : undefined;
  }

  /** Moves the oldest end past numbers that were never used and past what the newest frame has overwritten. */
  #letGo(): void {
    const floor = this.#written - this.#arena.length;
    while (this.#oldest < this.#head) {
      const start = this.#startOf(this.#oldest);
      if (start !== undefined) {
        if (start >= floor) return;
        this.#goneThrough = this.#oldest;
      }
      this.#oldest++;
    }
  }

  /** Lets every frame below `oldest` go, before their places are used again. */
  #moveOldest(oldest: number): void {
    const end = Math.min(oldest, this.#head + 1);
    for (let seq = this.#oldest; seq < end; seq++) {
      if (this.#startOf(seq) !== undefined) this.#goneThrough = seq;
    }
    this.#oldest = oldest;
  }

  #resizeArena(bytes: number): void {
    const memory = this.#allocate(bytes);
    if (!memory) {
      this.#maxArenaBytes = this.#arena.length;
      return;
    }
    const arena = new Uint8Array(memory);
    const old = this.#arena;
    const { seqs, starts, lengths } = this.#headers;
    let written = 0;
    for (let seq = this.#oldest; seq <= this.#head; seq++) {
      const slot = seq & (this.#slots - 1);
      if (seqs[slot] !== seq) continue;
      const at = (starts[slot] ?? 0) % old.length;
      const length = lengths[slot] ?? 0;
      arena.set(old.subarray(at, at + length), written);
      starts[slot] = written;
      written += length;
    }
    this.#arena = arena;
    this.#written = written;
    this.#pool.give(old.buffer);
  }

  /** Memory, or nothing when the machine has no more: then the oldest frames leave early. */
  #allocate(bytes: number): ArrayBuffer | undefined {
    try {
      return this.#pool.take(bytes);
    } catch (error) {
      if (error instanceof RangeError) return undefined;
      throw error;
    }
  }

  #growSlots(): void {
    const slots = this.#slots * 2;
    const old = this.#headers;
    const headers = new Headers(slots, this.#pool.take(slots * HEADER_BYTES));
    for (let slot = 0; slot < this.#slots; slot++) headers.copy((old.seqs[slot] ?? 0) & (slots - 1), { old, slot });
    this.#headers = headers;
    this.#slots = slots;
    this.#pool.give(old.memory);
  }
}

/** Headers of frames in one piece of memory; a number of 0 is none. */
class Headers {
  readonly memory: ArrayBuffer;
  readonly seqs: Float64Array<ArrayBuffer>;
  readonly times: Float64Array<ArrayBuffer>;
  readonly starts: Float64Array<ArrayBuffer>;
  readonly ids: Uint32Array<ArrayBuffer>;
  readonly lengths: Uint16Array<ArrayBuffer>;
  readonly buses: Uint8Array<ArrayBuffer>;

  /** @param memory what is in it is forgotten */
  constructor(slots: number, memory: ArrayBuffer) {
    this.memory = memory;
    this.seqs = new Float64Array(memory, 0, slots).fill(0);
    this.times = new Float64Array(memory, 8 * slots, slots);
    this.starts = new Float64Array(memory, 16 * slots, slots);
    this.ids = new Uint32Array(memory, 24 * slots, slots);
    this.lengths = new Uint16Array(memory, 28 * slots, slots);
    this.buses = new Uint8Array(memory, 30 * slots, slots);
  }

  /** Takes over one of the old headers, if there is one. */
  copy(to: number, { old, slot }: { old: Headers; slot: number }): void {
    const seq = old.seqs[slot] ?? 0;
    if (seq === 0) return;
    this.seqs[to] = seq;
    this.times[to] = old.times[slot] ?? 0;
    this.starts[to] = old.starts[slot] ?? 0;
    this.ids[to] = old.ids[slot] ?? 0;
    this.lengths[to] = old.lengths[slot] ?? 0;
    this.buses[to] = old.buses[slot] ?? 0;
  }
}

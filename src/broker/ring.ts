import { type Message, pgnOfId, type StoredFrame } from "../frame/mod.ts";
import { RingPool } from "./ring_pool.ts";

/** Default capacity of a ring, frames. */
export const DEFAULT_RING_FRAMES = 65_536;
/** Limit of payload memory, bytes per frame of capacity. With longer payloads the oldest frames are evicted early. */
const MAX_BYTES_PER_FRAME = 256;
const INITIAL_SLOTS = 1024;
/** Initial size of the payload memory; must hold the longest message. */
const INITIAL_ARENA_BYTES = 16_384;
/** Bytes of a frame's header: number, time, start, identifier, length, bus. */
const HEADER_BYTES = 8 + 8 + 8 + 4 + 2 + 1;
/** For rings without a shared pool: keeps nothing. */
const NO_POOL = new RingPool({ maxBytes: 0 });

/** Options of a {@linkcode Ring}. */
export interface RingOptions {
  /** Sequence number of the first frame, default 1. */
  firstSeq?: number;
  /** Supplies the memory; default: the ring allocates its own. */
  pool?: RingPool;
}

/**
 * Ring buffer of the newest frames, indexed by sequence number. Headers are in typed arrays and payloads in one arena, so
 * a full ring takes a few megabytes and creates no garbage. Both are allocated with the first frame and grow on demand.
 */
export class Ring {
  /** Most frames in the ring; a power of two. */
  readonly capacity: number;
  readonly #pool: RingPool;
  #headers = new Headers(0, new ArrayBuffer(0));
  /** At most {@linkcode Ring.capacity}. */
  #mostSlots: number;
  #slots = 0;
  #arena = new Uint8Array(0);
  #maxArenaBytes: number;
  /** Bytes ever written to the arena, padding included; modulo its size this is the offset of the next payload. */
  #written = 0;
  #base: number;
  #head: number;
  #oldest: number;
  #evictedThrough: number;

  /** @throws {RangeError} `capacity` is no power of two */
  constructor(capacity: number = DEFAULT_RING_FRAMES, { firstSeq = 1, pool = NO_POOL }: RingOptions = {}) {
    if (!(capacity >= 1) || !Number.isInteger(Math.log2(capacity))) {
      throw new RangeError(`Cannot make a ring of ${capacity} frames: the size must be a power of two`);
    }
    this.capacity = this.#mostSlots = capacity;
    this.#pool = pool;
    this.#maxArenaBytes = this.#arenaLimit();
    this.#base = this.#head = this.#evictedThrough = firstSeq - 1;
    this.#oldest = firstSeq;
  }

  /** Newest sequence number; the one before the first when empty. */
  get head(): number {
    return this.#head;
  }

  /** The number before the first frame of this ring. */
  get base(): number {
    return this.#base;
  }

  /** Highest number of a frame evicted from the ring; the base before the first eviction. */
  get evictedThrough(): number {
    return this.#evictedThrough;
  }

  /** Oldest sequence number in the ring; head + 1 when empty. */
  get oldest(): number {
    return this.#oldest;
  }

  /** Sequence numbers from oldest to head, including those without a frame. */
  get size(): number {
    return this.#head - this.#oldest + 1;
  }

  /** Removes all frames. The next one has number `firstSeq` or higher; default 1. */
  clear(firstSeq = 1): void {
    this.#headers.seqs.fill(0);
    this.#written = 0;
    this.#base = this.#head = this.#evictedThrough = firstSeq - 1;
    this.#oldest = firstSeq;
  }

  /** Evicts all frames and frees their memory. The numbering continues. */
  release(): void {
    if (this.#oldest <= this.#head) this.#evictedThrough = this.#head;
    this.#oldest = this.#head + 1;
    this.#written = 0;
    this.#pool.free(this.#headers.memory);
    this.#pool.free(this.#arena.buffer);
    this.#headers = new Headers(0, new ArrayBuffer(0));
    this.#slots = 0;
    this.#arena = new Uint8Array(0);
    this.#maxArenaBytes = this.#arenaLimit();
  }

  /** Keeps at most `frames`, a power of two up to the capacity. Fewer than before: evicts all, so that memory is freed. */
  limit(frames: number): void {
    if (frames === this.#mostSlots) return;
    this.#mostSlots = Math.min(frames, this.capacity);
    this.#maxArenaBytes = this.#arenaLimit();
    if (this.#slots > this.#mostSlots) this.release();
  }

  /** Stores a copy of a message under `seq`, which must be above the head. */
  push(seq: number, message: Message): void {
    if (this.#slots === 0) this.#allocateInitial();
    if (this.#oldest > this.#head) this.#oldest = seq;
    while (seq - this.#oldest >= this.#slots && this.#slots < this.#mostSlots) this.#growSlots();
    if (seq - this.#slots >= this.#oldest) this.#evictBelow(seq - this.#slots + 1);
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
    this.#evictOverwritten();
  }

  /** Reads frame `seq` into `into`; false when it is not in the ring. */
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

  #allocateInitial(): void {
    this.#slots = Math.min(INITIAL_SLOTS, this.#mostSlots);
    this.#headers = new Headers(this.#slots, this.#pool.allocate(this.#slots * HEADER_BYTES));
    this.#arena = new Uint8Array(this.#pool.allocate(INITIAL_ARENA_BYTES));
  }

  #arenaLimit(): number {
    return this.#mostSlots * MAX_BYTES_PER_FRAME;
  }

  /** Reserves `length` contiguous bytes; grows the arena, up to its limit, before it overwrites frames. */
  #reserve(length: number): number {
    for (;;) {
      const oldestStart = this.#startOffset(this.#oldest);
      if (oldestStart === undefined && this.#oldest < this.#head) {
        this.#evictOverwritten();
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

  #startOffset(seq: number): number | undefined {
    const slot = seq & (this.#slots - 1);
    const { seqs, starts } = this.#headers;
    return seqs[slot] === seq ? starts[slot] : undefined;
  }

  /** Advances `oldest` past unused numbers and past frames that the newest frame has overwritten. */
  #evictOverwritten(): void {
    const floor = this.#written - this.#arena.length;
    while (this.#oldest < this.#head) {
      const start = this.#startOffset(this.#oldest);
      if (start !== undefined) {
        if (start >= floor) return;
        this.#evictedThrough = this.#oldest;
      }
      this.#oldest++;
    }
  }

  /** Evicts every frame below `oldest`, before their slots are reused. */
  #evictBelow(oldest: number): void {
    const end = Math.min(oldest, this.#head + 1);
    for (let seq = this.#oldest; seq < end; seq++) {
      if (this.#startOffset(seq) !== undefined) this.#evictedThrough = seq;
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
    this.#pool.free(old.buffer);
  }

  /** Undefined when the machine is out of memory: the oldest frames are then evicted early. */
  #allocate(bytes: number): ArrayBuffer | undefined {
    try {
      return this.#pool.allocate(bytes);
    } catch (error) {
      if (error instanceof RangeError) return undefined;
      throw error;
    }
  }

  #growSlots(): void {
    const slots = this.#slots * 2;
    const old = this.#headers;
    const headers = new Headers(slots, this.#pool.allocate(slots * HEADER_BYTES));
    for (let slot = 0; slot < this.#slots; slot++) headers.copy((old.seqs[slot] ?? 0) & (slots - 1), { old, slot });
    this.#headers = headers;
    this.#slots = slots;
    this.#pool.free(old.memory);
  }
}

/** Frame headers in one buffer; sequence number 0 marks a free slot. */
class Headers {
  readonly memory: ArrayBuffer;
  readonly seqs: Float64Array<ArrayBuffer>;
  readonly times: Float64Array<ArrayBuffer>;
  readonly starts: Float64Array<ArrayBuffer>;
  readonly ids: Uint32Array<ArrayBuffer>;
  readonly lengths: Uint16Array<ArrayBuffer>;
  readonly buses: Uint8Array<ArrayBuffer>;

  /** @param memory its old content is ignored */
  constructor(slots: number, memory: ArrayBuffer) {
    this.memory = memory;
    this.seqs = new Float64Array(memory, 0, slots).fill(0);
    this.times = new Float64Array(memory, 8 * slots, slots);
    this.starts = new Float64Array(memory, 16 * slots, slots);
    this.ids = new Uint32Array(memory, 24 * slots, slots);
    this.lengths = new Uint16Array(memory, 28 * slots, slots);
    this.buses = new Uint8Array(memory, 30 * slots, slots);
  }

  /** Copies a header from the old table unless its slot is free. */
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

import { type Message, pgnOfId, type StoredFrame } from "../frame/mod.ts";

/** Frames that a ring holds when nothing else is said. */
export const DEFAULT_RING_FRAMES = 65_536;
/** A ring's payload memory may grow to this many bytes a frame; longer traffic pushes the oldest frames out early. */
const MAX_BYTES_PER_FRAME = 256;
const FIRST_SLOTS = 1024;
/** First size of the payload memory; must hold the longest message. */
const FIRST_ARENA_BYTES = 16_384;

/**
 * The newest frames, found by sequence number. Headers lie in typed arrays and payloads in one arena, so that a full
 * ring costs a few megabytes and no garbage. Both grow on demand.
 */
export class Ring {
  /** Most frames it holds; a power of two. */
  readonly capacity: number;
  #slots: number;
  #seqs: Float64Array<ArrayBuffer>;
  #times: Float64Array<ArrayBuffer>;
  #starts: Float64Array<ArrayBuffer>;
  #ids: Uint32Array<ArrayBuffer>;
  #buses: Uint8Array<ArrayBuffer>;
  #lengths: Uint16Array<ArrayBuffer>;
  #arena: Uint8Array<ArrayBuffer>;
  #maxArenaBytes: number;
  /** Bytes ever written to the arena, skipped ones included; modulo its size this is where the next payload goes. */
  #written = 0;
  #base: number;
  #head: number;
  #oldest: number;
  #goneThrough: number;

  /**
   * @param options.firstSeq number of the first frame that will come
   * @throws {RangeError} `capacity` is no power of two
   */
  constructor(capacity: number = DEFAULT_RING_FRAMES, { firstSeq = 1 }: { firstSeq?: number } = {}) {
    if (!(capacity >= 1) || !Number.isInteger(Math.log2(capacity))) {
      throw new RangeError(`Cannot make a ring of ${capacity} frames: the size must be a power of two`);
    }
    this.capacity = capacity;
    this.#maxArenaBytes = capacity * MAX_BYTES_PER_FRAME;
    this.#base = this.#head = this.#goneThrough = firstSeq - 1;
    this.#oldest = firstSeq;
    this.#slots = Math.min(FIRST_SLOTS, capacity);
    this.#seqs = new Float64Array(this.#slots);
    this.#times = new Float64Array(this.#slots);
    this.#starts = new Float64Array(this.#slots);
    this.#ids = new Uint32Array(this.#slots);
    this.#buses = new Uint8Array(this.#slots);
    this.#lengths = new Uint16Array(this.#slots);
    this.#arena = new Uint8Array(FIRST_ARENA_BYTES);
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

  /** Forgets all frames; numbers begin at 1 again. */
  clear(): void {
    this.#seqs.fill(0);
    this.#written = 0;
    this.#base = this.#head = this.#goneThrough = 0;
    this.#oldest = 1;
  }

  /** Keeps a copy of a message under `seq`, which must be above the head. */
  push(seq: number, message: Message): void {
    if (this.#oldest > this.#head) this.#oldest = seq;
    while (seq - this.#oldest >= this.#slots && this.#slots < this.capacity) this.#growSlots();
    if (seq - this.#slots >= this.#oldest) this.#moveOldest(seq - this.#slots + 1);
    const { length } = message;
    const start = this.#reserve(length);
    const slot = seq & (this.#slots - 1);
    this.#seqs[slot] = seq;
    this.#times[slot] = message.timeUs;
    this.#starts[slot] = start;
    this.#ids[slot] = message.id;
    this.#buses[slot] = message.bus;
    this.#lengths[slot] = length;
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
    if (this.#seqs[slot] !== seq) return false;
    into.seq = seq;
    into.timeUs = this.#times[slot] ?? 0;
    into.id = this.#ids[slot] ?? 0;
    into.pgn = pgnOfId(into.id);
    into.bus = this.#buses[slot] ?? 0;
    into.data = this.#arena;
    into.offset = (this.#starts[slot] ?? 0) % this.#arena.length;
    into.length = this.#lengths[slot] ?? 0;
    return true;
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
    return this.#seqs[slot] === seq ? this.#starts[slot] : undefined;
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
      if (this.#seqs[seq & (this.#slots - 1)] === seq) this.#goneThrough = seq;
    }
    this.#oldest = oldest;
  }

  #resizeArena(bytes: number): void {
    const arena = allocate(bytes);
    if (!arena) {
      this.#maxArenaBytes = this.#arena.length;
      return;
    }
    const old = this.#arena;
    let written = 0;
    for (let seq = this.#oldest; seq <= this.#head; seq++) {
      const slot = seq & (this.#slots - 1);
      if (this.#seqs[slot] !== seq) continue;
      const at = (this.#starts[slot] ?? 0) % old.length;
      const length = this.#lengths[slot] ?? 0;
      arena.set(old.subarray(at, at + length), written);
      this.#starts[slot] = written;
      written += length;
    }
    this.#arena = arena;
    this.#written = written;
  }

  #growSlots(): void {
    const from = this.#slots;
    const to = from * 2;
    const old = {
      seqs: this.#seqs,
      times: this.#times,
      starts: this.#starts,
      ids: this.#ids,
      buses: this.#buses,
      lengths: this.#lengths,
    };
    this.#seqs = new Float64Array(to);
    this.#times = new Float64Array(to);
    this.#starts = new Float64Array(to);
    this.#ids = new Uint32Array(to);
    this.#buses = new Uint8Array(to);
    this.#lengths = new Uint16Array(to);
    for (let slot = 0; slot < from; slot++) {
      const seq = old.seqs[slot] ?? 0;
      if (seq === 0) continue;
      const target = seq & (to - 1);
      this.#seqs[target] = seq;
      this.#times[target] = old.times[slot] ?? 0;
      this.#starts[target] = old.starts[slot] ?? 0;
      this.#ids[target] = old.ids[slot] ?? 0;
      this.#buses[target] = old.buses[slot] ?? 0;
      this.#lengths[target] = old.lengths[slot] ?? 0;
    }
    this.#slots = to;
  }
}

/** Memory, or nothing when the machine has no more: then the oldest frames leave early. */
function allocate(bytes: number): Uint8Array<ArrayBuffer> | undefined {
  try {
    return new Uint8Array(bytes);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

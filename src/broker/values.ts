import { addressKey, MAX_DEVICE_ADDRESS, type Message, sourceOfId } from "../frame/mod.ts";

/** Default number of (device, PGN) pairs kept. */
export const DEFAULT_MAX_VALUES = 65_536;

/** The newest frame of one PGN from one device. */
export interface Value {
  readonly pgn: number;
  readonly seq: number;
  readonly timeUs: number;
  /** CAN identifier. */
  readonly id: number;
  /** Buffer of the payload; may be longer than `length`. */
  readonly data: Uint8Array;
  readonly length: number;
}

type Slot = { -readonly [K in keyof Value]: Value[K] };

/** The newest frame of every (device, PGN) pair, up to `maxValues` pairs. */
export class Values {
  readonly #maxValues: number;
  readonly #bySource: (Map<number, Slot> | undefined)[];
  #size = 0;
  #refused = 0;

  /**
   * @param options.buses number of buses
   * @param options.maxValues most pairs kept, default {@linkcode DEFAULT_MAX_VALUES}
   */
  constructor({ buses, maxValues = DEFAULT_MAX_VALUES }: { buses: number; maxValues?: number }) {
    this.#maxValues = maxValues;
    this.#bySource = Array.from({ length: buses * 256 }, () => undefined);
  }

  /** Pairs kept. */
  get size(): number {
    return this.#size;
  }

  /** Frames not kept because the store was full. */
  get refused(): number {
    return this.#refused;
  }

  /** Stores a copy of a message as the newest of its device and PGN. Ignores messages from addresses that no device holds. */
  set(seq: number, message: Message): void {
    const src = sourceOfId(message.id);
    if (src > MAX_DEVICE_ADDRESS) return;
    const source = addressKey(message.bus, src);
    let values = this.#bySource[source];
    if (!values) this.#bySource[source] = values = new Map();
    const slot = values.get(message.pgn) ?? this.#newSlot(values, message);
    if (!slot) return;
    const { data, offset, length } = message;
    if (slot.data.length < length) slot.data = new Uint8Array(length);
    const target = slot.data;
    for (let i = 0; i < length; i++) target[i] = data[offset + i] ?? 0;
    slot.length = length;
    slot.seq = seq;
    slot.timeUs = message.timeUs;
    slot.id = message.id;
  }

  /** Values of one address, in the order of PGNs. */
  of(bus: number, src: number): Value[] {
    return [...this.#bySource[addressKey(bus, src)]?.values() ?? []].sort((a, b) => a.pgn - b.pgn);
  }

  /** Removes all values of an address. */
  forget(bus: number, src: number): void {
    const source = addressKey(bus, src);
    this.#size -= this.#bySource[source]?.size ?? 0;
    this.#bySource[source] = undefined;
  }

  #newSlot(values: Map<number, Slot>, message: Message): Slot | undefined {
    if (this.#size >= this.#maxValues) {
      this.#refused++;
      return undefined;
    }
    const slot = { pgn: message.pgn, seq: 0, timeUs: 0, id: 0, data: new Uint8Array(message.length), length: 0 };
    values.set(message.pgn, slot);
    this.#size++;
    return slot;
  }
}

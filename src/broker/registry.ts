import {
  addressKey,
  BROADCAST_ADDRESS,
  type CanHeader,
  type Device,
  type DeviceEvent,
  formatName,
  formatTimeUs,
  MAX_DEVICE_ADDRESS,
  type Message,
  NAME_BYTES,
  type NameFields,
  nameFromBytes,
  parseName,
  sourceOfId,
} from "../frame/mod.ts";
import { manufacturerName, PGN, type ProductInformation, readProductInformation } from "../pgn/mod.ts";

/** Default time after which a silent device is removed (5 minutes, as specified). */
export const DEFAULT_DEVICE_IDLE_TIMEOUT_MS = 5 * 60_000;

/** State of one source address on one bus. */
export interface DeviceRecord {
  /** Index of the bus. */
  readonly bus: number;
  readonly src: number;
  /** 64-bit NAME; undefined until the device has claimed its address. */
  readonly name: bigint | undefined;
  readonly fields: NameFields | undefined;
  readonly product: ProductInformation | undefined;
  readonly firstUs: number;
  readonly lastUs: number;
  /** Monotonic time of the last frame, milliseconds. */
  readonly lastMonoMs: number;
  readonly packets: number;
  readonly bytes: number;
}

/** A device as a recording describes it. */
export interface KnownDevice {
  /** Index of the bus. */
  bus: number;
  src: number;
  /** 64-bit NAME; 0 means unknown, and the entry is ignored. */
  name: bigint;
  product: ProductInformation | undefined;
}

/** State of an address from before a restart. */
export type RestoredDevice = Omit<DeviceRecord, "fields">;

/** Bus and time of a received message. */
type Reception = Pick<Message, "bus" | "timeUs" | "monoMs">;
type Mutable<T> = { -readonly [K in keyof T]: T[K] };
type Entry = Mutable<DeviceRecord>;

/** A change of the device table. When a device takes over an address, `removed` precedes `added`. */
export interface RegistryEvent {
  event: DeviceEvent["event"];
  device: DeviceRecord;
}

/** Changes of the table, and messages that could not be used. */
export interface RegistryCounters {
  added: number;
  removed: number;
  /** Address claims with the wrong length, a NAME of zero, or from the broadcast address. */
  invalidClaims: number;
  /** Truncated product information. */
  invalidProducts: number;
}

/**
 * Devices by (bus, source address), from address claims (PGN 60928) and product information (PGN 126996). An address that
 * sends without a claim also has an entry, with its counters. Pure: times come with the messages.
 */
export class Registry {
  readonly counters: RegistryCounters = { added: 0, removed: 0, invalidClaims: 0, invalidProducts: 0 };
  readonly #entries: (Entry | undefined)[];
  readonly #listeners = new Set<(event: RegistryEvent) => void>();
  readonly #buses: readonly string[];
  #size = 0;

  /** @param buses names of the buses, in the order of their indexes */
  constructor(buses: readonly string[]) {
    this.#buses = buses;
    this.#entries = Array.from({ length: buses.length * 256 }, () => undefined);
  }

  /** Number of entries, including those without a claim. */
  get size(): number {
    return this.#size;
  }

  /** The entry of an address, if there is one. */
  get(bus: number, src: number): DeviceRecord | undefined {
    return this.#entries[addressKey(bus, src)];
  }

  /** All entries, in the order of bus and address. */
  *[Symbol.iterator](): IterableIterator<DeviceRecord> {
    for (const entry of this.#entries) if (entry) yield entry;
  }

  /** Calls `listener` on every change. Returns a function that removes it. */
  listen(listener: (event: RegistryEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Counts a received message, and updates the entry from a claim or product information. */
  note(message: Message): void {
    const src = sourceOfId(message.id);
    let event = message.pgn === PGN.addressClaim ? this.#claim(message, src) : undefined;
    if (src > MAX_DEVICE_ADDRESS) return;
    let entry = this.#entries[addressKey(message.bus, src)];
    if (!entry) {
      entry = newEntry(message, src);
      this.#put(entry);
      event = "added";
    }
    entry.packets++;
    entry.bytes += message.length;
    entry.lastUs = message.timeUs;
    entry.lastMonoMs = message.monoMs;
    if (event) this.#notify(event, entry);
    if (message.pgn === PGN.productInformation) this.#product(message, entry);
  }

  /** Updates an entry from a recording's device table. Counters and times of reception stay. */
  learn({ bus, src, name, product }: KnownDevice, at: { timeUs: number; monoMs: number }): void {
    if (name === 0n || src > MAX_DEVICE_ADDRESS) return;
    const assigned = this.#assign(name, src, { bus, ...at });
    const entry = this.#entries[addressKey(bus, src)];
    if (!entry) return;
    const isNewProduct = product !== undefined && JSON.stringify(entry.product) !== JSON.stringify(product);
    if (isNewProduct) entry.product = product;
    const event = assigned ?? (isNewProduct ? "updated" : undefined);
    if (event) this.#notify(event, entry);
  }

  /** Updates an entry from a repeated claim or product information. Counters and times of reception stay. */
  introduce(message: Message): void {
    const src = sourceOfId(message.id);
    const claimed = message.pgn === PGN.addressClaim ? this.#claim(message, src) : undefined;
    const isProduct = message.pgn === PGN.productInformation && src <= MAX_DEVICE_ADDRESS;
    const known = this.get(message.bus, src);
    if (known && claimed) this.#notify(claimed, known);
    if (!isProduct) return;
    const entry = this.#entries[addressKey(message.bus, src)] ?? newEntry(message, src);
    if (!known) {
      this.#put(entry);
      this.#notify("added", entry);
    }
    this.#product(message, entry);
  }

  /**
   * Restores an entry.
   *
   * @throws {RangeError} the address is invalid, or the address or NAME has an entry already
   */
  restore(device: RestoredDevice): void {
    const { bus, src, name } = device;
    const isPossible = bus in this.#buses && src >= 0 && src <= MAX_DEVICE_ADDRESS && Number.isInteger(src);
    if (!isPossible || this.get(bus, src)) throw new RangeError(`Cannot restore address ${src} of bus ${bus}`);
    const namesake = name !== undefined && [...this].some((other) => other.bus === bus && other.name === name);
    if (namesake) throw new RangeError(`Cannot restore ${formatName(name)} at two addresses of bus ${bus}`);
    const entry = { ...device, fields: name === undefined ? undefined : parseName(name) };
    this.#put(entry);
    this.#notify("added", entry);
  }

  /** Removes every entry. */
  clear(): void {
    for (const entry of this.#entries) if (entry) this.#remove(entry);
  }

  /** Removes every entry that has been silent for more than `idleMs`; 0 removes none. */
  expire(nowMonoMs: number, idleMs: number): void {
    if (idleMs <= 0) return;
    for (const entry of this.#entries) {
      if (entry && nowMonoMs - entry.lastMonoMs > idleMs) this.#remove(entry);
    }
  }

  /** Converts an entry to the form of the APIs. */
  describe(entry: DeviceRecord): Device {
    const { fields, product, name } = entry;
    const bus = this.#buses.length > 1 ? this.#buses[entry.bus] : undefined;
    return {
      src: entry.src,
      ...(bus !== undefined && { bus }),
      ...(name !== undefined && fields && describeName(name, fields)),
      ...(product && describeProduct(product)),
      first_seen: formatTimeUs(entry.firstUs),
      last_seen: formatTimeUs(entry.lastUs),
      packet_count: entry.packets,
      byte_count: entry.bytes,
    };
  }

  /** Processes an address claim. Returns the event to report once the message is counted. */
  #claim(message: Message, src: number): "added" | "updated" | undefined {
    const name = message.length === NAME_BYTES && src !== BROADCAST_ADDRESS
      ? nameFromBytes(message.data, message.offset)
      : 0n;
    if (name === 0n) {
      this.counters.invalidClaims++;
      return undefined;
    }
    return this.#assign(name, src, message);
  }

  /** Assigns the address to this NAME. Returns the event to report. */
  #assign(name: bigint, src: number, at: Reception): "added" | "updated" | undefined {
    const here = this.#entries[addressKey(at.bus, src)];
    if (here?.name === name) return undefined;
    const product = this.#evict(name, at.bus);
    if (src > MAX_DEVICE_ADDRESS) return undefined;
    if (here?.name !== undefined) this.#remove(here);
    const known = here?.name === undefined ? here : undefined;
    const entry = known ?? newEntry(at, src);
    entry.name = name;
    entry.fields = parseName(name);
    entry.product = product ?? entry.product;
    if (!known) this.#put(entry);
    return known ? "updated" : "added";
  }

  /** Removes the entry of the address that this NAME held before. Returns its product information, which stays valid. */
  #evict(name: bigint, bus: number): ProductInformation | undefined {
    for (let at = addressKey(bus, 0); at < addressKey(bus + 1, 0); at++) {
      const entry = this.#entries[at];
      if (entry?.name !== name) continue;
      this.#remove(entry);
      return entry.product;
    }
    return undefined;
  }

  #product(message: Message, entry: Entry): void {
    const product = readProductInformation(message.data.subarray(message.offset, message.offset + message.length));
    if (!product) {
      this.counters.invalidProducts++;
      return;
    }
    const known = entry.product;
    entry.product = product;
    if (JSON.stringify(known) !== JSON.stringify(product)) this.#notify("updated", entry);
  }

  #put(entry: Entry): void {
    this.#entries[addressKey(entry.bus, entry.src)] = entry;
    this.#size++;
    this.counters.added++;
  }

  #remove(entry: Entry): void {
    this.#entries[addressKey(entry.bus, entry.src)] = undefined;
    this.#size--;
    this.counters.removed++;
    this.#notify("removed", entry);
  }

  #notify(event: RegistryEvent["event"], device: DeviceRecord): void {
    for (const listener of this.#listeners) listener({ event, device });
  }
}

/** A NAME in the form of the APIs. */
export function describeName(name: bigint, fields: NameFields = parseName(name)): Partial<Device> {
  return {
    name: formatName(name),
    manufacturer: manufacturerName(fields.manufacturerCode),
    manufacturer_code: fields.manufacturerCode,
    device_class: fields.deviceClass,
    device_function: fields.deviceFunction,
    device_instance: fields.deviceInstance,
    unique_number: fields.uniqueNumber,
  };
}

/** Product information in the form of the APIs. */
export function describeProduct(product: ProductInformation): Partial<Device> {
  return {
    product_code: product.productCode,
    model_id: product.modelId,
    software_version: product.softwareVersion,
    model_version: product.modelVersion,
    model_serial: product.modelSerial,
  };
}

function newEntry({ bus, timeUs, monoMs }: Reception, src: CanHeader["src"]): Entry {
  return {
    bus,
    src,
    name: undefined,
    fields: undefined,
    product: undefined,
    firstUs: timeUs,
    lastUs: timeUs,
    lastMonoMs: monoMs,
    packets: 0,
    bytes: 0,
  };
}

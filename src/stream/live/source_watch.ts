import type { Clock } from "../../base/mod.ts";
import type { Broker, RegistryEvent, Subscription } from "../../broker/mod.ts";
import { addressKey, formatName, formatTimeUs, newStoredFrame, sourceOfId } from "../../frame/mod.ts";
import {
  type PreferredSources,
  Quantities,
  type Quantity,
  QUANTITY_PGNS,
  type SourceDevice,
  type SourceSwitch,
} from "../../quantities/mod.ts";

/** Interval of reading new messages and checking for stale values. */
const EVERY_MS = 100;
/** Messages that may wait; a power of two. From half of them on they are read at once. */
const WAITING_MESSAGES = 4096;

/** Another device is preferred for a quantity: data of `event: source`. */
export interface SourceEvent {
  /** Key of the quantity. */
  quantity: string;
  /** Null: there was none. */
  from: SourceDevice | null;
  /** Null: all values are stale. */
  to: SourceDevice | null;
  /** RFC 3339. */
  ts: string;
  reason: SourceSwitch["reason"];
}

/**
 * Watches the quantities of a broker's messages. Messages are decoded some milliseconds later, so that publishing does not
 * wait for it, and all of them: a device may send several instances at once.
 */
export class SourceWatch {
  readonly #broker: Broker;
  readonly #clock: Clock;
  readonly #quantities = new Quantities();
  readonly #subscription: Subscription;
  readonly #listeners = new Set<(event: SourceEvent) => void>();
  readonly #unlisten: () => void;
  readonly #timer: ReturnType<typeof setInterval>;
  readonly #frame = newStoredFrame();
  /** Devices removed since the last look, by NAME or address. */
  readonly #removed = new Map<string, SourceDevice>();

  constructor({ broker, clock }: { broker: Broker; clock: Clock }) {
    this.#broker = broker;
    this.#clock = clock;
    const pgns = new Set(QUANTITY_PGNS);
    this.#subscription = broker.subscribe({
      capacity: WAITING_MESSAGES,
      accept: (_bus, _src, pgn) => {
        if (!pgns.has(pgn)) return false;
        if (this.#subscription.waiting >= WAITING_MESSAGES / 2) this.#read();
        return true;
      },
      beforeClear: () => this.#read(),
    });
    this.#readNewest();
    this.#unlisten = broker.registry.listen((event) => this.#device(event));
    this.#timer = setInterval(() => this.#look(), EVERY_MS);
  }

  /** All quantities received, with their sources. */
  list(): Quantity[] {
    this.#look();
    return this.#quantities.list(this.#clock.monoMs());
  }

  /** The device that is preferred for a quantity; undefined: unknown, or all its values are stale. */
  preferredOf(key: string): SourceDevice | undefined {
    return this.#quantities.preferredOf(key);
  }

  /** Values not kept because there are too many. */
  get refused(): number {
    return this.#quantities.refused;
  }

  /** Replaces the settings of the preferred sources. */
  prefer(preferred: PreferredSources): void {
    this.#notify(this.#quantities.prefer(preferred, this.#clock.monoMs()));
  }

  /** Calls `listener` on every switch. Returns a function that removes it. */
  listen(listener: (event: SourceEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Ends the watch. */
  stop(): void {
    clearInterval(this.#timer);
    this.#unlisten();
    this.#broker.unsubscribe(this.#subscription);
  }

  #look(): void {
    this.#read();
    this.#forgetRemoved();
    this.#notify(this.#quantities.evaluate(this.#clock.monoMs()));
  }

  #read(): void {
    const nowMs = this.#clock.wallUs() / 1000;
    this.#subscription.drain((seq) => {
      const frame = this.#frame;
      // The ring holds far more messages than may wait here.
      if (!this.#broker.ring.read(seq, frame)) return;
      const { bus, id, pgn, timeUs, data, offset, length } = frame;
      // It was queued for at most this long; a recording, or a boat with a wrong clock, has times of another day.
      const ageMs = Math.min(EVERY_MS, Math.max(0, nowMs - timeUs / 1000));
      const payload = data.subarray(offset, offset + length);
      this.#observe({ bus, src: sourceOfId(id), pgn, timeUs, payload, ageMs });
    });
  }

  /** Reads the newest values from before the watch began. */
  #readNewest(): void {
    const nowMs = this.#clock.wallUs() / 1000;
    for (const { bus, src } of this.#broker.registry) {
      for (const { pgn, timeUs, data, length } of this.#broker.values.of(bus, src)) {
        if (!QUANTITY_PGNS.includes(pgn)) continue;
        const ageMs = Math.max(0, nowMs - timeUs / 1000);
        this.#observe({ bus, src, pgn, timeUs, payload: data.subarray(0, length), ageMs });
      }
    }
  }

  #observe({ bus, src, pgn, timeUs, payload, ageMs }: {
    bus: number;
    src: number;
    pgn: number;
    timeUs: number;
    payload: Uint8Array;
    ageMs: number;
  }): void {
    const decoded = this.#broker.decoder.decode(pgn, payload);
    if (!decoded) return;
    const [device, timeMs, atMs] = [this.#deviceAt(bus, src), timeUs / 1000, this.#clock.monoMs() - ageMs];
    this.#notify(this.#quantities.observe({ pgn, decoded, device, timeMs, atMs }));
  }

  #deviceAt(bus: number, src: number): SourceDevice {
    const name = this.#broker.registry.get(bus, src)?.name;
    const busName = this.#broker.buses.length > 1 ? this.#broker.buses[bus] : undefined;
    return { name: name === undefined ? "" : formatName(name), src, ...(busName !== undefined && { bus: busName }) };
  }

  #device({ event, device }: RegistryEvent): void {
    if (event !== "removed") return;
    const { bus, src, name } = device;
    // Also what was sent from this address before its NAME was known.
    const unnamed = { ...this.#deviceAt(bus, src), name: "" };
    this.#removed.set(String(addressKey(bus, src)), unnamed);
    if (name !== undefined) this.#removed.set(formatName(name), { ...unnamed, name: formatName(name) });
  }

  /** A device that moves to another address is removed from the registry before it is added again. */
  #forgetRemoved(): void {
    if (this.#removed.size === 0) return;
    for (const { name } of this.#broker.registry) if (name !== undefined) this.#removed.delete(formatName(name));
    const gone = [...this.#removed.values()];
    this.#removed.clear();
    this.#notify(this.#quantities.remove(gone, this.#clock.monoMs()));
  }

  #notify(switches: readonly SourceSwitch[]): void {
    if (switches.length === 0 || this.#listeners.size === 0) return;
    const ts = formatTimeUs(this.#clock.wallUs());
    for (const { key, from, to, reason } of switches) {
      const event: SourceEvent = { quantity: key, from: from ?? null, to: to ?? null, ts, reason };
      for (const listener of this.#listeners) listener(event);
    }
  }
}

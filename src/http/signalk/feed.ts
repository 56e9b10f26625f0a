import type { Clock } from "../../base/mod.ts";
import type { Broker, RegistryEvent, Subscription } from "../../broker/mod.ts";
import { newStoredFrame, sourceOfId } from "../../frame/mod.ts";
import type { Decoded } from "../../pgn/mod.ts";
import { readQuantities } from "../../quantities/mod.ts";
import {
  type Json,
  SIGNALK_PGNS,
  SignalKMapper,
  SignalKModel,
  sourceOf,
  type StaleValue,
  type Update,
} from "../../signalk/mod.ts";
import type { SourceWatch } from "../../stream/mod.ts";

/** Messages that may wait; a power of two. From half of them on they are read at once. */
const WAITING_MESSAGES = 4096;
/** Source of what the settings say. */
const SETTINGS_SOURCE = "settings";

/** The own vessel in Signal K. */
export interface Vessel {
  /** `urn:mrn:imo:mmsi:…` or `urn:mrn:signalk:uuid:…`. */
  readonly id: string;
  /** Its name, MMSI or UUID. */
  readonly about: { [key: string]: Json };
}

/** Dependencies of a {@linkcode SignalKFeed}. */
export interface FeedOptions {
  broker: Broker;
  /** Preferred sources of quantities. */
  sources: Pick<SourceWatch, "preferredOf">;
  vessel: Vessel;
  clock: Clock;
  /** Called with new values. */
  updated: (update: Update) => void;
  /** Called with values that have become stale. */
  stale: (values: readonly StaleValue[]) => void;
}

/** Keeps a model of Signal K from the messages of a broker. It reads when {@linkcode read} is called, some times a second. */
export class SignalKFeed {
  readonly model: SignalKModel;
  readonly #options: FeedOptions;
  readonly #mapper = new SignalKMapper();
  readonly #subscription: Subscription;
  readonly #unlisten: () => void;
  readonly #frame = newStoredFrame();
  /** Names of the buses as a part of `$source`. */
  readonly #buses: readonly string[];
  /** `$source` of devices that were removed since the last reading. */
  readonly #removed = new Set<string>();
  #readMs: number;

  constructor(options: FeedOptions) {
    const { broker, clock, vessel: { id, about } } = options;
    this.#options = options;
    this.#buses = broker.buses.map(sourceLabel);
    this.model = new SignalKModel({ self: id, preferredSource: (quantity) => this.#preferredSource(quantity) });
    this.#readMs = clock.monoMs();
    const values = [{ path: "", value: about, field: "" }];
    const delta = {
      context: this.model.self.id,
      source: SETTINGS_SOURCE,
      pgn: 0,
      src: 0,
      timeUs: clock.wallUs(),
      values,
    };
    this.model.apply(delta, { atMs: this.#readMs, quantityOf: () => undefined });
    this.#subscription = broker.subscribe({
      capacity: WAITING_MESSAGES,
      accept: (_bus, _src, pgn) => {
        if (!SIGNALK_PGNS.has(pgn)) return false;
        if (this.#subscription.waiting >= WAITING_MESSAGES / 2) this.drain();
        return true;
      },
      beforeClear: () => this.drain(),
    });
    this.#readNewest();
    this.#unlisten = broker.registry.listen((event) => this.#device(event));
  }

  /** Reads what has come, then looks for stale values. */
  read(): void {
    this.drain();
    this.#forgetRemoved();
    const { clock, stale } = this.#options;
    const entries = this.model.evaluate(clock.monoMs(), Math.floor(clock.wallUs() / 1000));
    if (entries.length > 0) stale(entries);
  }

  /** Ends the subscription. */
  stop(): void {
    this.#unlisten();
    this.#options.broker.unsubscribe(this.#subscription);
  }

  /** The devices by bus, as Signal K has them. */
  sources(): { [bus: string]: Json } {
    const { broker: { registry, values } } = this.#options;
    const tree: { [bus: string]: { [key: string]: Json } } = {
      [SETTINGS_SOURCE]: { label: SETTINGS_SOURCE, type: "signalk" },
    };
    for (const label of this.#buses) tree[label] = { label, type: "NMEA2000" };
    for (const record of registry) {
      const device = registry.describe(record);
      const label = this.#buses[record.bus] ?? "";
      const key = this.#sourceAt(record.bus, record.src).slice(label.length + 1);
      const pgns = values.of(record.bus, record.src).map(({ pgn, timeUs }): [string, Json] => [
        String(pgn),
        new Date(timeUs / 1000).toISOString(),
      ]);
      const n2k: Record<string, Json | undefined> = {
        src: String(device.src),
        pgns: Object.fromEntries(pgns),
        canName: device.name?.slice(2),
        manufacturerId: device.manufacturer_code,
        manufacturerName: device.manufacturer,
        manufacturerCode: device.manufacturer,
        uniqueId: device.unique_number,
        deviceFunction: device.device_function,
        deviceClass: device.device_class,
        deviceInstance: device.device_instance,
        productID: device.product_code,
        productName: device.model_id,
        modelId: device.model_id,
        modelVersion: device.model_version,
        softwareVersion: device.software_version,
        serialNumber: device.model_serial,
        modelSerialCode: device.model_serial,
      };
      const known = Object.entries(n2k).flatMap(([name, value]): [string, Json][] =>
        value === undefined ? [] : [[name, value]]
      );
      tree[label] = { ...tree[label], [key]: { n2k: Object.fromEntries(known) } };
    }
    return tree;
  }

  /** Reads what has come. */
  drain(): void {
    const { broker, clock } = this.#options;
    const [nowMs, wallMs] = [clock.monoMs(), clock.wallUs() / 1000];
    const longestMs = nowMs - this.#readMs;
    this.#readMs = nowMs;
    this.#subscription.drain((seq) => {
      const frame = this.#frame;
      if (!broker.ring.read(seq, frame)) return;
      const { bus, id, pgn, timeUs, data, offset, length } = frame;
      // It waited for at most this long; a recording, or a boat with a wrong clock, has times of another day.
      const ageMs = Math.min(longestMs, Math.max(0, wallMs - timeUs / 1000));
      const payload = data.subarray(offset, offset + length);
      this.#apply({ bus, src: sourceOfId(id), pgn, timeUs, payload, atMs: nowMs - ageMs });
    });
  }

  /** Reads the newest values from before the feed began, in the order of their times: some refer to earlier ones. */
  #readNewest(): void {
    const { broker, clock } = this.#options;
    const [nowMs, wallMs] = [clock.monoMs(), clock.wallUs() / 1000];
    const values = [...broker.registry].flatMap(({ bus, src }) =>
      broker.values.of(bus, src).filter(({ pgn }) => SIGNALK_PGNS.has(pgn)).map((value) => ({ ...value, bus, src }))
    ).sort((a, b) => a.timeUs - b.timeUs);
    for (const { bus, src, pgn, timeUs, data, length } of values) {
      const atMs = nowMs - Math.max(0, wallMs - timeUs / 1000);
      this.#apply({ bus, src, pgn, timeUs, payload: data.subarray(0, length), atMs });
    }
  }

  #apply({ bus, src, pgn, timeUs, payload, atMs }: {
    bus: number;
    src: number;
    pgn: number;
    timeUs: number;
    payload: Uint8Array;
    atMs: number;
  }): void {
    const { broker, updated } = this.#options;
    const decoded = broker.decoder.decode(pgn, payload);
    if (!decoded) return;
    const name = broker.registry.get(bus, src)?.name;
    const delta = this.#mapper.map({ pgn, decoded, src, name, bus: this.#buses[bus] ?? "", timeUs });
    if (!delta) return;
    const update = this.model.apply(delta, { atMs, quantityOf: (field) => quantityOf(pgn, { decoded, field }) });
    if (update.values.length > 0) updated(update);
  }

  #preferredSource(quantity: string): string | undefined {
    const device = this.#options.sources.preferredOf(quantity);
    if (!device) return undefined;
    const { bus = this.#options.broker.buses[0] ?? "", name, src } = device;
    return sourceOf({ bus: sourceLabel(bus), src, name: name === "" ? undefined : BigInt(name) });
  }

  #sourceAt(bus: number, src: number): string {
    const name = this.#options.broker.registry.get(bus, src)?.name;
    return sourceOf({ bus: this.#buses[bus] ?? "", src, name });
  }

  #device({ event, device: { bus, src, name } }: RegistryEvent): void {
    const label = this.#buses[bus] ?? "";
    const [byAddress, byName] = [sourceOf({ bus: label, src, name: undefined }), sourceOf({ bus: label, src, name })];
    if (event !== "removed") {
      this.#removed.delete(byName);
      if (name !== undefined) this.model.rename(byAddress, byName);
      return;
    }
    this.#removed.add(byAddress).add(byName);
  }

  /** A device that moves to another address is removed from the registry before it is added again. */
  #forgetRemoved(): void {
    for (const source of this.#removed) this.model.gone(source);
    this.#removed.clear();
  }
}

/** Name of a bus as a part of `$source`, where dots separate parts. */
export function sourceLabel(bus: string): string {
  return bus.replaceAll(/[^A-Za-z0-9_-]+/g, "-");
}

function quantityOf(pgn: number, { decoded, field }: { decoded: Decoded; field: string }): string | undefined {
  return readQuantities(pgn, decoded).find(({ row }) => row.field === field)?.key;
}

import type { ClientFrame, DeviceEvent, QuantitySources, SourceEvent } from "@vessel/gateway/client";
import {
  Quantities,
  type Quantity,
  QUANTITY_PGNS,
  type QuantitySource,
  type SourceDevice,
} from "@vessel/gateway/quantities";
import type { DeviceRow } from "../device_rows.ts";
import { isPosition, type Motion, type Position } from "./geometry.ts";
import { AIS_PGNS, TargetTable } from "./targets.ts";
import { decodedOf, rowOf } from "./tiles.ts";
import { Track } from "./track.ts";

/** PGNs that the view receives. */
export const NOW_PGNS: readonly number[] = [...new Set([...QUANTITY_PGNS, ...AIS_PGNS])];

/** The own vessel, as far as it is known and fresh. */
export interface OwnShip {
  readonly position: Position;
  /** The newest position is old. */
  readonly isStale: boolean;
  /** From true north, radians. */
  readonly heading: number | undefined;
  readonly motion: Motion | undefined;
}

/** A quantity with the setting of its preferred source. */
export interface ShownQuantity extends Quantity {
  /** A setting names the preferred source. */
  readonly isSet: boolean;
}

/**
 * What the view shows. It reads messages as the server does, with the same class. Times are those of the messages; the
 * preferred devices are the server's.
 */
export class NowModel {
  readonly targets = new TargetTable();
  readonly track = new Track();
  readonly #devices = new Map<string, DeviceRow>();
  /** NAME of the device that the server prefers, by quantity. */
  readonly #preferred = new Map<string, string>();
  readonly #quantities = new Quantities();
  /** Quantities whose preferred device is set by a setting. */
  readonly #set = new Set<string>();

  /** Takes a decoded message. */
  received({ pgn, src, bus, ts, decoded }: Pick<ClientFrame, "pgn" | "src" | "bus" | "ts" | "decoded">): void {
    if (!decoded) return;
    const timeMs = Date.parse(ts);
    if (AIS_PGNS.includes(pgn)) this.targets.observe(pgn, decoded, timeMs);
    const name = this.#devices.get(addressKey(bus, src))?.name ?? "";
    this.#observe({ pgn, decoded, device: { name, src, ...(bus !== undefined && { bus }) }, timeMs });
  }

  /** Takes the server's newest values: rare ones are shown at once, and the server's preference holds. */
  seed(all: readonly QuantitySources[]): void {
    this.prefer(all);
    for (const { quantity: key, sources } of all) {
      for (const source of sources) {
        const { name, src, bus, pgn, value, ts, interval_ms } = source;
        const row = rowOf(key, pgn);
        const timeMs = Date.parse(ts);
        const device = { name, src, ...(bus !== undefined && { bus }) };
        if (!row || timeMs <= this.#newestOf(key, { device, pgn })) continue;
        const message = { pgn, decoded: decodedOf(row, { key, value }), device };
        // Twice, so that its interval is known.
        this.#observe({ ...message, timeMs: timeMs - interval_ms });
        this.#observe({ ...message, timeMs });
      }
    }
  }

  /** Takes the server's preference alone. */
  prefer(all: readonly QuantitySources[]): void {
    this.#set.clear();
    for (const { quantity, preferred, by } of all) {
      if (by === "setting") this.#set.add(quantity);
      if (preferred) this.#preferred.set(quantity, preferred);
    }
  }

  /** The server prefers another device. */
  switched({ quantity, to, reason }: SourceEvent): void {
    if (!to) return;
    if (to.name === "") this.#preferred.delete(quantity);
    else this.#preferred.set(quantity, to.name);
    if (reason === "setting") this.#set.add(quantity);
    else this.#set.delete(quantity);
  }

  /** Takes the device table, or a change of it. A device that is gone keeps its values: they grow old. */
  device(device: DeviceRow, event: DeviceEvent["event"] = "updated"): void {
    const key = addressKey(device.bus, device.src);
    if (event === "removed") this.#devices.delete(key);
    else this.#devices.set(key, device);
  }

  /** The device of a source, if it is in the device table. */
  deviceOf({ name, bus, src }: SourceDevice): DeviceRow | undefined {
    const there = this.#devices.get(addressKey(bus, src));
    if (name === "" || there?.name === name) return there;
    return [...this.#devices.values()].find((each) => each.name === name);
  }

  /** All quantities in their order. */
  list(nowMs: number): ShownQuantity[] {
    this.#quantities.prefer(this.#preferred, nowMs);
    return this.#quantities.list(nowMs).map((each) => ({ ...each, isSet: this.#set.has(each.key) }));
  }

  /** The own vessel; undefined without a position. Adds its position to the track. */
  own(nowMs: number): OwnShip | undefined {
    const position = this.#quantities.get("position", nowMs)?.sources[0];
    if (!position || typeof position.value !== "object" || !isPosition(position.value)) return undefined;
    if (!position.isStale) this.track.add(position.value, position.timeMs);
    const variation = this.#fresh("variation", nowMs);
    const add = (angle: number | undefined) =>
      angle === undefined || variation === undefined ? undefined : angle + variation;
    const cog = this.#fresh("cog.true", nowMs) ?? add(this.#fresh("cog.magnetic", nowMs));
    const sog = this.#fresh("sog", nowMs);
    const canMove = !position.isStale && cog !== undefined && sog !== undefined;
    return {
      position: position.value,
      isStale: position.isStale,
      heading: this.#fresh("heading.true", nowMs) ?? add(this.#fresh("heading.magnetic", nowMs)),
      motion: canMove ? { position: position.value, cog, sog } : undefined,
    };
  }

  /** The source of the own position. */
  positionSource(nowMs: number): QuantitySource | undefined {
    return this.#quantities.get("position", nowMs)?.sources[0];
  }

  #fresh(key: string, nowMs: number): number | undefined {
    const source = this.#quantities.get(key, nowMs)?.sources[0];
    return source && !source.isStale && typeof source.value === "number" ? source.value : undefined;
  }

  #newestOf(key: string, { device, pgn }: { device: SourceDevice; pgn: number }): number {
    const known = this.#quantities.get(key, 0)?.sources.find((each) =>
      each.pgn === pgn && each.device.name === device.name && each.device.bus === device.bus &&
      (device.name !== "" || each.device.src === device.src)
    );
    return known?.timeMs ?? -Infinity;
  }

  #observe(message: Pick<Parameters<Quantities["observe"]>[0], "pgn" | "decoded" | "device" | "timeMs">): void {
    this.#quantities.observe({ ...message, atMs: message.timeMs });
  }
}

function addressKey(bus: string | undefined, src: number): string {
  return `${bus}/${src}`;
}

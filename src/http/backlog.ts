import { type DroppedFrames, extendDropped } from "../broker/mod.ts";
import type { DeviceEvent } from "../frame/mod.ts";
import type { Batch } from "./batch.ts";

/** Something to tell a client beside frames. */
export type Notice = { type: "dropped"; data: DroppedFrames } | { type: "device"; data: DeviceEvent };

/** What a slow client must know as soon as it can take something again. Bounded: one range, one event a device. */
export class Backlog {
  #dropped: DroppedFrames | undefined;
  readonly #devices = new Map<string, DeviceEvent>();

  /** Frames that the client did not get. */
  dropped(dropped: DroppedFrames): void {
    this.#dropped = extendDropped(this.#dropped, dropped);
  }

  /** A batch that the client did not get; returns how many frames that are. */
  missed(batch: Batch): number {
    this.dropped(batch.droppedFrom(0));
    return batch.count;
  }

  /** Whether nothing waits. */
  get isEmpty(): boolean {
    return this.#dropped === undefined && this.#devices.size === 0;
  }

  /** A change of a device; a newer one of the same address replaces it. */
  device(event: DeviceEvent): void {
    this.#devices.set(`${event.device.bus ?? ""}/${event.device.src}`, event);
  }

  /** All that waits to be told, oldest kind first; nothing waits afterwards. */
  take(): Notice[] {
    if (this.isEmpty) return [];
    const notices: Notice[] = [];
    if (this.#dropped) notices.push({ type: "dropped", data: this.#dropped });
    for (const data of this.#devices.values()) notices.push({ type: "device", data });
    this.#dropped = undefined;
    this.#devices.clear();
    return notices;
  }
}

import type { SkippedFrames } from "../../broker/mod.ts";
import type { DeviceEvent } from "../../frame/mod.ts";
import type { Batch } from "../../stream/mod.ts";

/** An event of a stream other than a frame. */
export type Notice = { type: "dropped"; data: SkippedFrames } | { type: "device"; data: DeviceEvent };

/**
 * Notices for a slow client until it reads again. Bounded: one merged range per kind of drop and one event per device.
 */
export class Backlog {
  readonly #dropped = new Map<string, SkippedFrames>();
  readonly #devices = new Map<string, DeviceEvent>();

  /** Adds a report of dropped frames. */
  dropped(dropped: SkippedFrames): void {
    const { backfill, reason } = dropped;
    const kind = backfill ? "backfill" : reason === undefined ? "slow" : "lost";
    this.#dropped.set(kind, extended(this.#dropped.get(kind), dropped));
  }

  /** Adds a report of a dropped batch; returns its number of frames. */
  missed(batch: Batch): number {
    this.dropped(batch.droppedFrom(0));
    return batch.count;
  }

  get isEmpty(): boolean {
    return this.#dropped.size === 0 && this.#devices.size === 0;
  }

  /** Adds a device event, which replaces an older one of the same address. */
  device(event: DeviceEvent): void {
    this.#devices.set(`${event.device.bus ?? ""}/${event.device.src}`, event);
  }

  /** Removes and returns all notices: drops by sequence number, then devices. */
  take(): Notice[] {
    if (this.isEmpty) return [];
    const notices: Notice[] = [];
    const dropped = [...this.#dropped.values()].sort((a, b) => a.from_seq - b.from_seq);
    for (const data of dropped) notices.push({ type: "dropped", data });
    for (const data of this.#devices.values()) notices.push({ type: "device", data });
    this.#dropped.clear();
    this.#devices.clear();
    return notices;
  }
}

/** Merges two reports of one kind. */
function extended(known: SkippedFrames | undefined, more: SkippedFrames): SkippedFrames {
  if (!known) return more;
  const { backfill, reason } = known;
  return {
    from_seq: Math.min(known.from_seq, more.from_seq),
    to_seq: Math.max(known.to_seq, more.to_seq),
    count: known.count === null || more.count === null ? null : known.count + more.count,
    ...(backfill && { backfill }),
    ...(reason !== undefined && reason === more.reason && { reason }),
  };
}

import type { SkippedFrames } from "../../broker/mod.ts";
import type { DeviceEvent } from "../../frame/mod.ts";
import type { Batch } from "../../stream/mod.ts";

/** Something to tell a client beside frames. */
export type Notice = { type: "dropped"; data: SkippedFrames } | { type: "device"; data: DeviceEvent };

/**
 * What a slow client must know as soon as it can take something again. Bounded: one range of each kind of drop, one event
 * a device.
 */
export class Backlog {
  readonly #dropped = new Map<string, SkippedFrames>();
  readonly #devices = new Map<string, DeviceEvent>();

  /** Frames that the client did not get. */
  dropped(dropped: SkippedFrames): void {
    const { backfill, reason } = dropped;
    const kind = backfill ? "backfill" : reason === undefined ? "slow" : "lost";
    this.#dropped.set(kind, extended(this.#dropped.get(kind), dropped));
  }

  /** A batch that the client did not get; returns how many frames that are. */
  missed(batch: Batch): number {
    this.dropped(batch.droppedFrom(0));
    return batch.count;
  }

  /** Whether nothing waits. */
  get isEmpty(): boolean {
    return this.#dropped.size === 0 && this.#devices.size === 0;
  }

  /** A change of a device; a newer one of the same address replaces it. */
  device(event: DeviceEvent): void {
    this.#devices.set(`${event.device.bus ?? ""}/${event.device.src}`, event);
  }

  /** All that waits to be told: drops by their numbers, then devices. Nothing waits afterwards. */
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

/** Two reports of one kind as one. */
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

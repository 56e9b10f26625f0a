import type { StoredFrame } from "../frame/mod.ts";
import { type Period, VoyageDetector } from "./detector.ts";
import { FrameSlots, type PayloadDecoder } from "./frame_slots.ts";
import type { Track } from "./gpx.ts";
import { inRange } from "./range.ts";
import { reportOf, trackOf, type VoyageReport } from "./report.ts";

/** Voyages of frames that are given one after the other. */
export class RecordedVoyages {
  readonly #slots: FrameSlots;

  /** Without frames yet. */
  constructor(decoder: PayloadDecoder) {
    this.#slots = new FrameSlots(decoder);
  }

  /** The frames that follow are of buses with these names, by index. */
  enter(buses: readonly string[]): void {
    this.#slots.enter(buses);
  }

  /** Adds a frame. They may come out of order, and several times. */
  add(frame: StoredFrame): void {
    this.#slots.add(frame);
  }

  /**
   * The voyages of all frames, with a track for each. No frame may be added after this.
   *
   * @param options.fromMs only voyages that touch the time from then on, milliseconds since 1970; default all
   * @param options.toMs only voyages that touch the time until then
   */
  find(
    { fromMs = -Infinity, toMs = Infinity }: { fromMs?: number | undefined; toMs?: number | undefined } = {},
  ): { report: VoyageReport; tracks: Track[] } {
    const detector = new VoyageDetector();
    const all: Period[] = [];
    for (const slot of this.#slots.slots()) all.push(...detector.push(slot));
    all.push(...detector.end());
    const periods = inRange(all, { fromMs, toMs });
    const voyages = periods.filter((period) => period.state === "under_way");
    return { report: reportOf(periods), tracks: voyages.map(trackOf) };
  }
}

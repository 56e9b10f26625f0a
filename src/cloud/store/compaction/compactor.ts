import type { Clock, Logger } from "../../../base/mod.ts";
import type { ObjectStore } from "../../../object_store/mod.ts";
import type { ObjectChanges } from "../boat_objects.ts";
import { FrameShipper, phaseOf, type Shipped, type ShipperState } from "../frame_shipper.ts";
import { compactBoat, type CompactionFault, CompactionMemory } from "./compact_boat.ts";
import type { StoreRetention } from "./prune_boat.ts";

/** Time from one compaction of a boat to the next, milliseconds. */
export const COMPACTION_INTERVAL_MS = 3_600_000;
/** Boats that are compacted at the same time: each may need the memory of two large objects. */
export const COMPACTED_AT_ONCE = 2;
/** Objects of days are joined within this time after the day, spread over the boats, milliseconds. */
export const DAY_SPREAD_MS: number = 20 * 3_600_000;

/** A boat whose objects are compacted. */
export interface CompactedBoat {
  readonly id: string;
  /** Stores what is known of its objects, so that they need not be read. @throws {StoreError} */
  saveTimes(signal: AbortSignal): Promise<void>;
  /** Objects of the boat were stored or deleted. */
  noteObjects(changes: ObjectChanges): Promise<void>;
  /** Records what people should know of the boat. */
  readonly note: (type: "checkpoint", detail: string) => void;
}

/** Options of a {@linkcode Compactor}. */
export interface CompactorOptions {
  boats: Iterable<CompactedBoat>;
  /** False for boats whose objects another node compacts; default true. Two nodes that do it harm nothing. */
  isInCharge?: ((id: string) => boolean) | undefined;
  store: ObjectStore;
  retention: StoreRetention;
  clock: Clock;
  log: Logger;
}

/** Compacts the objects of all boats, each once an hour. The boats are spread over the hour. */
export class Compactor {
  readonly #options: CompactorOptions;
  readonly #rounds: FrameShipper;
  readonly #work = new WeakMap<CompactedBoat, Shipped>();
  readonly #faults = new Map<string, CompactionMemory["faulty"]>();

  constructor(options: CompactorOptions) {
    const { clock, log } = options;
    this.#options = options;
    this.#rounds = new FrameShipper({
      boats: this.#boats(),
      intervalMs: COMPACTION_INTERVAL_MS,
      atOnce: COMPACTED_AT_ONCE,
      failure: "objects not compacted",
      ...{ clock, log },
    });
  }

  get state(): ShipperState {
    return this.#rounds.state;
  }

  /** Boats with objects that contradict each other or are damaged. */
  get faultyBoats(): number {
    return this.#faults.values().reduce((count, faulty) => count + (faulty.size > 0 ? 1 : 0), 0);
  }

  /** Begins what is due. Must be called about once a second. */
  runHousekeeping(): void {
    this.#rounds.runHousekeeping();
  }

  /** Ends requests that are under way; what was done is right, the rest is done by the next pass. */
  stop(): Promise<void> {
    return this.#rounds.stop();
  }

  #boats(): Iterable<Shipped> {
    const { boats, isInCharge = () => true } = this.#options;
    const workOf = (boat: CompactedBoat) => this.#workOf(boat);
    return {
      *[Symbol.iterator]() {
        for (const boat of boats) if (isInCharge(boat.id)) yield workOf(boat);
      },
    };
  }

  #workOf(boat: CompactedBoat): Shipped {
    const known = this.#work.get(boat);
    if (known) return known;
    const { store, retention, clock } = this.#options;
    const { id } = boat;
    const memory = new CompactionMemory();
    const report = (fault: CompactionFault) => this.#report(boat, { fault, memory });
    const changed = (changes: ObjectChanges) => boat.noteObjects(changes);
    const ship = async (signal: AbortSignal) => {
      await boat.saveTimes(signal);
      const nowMs = clock.wallUs() / 1000;
      const dayDelayMs = phaseOf(id) * DAY_SPREAD_MS;
      await compactBoat({ id, store, memory, retention, changed, report, signal, nowMs, dayDelayMs });
    };
    const work = { id, hasUnstored: true, keepsFrames: true, ship };
    this.#work.set(boat, work);
    return work;
  }

  #report(boat: CompactedBoat, { fault, memory }: { fault: CompactionFault; memory: CompactionMemory }): void {
    const { kind, epoch, first, last, objects } = fault;
    this.#faults.set(boat.id, memory.faulty);
    const what = kind === "damaged"
      ? "an object is damaged"
      : "objects have different frames with the same numbers: two machines may be this boat";
    this.#options.log.error(what, { id: boat.id, epoch, first, last, objects: objects.join(" ") });
    boat.note("checkpoint", `frames ${first} to ${last} of epoch ${epoch}: ${what}`);
  }
}

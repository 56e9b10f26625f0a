import { type Message, newStoredFrame } from "../../frame/mod.ts";
import type { ClockSpan } from "../../journal/mod.ts";
import { type LiveFrame, RpcError } from "../../replication/mod.ts";
import { LiveRateMeter } from "../service/live_rate.ts";
import type { InstanceRecord } from "./record.ts";
import { addLive, readLive, unavailable } from "./sessions.ts";
import type { InstanceSettings } from "./settings.ts";
import type { InstanceStores } from "./stores.ts";

/** The live frames of one boat, from whichever of its streams they come. */
export class LiveFrames {
  readonly #record: InstanceRecord;
  readonly #stores: InstanceStores;
  readonly #settings: () => InstanceSettings;
  readonly #frame: Message = { ...newStoredFrame(), monoMs: 0 };
  #rate: LiveRateMeter | undefined;

  constructor(
    { record, stores, settings }: { record: InstanceRecord; stores: InstanceStores; settings: () => InstanceSettings },
  ) {
    this.#record = record;
    this.#stores = stores;
    this.#settings = settings;
  }

  /**
   * Records a live frame and publishes it. A frame with number 0 only introduces a device.
   *
   * @throws {RpcError} it cannot be recorded; the boat must send it again
   */
  receive(live: LiveFrame): void {
    const { seq } = live;
    const frame = this.#frame;
    readLive(live, frame);
    if (frame.bus >= this.#stores.buses.length) {
      throw new RpcError(
        "INVALID_ARGUMENT",
        `frame ${seq} has bus ${frame.bus}, but the boat has only declared ${this.#stores.buses.length}`,
      );
    }
    if (seq === 0) this.#stores.replica?.introduce(frame);
    else if (this.#append(seq, frame)) this.#stores.replica?.publish(seq, frame);
  }

  /**
   * Appends a live frame to the journal. False if it is out of order and only a backfill can store it.
   *
   * @throws {RpcError} it cannot be recorded; the boat must send it again
   */
  #append(seq: number, frame: Message): boolean {
    const { received, counters } = this.#record;
    const { journal } = this.#stores;
    if (!journal) throw unavailable("the boat's files are closed");
    counters.liveFrames++;
    if (seq <= journal.lastLive) {
      counters[received.has(seq) ? "duplicateFrames" : "refusedFrames"]++;
      return false;
    }
    if (!addLive(received, seq)) {
      counters.duplicateFrames++;
      return true;
    }
    if (journal.append(seq, frame)) return true;
    received.forget({ start: seq, end: seq + 1 });
    counters.refusedFrames++;
    throw unavailable(`frame ${seq} cannot be recorded: ${this.#stores.failure ?? "the disk is too slow"}`);
  }

  /** Takes over the corrections of recorded times that the boat has found, in place of those before. */
  correct(spans: readonly ClockSpan[]): void {
    this.#stores.journal?.correct(spans);
  }

  /** For how long the boat may collect frames before it sends them, milliseconds: its journal has them, and nobody waits. */
  get collectMs(): number {
    const hasJournal = this.#record.journalBytes > 0;
    return hasJournal && !this.#stores.replica?.isRead ? this.#settings().collectMs : 0;
  }

  /** The rate limit, shared by all streams of the boat. */
  get rate(): LiveRateMeter {
    const { rateLimit, rateBurst } = this.#settings();
    if (!this.#rate?.isFor({ rateLimit, rateBurst })) this.#rate = new LiveRateMeter({ rateLimit, rateBurst });
    return this.#rate;
  }
}

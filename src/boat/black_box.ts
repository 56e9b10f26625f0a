import type { Clock, Logger } from "../base/mod.ts";
import { BlackBox, type BlackBoxEvent, JournalFrames, type Noted, RingFrames } from "../blackbox/mod.ts";
import type { Broker, Subscription } from "../broker/mod.ts";
import type { BoatFeed, StoreOptions } from "../feed/mod.ts";
import { newStoredFrame, sourceOfId } from "../frame/mod.ts";
import type { Alert } from "../integrations/mod.ts";
import { PGN } from "../pgn/mod.ts";
import { trueClockOf } from "./true_clock.ts";

/** Options of a boat's black box. */
export interface BlackBoxSettings {
  /**
   * Most bytes of the frames around events, beside the journal or, without one, in the state directory; the oldest files are
   * deleted beyond it. 0: no black box. Default 200 MB.
   */
  blackBoxBytes?: number;
}

/** Its directory, below that of the journal or the state. */
const DIRECTORY = "blackbox";
/** Messages of one second; a power of two. */
const WAITING_MESSAGES = 64;

/** The black box of a boat, fed by alerts, man-overboard messages and clients. */
export class BoatBlackBox {
  readonly box: BlackBox;
  readonly #broker: Broker;
  readonly #clock: Clock;
  readonly #overboard: Subscription;
  readonly #frame = newStoredFrame();

  private constructor(box: BlackBox, { broker, clock }: { broker: Broker; clock: Clock }) {
    this.box = box;
    this.#broker = broker;
    this.#clock = clock;
    this.#overboard = broker.subscribe({
      capacity: WAITING_MESSAGES,
      accept: (_bus, _src, pgn) => pgn === PGN.manOverboard,
    });
  }

  /** Opens it; undefined: it is off, or there is no directory for it. */
  static async open(
    { blackBoxBytes: maxBytes, journal: recording, stateDirectory }:
      & BlackBoxSettings
      & Pick<StoreOptions, "journal" | "stateDirectory">,
    { stores, clock: wall, log }: { stores: BoatFeed; clock: Clock; log: Logger },
  ): Promise<BoatBlackBox | undefined> {
    const parent = recording?.directory ?? stateDirectory;
    if (maxBytes === 0 || parent === undefined) return undefined;
    const { journal, feed: { broker } } = stores;
    const epoch = () => stores.epoch;
    const clock = trueClockOf(wall, journal);
    const frames = journal ? new JournalFrames(journal.index) : new RingFrames(broker, { epoch });
    const directory = `${parent}/${DIRECTORY}`;
    const box = await BlackBox.open({ directory, maxBytes, frames, numbers: broker.ring, epoch, clock, log });
    return new BoatBlackBox(box, { broker, clock });
  }

  /** Notes an alert; the end of a problem is no event. */
  readonly alert = ({ type, severity, subject, summary }: Alert): void => {
    if (severity !== "info") this.#note({ kind: type, subject, text: summary });
  };

  /** Notes a mark that somebody set. */
  readonly mark = (text: string): Noted | undefined => this.#note({ kind: "mark", subject: "mark", text });

  /** Reads new messages and begins to write what is due. Call it once a second. */
  runHousekeeping(): void {
    this.#overboard.drain((seq) => {
      if (this.#broker.ring.read(seq, this.#frame)) this.#noteOverboard();
    });
    this.box.runHousekeeping();
  }

  /** Writes what there is. */
  async stop(): Promise<void> {
    this.#broker.unsubscribe(this.#overboard);
    await this.box.stop();
  }

  #noteOverboard(): void {
    const { bus: index, id, pgn, data, offset, length } = this.#frame;
    const bus = this.#broker.buses[index] ?? "";
    const src = sourceOfId(id);
    const status = this.#broker.decoder.decode(pgn, data.subarray(offset, offset + length))?.man_overboard_status;
    const text = `Man overboard, from address ${src} on ${bus}` + (typeof status === "string" ? `: ${status}` : "");
    this.#note({ kind: "mob", subject: `mob:${bus}:${src}`, text });
  }

  #note(event: Omit<BlackBoxEvent, "timeUs">): Noted | undefined {
    return this.box.note({ ...event, timeUs: this.#clock.wallUs() });
  }
}

import { type Message, newStoredFrame } from "../../frame/mod.ts";
import { type LiveFrame, RpcError } from "../../replication/mod.ts";
import { LiveRateMeter } from "../service/live_rate.ts";
import { readLive } from "./sessions.ts";
import type { InstanceSettings } from "./settings.ts";
import type { InstanceStores } from "./stores.ts";

/** The live frames of one boat, from whichever of its streams they come. */
export class LiveFrames {
  readonly #stores: InstanceStores;
  readonly #settings: () => InstanceSettings;
  readonly #frame: Message = { ...newStoredFrame(), monoMs: 0 };
  #rate: LiveRateMeter | undefined;

  constructor({ stores, settings }: { stores: InstanceStores; settings: () => InstanceSettings }) {
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
    else if (this.#stores.append(seq, frame)) this.#stores.replica?.publish(seq, frame);
  }

  /** The rate limit, shared by all streams of the boat. */
  get rate(): LiveRateMeter {
    const { rateLimit, rateBurst } = this.#settings();
    if (!this.#rate?.isFor({ rateLimit, rateBurst })) this.#rate = new LiveRateMeter({ rateLimit, rateBurst });
    return this.#rate;
  }
}

import { silentLogger } from "../../src/base/mod.ts";
import { BoatBlackBox } from "../../src/boat/black_box.ts";
import { BoatFeed } from "../../src/feed/mod.ts";
import { SERVER_DEFAULTS, sessionLimitsOf } from "../../src/boat/limits.ts";
import type { FakeClock } from "./fake_clock.ts";
import { type FrameInit, message } from "./messages.ts";

/** Names of its buses. */
export const BUSES = ["can0", "can1"];

/** A message that was fed. */
export interface Fed {
  seq: number;
  /** When, monotonic milliseconds. */
  atMs: number;
  data: string;
}

/** A feed with a black box, whose time passes from message to message. */
export class RecordedBoat implements AsyncDisposable {
  readonly stores: BoatFeed;
  readonly black: BoatBlackBox;
  readonly clock: FakeClock;
  readonly fed: Fed[] = [];
  #count = 0;
  #roundMs: number;

  private constructor(stores: BoatFeed, black: BoatBlackBox, clock: FakeClock) {
    this.stores = stores;
    this.black = black;
    this.clock = clock;
    this.#roundMs = clock.monoMs();
  }

  /** Opens it in a folder. @param options.isRecording false: without a journal */
  static async open(
    folder: string,
    { clock, isRecording = true, maxBytes, ringFrames }: {
      clock: FakeClock;
      isRecording?: boolean;
      maxBytes?: number;
      ringFrames?: number;
    },
  ): Promise<RecordedBoat> {
    const state = { stateDirectory: `${folder}/state` };
    for (const directory of [state.stateDirectory, `${folder}/journal`]) {
      await Deno.mkdir(directory, { recursive: true });
    }
    const options = {
      ...state,
      ...(isRecording && { journal: { ...state, directory: `${folder}/journal` } }),
      ...(ringFrames !== undefined && { ringFrames }),
      ...(maxBytes !== undefined && { blackBoxBytes: maxBytes }),
    };
    const log = silentLogger;
    const stores = await BoatFeed.open(options, {
      buses: BUSES,
      counts: () => [],
      sessionLimits: () => sessionLimitsOf(SERVER_DEFAULTS),
      clock,
      log,
    });
    const black = await BoatBlackBox.open(options, { stores, clock, log });
    if (!black) throw new Error("There is no black box");
    return new RecordedBoat(stores, black, clock);
  }

  /** Publishes a message now. */
  say(init: FrameInit = {}): void {
    const data = init.data ?? new Uint8Array(new Float64Array([++this.#count]).buffer);
    const [timeUs, monoMs] = [this.clock.wallUs(), this.clock.monoMs()];
    this.stores.publish(message({ ...init, data, timeUs, monoMs }));
    const seq = this.stores.feed.broker.head;
    this.fed.push({ seq, atMs: monoMs, data: Uint8Array.from(data).toHex() });
  }

  /** Lets time pass, with a message on both buses in turn at each step, and housekeeping once a second. */
  run(ms: number, { stepMs = 100 }: { stepMs?: number } = {}): void {
    for (let passed = 0; passed < ms; passed += stepMs) {
      this.clock.advance(stepMs);
      this.say({ bus: this.#count % 2 });
      this.housekeeping();
    }
  }

  /** Does what a second's housekeeping does, if a second has passed. */
  housekeeping(): void {
    if (this.clock.monoMs() - this.#roundMs < 1000) return;
    this.#roundMs = this.clock.monoMs();
    this.black.runHousekeeping();
  }

  /** Messages of a time that were fed, monotonic milliseconds, both inclusive. */
  fedBetween(fromMs: number, toMs: number): Fed[] {
    return this.fed.filter(({ atMs }) => atMs >= fromMs && atMs <= toMs);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.black.stop();
    await this.stores.close();
  }
}

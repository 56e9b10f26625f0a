import type { Client, ClientFrame, Filter, FrameRecorder, Reading, StreamEvent } from "@vessel/gateway";
import { errorText } from "@vessel/gateway/base";
import { NoServerError } from "../../client/boat_choice.ts";
import { LiveDump } from "./frame.ts";
import type { DumpView } from "./view.ts";
import { doubtBuses } from "../../settings/filter_names.ts";
import { advised } from "../../client/server_advice.ts";

/** What live frames are shown by. */
export interface LiveParts {
  client: Client;
  view: DumpView;
  /** Tells something that is no frame. */
  note: (text: string) => void;
  /** Connections and retries are not told. */
  isQuiet?: boolean;
  /** Where requests go now, for people. */
  place: () => string;
  /** Applied here, too: an older server may not know all of it. */
  filter: Filter;
  /** Gets every frame. */
  recorder?: FrameRecorder | undefined;
}

/** How often it is looked who has fallen silent. */
const TICK_MS = 500;
/** The device table is asked for again after so long: sessions do not tell of its changes. */
const DEVICES_MS = 30_000;
/** Frames do not wait for it longer. */
const DEVICES_TIMEOUT_MS = 5000;

/** Shows what a stream brings, until it ends or is left. */
export class LiveView {
  /** Number of the newest frame that was taken, of the run of numbers that is read now. */
  lastSeq = 0;
  readonly #parts: LiveParts;
  readonly #pgns: Set<number> | undefined;
  readonly #excluded: Set<number>;
  /** Where the last connection went; undefined before the first. */
  #place: string | undefined;
  /** The newest frame that was taken, whatever run of numbers is read now. */
  #newestFrame: Pick<ClientFrame, "seq" | "ts"> | undefined;
  /** Up to it everything was taken at another place, and comes again where a cloud is behind its boat. */
  #takenElsewhere: Pick<ClientFrame, "seq" | "ts"> | undefined;
  /** Time of the newest frame by its server's clock, and when it came by ours; undefined while there is no connection. */
  #newest: { timeMs: number; atMs: number } | undefined;
  #failure: string | undefined;

  constructor(parts: LiveParts) {
    this.#parts = parts;
    const { pgn, exclude_pgn } = parts.filter;
    this.#pgns = pgn && pgn.length > 0 ? new Set(pgn) : undefined;
    this.#excluded = new Set(exclude_pgn);
  }

  /**
   * Reads to the end. An abort leaves the reading, whatever it waits for; then this returns as well.
   *
   * @throws what the reading throws
   */
  async run(events: Reading<StreamEvent>, signal: AbortSignal): Promise<void> {
    const leave = () => void events.return();
    signal.addEventListener("abort", leave);
    const failing = Promise.withResolvers<never>();
    const ticks = setInterval(() => void this.#tick().catch(failing.reject), TICK_MS);
    const looks = setInterval(() => void this.refreshDevices(), DEVICES_MS);
    try {
      if (signal.aborted) leave();
      await Promise.race([this.#read(events), failing.promise]);
    } finally {
      clearInterval(ticks);
      clearInterval(looks);
      signal.removeEventListener("abort", leave);
      await events.return();
    }
  }

  /** Asks for the device table. What fails leaves the one there is. */
  async refreshDevices(): Promise<void> {
    try {
      const devices = await this.#parts.client.devices({ signal: AbortSignal.timeout(DEVICES_TIMEOUT_MS) });
      this.#parts.view.devices.replace(devices);
      for (const device of devices) this.#parts.recorder?.learn(device);
    } catch {
      // The stream itself tells that the server cannot be reached.
    }
  }

  async #doubtFilter(): Promise<void> {
    const { client, filter, note } = this.#parts;
    try {
      const doubt = await doubtBuses(filter, { client, signal: AbortSignal.timeout(DEVICES_TIMEOUT_MS) });
      if (doubt !== undefined) note(doubt);
    } catch {
      // The stream itself tells that the server cannot be reached.
    }
  }

  async #read(events: Reading<StreamEvent>): Promise<void> {
    for await (const event of events) {
      const full = event.type === "frame" ? this.#take(event.frame) : this.#tell(event);
      if (full) await full;
    }
  }

  #take(frame: ClientFrame): Promise<void> | void {
    const { view, recorder } = this.#parts;
    this.lastSeq = frame.seq;
    const elsewhere = this.#takenElsewhere;
    if (elsewhere && frame.seq <= elsewhere.seq && frame.ts <= elsewhere.ts) return;
    this.#newestFrame = frame;
    recorder?.record(frame);
    if (this.#pgns?.has(frame.pgn) === false || this.#excluded.has(frame.pgn)) return;
    const dump = new LiveDump(frame);
    this.#newest = { timeMs: dump.timeMs, atMs: performance.now() };
    return view.show(dump);
  }

  async #tell(event: Exclude<StreamEvent, { type: "frame" }>): Promise<void> {
    const { note, isQuiet, place, view, recorder } = this.#parts;
    const status = isQuiet ? () => {} : note;
    switch (event.type) {
      case "connected":
        status(`${this.#place === undefined ? "connected" : "connected again"} to ${place()}`);
        if (this.#place !== place()) this.#takenElsewhere = this.#newestFrame;
        if (this.#place === undefined) await this.#doubtFilter();
        this.#place = place();
        return await this.refreshDevices();
      case "disconnected":
        // That nothing comes now is not the devices' silence.
        this.#newest = undefined;
        return status(`${reasonOf(event.error)}; trying again in ${(event.retryMs / 1000).toFixed(1)} s`);
      case "dropped":
        return note(droppedText(event));
      case "missed":
        return note(missedText(event));
      case "new_epoch":
        this.lastSeq = 0;
        return note("the server's numbers begin again");
      case "device": {
        const { event: what, device } = event;
        if (what === "removed") view.devices.forget(device.bus, device.src);
        else {
          view.devices.learn(device.bus, device.src, device);
          recorder?.learn(device);
        }
      }
    }
  }

  async #tick(): Promise<void> {
    const { recorder, note } = this.#parts;
    if (this.#newest) await this.#parts.view.tick(this.#newest.timeMs + performance.now() - this.#newest.atMs);
    const failure = recorder?.failure;
    if (failure !== this.#failure && failure !== undefined) note(`recording fails: ${failure}`);
    this.#failure = failure;
  }
}

/** Of a request that was never sent, why there is nowhere to send it. */
function reasonOf(error: Error): string {
  return errorText(error.cause instanceof NoServerError ? error.cause : advised(error));
}

function missedText({ fromSeq, toSeq, why }: Extract<StreamEvent, { type: "missed" }>): string {
  const span = fromSeq === toSeq ? `frame ${fromSeq}` : `frames ${fromSeq} to ${toSeq}`;
  const reasons = {
    away: "may have passed while there was no connection",
    expired: "may have passed: the place on the server was gone",
    fallen_behind: "are missing: the server keeps them no longer",
  };
  return `${span} ${reasons[why]}`;
}

/** @param event.count null: how many of the frames the filter wants is not known */
function droppedText({ fromSeq, toSeq, count, backfill, reason }: Extract<StreamEvent, { type: "dropped" }>): string {
  if (reason === "restart") {
    return `frames between ${fromSeq} and ${toSeq} may be missing: the server was not stopped in order and has lost its newest`;
  }
  const [frames, are] = count === null
    ? ["frames", "are"]
    : count === 1
    ? ["1 frame", "is"]
    : [`${count} frames`, "are"];
  const span = `between ${fromSeq} and ${toSeq}`;
  if (backfill) return `${frames} ${span} ${are} not in the cloud yet: the boat sends them later, see vbg history`;
  return `${frames} ${are} missing ${span}: ${reason ?? "the server has lost them"}`;
}

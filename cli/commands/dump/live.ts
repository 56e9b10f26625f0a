import type { Client, ClientFrame, Filter, FrameRecorder, Reading, StreamEvent } from "@vessel/gateway";
import { errorText } from "@vessel/gateway/base";
import { NoServerError } from "../../client/boat_choice.ts";
import { advised } from "../../client/server_advice.ts";
import { doubtBuses } from "../../settings/filter_names.ts";
import { LiveDump } from "./frame.ts";
import type { DumpView } from "./view.ts";

/** What live frames are shown by. */
export interface LiveParts {
  client: Client;
  view: DumpView;
  /** Prints a message that is no frame. */
  note: (text: string) => void;
  /** Do not report connections and retries. */
  isQuiet?: boolean;
  /** The current server, for people. */
  serverText: () => string;
  /** Applied here, too: an older server may not know all of it. */
  filter: Filter;
  /** Gets every frame. */
  recorder?: FrameRecorder | undefined;
}

/** Interval of the check for silent devices. */
const TICK_MS = 500;
/** Interval of requests for the device table: sessions do not report its changes. */
const DEVICES_MS = 30_000;
/** Longest wait of frames for the device table. */
const DEVICES_TIMEOUT_MS = 5000;

/** Shows the events of a stream until it ends or is aborted. */
export class LiveView {
  /** Sequence number of the newest frame received, in the current epoch. */
  lastSeq = 0;
  readonly #parts: LiveParts;
  readonly #pgns: Set<number> | undefined;
  readonly #excluded: Set<number>;
  /** Server of the last connection; undefined before the first. */
  #server: string | undefined;
  /** The newest frame received, in any epoch. */
  #newestFrame: Pick<ClientFrame, "seq" | "ts"> | undefined;
  /** All frames up to it came from another server; a cloud that lags behind its boat sends them again. */
  #receivedElsewhere: Pick<ClientFrame, "seq" | "ts"> | undefined;
  /** Time of the newest frame by the server's clock, and its arrival by ours; undefined while disconnected. */
  #newest: { timeMs: number; atMs: number } | undefined;
  #failure: string | undefined;

  constructor(parts: LiveParts) {
    this.#parts = parts;
    const { pgn, exclude_pgn } = parts.filter;
    this.#pgns = pgn && pgn.length > 0 ? new Set(pgn) : undefined;
    this.#excluded = new Set(exclude_pgn);
  }

  /**
   * Reads to the end, or until aborted; an abort is not an error.
   *
   * @throws what the reading throws
   */
  async run(events: Reading<StreamEvent>, signal: AbortSignal): Promise<void> {
    const leave = () => void events.return();
    signal.addEventListener("abort", leave);
    const failing = Promise.withResolvers<never>();
    const ticks = setInterval(() => void this.#tick().catch(failing.reject), TICK_MS);
    const refreshes = setInterval(() => void this.refreshDevices(), DEVICES_MS);
    try {
      if (signal.aborted) leave();
      await Promise.race([this.#read(events), failing.promise]);
    } finally {
      clearInterval(ticks);
      clearInterval(refreshes);
      signal.removeEventListener("abort", leave);
      await events.return();
    }
  }

  /** Requests the device table. Keeps the old one on failure. */
  async refreshDevices(): Promise<void> {
    try {
      const devices = await this.#parts.client.devices({ signal: AbortSignal.timeout(DEVICES_TIMEOUT_MS) });
      this.#parts.view.devices.replace(devices);
      for (const device of devices) this.#parts.recorder?.learn(device);
    } catch {
      // The stream itself reports an unreachable server.
    }
  }

  async #doubtFilter(): Promise<void> {
    const { client, filter, note } = this.#parts;
    try {
      const doubt = await doubtBuses(filter, { client, signal: AbortSignal.timeout(DEVICES_TIMEOUT_MS) });
      if (doubt !== undefined) note(doubt);
    } catch {
      // The stream itself reports an unreachable server.
    }
  }

  async #read(events: Reading<StreamEvent>): Promise<void> {
    for await (const event of events) {
      const full = event.type === "frame" ? this.#show(event.frame) : this.#report(event);
      if (full) await full;
    }
  }

  #show(frame: ClientFrame): Promise<void> | void {
    const { view, recorder } = this.#parts;
    this.lastSeq = frame.seq;
    const elsewhere = this.#receivedElsewhere;
    if (elsewhere && frame.seq <= elsewhere.seq && frame.ts <= elsewhere.ts) return;
    this.#newestFrame = frame;
    recorder?.record(frame);
    if (this.#pgns?.has(frame.pgn) === false || this.#excluded.has(frame.pgn)) return;
    const dump = new LiveDump(frame);
    this.#newest = { timeMs: dump.timeMs, atMs: performance.now() };
    return view.show(dump);
  }

  async #report(event: Exclude<StreamEvent, { type: "frame" }>): Promise<void> {
    const { note, isQuiet, serverText, view, recorder } = this.#parts;
    const status = isQuiet ? () => {} : note;
    switch (event.type) {
      case "connected":
        status(`${this.#server === undefined ? "connected" : "connected again"} to ${serverText()}`);
        if (this.#server !== serverText()) this.#receivedElsewhere = this.#newestFrame;
        if (this.#server === undefined) await this.#doubtFilter();
        this.#server = serverText();
        return await this.refreshDevices();
      case "disconnected":
        // Without a connection nothing arrives: that is no silence of the devices.
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

/** Why there is no server to send a request to. */
function reasonOf(error: Error): string {
  return errorText(error.cause instanceof NoServerError ? error.cause : advised(error));
}

function missedText({ fromSeq, toSeq, why }: Extract<StreamEvent, { type: "missed" }>): string {
  const span = fromSeq === toSeq ? `frame ${fromSeq}` : `frames ${fromSeq} to ${toSeq}`;
  const reasons = {
    away: "may be missing: there was no connection",
    expired: "may be missing: the session on the server had expired",
    fallen_behind: "are missing: the server no longer has them",
  };
  return `${span} ${reasons[why]}`;
}

/** @param event.count null: the number of missing frames that match the filter is unknown */
function droppedText({ fromSeq, toSeq, count, backfill, reason }: Extract<StreamEvent, { type: "dropped" }>): string {
  if (reason === "restart") {
    return `frames between ${fromSeq} and ${toSeq} may be missing: the server did not stop cleanly and has lost its newest frames`;
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

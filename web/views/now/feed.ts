import type { SeriesReply, StreamEvent } from "@vessel/gateway/client";
import type { SourceDevice } from "@vessel/gateway/quantities";
import type { BoatStore } from "../../shell/boat_store.ts";
import { NOW_PGNS, type NowModel } from "./model.ts";
import { NAME_PGNS, POSITION_PGNS } from "./targets.ts";
import { TRACK_MS } from "./track.ts";

/** AIS stations say their names every six minutes. */
const NAMES_MS = 420_000;
/** Slow AIS stations report their positions every three minutes. */
const POSITIONS_MS = 190_000;
/** Maximum number of recorded messages that are read. */
export const MAX_RECORDED = 4000;
const TRACK_POINTS = 180;

/** Fills the model from the boat's live stream, its newest values and its recording. */
export class NowFeed {
  readonly #boat: BoatStore;
  readonly #model: NowModel;
  readonly #stop = new AbortController();
  #hasRecorded = false;

  constructor(boat: BoatStore, model: NowModel) {
    this.#boat = boat;
    this.#model = model;
  }

  /** Starts; ends when the returned function is called. */
  open(): () => void {
    const options = { decode: true, devices: true, sources: true };
    const end = this.#boat.listen({ pgn: [...NOW_PGNS] }, options, (event) => this.#received(event));
    return () => {
      this.#stop.abort();
      end();
    };
  }

  #received(event: StreamEvent): void {
    switch (event.type) {
      case "frame":
        return this.#model.received(event.frame);
      case "device":
        return this.#model.device(event.device, event.event);
      case "source":
        return this.#model.switched(event.source);
      case "connected":
        return void this.#load();
    }
  }

  async #load(): Promise<void> {
    const { client, clock } = this.#boat;
    const { signal } = this.#stop;
    try {
      for (const device of await client.devices({ signal })) this.#model.device(device);
      this.#model.seed(await client.sources({ signal }));
      if (!this.#boat.isRecorded || this.#hasRecorded) return;
      this.#hasRecorded = true;
      // Where reading fails, the track begins now, and targets appear when they report.
      const { nowMs } = clock;
      const targets = readTargets(this.#boat, { model: this.#model, nowMs, signal });
      await Promise.allSettled([this.#readTrack(nowMs), targets]);
    } catch {
      // The stream reports an unreachable server, and its next connection asks again.
    }
  }

  async #readTrack(nowMs: number): Promise<void> {
    const source = this.#model.positionSource(nowMs);
    if (!source) return;
    const field = [`${source.pgn}.latitude`, `${source.pgn}.longitude`];
    const query = { field, from: new Date(nowMs - TRACK_MS), points: TRACK_POINTS };
    this.#model.track.prepend(recordedTrack(await this.#boat.client.series(query, this.#stop), source.device));
  }
}

/** Reads AIS targets from the recording, those up to a time or all until now. */
export async function readTargets(
  { client }: BoatStore,
  { model, nowMs, to, signal }: { model: NowModel; nowMs: number; to?: string; signal: AbortSignal },
): Promise<void> {
  const reads = [{ pgn: NAME_PGNS, ageMs: NAMES_MS }, { pgn: POSITION_PGNS, ageMs: POSITIONS_MS }];
  for (const { pgn, ageMs } of reads) {
    const from = new Date(nowMs - ageMs);
    const query = { pgn: [...pgn], from, ...(to !== undefined && { to }), decode: true, limit: MAX_RECORDED };
    for await (const { pgn, decoded, ts } of client.history(query, { signal })) {
      if (decoded) model.targets.observe(pgn, decoded, Date.parse(ts));
    }
  }
}

/** Positions of one device from the series of its latitude and longitude. */
export function recordedTrack({ series, bucket_ms }: SeriesReply, { name, src, bus }: SourceDevice) {
  const mine = series.filter((each) => name === "" ? each.src === src && each.bus === bus : each.name === name);
  const [latitudes, longitudes] = ["latitude", "longitude"].map((field) =>
    mine.find((each) => each.field.endsWith(field))
  );
  return latitudes?.time.flatMap((startMs, index) => {
    const latitude = latitudes.last[index];
    const at = longitudes?.time.indexOf(startMs) ?? -1;
    const longitude = longitudes?.last[at];
    if (typeof latitude !== "number" || typeof longitude !== "number") return [];
    return [{ position: { latitude, longitude }, timeMs: startMs + bucket_ms }];
  }) ?? [];
}

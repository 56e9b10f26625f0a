import { connectCloud, type StreamEvent } from "../../src/client/mod.ts";
import { formatTimeUs, parseCanId } from "../../src/frame/mod.ts";
import { expectedFrame, type FleetMember } from "../../src/simulation/fleet/mod.ts";
import { FLEET_SEED } from "./store_oracle.ts";

/** Tries that follow each other quickly, for as long as the test runs. */
const RETRY = { firstMs: 200, capMs: 1000 };

/** Reads a boat at one URL all the time, and knows which numbers it was neither given nor told of. */
export class NodeReader implements AsyncDisposable {
  readonly name: string;
  readonly #boat: Pick<FleetMember, "id" | "epoch">;
  /** Id of its boat. */
  get boat(): string {
    return this.#boat.id;
  }

  readonly #abort = new AbortController();
  readonly #reading: Promise<void>;
  /** Frames, without repeated ones. */
  frames = 0;
  repeated = 0;
  /** Frames that the stream has reported as dropped. */
  reported = 0;
  /** Frames that were neither given nor reported. */
  unreported = 0;
  /** Frames with another content than the boat has sent. */
  different = 0;
  connections = 0;
  /** Number of the newest frame, or of the newest one that was reported. */
  last = 0;
  failure: unknown;

  /** @param options.kind live frames, or a session that begins with the next frame */
  constructor(
    url: string,
    { boat, kind, name }: { boat: Pick<FleetMember, "id" | "epoch">; kind: "live" | "session"; name: string },
  ) {
    this.name = `${kind} of ${boat.id} at ${name}`;
    this.#boat = boat;
    const client = connectCloud(url, { retry: RETRY }).boat(boat.id);
    const { signal } = this.#abort;
    const events = kind === "live"
      ? client.subscribe({}, { signal }).events()
      : client.session(`reader-${name}`, { signal, bufferTimeout: "PT1H" }).events();
    this.#reading = this.#read(events);
  }

  /** Ends reading. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#abort.abort();
    await this.#reading;
  }

  async #read(events: AsyncIterable<StreamEvent>): Promise<void> {
    try {
      for await (const event of events) this.#note(event);
    } catch (error) {
      if (!this.#abort.signal.aborted) this.failure = error;
    }
  }

  #note(event: StreamEvent): void {
    if (event.type === "connected") this.connections++;
    if (event.type === "dropped" || event.type === "missed") {
      const from = Math.max(event.fromSeq, this.last + 1);
      if (event.toSeq < from) return;
      this.#gap(from);
      this.reported += event.toSeq + 1 - from;
      this.last = event.toSeq;
    }
    if (event.type !== "frame") return;
    const { seq, ts, prio, pgn, src, dst, data } = event.frame;
    if (seq <= this.last) return void this.repeated++;
    this.#gap(seq);
    this.last = seq;
    this.frames++;
    const expected = expectedFrame(seq, { seed: FLEET_SEED, boat: this.#boat.id, epoch: this.#boat.epoch });
    const id = parseCanId(expected.canId);
    const isSame = ts === formatTimeUs(expected.timeUs) && data === expected.data.toHex() && prio === id.prio &&
      pgn === id.pgn && src === id.src && dst === id.dst;
    if (!isSame) this.different++;
  }

  /** Numbers before `next` that were not given, except those before the first frame. */
  #gap(next: number): void {
    if (this.last > 0) this.unreported += next - this.last - 1;
  }
}

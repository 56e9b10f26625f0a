// Program of the benchmark: the clients of many boats, each with a connection and a certificate of its own, and frames in
// batches. Its argument is the JSON of FleetSettings; prints the JSON of FleetResult when the cloud has acknowledged all.
import { randomBytes } from "node:crypto";
import {
  FEATURES,
  type LiveFrame,
  type LiveStatus,
  type LiveUpstream,
  type MessageStream,
  ReplicationClient,
} from "../../src/replication/mod.ts";
import { sleep } from "./process.ts";

/** What the boats do. */
export interface FleetSettings {
  target: string;
  /** File of the authority. */
  caPath: string;
  boats: { id: string; certPath: string; keyPath: string }[];
  /** Of each boat, whatever the cloud can take; 0: as many as it takes. */
  framesPerSecond: number;
  /** Frames of one message. */
  batchFrames: number;
  seconds: number;
}

/** What came of it. */
export interface FleetResult {
  frames: number;
  /** From the first frame until the last one was sent. */
  sendingMs: number;
  /** Longest time from a frame's sending to its acknowledgement. */
  ackLagMs: number;
}

const settings: FleetSettings = JSON.parse(Deno.args[0] ?? "{}");
const { batchFrames, framesPerSecond, seconds } = settings;
const PGNS = [129025, 129026, 127250, 127251, 127257, 130306, 128259, 128267, 127488, 127245];
const SOURCES = 30;
/** Room for frames that are sent and not acknowledged: messages whose time is remembered. */
const REMEMBERED = 2 ** 16;

/** One boat. */
class FleetBoat {
  readonly #stream: MessageStream<LiveStatus, LiveUpstream>;
  readonly #frames: LiveFrame[];
  /** When each message was sent, by its number. */
  readonly #sentMs = new Float64Array(REMEMBERED);
  #sent = 0;
  #acked = 0;
  #ackLagMs = 0;

  private constructor(stream: MessageStream<LiveStatus, LiveUpstream>, index: number) {
    this.#stream = stream;
    this.#frames = Array.from({ length: batchFrames }, (_, i) => ({
      seq: 0,
      timestampUs: 0,
      canId: (2 << 26) | ((PGNS[i % PGNS.length] ?? 0) << 8) | ((index + i) % SOURCES),
      data: new Uint8Array(randomBytes(8)),
    }));
  }

  static async connect({ id, certPath, keyPath }: FleetSettings["boats"][number], index: number): Promise<FleetBoat> {
    const { target, caPath } = settings;
    const [ca, cert, key] = await Promise.all([caPath, certPath, keyPath].map((path) => Deno.readTextFile(path)));
    const security = { kind: "tls", ca: ca ?? "", cert: cert ?? "", key: key ?? "" } as const;
    const client = await ReplicationClient.create({ target, instanceId: id, security });
    const nothing = { headSeq: 0, journalBytes: 0, void: [], lost: [], oldestSeq: 0 };
    const epoch = new Uint8Array(randomBytes(16));
    const request = { ...nothing, instanceId: id, epoch, features: FEATURES, busNames: ["can0"] };
    await client.handshake(request, { timeoutMs: 30_000 });
    return new FleetBoat(client.live(), index);
  }

  get frames(): number {
    return this.#sent * batchFrames;
  }

  get ackLagMs(): number {
    return this.#ackLagMs;
  }

  /** Sends the next message; resolves when there is room for another. */
  async send(): Promise<void> {
    const timestampUs = Math.round((performance.timeOrigin + performance.now()) * 1000);
    for (const [i, frame] of this.#frames.entries()) {
      frame.seq = this.#sent * batchFrames + i + 1;
      frame.timestampUs = timestampUs;
    }
    this.#sentMs[this.#sent++ % REMEMBERED] = performance.now();
    await this.#stream.send({ kind: "batch", frames: this.#frames });
  }

  /** Hears until all that was sent is acknowledged; the boat has to say so first. */
  async listen(): Promise<void> {
    for await (const { ackSeq } of this.#stream) {
      const acked = Math.floor(ackSeq / batchFrames);
      if (acked > this.#acked) {
        const oldestMs = this.#sentMs[this.#acked % REMEMBERED] ?? 0;
        this.#ackLagMs = Math.max(this.#ackLagMs, performance.now() - oldestMs);
        this.#acked = acked;
      }
      if (isOver && this.#acked === this.#sent) return;
    }
    throw new Error(`the cloud has ended the stream at ${this.#acked} of ${this.#sent}`);
  }
}

const fleet = await Promise.all(settings.boats.map((boat, index) => FleetBoat.connect(boat, index)));
let isOver = false;
const startMs = performance.now();
const endMs = startMs + seconds * 1000;

/** Sends at the rate, each boat at a moment of its own; or as fast as the cloud takes it. */
async function sail(boat: FleetBoat, index: number): Promise<void> {
  const everyMs = framesPerSecond === 0 ? 0 : batchFrames * 1000 / framesPerSecond;
  for (let dueMs = startMs + everyMs * index / fleet.length; performance.now() < endMs; dueMs += everyMs) {
    const waitMs = dueMs - performance.now();
    if (framesPerSecond === 0 || waitMs > 0) await sleep(Math.max(0, waitMs));
    await boat.send();
  }
}

const heard = fleet.map((boat) => boat.listen());
await Promise.all(fleet.map(sail));
const sendingMs = performance.now() - startMs;
isOver = true;
await Promise.all(heard);
const result: FleetResult = {
  frames: fleet.reduce((sum, { frames }) => sum + frames, 0),
  sendingMs,
  ackLagMs: Math.max(...fleet.map(({ ackLagMs }) => ackLagMs)),
};
console.log(JSON.stringify(result));

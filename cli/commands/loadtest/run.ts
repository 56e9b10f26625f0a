import { type CanBus, connect, createBus, type RecordingOptions, startBoat } from "@vessel/gateway";
import type { Clock } from "@vessel/gateway/base";
import { buildCanId } from "@vessel/gateway/frame";

/** The load to generate. */
export interface LoadOptions {
  /** Number of sending devices. */
  sources: number;
  /** Frames a second, all devices together. */
  rate: number;
  durationMs: number;
  /** Clients that read all frames as a live stream. */
  consumers: number;
  ringFrames: number;
  /** Directory of the recording; undefined: no recording. */
  journal: RecordingOptions | undefined;
  /** Ends the test early; the result then covers the time until then. */
  signal: AbortSignal;
  clock: Clock;
  /** Called with the number of frames sent. */
  onSent: (frames: number) => void;
}

/** Counts of one client. */
export interface ConsumerReport {
  received: number;
  /** Frames that the server reported as skipped because the client was too slow. */
  dropped: number;
}

/** Result of a load test. */
export interface LoadReport {
  sent: number;
  seconds: number;
  consumers: ConsumerReport[];
  /** Latencies from the bus to a client, all clients together. */
  latencies: Latencies;
  /** Memory of the process before the test and its maximum during the test, bytes. */
  memory: { beforeBytes: number; maxBytes: number };
}

/** Upper bound of the first bucket, milliseconds. */
const FIRST_MS = 0.01;
/** Growth factor of the buckets: the relative precision. */
const GROWTH = 1.02;
/** Up to about 2 hours. */
const BUCKETS = 1024;
const TICK_MS = 5;
const MEMORY_EVERY_TICKS = 20;
/** Longest wait for the clients after the last frame was sent. */
const DRAIN_MS = 5000;
/** A proprietary single-frame PGN: it is not decoded, and its payload is free. */
const PGN = 65280;
const PRIORITY = 6;

/** Starts a boat server on a bus in memory, sending devices and reading clients. */
export async function runLoad(options: LoadOptions): Promise<LoadReport> {
  const { ringFrames, journal, consumers, clock, signal } = options;
  const bus = await createBus("load0", { driver: "loopback" });
  const boat = await startBoat({
    ...{ buses: [bus], listen: { hostname: "127.0.0.1", port: 0 }, discovery: false, ringFrames },
    ...(journal && { journal, stateDirectory: journal.stateDirectory }),
  });
  const latencies = new Latencies();
  const ending = new AbortController();
  try {
    const url = `http://127.0.0.1:${boat.address.port}`;
    const clients = Array.from({ length: consumers }, () => new Consumer(url, { latencies, clock }));
    const reading = clients.map((client) => client.read(ending.signal));
    await Promise.race([Promise.all(clients.map(({ isLive }) => isLive)), Promise.all(reading)]);
    const { sent, seconds, memory } = await send(bus, options);
    const untilMs = clock.monoMs() + DRAIN_MS;
    while (!signal.aborted && clock.monoMs() < untilMs && clients.some((client) => client.seen < sent)) await pause();
    ending.abort();
    await Promise.all(reading);
    return { sent, seconds, latencies, memory, consumers: clients.map((client) => client.report()) };
  } finally {
    ending.abort();
    await boat.stop();
  }
}

/** Sends at the given rate; catches up at once after a delay. */
async function send(
  bus: CanBus,
  { sources, rate, durationMs, clock, signal, onSent }: LoadOptions,
): Promise<Pick<LoadReport, "sent" | "seconds" | "memory">> {
  const ids = Array.from({ length: sources }, (_, src) => buildCanId({ prio: PRIORITY, pgn: PGN, src, dst: 255 }));
  const payload = new Uint8Array(8);
  const view = new DataView(payload.buffer);
  const memory = { beforeBytes: Deno.memoryUsage().rss, maxBytes: 0 };
  const startMs = clock.monoMs();
  let sent = 0;
  for (let tick = 0;; tick++) {
    const nowMs = clock.monoMs();
    const elapsedMs = Math.min(durationMs, nowMs - startMs);
    const due = Math.floor(elapsedMs * rate / 1000) - sent;
    view.setFloat64(0, nowMs);
    for (let i = 0; i < due; i++) await bus.send(ids[(sent + i) % ids.length] ?? 0, payload);
    sent += due;
    onSent(due);
    if (tick % MEMORY_EVERY_TICKS === 0) memory.maxBytes = Math.max(memory.maxBytes, Deno.memoryUsage().rss);
    if (elapsedMs >= durationMs || signal.aborted) break;
    await pause();
  }
  memory.maxBytes = Math.max(memory.maxBytes, Deno.memoryUsage().rss);
  return { sent, seconds: (clock.monoMs() - startMs) / 1000, memory };
}

/** A client that reads live frames and measures their latency. */
class Consumer {
  /** Resolves when its stream has begun. */
  readonly isLive: Promise<void>;
  readonly #url: string;
  readonly #latencies: Latencies;
  readonly #clock: Clock;
  readonly #live = Promise.withResolvers<void>();
  #received = 0;
  #dropped = 0;

  constructor(url: string, { latencies, clock }: { latencies: Latencies; clock: Clock }) {
    this.#url = url;
    this.#latencies = latencies;
    this.#clock = clock;
    this.isLive = this.#live.promise;
  }

  /** Frames received, or reported as skipped. */
  get seen(): number {
    return this.#received + this.#dropped;
  }

  report(): ConsumerReport {
    return { received: this.#received, dropped: this.#dropped };
  }

  async read(signal: AbortSignal): Promise<void> {
    const bytes = new Uint8Array(8);
    const view = new DataView(bytes.buffer);
    try {
      for await (const event of connect(this.#url).subscribe({}, { signal }).events()) {
        if (event.type === "connected") this.#live.resolve();
        if (event.type === "dropped") this.#dropped += event.count ?? event.toSeq - event.fromSeq + 1;
        if (event.type === "missed") this.#dropped += event.toSeq - event.fromSeq + 1;
        if (event.type !== "frame") continue;
        this.#received++;
        bytes.setFromHex(event.frame.data);
        this.#latencies.add(this.#clock.monoMs() - view.getFloat64(0));
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }
}

/** Histogram of latencies in a fixed amount of memory. */
export class Latencies {
  readonly #counts = new Float64Array(BUCKETS);
  #count = 0;
  #maxMs = 0;

  /** Number of values added. */
  get count(): number {
    return this.#count;
  }

  /** Maximum, milliseconds; 0 if empty. */
  get maxMs(): number {
    return this.#maxMs;
  }

  add(ms: number): void {
    const bucket = Math.ceil(Math.log(Math.max(ms, FIRST_MS) / FIRST_MS) / Math.log(GROWTH));
    const index = Math.min(BUCKETS - 1, bucket);
    this.#counts[index] = (this.#counts[index] ?? 0) + 1;
    this.#count++;
    this.#maxMs = Math.max(this.#maxMs, ms);
  }

  /** Quantile, milliseconds, at most 2 % too high; undefined if empty. */
  quantileMs(part: number): number | undefined {
    if (this.#count === 0) return undefined;
    let rest = Math.max(1, Math.ceil(this.#count * part));
    const index = this.#counts.findIndex((count) => (rest -= count) <= 0);
    return Math.min(this.#maxMs, FIRST_MS * GROWTH ** index);
  }
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, TICK_MS));
}

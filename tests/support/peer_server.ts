/** A frame of the peer's server. */
interface PeerFrame {
  seq: number;
  ts: string;
  bus?: string;
  prio: number;
  pgn: number;
  src: number;
  dst: number;
  data: string;
}

const NAME = "00a0000000010000";
const YEAR_ONE = "0001-01-01T00:00:00Z";
const HEADING = "ff1027ff7fff7ffd";

/**
 * A boat server with the peer's conventions: errors in plain text, NAMEs without 0x, times with all their digits, what
 * is empty left out or null, device events without a name among the frames, sessions that cannot be asked how they stand.
 */
export class PeerServer implements AsyncDisposable {
  readonly url: string;
  /** Bodies of requests, by method and path. */
  readonly bodies: [request: string, body: unknown][] = [];
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  readonly #streams = new Set<ReadableStreamDefaultController<Uint8Array>>();
  readonly #frames: PeerFrame[] = [];
  readonly #isRecording: boolean;
  #head = 0;

  constructor({ isRecording = true } = {}) {
    this.#isRecording = isRecording;
    this.#server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen: () => {} },
      (request) => this.#answer(request),
    );
    this.url = `http://127.0.0.1:${this.#server.addr.port}`;
  }

  /** Streams that are open. */
  get streams(): number {
    return this.#streams.size;
  }

  /** A frame comes from the bus; the device is reported before it, as after an address claim. */
  say(): PeerFrame {
    const ts = new Date().toISOString().replace(/\.?0*Z$/, "Z");
    const seq = ++this.#head;
    const frame = { seq, ts, bus: "can0", prio: 2, pgn: 127250, src: 7, dst: 255, data: HEADING };
    this.#frames.push(frame);
    this.#send({ type: "device", ...this.#device() });
    this.#send({ type: "device_removed", bus: "can0", src: 99 });
    this.#send(frame);
    return frame;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.closeStreams();
    await this.#server.shutdown();
  }

  /** Ends all streams. */
  closeStreams(): void {
    for (const stream of this.#streams) stream.close();
    this.#streams.clear();
  }

  async #answer(request: Request): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    const name = `${request.method} ${pathname}`;
    const text = await request.text();
    if (text !== "") this.bodies.push([name, JSON.parse(text)]);
    if (/^GET \/clients\/[^/]+$/.test(name)) return refusal(405, "Method Not Allowed");
    if (/^PUT \/clients\/[^/]+$/.test(name)) {
      return Response.json({ client_id: "x", seq: this.#head, devices: [this.#device()] });
    }
    if (name.endsWith("/ack")) return new Response(null, { status: 204 });
    if (name === "GET /events" || /^GET \/clients\/[^/]+\/events$/.test(name)) return this.#stream();
    if (name === "POST /query") return Response.json(this.#frames.at(-1) ?? null);
    if (name === "GET /history") {
      if (!this.#isRecording) return refusal(503, "journaling is not enabled");
      if (searchParams.get("from") === null) return refusal(400, "from parameter is required (RFC3339)");
      const found = this.#frames.map(({ bus: _, ...frame }) => frame);
      return Response.json(found.length === 0 ? null : found);
    }
    const answers: Record<string, unknown> = {
      "GET /devices": [this.#device()],
      "GET /values": this.#values(({ pgn, ts, data, seq }) => ({ pgn, ts, data, seq })),
      "GET /values/decoded": this.#values(({ pgn, ts, seq }) => {
        return { pgn, description: "Vessel Heading", ts, seq, fields: { heading: 1, heading_reference: "magnetic" } };
      }),
      "GET /healthz": this.#health(),
      "GET /replication/status": {
        ...{ connected: true, instance_id: "peer", local_head_seq: this.#head, cloud_cursor: 0, live_lag: 0 },
        ...{ backfill_remaining_seqs: 0, last_ack: YEAR_ONE, live_frames_sent: 0, backfill_blocks_sent: 0 },
        ...{ backfill_bytes_sent: 0, reconnects: 0 },
      },
    };
    const answer = answers[name];
    return answer === undefined ? refusal(404, "404 page not found") : Response.json(answer);
  }

  #device() {
    return {
      ...{ bus: "can0", src: 7, name: NAME, manufacturer: "Garmin", manufacturer_code: 229, device_class: 60 },
      ...{ device_function: 140, device_instance: 0, first_seen: YEAR_ONE, last_seen: YEAR_ONE },
      ...{ packet_count: this.#frames.length, byte_count: this.#frames.length * 8 },
    };
  }

  #values(form: (frame: PeerFrame) => unknown) {
    const values = this.#frames.slice(-1).map(form);
    return values.length === 0 ? [] : [{ name: `0x${NAME}`, bus: "can0", src: 7, manufacturer: "Garmin", values }];
  }

  #health() {
    const last = this.#frames.at(-1)?.ts ?? YEAR_ONE;
    const ring = { ring_entries: this.#frames.length, ring_capacity: 65536, device_count: 1 };
    return {
      status: "ok",
      broker: {
        ...{ status: "ok", frames_total: this.#frames.length, head_seq: this.#head + 1, last_frame_time: last },
        ...ring,
      },
      replication: { status: "ok", connected: true, live_lag: 0, backfill_remaining_seqs: 0, last_ack: YEAR_ONE },
    };
  }

  #stream(): Response {
    let stream: ReadableStreamDefaultController<Uint8Array>;
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => void this.#streams.add(stream = controller),
      cancel: () => void this.#streams.delete(stream),
    });
    return new Response(body, { headers: { "Content-Type": "text/event-stream" } });
  }

  #send(event: unknown): void {
    const bytes = new TextEncoder().encode(`data: ${JSON.stringify(event)}\n\n`);
    for (const stream of this.#streams) stream.enqueue(bytes);
  }
}

function refusal(status: number, text: string): Response {
  const headers = { "Content-Type": "text/plain; charset=utf-8", "X-Content-Type-Options": "nosniff" };
  return new Response(`${text}\n`, { status, headers });
}

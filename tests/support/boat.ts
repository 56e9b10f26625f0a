import { type Boat, type BoatOptions, startBoat } from "../../src/boat/boat.ts";
import { LoopbackBus, splitFastPacket } from "../../src/can/mod.ts";
import { buildCanId, buildName, type CanFrame, formatHex, type NameFields, parseCanId } from "../../src/frame/mod.ts";
import { isFastPacket } from "../../src/pgn/mod.ts";
import { nameFields, product } from "./messages.ts";
import { type RawReply, type RawRequest, rawRequest } from "./raw_http.ts";
import { type PostReply, postTo } from "./sending.ts";
import { SseClient, type SseClientOptions } from "./sse_client.ts";
import { WsClient } from "./ws_client.ts";

/** Subscriptions of the boat itself: that of the preferred sources. */
export const OWN_SUBSCRIPTIONS = 1;

/** What a test says of a message; the rest has defaults. */
export interface Said {
  pgn?: number;
  src?: number;
  dst?: number;
  prio?: number;
  /** Payload; for a PGN that travels as a fast packet it is split. */
  data?: ArrayLike<number>;
  /** Index of the bus, default the first. */
  bus?: number;
}

/** How a boat is started for a test: as in production, but on loopback buses, and silent unless asked. */
export interface TestBoatOptions extends Partial<Omit<BoatOptions, "buses" | "listen">> {
  /** Names of the buses; default one, `can0`. */
  names?: string[];
  /** Where it listens; default any free port. */
  port?: number;
}

/** A boat server on loopback buses, with the voices of other nodes. */
export class TestBoat implements AsyncDisposable {
  readonly boat: Boat;
  readonly buses: readonly LoopbackBus[];
  /** `http://127.0.0.1:port` */
  readonly url: string;
  /** All that was said on each bus, since before the start. */
  readonly heard: readonly Heard[][];
  #sequence = 0;

  private constructor(boat: Boat, buses: readonly LoopbackBus[], heard: readonly Heard[][]) {
    this.boat = boat;
    this.buses = buses;
    this.heard = heard;
    this.url = `http://127.0.0.1:${boat.address.port}`;
  }

  /** Starts it. Discovery is off unless asked for: its requests are frames too. */
  static async start(
    { names = ["can0"], port = 0, discovery = false, ...options }: TestBoatOptions = {},
  ): Promise<TestBoat> {
    const buses = names.map((name) => new LoopbackBus(name, options.clock && { clock: options.clock }));
    const listen = { hostname: "127.0.0.1", port };
    const heard = buses.map(listenTo);
    return new TestBoat(await startBoat({ buses, listen, discovery, ...options }), buses, heard);
  }

  /** Says a message on a bus, in as many frames as it takes. */
  say({ pgn = 127250, src = 1, dst = 255, prio = 2, data = [1, 2, 3, 4, 5, 6, 7, 8], bus = 0 }: Said = {}): void {
    const id = buildCanId({ prio, pgn, src, dst });
    const payload = Uint8Array.from(data);
    const frames = isFastPacket(pgn) ? splitFastPacket(payload, this.#sequence++) : [payload];
    for (const frame of frames) this.buses[bus]?.inject(id, frame);
  }

  /** Claims an address; gives the NAME. */
  claim(src: number, fields: Partial<NameFields>, { bus = 0 }: { bus?: number } = {}): bigint {
    const name = buildName(nameFields(fields));
    const data = new Uint8Array(8);
    new DataView(data.buffer).setBigUint64(0, name, true);
    this.say({ pgn: 60928, src, prio: 6, data, bus });
    return name;
  }

  /** Tells of the product behind an address. */
  product(src: number, model: string, { bus = 0 }: { bus?: number } = {}): void {
    const { data, offset, length } = product(model);
    this.say({ pgn: 126996, src, prio: 6, data: data.subarray(offset, offset + length), bus });
  }

  /** Tells of every ISO request to an address, or to all, that is heard from now on. */
  answerRequests(address: number, answer: (request: IsoRequest) => void, { bus = 0 }: { bus?: number } = {}): void {
    this.buses[bus]?.attach((frame) => {
      const { pgn, src, dst, data } = hear(frame);
      if (pgn !== 59904 || (dst !== address && dst !== 255)) return;
      const [low = 0, middle = 0, high = 0] = Uint8Array.fromHex(data);
      answer({ pgn: low | (middle << 8) | (high << 16), src, dst });
    });
  }

  /** Publishes so many large messages without the detour of the bus: for tests that fill buffers. */
  flood(count: number, bytes: number): void {
    const data = new Uint8Array(bytes);
    const id = buildCanId({ prio: 6, pgn: 126720, src: 9, dst: 255 });
    const message = { id, pgn: 126720, bus: 0, data, offset: 0, length: bytes, timeUs: 0, monoMs: 0 };
    for (let i = 0; i < count; i++) this.boat.broker.publish(message);
  }

  /** Keeps what is said on a bus from now on. */
  listen(bus = 0): Heard[] {
    const heardOn = this.buses[bus];
    return heardOn ? listenTo(heardOn) : [];
  }

  /** The JSON of a path. */
  async get<T>(path: string): Promise<T> {
    // Tests whose clock jumps have idle connections closed at any moment, also as the next request is sent.
    const response = await fetch(this.url + path, { headers: { connection: "close" } });
    if (!response.ok) throw new Error(`GET ${path}: ${response.status} ${await response.text()}`);
    return await response.json();
  }

  /** A request whose reply nobody touches. */
  raw(path: string, request?: RawRequest): Promise<RawReply> {
    return rawRequest(this.url + path, request);
  }

  /** Posts a value as JSON; a text goes as it is. */
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<PostReply> {
    return postTo(this.url + path, { body, ...(headers && { headers }) });
  }

  /** Opens an event stream. */
  events(query = "", options?: SseClientOptions): Promise<SseClient> {
    return SseClient.open(`${this.url}/events${query}`, options);
  }

  /** Opens a WebSocket. */
  ws(query = "", headers?: Record<string, string>): Promise<WsClient> {
    return WsClient.open(`${this.url}/ws${query}`, headers && { headers });
  }

  /** A sample of `/metrics`, by name and labels as they are written there: `vbg_streams{kind="sse"}`. */
  async metric(sample: string): Promise<number | undefined> {
    const text = await (await fetch(`${this.url}/metrics`)).text();
    const line = text.split("\n").find((each) => each.startsWith(sample + " "));
    return line === undefined ? undefined : Number(line.slice(sample.length + 1));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.boat.stop();
  }
}

/** An ISO request heard on a bus. */
export interface IsoRequest {
  /** What is asked for. */
  pgn: number;
  /** Who asks. */
  src: number;
  dst: number;
}

/** A frame heard on a bus. */
export interface Heard {
  pgn: number;
  src: number;
  dst: number;
  prio: number;
  data: string;
}

function listenTo(bus: LoopbackBus): Heard[] {
  const heard: Heard[] = [];
  bus.attach((frame) => heard.push(hear(frame)));
  return heard;
}

function hear({ id, data, offset, length }: CanFrame): Heard {
  return { ...parseCanId(id), data: formatHex(data, { start: offset, length }) };
}

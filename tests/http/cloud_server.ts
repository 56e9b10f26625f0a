import { type Clock, type Logger, silentLogger, StallDetector, systemClock } from "../../src/base/mod.ts";
import { RingPool } from "../../src/broker/mod.ts";
import {
  encodeState,
  type FrameStore,
  type Instance,
  INSTANCE_DEFAULTS,
  Instances,
  type InstanceSession,
  type InstanceSettings,
  type InstanceState,
  type OpenReplica,
  Replica,
  STATE_FILE,
} from "../../src/cloud/mod.ts";
import { Access, type AccessRules, serveRoutes } from "../../src/http/mod.ts";
import { CloudMetrics, cloudRoutes, evaluateCloudHealth, ReplicaReaders } from "../../src/http/cloud/mod.ts";
import { Connections, listen, type Listener } from "../../src/listen/mod.ts";
import type { Message } from "../../src/frame/mod.ts";
import type { HandshakeRequest } from "../../src/replication/mod.ts";
import { type FrameInit, message } from "../support/messages.ts";
import { type RawReply, type RawRequest, rawRequest } from "../support/raw_http.ts";

/** How a cloud is started. */
export interface CloudServerOptions extends AccessRules {
  /** Default the machine's. */
  clock?: Clock;
  settings?: Partial<InstanceSettings>;
  maxStreams?: number;
  maxSessions?: number;
  /** PGNs that are kept in sidecars; default none. */
  seriesPgns?: readonly number[];
  /** Default silent. */
  log?: Logger;
  /** Default the frames stay in the data directory. */
  frameStore?: FrameStore;
  /** Stands in for the replicas' own way to open. */
  openReplica?: (open: OpenReplica) => OpenReplica;
}

/** The cloud's API on a real port over real instances; boats come by their instances' own way, without gRPC. */
export class CloudServer implements AsyncDisposable {
  readonly instances: Instances;
  readonly readers: ReplicaReaders;
  /** `http://127.0.0.1:port` */
  readonly url: string;
  readonly #listener: Listener;
  readonly #stall: StallDetector;

  private constructor(
    listener: Listener,
    { instances, readers, stall }: { instances: Instances; readers: ReplicaReaders; stall: StallDetector },
  ) {
    this.instances = instances;
    this.readers = readers;
    this.url = `http://127.0.0.1:${listener.address.port}`;
    this.#listener = listener;
    this.#stall = stall;
  }

  /** Starts it over a data directory. */
  static async start(dataDirectory: string, options: CloudServerOptions = {}): Promise<CloudServer> {
    const { clock = systemClock, log = silentLogger, maxStreams = 1000, maxSessions = 10, ...rest } = options;
    const pool = new RingPool();
    const open: OpenReplica = (replica) =>
      Replica.open({
        ...replica,
        ringFrames: 1024,
        maxValues: 65_536,
        deviceIdleTimeoutMs: 300_000,
        sessionLimits: () => ({ maxSessions, maxSessionsPerOwner: 100, maxTimeoutMs: 3_600_000 }),
        ...{ pool, clock, log },
      });
    const instances = await Instances.open({
      dataDirectory,
      settings: () => ({ ...INSTANCE_DEFAULTS, ...rest.settings }),
      openReplica: rest.openReplica?.(open) ?? open,
      frameStore: rest.frameStore,
      ...{ clock, log },
    });
    const access = new Access(rest, { log });
    const stall = new StallDetector(log);
    const limits = () => ({ maxStreams, streamBufferBytes: 2 ** 20 });
    const { seriesPgns = [] } = rest;
    const readers = new ReplicaReaders({ clock, stall, log, limits, seriesPgns });
    const metrics = new CloudMetrics({ readers, stall, access, version: "0.0.0" });
    const health = () => evaluateCloudHealth({ instances });
    const table = cloudRoutes({ instances, readers, metrics, health, server: { name: "Cloud", version: "1.2.3" } });
    const handler = serveRoutes(table, { title: "Test", version: "0.0.0", log, access });
    const connections = new Connections();
    const listener = await listen({ hostname: "127.0.0.1", port: 0 }, { handler, stall, connections, log });
    return new CloudServer(listener, { instances, readers, stall });
  }

  /** A boat comes, and streams. */
  async boat(id: string, about: Partial<HandshakeRequest> = {}): Promise<LiveBoat> {
    return await LiveBoat.come(await this.instances.ensure(id), about);
  }

  /** The JSON of a path. */
  async get<T>(path: string): Promise<T> {
    const response = await fetch(this.url + path);
    if (!response.ok) throw new Error(`GET ${path}: ${response.status} ${await response.text()}`);
    return await response.json();
  }

  /** A request whose reply nobody touches. */
  raw(path: string, request?: RawRequest): Promise<RawReply> {
    return rawRequest(this.url + path, request);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.instances.stop();
    await this.readers.stop();
    this.#stall.stop();
    await this.#listener.stop();
  }
}

/** A boat's run of numbers in these tests. */
export const EPOCH: Uint8Array<ArrayBuffer> = new Uint8Array(16).fill(0xb1);

/** A boat that streams into its instance. */
export class LiveBoat {
  readonly instance: Instance;
  readonly #session: InstanceSession;
  seq: number;
  /** Why the cloud has ended its stream. */
  ended: string | undefined;

  private constructor(instance: Instance, { session, seq }: { session: InstanceSession; seq: number }) {
    this.instance = instance;
    this.#session = session;
    this.seq = seq;
  }

  static async come(instance: Instance, about: Partial<HandshakeRequest> = {}): Promise<LiveBoat> {
    const { liveStartFrom } = await instance.handshake(requestOf(instance, about));
    const boat: LiveBoat = new LiveBoat(instance, {
      session: { end: ({ message }) => boat.ended = message },
      seq: liveStartFrom - 1,
    });
    await instance.enterLive(boat.#session);
    return boat;
  }

  /** Sends a live frame; returns its number. */
  say(init: FrameInit = {}): number {
    return this.take(message(init));
  }

  /** Sends a message live; returns its number. */
  take({ id, bus, timeUs, data, offset, length }: Message): number {
    this.seq++;
    this.instance.live.receive({
      seq: this.seq,
      timestampUs: timeUs,
      canId: id + bus * 2 ** 29,
      data: data.subarray(offset, offset + length),
    });
    return this.seq;
  }

  /** It makes another handshake on its connection. */
  async declare(about: Partial<HandshakeRequest>): Promise<void> {
    await this.instance.handshake(requestOf(this.instance, about));
  }

  /** It goes away. */
  leave(): void {
    this.instance.leave(this.#session);
  }
}

function requestOf({ id }: Instance, about: Partial<HandshakeRequest>): HandshakeRequest {
  return {
    instanceId: id,
    headSeq: 0,
    journalBytes: 4096,
    epoch: EPOCH,
    features: [],
    void: [],
    oldestSeq: 1,
    busNames: ["can0"],
    lost: [],
    ...about,
  };
}

/** What a boat left behind when it was here before; everything else is as if nothing had come of it. */
export async function writeState(
  dataDirectory: string,
  id: string,
  state: Partial<InstanceState> = {},
): Promise<void> {
  await Deno.mkdir(`${dataDirectory}/${id}`, { recursive: true });
  const kept = encodeState(id, {
    epochs: { current: EPOCH.toHex(), previous: [] },
    buses: ["can0"],
    headSeq: 0,
    journalBytes: 0,
    lastSeenMs: undefined,
    received: { durable: [], void: [], lost: [] },
    ...state,
  });
  await Deno.writeTextFile(`${dataDirectory}/${id}/${STATE_FILE}`, JSON.stringify(kept));
}

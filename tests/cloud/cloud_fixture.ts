import assert from "node:assert/strict";
import { type Clock, silentLogger, systemClock } from "../../src/base/mod.ts";
import { RingPool } from "../../src/broker/mod.ts";
import {
  CloudService,
  type FrameStore,
  type Instance,
  INSTANCE_DEFAULTS,
  Instances,
  type InstanceSettings,
  type InstancesOptions,
  type OpenReplica,
  Replica,
} from "../../src/cloud/mod.ts";
import { BoatObjects } from "../../src/cloud/store/boat_objects.ts";
import type { ObjectStore } from "../../src/object_store/mod.ts";
import { FrameSum, JournalIndex, type WindowDigest } from "../../src/journal/mod.ts";
import type {
  HandshakeRequest,
  HandshakeResponse,
  LiveFrame,
  LiveStatus,
  LiveUpstream,
  MessageStream,
  ReplicationClient,
} from "../../src/replication/mod.ts";
import { ServerFixture, TIMEOUT } from "../replication/fixture.ts";
import { type FrameSeen, framesOf } from "../support/journal_files.ts";
import { message, START_US } from "../support/messages.ts";
import { EPOCH } from "./block_check_fixture.ts";

export const BOAT = "boat-001";

/** Settings of tests: nothing is slow, and no rate. */
export const SETTINGS: InstanceSettings = {
  ...INSTANCE_DEFAULTS,
  rateLimit: 0,
  collectMs: 0,
  syncIntervalMs: 20,
  blockBytes: 4096,
  maxBlockBytes: 262_144,
};

/** What a boat asks at a handshake; the rest has defaults. */
export function request(init: Partial<HandshakeRequest> = {}): HandshakeRequest {
  return {
    instanceId: BOAT,
    headSeq: 0,
    journalBytes: 1000,
    epoch: EPOCH,
    features: ["batch", "void", "bus", "quiet-status"],
    void: [],
    oldestSeq: 1,
    busNames: ["can0"],
    lost: [],
    ...init,
  };
}

/** The frame of a number, as blocks of `block_check_fixture.ts` have it. */
export function liveFrame(seq: number): LiveFrame {
  const data = [seq & 0xff, seq >> 8 & 0xff, 3, 4, 5, 6, 7, 8, 9].slice(0, 5 + seq % 5);
  return { seq, timestampUs: START_US + seq * 1000, canId: message().id, data: Uint8Array.from(data) };
}

/** Frames from one number to another, both included, in one message. */
export function batch(from: number, to: number): LiveUpstream {
  return { kind: "batch", frames: Array.from({ length: to - from + 1 }, (_, i) => liveFrame(from + i)) };
}

/** The digest of the frames that {@linkcode liveFrame} gives; of a copy from `fork` on others. */
export function digest(firstSeq: number, lastSeq: number, { fork = Infinity } = {}): WindowDigest {
  const sum = new FrameSum();
  for (let seq = firstSeq; seq <= lastSeq; seq++) {
    const { timestampUs, canId: id, data } = liveFrame(seq);
    const timeUs = seq >= fork ? timestampUs + 1 : timestampUs;
    sum.add(seq, { ...message(), id, bus: 0, timeUs, data, offset: 0, length: data.length });
  }
  return { firstSeq, lastSeq, hash: sum.hash };
}

/** What a reader has to find of a number. */
export function wanted(seq: number): FrameSeen {
  const { timestampUs: timeUs, canId: id, data } = liveFrame(seq);
  return { seq, timeUs, id, pgn: message().pgn, bus: 0, data: data.toHex() };
}

/** All frames of a boat's directory, read as one journal by number. */
export async function framesIn(directory: string): Promise<FrameSeen[]> {
  return await framesOfIndex(await JournalIndex.open(directory, { log: silentLogger }));
}

/** All frames of a journal by number. */
export async function framesOfIndex(index: JournalIndex): Promise<FrameSeen[]> {
  const frames: FrameSeen[] = [];
  for await (const block of index.blocks({ fromSeq: 1 })) frames.push(...framesOf(block));
  return frames.sort((a, b) => a.seq - b.seq);
}

/** All frames that a store has of a boat, by number; `folder` is for temporary files. */
export async function framesOfStore(
  store: ObjectStore,
  { folder, id = BOAT }: { folder: string; id?: string },
): Promise<FrameSeen[]> {
  const objects = new BoatObjects({ id, store });
  await objects.list();
  const directory = await Deno.makeTempDir({ dir: folder });
  const index = await JournalIndex.open(directory, { log: silentLogger, open: (path) => objects.open(path) });
  await index.add(objects.files);
  return await framesOfIndex(index);
}

/** Opens replicas of boats, small ones. */
export const openReplica: OpenReplica = openReplicasWith(systemClock);

/** The same with the clock of the test. */
export function openReplicasWith(clock: Clock): OpenReplica {
  const pool = new RingPool();
  return (parts) =>
    Replica.open({
      ...parts,
      ...{ ringFrames: 1024, maxValues: 100, deviceIdleTimeoutMs: 0, pool, clock, log: silentLogger },
      sessionLimits: () => ({ maxSessions: 10, maxSessionsPerOwner: 10, maxTimeoutMs: 3_600_000 }),
    });
}

/** How a cloud of a test is made. */
export interface CloudInit {
  settings?: Partial<InstanceSettings>;
  clock?: Clock;
  openReplica?: OpenReplica;
  frameStore?: FrameStore;
  nodes?: InstancesOptions["nodes"];
}

/** A cloud with its calls on a port of its own, over a directory. */
export class CloudFixture implements AsyncDisposable {
  readonly directory: string;
  readonly instances: Instances;
  readonly service: CloudService;
  readonly server: ServerFixture;
  /** May be changed while it runs. */
  readonly settings: InstanceSettings;

  private constructor(
    directory: string,
    parts: { instances: Instances; service: CloudService; server: ServerFixture; settings: InstanceSettings },
  ) {
    this.directory = directory;
    this.instances = parts.instances;
    this.service = parts.service;
    this.server = parts.server;
    this.settings = parts.settings;
  }

  static async start(
    dataDirectory: string,
    { settings: changed, clock = systemClock, openReplica, frameStore, nodes }: CloudInit = {},
  ): Promise<CloudFixture> {
    const settings = { ...SETTINGS, ...changed };
    const common = { settings: () => settings, clock, log: silentLogger };
    const instances = await Instances.open({ ...common, dataDirectory, openReplica, frameStore, nodes });
    const service = new CloudService({ ...common, instances });
    const server = await ServerFixture.start({
      handshake: (...args) => service.handshake(...args),
      live: (...args) => service.live(...args),
      backfill: (...args) => service.backfill(...args),
    });
    return new CloudFixture(dataDirectory, { instances, service, server, settings });
  }

  /** The boat of most tests. */
  get boat(): Instance {
    const boat = this.instances.get(BOAT);
    if (!boat) throw new Error("the boat was not here");
    return boat;
  }

  client(instanceId: string = BOAT): Promise<ReplicationClient> {
    return this.server.client({ instanceId });
  }

  /** A client that has introduced itself. */
  async greeted(init: Partial<HandshakeRequest> = {}): Promise<{
    client: ReplicationClient;
    response: HandshakeResponse;
  }> {
    const client = await this.client(init.instanceId);
    const { response } = await client.handshake(request(init), TIMEOUT);
    return { client, response };
  }

  /** Closes it as a good end does. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.service.stop();
    await this.server[Symbol.asyncDispose]();
    await this.instances.stop();
    assert.deepEqual(this.server.faults, []);
  }
}

/** Reads statuses of a stream until one fits. */
export async function statusWith(
  stream: MessageStream<LiveStatus, LiveUpstream>,
  fits: (status: LiveStatus) => boolean,
): Promise<LiveStatus> {
  for await (const status of stream) if (fits(status)) return status;
  throw new Error("the stream ended before");
}

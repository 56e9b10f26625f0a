import assert from "node:assert/strict";
import { type Clock, Logger, systemClock } from "../../src/base/mod.ts";
import { Broker } from "../../src/broker/mod.ts";
import { pgnOfId } from "../../src/frame/mod.ts";
import { type ClockSpan, decompress, epochWordOf, readBlock } from "../../src/journal/mod.ts";
import type { JournalWriterOptions } from "../../src/journal/writer/journal_writer.ts";
import {
  type BackfillBlock,
  type BackfillStatus,
  type BackfillUpstream,
  BoatLink,
  type BoatLinkOptions,
  FEATURES,
  type HandshakeRequest,
  type HandshakeResponse,
  LINK_LIMITS,
  type LinkLimits,
  type LiveFrame,
  type LiveStatus,
  type LiveUpstream,
  type MessageStream,
  type Range,
  Ranges,
  type RejectedBlock,
  type ReplicationService,
  type RpcError,
} from "../../src/replication/mod.ts";
import { FrameSource } from "../../src/stream/mod.ts";
import { type CertificateFiles, TestAuthority } from "../support/certificates.ts";
import type { FakeClock } from "../support/fake_clock.ts";
import { TestJournal } from "../support/history.ts";
import { type FrameSeen, framesOf } from "../support/journal_files.ts";
import { EPOCH, frameOf, seenOf } from "../support/journal_run.ts";
import { needs } from "../support/needs.ts";
import { ServerFixture } from "./fixture.ts";

/** Real TLS, real files. */
export const LINK = needs({ permissions: ["env", "net", "write"], programs: ["openssl"] });

/** A cloud that keeps what comes in memory, and asks for what is missing. Tests change what it says. */
export class KeepingCloud {
  readonly requests: HandshakeRequest[] = [];
  readonly devices: LiveFrame[] = [];
  readonly statuses: { headSeq: number; journalBytes: number }[] = [];
  /** Frames of each live message. */
  readonly batches: number[] = [];
  readonly blocks: BackfillBlock[] = [];
  readonly frames = new Map<number, FrameSeen>();
  /** Numbers that came again on the same stream. */
  readonly twice: number[] = [];
  /** Which streams the boat has ended in good order. */
  readonly endings: string[] = [];
  /** Numbers held before the test began, and not looked at. */
  held = new Ranges();
  features: readonly string[] = FEATURES;
  over: (request: HandshakeRequest) => Partial<HandshakeResponse> = () => ({});
  refuse: (() => RpcError) | undefined;
  /** Why blocks are not taken. */
  reject: (block: BackfillBlock) => string | undefined = () => undefined;
  isSilent = false;
  /** Acknowledged after each message; else only at the beginning. */
  acknowledges = true;
  /** Streams that are open. */
  readonly streams = new Set<MessageStream<LiveUpstream, LiveStatus>>();
  head = 0;
  /** Corrections of times that boats have sent. */
  readonly clocks: (readonly ClockSpan[])[] = [];
  /** For how long the boat is asked to collect frames. */
  collectMs = 0;

  readonly handshake = (request: HandshakeRequest): Promise<HandshakeResponse> => {
    this.requests.push(request);
    if (this.refuse) return Promise.reject(this.refuse());
    this.head = request.headSeq;
    for (const { start, end } of [...request.void, ...request.lost]) this.held.add(start, Math.min(end, this.head + 1));
    const cursor = this.held.contiguousThrough();
    return Promise.resolve({
      cursor,
      holes: this.held.holes(request.headSeq + 1),
      liveStartFrom: request.headSeq + 1,
      features: this.features.filter((each) => request.features.includes(each)),
      known: this.requests.length > 1,
      durableThrough: cursor,
      rateLimit: 0,
      rateBurst: 0,
      ...this.over(request),
    });
  };

  readonly live = async (stream: MessageStream<LiveUpstream, LiveStatus>): Promise<void> => {
    this.streams.add(stream);
    const seen = new Set<number>();
    try {
      for await (const message of stream) {
        if (message.kind === "status") this.statuses.push(message.status);
        if (message.kind === "clock") this.clocks.push(message.spans);
        const frames = message.kind === "frame" ? [message.frame] : message.kind === "batch" ? message.frames : [];
        if (frames.length > 0) this.batches.push(frames.length);
        for (const frame of frames) this.#take(frame, seen);
        if (!this.isSilent && this.acknowledges) await stream.send(this.#acknowledgement());
      }
      this.endings.push("live");
    } finally {
      this.streams.delete(stream);
    }
  };

  readonly backfill = async (stream: MessageStream<BackfillUpstream, BackfillStatus>): Promise<void> => {
    for await (const { block } of stream) {
      assert.ok(block);
      const seqs = { start: block.baseSeq, end: block.baseSeq + block.frameCount };
      const reason = this.reject(block);
      this.blocks.push({ ...block, data: block.data.slice() });
      if (reason === undefined) this.#keep(block);
      const rejected: RejectedBlock[] = reason === undefined ? [] : [{ baseSeq: block.baseSeq, reason }];
      await stream.send({
        continuousThrough: this.held.contiguousThrough(),
        remaining: this.held.holes(this.head + 1),
        filled: reason === undefined ? [seqs] : [],
        rejected,
      });
    }
    this.endings.push("backfill");
  };

  /** As the server wants it. */
  get service(): ReplicationService {
    const { handshake, live, backfill } = this;
    return { handshake, live, backfill };
  }

  /** Says on all streams what is held. */
  async acknowledge(): Promise<void> {
    for (const stream of this.streams) await stream.send(this.#acknowledgement());
  }

  #acknowledgement(): LiveStatus {
    const receivedThrough = Math.max(0, ...this.frames.keys());
    return { ackSeq: this.held.contiguousThrough(), receivedThrough, collectMs: this.collectMs };
  }

  #take(frame: LiveFrame, seen: Set<number>): void {
    const { seq, timestampUs: timeUs, canId, data } = frame;
    if (seq === 0) return void this.devices.push({ ...frame, data: data.slice() });
    if (seen.has(seq)) this.twice.push(seq);
    seen.add(seq);
    const [id, bus] = [canId & 0x1fffffff, canId >>> 29];
    this.frames.set(seq, { seq, timeUs, id, pgn: pgnOfId(id), bus, data: data.toHex() });
    this.held.add(seq, seq + 1);
  }

  #keep({ data, blockSize, compressed, baseSeq, frameCount, baseTimeUs }: BackfillBlock): void {
    const bytes = decompress(data, { compression: compressed ? "zstd" : "none", blockBytes: blockSize });
    const block = readBlock(bytes, { version: 2, blockBytes: blockSize });
    assert.deepEqual([block.baseSeq, block.frameCount, block.baseTimeUs], [baseSeq, frameCount, baseTimeUs]);
    for (const frame of framesOf(block)) this.frames.set(frame.seq, frame);
    this.held.add(baseSeq, baseSeq + frameCount);
  }
}

/** How a boat under test differs. */
export interface LinkedBoatOptions {
  /** Folder of its journal; left out: it records nothing. */
  journal?: string;
  writing?: Partial<JournalWriterOptions>;
  /** Number of its first frame. */
  firstSeq?: number;
  ringFrames?: number;
  skipped?: Range;
  clock?: Clock;
  limits?: Partial<LinkLimits>;
  link?: Partial<BoatLinkOptions>;
}

/** Broker, journal and link of a boat, without buses. */
export class LinkedBoat implements AsyncDisposable {
  readonly broker: Broker;
  readonly journal: TestJournal | undefined;
  readonly link: BoatLink;
  readonly lines: string[] = [];
  epoch = EPOCH;
  /** Why new epochs were begun. */
  readonly renewals: string[] = [];

  private constructor(
    { firstSeq = 1, ringFrames = 65_536, skipped, clock = systemClock, limits, link }: LinkedBoatOptions,
    { journal, target }: { journal: TestJournal | undefined; target: Pick<BoatLinkOptions, "target" | "tls"> },
  ) {
    const broker = this.broker = new Broker({ buses: ["can0", "can1"], firstSeq, ringFrames });
    this.journal = journal;
    const epochWord = () => epochWordOf(this.epoch);
    const archive = journal && {
      index: journal.index,
      get oldestSeq(): number | undefined {
        return journal.index.oldestSeqOf(epochWord()) ?? journal.writer.oldestUnwritten;
      },
      blocks: ({ fromSeq }: { fromSeq: number }) => journal.index.blocks({ fromSeq, epochWord: epochWord() }),
    };
    const epochOf = () => this.epoch;
    this.link = new BoatLink({
      instanceId: "boat-001",
      source: new FrameSource(broker, { archive }),
      archive,
      numbers: {
        get epoch() {
          return epochOf();
        },
        skipped,
        renew: (why) => this.renew(why),
      },
      devices: () => [],
      journalBytes: () => 4711,
      busNames: ["can0", "can1"],
      limits: () => ({ ...LINK_LIMITS, ...limits }),
      clock,
      log: new Logger({ write: (line) => this.lines.push(line) }),
      // A clock that is told to move is looked at often.
      ...clock !== systemClock && { tickMs: 10 },
      ...target,
      ...link,
    });
  }

  static async start(
    options: LinkedBoatOptions,
    target: Pick<BoatLinkOptions, "target" | "tls">,
  ): Promise<LinkedBoat> {
    const journal = options.journal === undefined
      ? undefined
      : await TestJournal.open(options.journal, { epoch: EPOCH, buses: ["can0", "can1"], ...options.writing });
    return new LinkedBoat(options, { journal, target });
  }

  /** The bus brings so many frames. Gives the number of the newest. */
  bring(count: number): number {
    for (let i = 0; i < count; i++) {
      const seq = this.broker.head + 1;
      const frame = frameOf(seq);
      this.broker.publish(frame, seq);
      this.journal?.writer.append(seq, frame);
    }
    return this.broker.head;
  }

  /** Lets so much time pass while it waits for its next try; a try itself takes none. */
  waitFor(clock: FakeClock, ms: number): void {
    if (this.link.status().state === "reconnecting") clock.advance(ms);
  }

  /** Begins another run of numbers. */
  renew(why: string): void {
    this.renewals.push(why);
    this.epoch = Uint8Array.from(this.epoch, (byte) => byte ^ 0xff);
    this.journal?.writer.beginEpoch(this.epoch);
    const { head } = this.broker;
    this.broker.startEpoch();
    this.link.newEpoch(head);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.link.stop();
    await this.journal?.[Symbol.asyncDispose]();
  }
}

/** A cloud and the certificates of its boats. */
export class LinkFixture implements AsyncDisposable {
  readonly cloud: KeepingCloud;
  readonly server: ServerFixture;
  readonly authority: TestAuthority;
  readonly folder: string;
  #boat: CertificateFiles | undefined;

  private constructor(parts: { cloud: KeepingCloud; server: ServerFixture; authority: TestAuthority; folder: string }) {
    ({ cloud: this.cloud, server: this.server, authority: this.authority, folder: this.folder } = parts);
  }

  /** Runs a test with a cloud in a folder. */
  static async run(test: (fixture: LinkFixture) => Promise<void>): Promise<void> {
    const folder = await Deno.makeTempDir({ prefix: "vbg_link_" });
    try {
      const authority = await TestAuthority.make(folder);
      const cloud = new KeepingCloud();
      const files = await authority.issue("cloud");
      await using server = await ServerFixture.start(cloud.service, { tls: { files, clients: authority } });
      await test(new LinkFixture({ cloud, server, authority, folder }));
      assert.deepEqual(server.faults, []);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  }

  /** Where a boat with a certificate of `name` connects to. */
  async target({ port = this.server.port } = {}): Promise<Pick<BoatLinkOptions, "target" | "tls">> {
    const { certPath, keyPath } = this.#boat ??= await this.authority.issue("boat-001");
    const tls = { certPath, keyPath, caPath: this.authority.files("authority").certPath };
    return { target: `127.0.0.1:${port}`, tls };
  }

  /** A boat of this cloud, not linked yet. */
  async boat(options: LinkedBoatOptions & { port?: number } = {}): Promise<LinkedBoat> {
    return await LinkedBoat.start(options, await this.target(options));
  }

  /** A new folder for a journal. */
  async journalFolder(name = "journal"): Promise<string> {
    await Deno.mkdir(`${this.folder}/${name}`, { recursive: true });
    return `${this.folder}/${name}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]();
  }
}

/** Asserts that the cloud has every frame of these numbers as the bus brought it, and no other. */
export function assertFrames(cloud: KeepingCloud, wanted: readonly Range[], { hasBuses = true } = {}): void {
  const expected = wanted.flatMap(({ start, end }) => Array.from({ length: end - start }, (_, i) => start + i));
  assert.deepEqual([...cloud.frames.keys()].sort((a, b) => a - b), expected);
  for (const seq of expected) {
    const seen = seenOf(seq);
    assert.deepEqual(cloud.frames.get(seq), hasBuses ? seen : { ...seen, bus: 0 });
  }
}

/** The numbers from the first to the last, both included. */
export function seqs(from: number, to: number): Range[] {
  return [{ start: from, end: to + 1 }];
}

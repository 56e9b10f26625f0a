import { type Clock, type Logger, type Range, Ranges } from "../../base/mod.ts";
import type { WindowDigest } from "../../journal/mod.ts";
import { LOST_UNRECORDED } from "./backfill_plan.ts";
import { type ArchivePort, BoatArchive } from "./archive.ts";
import type { FormerEpochs } from "./former.ts";
import { heldSeqs, newestDigest, unprovenSeqs } from "./proof.ts";
import { BackfillSender } from "./backfill.ts";
import { LiveSender, type LiveSource } from "./live.ts";
import type { MissingNumbers } from "./missing.ts";
import { type ClientSecurity, ReplicationClient } from "../grpc/client.ts";
import { SERVICE_NAMES } from "../grpc/grpc.ts";
import {
  type Feature,
  FEATURES,
  type HandshakeResponse,
  type LiveFrame,
  type LiveStatus,
  type LostRange,
} from "../wire/messages.ts";
import { CATCH_UP_FRAMES, type LiveRate } from "./pacer.ts";

/** The parts of the boat that are replicated. */
export interface BoatPorts {
  source: LiveSource;
  /** Blocks for backfill; without recording undefined: frames missing on the cloud are then lost. */
  archive?: ArchivePort | undefined;
  /** Frames with sequence number 0 that introduce each device with a NAME. */
  devices: () => readonly LiveFrame[];
  /** Size of the journal, bytes. */
  journalBytes: () => number;
  /** Names of the buses by index, at most 4. */
  busNames: readonly string[];
}

/** The cloud, and the identity of the boat. */
export interface ConnectionTarget {
  /** `host:port` of the cloud. */
  target: string;
  instanceId: string;
}

/** Options of {@linkcode BoatConnection}. */
export interface ConnectionOptions extends BoatPorts, ConnectionTarget {
  /** 16 bytes that identify the epoch; constant for the connection. */
  epoch: Uint8Array<ArrayBuffer>;
  /** Missing sequence numbers; the connection adds further ones. */
  missing: MissingNumbers;
  /** The earlier epochs. */
  former: FormerEpochs;
  statusEveryMs?: number | undefined;
  clock: Clock;
  log: Logger;
  events: ConnectionEvents;
}

/** Events of a connection. */
export interface ConnectionEvents {
  /** A message of the cloud arrived. */
  received(): void;
  /** The cloud holds all frames up to `cursor`, and those up to `durable` on disk; null: not reported. */
  progressed(progress: { cursor: number; durable: number | null }): void;
  /** The cloud acknowledged live frames. */
  acknowledged(status: LiveStatus): void;
  /** The cloud holds more of a former epoch. */
  formerFilled(): void;
  /** Frames are about to be declared as lost. Resolves when that is saved. */
  lost(found: readonly LostRange[]): Promise<void>;
  sent(frames: number, cursor: number): void;
  /** A block was sent. */
  blockSent(bytes: number): void;
  /** Number of frames still to be sent as blocks; 0: all are sent or declared missing. */
  backfillRemaining(frames: number): void;
  /** A stream has failed. */
  failed(error: unknown): void;
}

/**
 * How a connection ends.
 *
 * - `finish`: sends present frames, then ends the streams regularly
 * - `end`: ends the streams regularly
 * - `cut`: closes immediately
 */
export type CloseMode = "finish" | "end" | "cut";

/** Result of the handshake. */
export interface HandshakeResult {
  response: HandshakeResponse;
  /** True if the cloud has other software with the same protocol, which does not know epochs. */
  isPeer: boolean;
  /** Frames to be sent as blocks. */
  missingFrames: number;
}

/** Answer of the cloud. */
type Answer = Pick<HandshakeResult, "response" | "isPeer">;

/** Maximum time until the answer to a handshake, milliseconds. */
const HANDSHAKE_TIMEOUT_MS = 20_000;
/** Maximum time to send remaining frames and end the streams, milliseconds. */
const GRACE_MS = 1000;
/** Rate limit of clouds with other software, which do not report it. */
const PEER_RATE: LiveRate = { rateLimit: 2000, rateBurst: 500 };

/** One connection to the cloud: a handshake, a live stream, and a backfill if frames are missing. One per attempt. */
export class BoatConnection {
  readonly #options: ConnectionOptions;
  readonly #abort = new AbortController();
  #client: ReplicationClient | undefined;
  #result: HandshakeResult | undefined;
  #fromSeq = 0;
  #receivedThrough = 0;
  /** Holes already searched for in the journal. */
  #holes = new Ranges();
  /** Digests of the frames of earlier epochs that the cloud holds, by epoch in hex; part of each handshake. */
  #digests: ReadonlyMap<string, WindowDigest> = new Map();
  #live: LiveSender | undefined;
  #backfill: BackfillSender | undefined;
  /** Sends blocks of an earlier epoch, after those of the current one. */
  #formerBackfill: BackfillSender | undefined;
  readonly #running: Promise<void>[] = [];

  constructor(options: ConnectionOptions) {
    this.#options = options;
  }

  /** Progress of the backfill. */
  get backfill(): Pick<BackfillSender, "missingFrames" | "lost"> | undefined {
    return this.#backfill;
  }

  /** Ranges that the cloud is missing and the boat can send; undefined before the handshake. */
  get holes(): readonly Range[] | undefined {
    return this.#result && (this.#backfill?.holes ?? [...this.#holes]);
  }

  /** Highest sequence number that the cloud has received live; 0: none. */
  get receivedThrough(): number {
    return this.#receivedThrough;
  }

  /** Sequence number of the first live frame; 0 before the handshake. */
  get fromSeq(): number {
    return this.#fromSeq;
  }

  /**
   * Connects and performs the handshake.
   *
   * @throws {RpcError} no connection, no answer, or refused
   */
  async open(security: ClientSecurity): Promise<HandshakeResult> {
    const { target, instanceId, source, missing, former } = this.#options;
    const client = await ReplicationClient.create({ target, instanceId, security });
    if (this.#abort.signal.aborted) client.close();
    this.#client = client;
    const { response, isPeer } = await this.#handshake(client);
    const { liveStartFrom } = response;
    const next = source.head + 1;
    // A cloud may request frames that are no longer stored.
    const wanted = liveStartFrom < 1 || liveStartFrom > next ? next : liveStartFrom;
    this.#fromSeq = Math.min(next, Math.max(wanted, source.oldestSeq));
    this.#holes = new Ranges(response.holes).subtract(missing.all);
    this.#holes.remove(this.#fromSeq, Number.MAX_SAFE_INTEGER);
    return this.#result = { response, isPeer, missingFrames: this.#holes.count + former.wantedFrames };
  }

  /** Starts the live stream. */
  startLive(): void {
    const { client, response, isPeer } = this.#opened();
    const { source, archive, devices, clock, events, missing, statusEveryMs } = this.#options;
    const live = this.#live = new LiveSender({
      stream: client.live(this.#abort.signal),
      source,
      fromSeq: this.#fromSeq,
      devices: devices(),
      boatStatus: () => ({ headSeq: source.head, journalBytes: this.#options.journalBytes() }),
      rate: isPeer ? PEER_RATE : response,
      catchUpFrames: isPeer ? 0 : CATCH_UP_FRAMES,
      hasBatches: response.features.includes("batch"),
      hasBuses: response.features.includes("bus"),
      ...(!isPeer && { corrections: archive?.index.clock?.spans }),
      statusEveryMs,
      clock,
      events: {
        acknowledged: (status) => {
          const { ackSeq } = status;
          events.received();
          events.progressed({ cursor: ackSeq, durable: isPeer ? null : ackSeq });
          this.#receivedThrough = status.receivedThrough;
          events.acknowledged(status);
        },
        sent: events.sent,
        missing: ({ start, end }) => {
          const lost = [{ start, end, reason: LOST_UNRECORDED }];
          if (missing.add(lost)) void events.lost(lost);
        },
        // The next handshake makes them holes. A cloud with other software would only request them again.
        unread: ({ start, end }) => {
          if (!isPeer) events.failed(new Error(`frames ${start} to ${end - 1} cannot be read`));
        },
      },
    });
    this.#run(() => live.run());
  }

  /** Starts the backfill. */
  startBackfill(): void {
    const { events } = this.#options;
    const { isPeer } = this.#opened();
    const backfill = this.#backfill = this.#newBackfill((continuousThrough, missingFrames) => {
      events.progressed({ cursor: continuousThrough, durable: isPeer ? null : 0 });
      if (missingFrames > 0) events.backfillRemaining(missingFrames);
    });
    this.#run(async () => {
      await this.#fill(backfill);
      await backfill.end();
      await this.#fillFormer();
      events.backfillRemaining(0);
    });
  }

  #newBackfill(
    answered: (continuousThrough: number, missingFrames: number) => void,
    epoch?: Uint8Array<ArrayBuffer>,
  ): BackfillSender {
    const { client } = this.#opened();
    const { clock, log, events } = this.#options;
    return new BackfillSender({
      open: () => client.backfill(this.#abort.signal),
      liveWaitMs: (nowMs) => this.#live?.waitMs(nowMs) ?? 0,
      clock,
      log,
      ...(epoch && { epoch }),
      events: {
        answered: ({ continuousThrough }, missingFrames) => {
          events.received();
          answered(continuousThrough, missingFrames);
        },
        sent: events.blockSent,
      },
    });
  }

  /** Ends the backfill stream regularly. */
  finishBackfill(): void {
    const backfill = this.#backfill;
    if (backfill) this.#run(() => backfill.end());
  }

  /** Closes the connection. Resolves within little more than a second; frames that are not sent by then stay unsent. */
  async close(mode: CloseMode): Promise<void> {
    if (mode === "finish") this.#live?.finish();
    else this.#live?.stop();
    const closed = new Error("the connection is closed");
    this.#backfill?.stop(closed);
    this.#formerBackfill?.stop(closed);
    if (mode !== "cut") {
      void this.#backfill?.end();
      void this.#formerBackfill?.end();
      const grace = Promise.withResolvers<void>();
      const timer = setTimeout(grace.resolve, GRACE_MS);
      await Promise.race([Promise.allSettled(this.#running), grace.promise]);
      clearTimeout(timer);
      this.#live?.stop();
    }
    this.#abort.abort();
    this.#client?.close();
  }

  #run(work: () => Promise<void>): void {
    this.#running.push(work().catch((error: unknown) => this.#options.events.failed(error)));
  }

  /** Sends missing frames and declares lost ones until the cloud requests no more that the boat has. */
  async #fill(backfill: BackfillSender): Promise<void> {
    const { archive: journal, epoch, missing, source, events } = this.#options;
    let holes = this.#holes;
    while (holes.count > 0) {
      using archive = await BoatArchive.open({ journal, epoch, head: source.head, holes });
      const lost = await backfill.run(holes, archive);
      const isNew = missing.add(lost);
      if (isNew) await events.lost(lost);
      if (backfill.deferred.count > 0) {
        await backfill.rest();
        holes = backfill.deferred;
      } else holes = isNew ? await this.#declareMissing() : new Ranges();
    }
  }

  /** Sends the missing frames of earlier epochs in turn, each epoch on its own stream. */
  async #fillFormer(): Promise<void> {
    const { archive, former } = this.#options;
    let isNew = false;
    for (const { epoch, head, oldest, holes } of former.incomplete()) {
      if (!archive) return;
      const backfill = this.#formerBackfill = this.#newBackfill(() => {}, epoch);
      using blocks = await BoatArchive.open({
        journal: { index: archive.index, oldestSeq: oldest },
        epoch,
        head,
        holes,
      });
      const lost = await backfill.run(holes, blocks);
      await backfill.end();
      if (former.applyBackfill(epoch, { holes: backfill.holes ?? [], lost })) isNew = true;
      this.#options.events.formerFilled();
    }
    if (isNew) await this.#callHandshake(this.#opened().client);
  }

  /** Declares missing frames in another handshake. @returns new holes */
  async #declareMissing(): Promise<Ranges> {
    const { client, response } = this.#opened();
    if (!response.features.includes("void")) return new Ranges();
    const { response: answer } = await this.#callHandshake(client);
    const found = new Ranges(answer.holes).subtract(this.#options.missing.all).subtract(this.#holes);
    found.remove(this.#fromSeq, Number.MAX_SAFE_INTEGER);
    this.#holes = this.#holes.union(found);
    return found;
  }

  /**
   * Performs the handshake, and a second one if the cloud needs digests to check that its frames are those of this
   * boat.
   */
  async #handshake(client: ReplicationClient): Promise<Answer> {
    const { archive, epoch, former, missing, source } = this.#options;
    if (archive) await former.refresh(archive);
    const sent = archive?.digests ?? [];
    const answer = await this.#callHandshake(client, { digests: sent });
    if (!archive?.digests || !answer.response.features.includes("digest")) return answer;
    const { oldestSeq: oldest = Infinity, index } = archive;
    const held = heldSeqs(answer.response, missing.all);
    const seqs = unprovenSeqs(held, { sent, oldest, head: source.head });
    this.#digests = await former.newestDigests(archive);
    if (!seqs && this.#digests.size === 0) return answer;
    const digest = seqs && archive.digestOf?.(seqs) || await newestDigest(held, { seqs, oldest, index, epoch });
    // Also without a digest: the cloud decides about that.
    const compared = await this.#callHandshake(client, { digests: digest ? [digest] : [] });
    former.markCompared(this.#digests);
    return compared;
  }

  async #callHandshake(
    client: ReplicationClient,
    { digests = [] }: { digests?: readonly WindowDigest[] } = {},
  ): Promise<Answer> {
    const { instanceId, source, archive, epoch, missing, busNames, journalBytes, former, events } = this.#options;
    const formerEpochs = former.toHandshake(this.#digests);
    const { response, service } = await client.handshake({
      instanceId,
      headSeq: source.head,
      journalBytes: journalBytes(),
      epoch,
      features: featuresWith(archive),
      void: missing.void,
      lost: missing.lost,
      oldestSeq: archive?.oldestSeq ?? 0,
      busNames,
      ...(formerEpochs.length > 0 && { former: formerEpochs }),
      ...(digests.length > 0 && { digests }),
    }, { timeoutMs: HANDSHAKE_TIMEOUT_MS, signal: this.#abort.signal });
    if (response.features.includes("former")) former.applyResponse(response.formerHoles ?? []);
    events.received();
    const isPeer = service !== SERVICE_NAMES[0];
    events.progressed({ cursor: response.cursor, durable: isPeer ? null : response.durableThrough });
    return { response, isPeer };
  }

  #opened(): HandshakeResult & { client: ReplicationClient } {
    if (!this.#client || !this.#result) throw new Error("the connection is not open");
    return { ...this.#result, client: this.#client };
  }
}

/** Features of this boat: some need support of the journal. */
function featuresWith(archive: ArchivePort | undefined): Feature[] {
  return FEATURES.filter((feature) => {
    return (feature !== "digest" || archive?.digests) && (feature !== "former" || archive?.former);
  });
}

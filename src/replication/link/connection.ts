import { type Clock, type Logger, Ranges } from "../../base/mod.ts";
import type { WindowDigest } from "../../journal/mod.ts";
import type { FrameSource } from "../../stream/mod.ts";
import { LOST_UNRECORDED } from "./backfill_plan.ts";
import { type ArchivePort, BoatArchive } from "./archive.ts";
import type { FormerEpochs } from "./former.ts";
import { heldBy, newestProof, toProve } from "./proof.ts";
import { BackfillSender } from "./backfill.ts";
import { LiveSender } from "./live.ts";
import type { MissingNumbers } from "./missing.ts";
import { type ClientSecurity, ReplicationClient } from "../grpc/client.ts";
import { SERVICE_NAMES } from "../grpc/grpc.ts";
import { type Feature, FEATURES, type HandshakeResponse, type LiveFrame } from "../wire/messages.ts";
import { CATCH_UP_FRAMES, type LiveRate } from "./pacer.ts";

/** What of the boat is replicated. */
export interface BoatPorts {
  source: FrameSource;
  /** Blocks for what the cloud misses; left out: nothing is recorded, and what it misses is lost. */
  archive?: ArchivePort | undefined;
  /** Frames with number 0 that introduce each device with a NAME. */
  devices: () => readonly LiveFrame[];
  /** Bytes that the journal takes. */
  journalBytes: () => number;
  /** Names of the buses by index, at most 4. */
  busNames: readonly string[];
}

/** Where a connection goes. */
export interface ConnectionTarget {
  /** `host:port` of the cloud. */
  target: string;
  instanceId: string;
}

/** What a connection is made with. */
export interface ConnectionOptions extends BoatPorts, ConnectionTarget {
  /** 16 bytes that name the run of numbers, for as long as the connection lasts. */
  epoch: Uint8Array<ArrayBuffer>;
  /** What is known to be missing; what is found is noted here. */
  missing: MissingNumbers;
  /** The epochs before this one. */
  former: FormerEpochs;
  statusEveryMs?: number | undefined;
  clock: Clock;
  log: Logger;
  events: ConnectionEvents;
}

/** What a connection tells. */
export interface ConnectionEvents {
  /** Anything came from the cloud. */
  heard(): void;
  /** The cloud holds everything up to `cursor`, and on disk up to `durable`; null: it does not say what is on disk. */
  holds(progress: { cursor: number; durable: number | null }): void;
  /** The cloud has acknowledged live frames. */
  acknowledged(): void;
  sent(frames: number, cursor: number): void;
  /** A block is out. */
  blockSent(bytes: number): void;
  /** So many frames are still to be sent as blocks; 0: all that there are were sent, and the rest is told. */
  toBackfill(frames: number): void;
  /** A stream has failed. */
  failed(error: unknown): void;
}

/**
 * How a connection ends.
 *
 * - `finish`: frames that are there now go out before it ends in good order
 * - `end`: streams end in good order
 * - `cut`: at once
 */
export type Parting = "finish" | "end" | "cut";

/** What a handshake came to. */
export interface Welcome {
  response: HandshakeResponse;
  /** A peer knows nothing of epochs. */
  isPeer: boolean;
  /** Frames to be sent as blocks. */
  missingFrames: number;
}

/** What the cloud has answered. */
type Answer = Pick<Welcome, "response" | "isPeer">;

/** Longest wait for the answer to a handshake. */
const HANDSHAKE_TIMEOUT_MS = 20_000;
/** Longest wait for streams to end in good order, and for what is still to go out before. */
const GRACE_MS = 1000;
/** What peers' clouds take; they do not tell. */
const PEER_RATE: LiveRate = { rateLimit: 2000, rateBurst: 500 };

/** One connection to the cloud: a handshake, a live stream, perhaps blocks. Made anew for each try. */
export class BoatConnection {
  readonly #options: ConnectionOptions;
  readonly #abort = new AbortController();
  #client: ReplicationClient | undefined;
  #welcome: Welcome | undefined;
  #fromSeq = 0;
  /** Holes that were looked for, so that none is looked for twice. */
  #holes = new Ranges();
  /** Digests of what the cloud has of former epochs, by epoch: each handshake tells them. */
  #proofs: ReadonlyMap<string, WindowDigest> = new Map();
  #live: LiveSender | undefined;
  #backfill: BackfillSender | undefined;
  /** Sends blocks of a former epoch, when those of the current one are out. */
  #formerBackfill: BackfillSender | undefined;
  readonly #running: Promise<void>[] = [];

  constructor(options: ConnectionOptions) {
    this.#options = options;
  }

  /** What the backfill misses. */
  get backfill(): Pick<BackfillSender, "holes" | "missingFrames"> | undefined {
    return this.#backfill;
  }

  /** Number of the first live frame; known after the handshake. */
  get fromSeq(): number {
    return this.#fromSeq;
  }

  /**
   * Connects, and introduces the boat.
   *
   * @throws {RpcError} no connection, no answer, or refused
   */
  async open(security: ClientSecurity): Promise<Welcome> {
    const { target, instanceId, source, missing, former } = this.#options;
    const client = await ReplicationClient.create({ target, instanceId, security });
    if (this.#abort.signal.aborted) client.close();
    this.#client = client;
    const { response, isPeer } = await this.#introduce(client);
    const { liveStartFrom } = response;
    const next = source.head + 1;
    // What is kept no longer can only be told, and a peer may ask for it.
    const wanted = liveStartFrom < 1 || liveStartFrom > next ? next : liveStartFrom;
    this.#fromSeq = Math.min(next, Math.max(wanted, source.oldestSeq));
    this.#holes = new Ranges(response.holes).subtract(missing.all);
    this.#holes.remove(this.#fromSeq, Number.MAX_SAFE_INTEGER);
    return this.#welcome = { response, isPeer, missingFrames: this.#holes.count + former.wantedFrames };
  }

  /** Begins to send frames as they come. */
  startLive(): void {
    const { client, response, isPeer } = this.#opened();
    const { source, devices, clock, events, missing, statusEveryMs } = this.#options;
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
      statusEveryMs,
      clock,
      events: {
        acknowledged: ({ ackSeq }) => {
          events.heard();
          events.holds({ cursor: ackSeq, durable: isPeer ? null : ackSeq });
          events.acknowledged();
        },
        sent: events.sent,
        missing: ({ start, end }) => void missing.note([{ start, end, reason: LOST_UNRECORDED }]),
        // The next handshake makes them holes; a peer's would only ask for them again.
        unread: ({ start, end }) => {
          if (!isPeer) events.failed(new Error(`frames ${start} to ${end - 1} cannot be read`));
        },
      },
    });
    this.#run(() => live.run());
  }

  /** Begins to send blocks for what is missing. */
  startBackfill(): void {
    const { events } = this.#options;
    const { isPeer } = this.#opened();
    const backfill = this.#backfill = this.#newBackfill((continuousThrough, missingFrames) => {
      events.holds({ cursor: continuousThrough, durable: isPeer ? null : 0 });
      if (missingFrames > 0) events.toBackfill(missingFrames);
    });
    this.#run(async () => {
      await this.#fill(backfill);
      await backfill.end();
      await this.#fillFormer();
      events.toBackfill(0);
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
          events.heard();
          answered(continuousThrough, missingFrames);
        },
        sent: events.blockSent,
      },
    });
  }

  /** Ends the stream of blocks in good order. */
  finishBackfill(): void {
    const backfill = this.#backfill;
    if (backfill) this.#run(() => backfill.end());
  }

  /** Ends everything. Resolves within little more than a second; what is not out by then is given up. */
  async close(parting: Parting): Promise<void> {
    if (parting === "finish") this.#live?.finish();
    else this.#live?.stop();
    const closed = new Error("the connection is closed");
    this.#backfill?.stop(closed);
    this.#formerBackfill?.stop(closed);
    if (parting !== "cut") {
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

  /** Sends what is missing, and tells what is not to be had, until the cloud asks for nothing more that is here. */
  async #fill(backfill: BackfillSender): Promise<void> {
    const { archive: journal, epoch, missing, source } = this.#options;
    let holes = this.#holes;
    while (holes.count > 0) {
      using archive = await BoatArchive.open({ journal, epoch, head: source.head, holes });
      const isNews = missing.note(await backfill.run(holes, archive));
      if (backfill.putOff.count > 0) {
        await backfill.rest();
        holes = backfill.putOff;
      } else holes = isNews ? await this.#tellMissing() : new Ranges();
    }
  }

  /** Sends what is missing of former epochs, one after the other, each on a stream of its own. */
  async #fillFormer(): Promise<void> {
    const { archive, former } = this.#options;
    let isNews = false;
    for (const { epoch, head, oldest, holes } of former.wanted()) {
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
      if (former.sent(epoch, { holes: backfill.holes, lost })) isNews = true;
    }
    if (isNews) await this.#shakeHands(this.#opened().client);
  }

  /** Gives the holes that are new. */
  async #tellMissing(): Promise<Ranges> {
    const { client, response } = this.#opened();
    if (!response.features.includes("void")) return new Ranges();
    const { response: answer } = await this.#shakeHands(client);
    const found = new Ranges(answer.holes).subtract(this.#options.missing.all).subtract(this.#holes);
    found.remove(this.#fromSeq, Number.MAX_SAFE_INTEGER);
    this.#holes = this.#holes.union(found);
    return found;
  }

  /** Shakes hands, once more where the cloud has part of a window: it has to see that its frames are this boat's. */
  async #introduce(client: ReplicationClient): Promise<Answer> {
    const { archive, epoch, former, missing, source } = this.#options;
    if (archive) await former.look(archive);
    const sent = archive?.digests ?? [];
    const answer = await this.#shakeHands(client, { digests: sent });
    if (!archive?.digests || !answer.response.features.includes("digest")) return answer;
    const { oldestSeq: oldest = Infinity, index } = archive;
    const held = heldBy(answer.response, missing.all);
    const seqs = toProve(held, { sent, oldest, head: source.head });
    this.#proofs = await former.proofs(archive);
    if (!seqs && this.#proofs.size === 0) return answer;
    const proof = await newestProof(held, { seqs, oldest, index, epoch });
    // Without one, too: it is the cloud that judges who has nothing to show.
    const shown = await this.#shakeHands(client, { digests: proof ? [proof] : [] });
    former.shown(this.#proofs);
    return shown;
  }

  async #shakeHands(
    client: ReplicationClient,
    { digests = [] }: { digests?: readonly WindowDigest[] } = {},
  ): Promise<Answer> {
    const { instanceId, source, archive, epoch, missing, busNames, journalBytes, former, events } = this.#options;
    const formerEpochs = former.told(this.#proofs);
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
    if (response.features.includes("former")) former.answered(response.formerHoles ?? []);
    events.heard();
    const isPeer = service !== SERVICE_NAMES[0];
    events.holds({ cursor: response.cursor, durable: isPeer ? null : response.durableThrough });
    return { response, isPeer };
  }

  #opened(): Welcome & { client: ReplicationClient } {
    if (!this.#client || !this.#welcome) throw new Error("the connection is not open");
    return { ...this.#welcome, client: this.#client };
  }
}

/** What of the features this boat has: some need a journal that knows digests and epochs. */
function featuresWith(archive: ArchivePort | undefined): Feature[] {
  return FEATURES.filter((feature) => {
    return (feature !== "digest" || archive?.digests) && (feature !== "former" || archive?.former);
  });
}

import type { Clock, Logger, Range } from "../../base/mod.ts";
import { formatTimeUs } from "../../frame/mod.ts";
import { epochWordOf } from "../../journal/mod.ts";
import {
  BoatConnection,
  type BoatPorts,
  type CloseMode,
  type ConnectionTarget,
  type HandshakeResult,
} from "./connection.ts";
import { LinkSecurity, type LinkTlsPaths } from "./security.ts";
import { disconnectReason } from "./disconnect_reason.ts";
import { healthOf } from "./link_health.ts";
import type { LinkHealth, ReplicationStatus } from "./status.ts";
import { MissingNumbers, NEVER_USED } from "./missing.ts";
import { FormerEpochs } from "./former.ts";
import { StoredProgress } from "./stored_progress.ts";
import { heldSeqs } from "./proof.ts";
import { isReconnectRequest, loadGrpc, RpcError } from "../grpc/grpc.ts";
import {
  DISCONNECTED,
  linkDeadlineMs,
  type LinkEffect,
  type LinkEvent,
  type LinkLimits,
  type LinkState,
  stepLink,
} from "./link_state.ts";

/** The epoch of the boat. */
export interface LinkNumbers {
  /** 16 bytes that identify it. */
  readonly epoch: Uint8Array<ArrayBuffer>;
  /** Sequence numbers that the last start skipped. */
  readonly skipped: Range | undefined;
  /** Starts a new epoch at sequence number 1, because the cloud has higher sequence numbers of this one. */
  renew(why: string): void;
}

/** Options of {@linkcode BoatLink}. */
export interface BoatLinkOptions extends BoatPorts, ConnectionTarget {
  /** Certificates; absent: none, for a cloud on this machine only. */
  tls?: LinkTlsPaths | undefined;
  numbers: LinkNumbers;
  /** How much the cloud has stored; default: kept in memory only. */
  stored?: StoredProgress | undefined;
  /** Read at each step; may change. */
  limits: () => Readonly<LinkLimits>;
  clock: Clock;
  log: Logger;
  /** Random number from 0 (inclusive) to 1 (exclusive); default `Math.random`. */
  random?: () => number;
  /** Interval of checking the certificate files, milliseconds; default 10 s. */
  certificateCheckMs?: number;
  /** Interval of the boat's statuses, milliseconds; default 5 s. */
  statusEveryMs?: number;
  /** Maximum time between checks of deadlines, milliseconds; default 1 s. */
  tickMs?: number;
}

const CERTIFICATE_CHECK_MS = 10_000;
/** Timers stand still while the machine sleeps, so deadlines are checked in between. */
const TICK_MS = 1000;

/** State of the cloud, for the current epoch. */
interface CloudState {
  cursor: number;
  /** Null: not reported. */
  durable: number | null;
  holes: readonly Range[];
  backfillFrames: number;
  /** Last sequence number sent live; before the first one, the number before it. */
  sentThrough: number;
}

/**
 * Link of a boat to its cloud: sends live frames, and blocks for missing frames, and reconnects after any failure.
 * The state machine is {@linkcode stepLink}.
 */
export class BoatLink {
  readonly #options: BoatLinkOptions;
  readonly #security: LinkSecurity;
  #state: LinkState = DISCONNECTED;
  #connection: BoatConnection | undefined;
  #missing: MissingNumbers = new MissingNumbers();
  readonly #stored: StoredProgress;
  readonly #former: FormerEpochs;
  #cloud: CloudState;
  readonly #closing = new Set<Promise<void>>();
  readonly #counters = { liveFrames: 0, blocks: 0, blockBytes: 0, connects: 0, lagReconnects: 0 };
  #timer: ReturnType<typeof setTimeout> | undefined;
  #checking: ReturnType<typeof setInterval> | undefined;
  #lastAckUs: number | undefined;
  /** Reason of the last disconnection, logged once. */
  #reason: string | undefined;
  #nextTryUs = 0;
  /** Epochs started since the last accepted handshake. */
  #renewals = 0;
  /** Highest sequence number that the cloud can have from this boat; higher ones are from another machine. */
  #ownThrough: number;

  constructor(options: BoatLinkOptions) {
    this.#options = options;
    this.#security = new LinkSecurity(options.tls, options);
    const stored = this.#stored = options.stored ?? StoredProgress.inMemory(options);
    this.#former = new FormerEpochs({ lostOf: (epochWord) => stored.lostOf(epochWord) });
    this.#cloud = this.#newEpochState();
    this.#ownThrough = options.source.head;
  }

  /** Loads the gRPC library. This blocks the event loop for a tenth of a second: call it before frames arrive. */
  static async prepare(): Promise<void> {
    await loadGrpc();
  }

  /** Connects, and stays connected from now on. */
  start(): void {
    if (this.#checking === undefined) this.#ownThrough = this.#options.source.head;
    this.#checking ??= setInterval(
      () => void this.#checkCertificates(),
      this.#options.certificateCheckMs ?? CERTIFICATE_CHECK_MS,
    );
    this.#step({ kind: "start" });
  }

  /** Sends present frames and ends the streams regularly. Resolves within little more than a second. */
  async stop(): Promise<void> {
    clearInterval(this.#checking);
    this.#checking = undefined;
    this.#step({ kind: "stop" }, "finish");
    clearTimeout(this.#timer);
    await Promise.all(this.#closing);
  }

  /**
   * Reconnects, because a new epoch has started.
   *
   * @param formerHead last sequence number of the previous epoch
   */
  newEpoch(formerHead: number): void {
    this.#logUnsent(formerHead);
    this.#missing = new MissingNumbers();
    this.#cloud = this.#newEpochState();
    this.#ownThrough = this.#options.source.head;
    this.#reconnect();
  }

  /** Current status. */
  status(): ReplicationStatus {
    const { phase } = this.#state;
    const { instanceId, source } = this.#options;
    const { cursor, durable, holes, backfillFrames, sentThrough } = this.#cloud;
    const { liveFrames, blocks, blockBytes, connects, lagReconnects } = this.#counters;
    const isConnected = phase.kind === "connected";
    return {
      connected: isConnected,
      instance_id: instanceId,
      local_head_seq: source.head,
      cloud_cursor: cursor,
      holes: this.#connection?.holes ?? holes,
      live_lag: Math.max(0, source.head - sentThrough),
      backfill_remaining_seqs: this.#connection?.backfill?.missingFrames ?? backfillFrames,
      last_ack: this.#lastAckUs === undefined ? null : formatTimeUs(this.#lastAckUs),
      state: phase.kind,
      ...(!isConnected && this.#reason !== undefined && { reason: this.#reason }),
      ...(phase.kind === "reconnecting" && { next_try: formatTimeUs(this.#nextTryUs) }),
      cloud_durable_seq: durable,
      cloud_stored_seq: this.#stored.reported(this.#epochWord) ?? null,
      lost: this.#missing.lostWith(this.#connection?.backfill?.lost),
      former_epochs: this.#former.status(),
      live_frames_sent: liveFrames,
      backfill_blocks_sent: blocks,
      backfill_bytes_sent: blockBytes,
      reconnects: Math.max(0, connects - 1),
      lag_reconnects: lagReconnects,
    };
  }

  /** Number of frames that the cloud will never receive. */
  get lostFrames(): number {
    return this.#missing.lostFrames;
  }

  /** Time of the last acknowledgement, microseconds since 1970. */
  get lastAckUs(): number | undefined {
    return this.#lastAckUs;
  }

  /** Highest sequence number that the cloud has received live on this connection; 0: none. */
  get receivedThrough(): number {
    return this.#connection?.receivedThrough ?? 0;
  }

  /** End and health of the boat's certificate. */
  get certificate(): Pick<LinkSecurity, "endMs" | "health"> {
    return this.#security;
  }

  /** Current health. */
  health(): LinkHealth {
    const [{ phase }, { fault }] = [this.#state, this.#security];
    return healthOf({
      ...{ phase, fault, reason: this.#reason },
      ...{ isFirst: this.#counters.connects === 0, nextTryUs: this.#nextTryUs },
      ...{ refused: this.#former.refused, lostFrames: this.#stored.lostFrames },
      nowMs: this.#options.clock.monoMs(),
    });
  }

  /** Logs frames that stay on the boat: without support of the journal, those of an earlier epoch are not sent. */
  #logUnsent(head: number): void {
    const { log, target, archive } = this.#options;
    if (archive?.former) return;
    const { cloud_durable_seq: acknowledged, backfill_remaining_seqs: missing } = this.status();
    if ((acknowledged ?? 0) >= head) return;
    const figures = { head, acknowledged: acknowledged ?? undefined, sentThrough: this.#cloud.sentThrough, missing };
    log.warn("unsent frames of the previous epoch stay on this boat", { target, ...figures });
  }

  #newEpochState(): CloudState {
    const { skipped } = this.#options.numbers;
    if (skipped) this.#missing.add([{ ...skipped, reason: NEVER_USED }]);
    return { cursor: 0, durable: null, holes: [], backfillFrames: 0, sentThrough: this.#options.source.head };
  }

  /** @param mode how to close a connection that this event ends */
  #step(event: LinkEvent, mode: CloseMode = "cut"): void {
    const { clock, limits, random = Math.random } = this.#options;
    const before = this.#state;
    const { state, effects } = stepLink(before, event, { nowMs: clock.monoMs(), random: random(), limits: limits() });
    this.#state = state;
    if (state.lagReconnectedMs !== before.lagReconnectedMs) this.#counters.lagReconnects++;
    const { phase } = state;
    if (phase.kind === "reconnecting" && before.phase.kind !== phase.kind) this.#logDisconnected(phase, before.phase);
    for (const effect of effects) this.#execute(effect, mode);
    this.#setTimer();
  }

  #execute(effect: LinkEffect, mode: CloseMode): void {
    switch (effect.kind) {
      case "connect":
        return void this.#connect();
      case "start_live":
        return this.#connection?.startLive();
      case "start_backfill":
        return this.#connection?.startBackfill();
      case "finish_backfill":
        return this.#connection?.finishBackfill();
      case "close":
        return this.#close(mode);
    }
  }

  #close(mode: CloseMode): void {
    const connection = this.#connection;
    if (!connection) return;
    const { backfill, holes } = connection;
    if (holes) this.#cloud = { ...this.#cloud, holes, backfillFrames: backfill?.missingFrames ?? 0 };
    if (connection.fromSeq > 0) this.#ownThrough = this.#options.source.head;
    this.#connection = undefined;
    const closing = connection.close(mode).finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
  }

  /** Sets the timer for the next deadline. */
  #setTimer(): void {
    const deadlineMs = linkDeadlineMs(this.#state);
    if (deadlineMs === undefined || this.#timer !== undefined) return;
    const waitMs = Math.max(1, deadlineMs - this.#options.clock.monoMs());
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#step({ kind: "tick" });
    }, Math.min(waitMs, this.#options.tickMs ?? TICK_MS));
  }

  async #connect(): Promise<void> {
    const connection = this.#connection = this.#newConnection();
    try {
      const result = await connection.open(await this.#security.read());
      if (connection === this.#connection) this.#accepted(connection, result);
    } catch (error) {
      if (connection === this.#connection && this.#mustRenew(error)) this.#options.numbers.renew(error.message);
      else this.#failed(connection, error);
    }
  }

  /** The cloud has frames of another machine, which is disconnected, under these sequence numbers. */
  #mustRenew(error: unknown): error is RpcError {
    if (!(error instanceof RpcError) || error.code !== "ALREADY_EXISTS" || this.#renewals > 0) return false;
    this.#renewals++;
    return true;
  }

  get #epochWord(): number {
    return epochWordOf(this.#options.numbers.epoch);
  }

  #newConnection(): BoatConnection {
    const { numbers, source } = this.#options;
    this.#missing.add(this.#stored.declareLost(this.#epochWord));
    const ifCurrent = (work: () => void) => {
      if (connection === this.#connection) work();
    };
    const connection = new BoatConnection({
      ...this.#options,
      epoch: numbers.epoch,
      missing: this.#missing,
      former: this.#former,
      events: {
        received: () => ifCurrent(() => this.#step({ kind: "received" })),
        progressed: ({ cursor, durable }) =>
          ifCurrent(() => {
            this.#cloud.cursor = Math.max(this.#cloud.cursor, cursor);
            this.#cloud.durable = durable === null ? null : Math.max(this.#cloud.durable ?? 0, durable);
          }),
        acknowledged: (status) =>
          ifCurrent(() => {
            this.#lastAckUs = this.#options.clock.wallUs();
            this.#stored.noteStatus(this.#epochWord, status);
          }),
        sent: (frames, cursor) =>
          ifCurrent(() => {
            this.#counters.liveFrames += frames;
            this.#cloud.sentThrough = cursor;
            this.#step({ kind: "sent", frames, headSeq: source.head, cursor }, "end");
          }),
        blockSent: (bytes) => {
          this.#counters.blocks++;
          this.#counters.blockBytes += bytes;
        },
        lost: (found) => this.#stored.noteDeclared(this.#epochWord, found),
        formerFilled: () => ifCurrent(() => this.#stored.noteFormer(this.#epochWord, this.#former.progress)),
        backfillRemaining: (frames) => ifCurrent(() => this.#step({ kind: "missing", frames })),
        failed: (error) => this.#failed(connection, error),
      },
    });
    return connection;
  }

  #accepted(connection: BoatConnection, { response, isPeer, missingFrames }: HandshakeResult): void {
    const { numbers, log, target } = this.#options;
    const { cursor, features } = response;
    const highest = heldSeqs(response, this.#missing.all).last ?? 0;
    // Other software knows one epoch only; a cloud with digests has checked them.
    if (!isPeer && !features.includes("digest") && highest > this.#ownThrough) {
      if (this.#renewals > 0) {
        throw new Error(`the cloud has sequence number ${highest} of an epoch that has just started`);
      }
      this.#renewals++;
      numbers.renew(this.#whyRenewed(highest));
      return;
    }
    this.#renewals = 0;
    this.#counters.connects++;
    // May be less than it had: a cloud may lose frames.
    const durable = isPeer ? null : response.durableThrough;
    this.#cloud = { cursor, durable, holes: [], backfillFrames: 0, sentThrough: connection.fromSeq - 1 };
    this.#stored.noteHandshake(this.#epochWord, { response, isPeer });
    this.#stored.noteFormer(this.#epochWord, this.#former.progress);
    log.info("replication connected", { target, cursor, missing: missingFrames, features: features.join(" ") });
    this.#step({ kind: "accepted", missingFrames, hasQuietStatus: features.includes("quiet-status") });
  }

  /** Log text: an old image of this boat was restored, or another machine has its identity. */
  #whyRenewed(highest: number): string {
    const unsent = this.#options.source.head - this.#ownThrough;
    const kept = unsent === 0 ? "" : `; ${unsent} later frames stay on this boat`;
    return `the cloud has sequence number ${highest} of this epoch, this boat has sent up to ${this.#ownThrough}${kept}`;
  }

  #failed(connection: BoatConnection, error: unknown): void {
    if (connection !== this.#connection) return;
    this.#step({ kind: "lost", reason: disconnectReason(error), isRequested: isReconnectRequest(error) });
  }

  #logDisconnected({ atMs, reason }: { atMs: number; reason: string }, before: { kind: string }): void {
    const [{ clock, log, target }, { failures }] = [this.#options, this.#state];
    this.#nextTryUs = clock.wallUs() + Math.round((atMs - clock.monoMs()) * 1000);
    // A node that drains may refuse the boat several times, which are no failures.
    const isFirst = failures === 1 || failures === 0 && before.kind === "connected";
    if (reason !== this.#reason || isFirst) log.warn("replication disconnected", { target, reason });
    this.#reason = reason;
  }

  /** Checks the certificate files, and reconnects with new ones. */
  async #checkCertificates(): Promise<void> {
    if (!await this.#security.check() || this.#checking === undefined) return;
    this.#options.log.info("replication certificates replaced");
    this.#reconnect();
  }

  /** Closes the connection regularly, and opens another one immediately. */
  #reconnect(): void {
    if (this.#checking === undefined) return;
    this.#step({ kind: "stop" }, "end");
    this.#step({ kind: "start" });
  }
}

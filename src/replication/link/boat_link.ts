import { type Clock, errorText, type Logger, type Range } from "../../base/mod.ts";
import { formatTimeUs } from "../../frame/mod.ts";
import { BoatConnection, type BoatPorts, type ConnectionTarget, type Parting, type Welcome } from "./connection.ts";
import { LinkSecurity, type LinkTlsPaths } from "./security.ts";
import type { LinkHealth, ReplicationStatus } from "./status.ts";
import { MissingNumbers, NEVER_USED } from "./missing.ts";
import { FormerEpochs } from "./former.ts";
import { heldBy } from "./proof.ts";
import { loadGrpc, RpcError } from "../grpc/grpc.ts";
import {
  DISCONNECTED,
  linkDeadlineMs,
  type LinkEffect,
  type LinkEvent,
  type LinkLimits,
  type LinkState,
  stepLink,
} from "./link_state.ts";

/** The run of numbers that a boat counts in. */
export interface LinkNumbers {
  /** 16 bytes that name it. */
  readonly epoch: Uint8Array<ArrayBuffer>;
  /** Numbers of this epoch that the last start has skipped. */
  readonly skipped: Range | undefined;
  /** Begins another run at 1, because somebody has seen higher numbers of this one. */
  renew(why: string): void;
}

/** How a boat is linked to its cloud. */
export interface BoatLinkOptions extends BoatPorts, ConnectionTarget {
  /** Certificates; left out: none, which only this machine's own cloud takes. */
  tls?: LinkTlsPaths | undefined;
  numbers: LinkNumbers;
  /** May change while running. */
  limits: () => Readonly<LinkLimits>;
  clock: Clock;
  log: Logger;
  /** From 0 up to but without 1; default the machine's. */
  random?: () => number;
  /** How often it is looked whether certificates have changed, milliseconds; default 10 s. */
  lookEveryMs?: number;
  /** How often the boat says how far it is, milliseconds; default 5 s. */
  statusEveryMs?: number;
  /** Deadlines are looked at again after so long at the latest, milliseconds; default 1 s. */
  tickEveryMs?: number;
}

const LOOK_EVERY_MS = 10_000;
/** Clocks of timers stand still while a machine sleeps. */
const TICK_EVERY_MS = 1000;

/** A first try that takes no longer than this is no reason for an alert, milliseconds. */
const FIRST_TRY_MS = 5000;

/** What is known of the cloud, in this run of numbers. */
interface Known {
  cursor: number;
  /** Null: the cloud has not said. */
  durable: number | null;
  holes: readonly Range[];
  backfillFrames: number;
  /** Last number that was sent live, or was not to be. */
  sentThrough: number;
}

/**
 * A boat's link to its cloud: shakes hands, sends frames live and blocks for what is missing, and comes back whatever
 * happens. What it does when is {@linkcode stepLink}'s to say.
 */
export class BoatLink {
  readonly #options: BoatLinkOptions;
  readonly #security: LinkSecurity;
  #state: LinkState = DISCONNECTED;
  #connection: BoatConnection | undefined;
  #missing: MissingNumbers;
  readonly #former = new FormerEpochs();
  #known: Known;
  readonly #closing = new Set<Promise<void>>();
  readonly #counters = { liveFrames: 0, blocks: 0, blockBytes: 0, connects: 0, lagReconnects: 0 };
  #timer: ReturnType<typeof setTimeout> | undefined;
  #looking: ReturnType<typeof setInterval> | undefined;
  #lastAckUs: number | undefined;
  /** Why the link is down, or was when it was last; told once. */
  #reason: string | undefined;
  #nextTryUs = 0;
  /** Epochs begun without a handshake that was accepted since. */
  #renewals = 0;
  /** What the cloud has of this run can come from here up to this number; higher ones are somebody else's. */
  #ownThrough: number;

  constructor(options: BoatLinkOptions) {
    this.#options = options;
    this.#security = new LinkSecurity(options.tls, options);
    this.#missing = new MissingNumbers();
    this.#known = this.#newRun();
    this.#ownThrough = options.source.head;
  }

  /** Loads what connections need. That holds everything else up for a tenth of a second: to be done before frames come. */
  static async prepare(): Promise<void> {
    await loadGrpc();
  }

  /** Connects, and keeps connected from now on. */
  start(): void {
    if (this.#looking === undefined) this.#ownThrough = this.#options.source.head;
    this.#looking ??= setInterval(() => void this.#look(), this.#options.lookEveryMs ?? LOOK_EVERY_MS);
    this.#on({ kind: "start" });
  }

  /** Sends the frames that are there now, and ends streams in good order. Resolves within little more than a second. */
  async stop(): Promise<void> {
    clearInterval(this.#looking);
    this.#looking = undefined;
    this.#on({ kind: "stop" }, "finish");
    clearTimeout(this.#timer);
    await Promise.all(this.#closing);
  }

  /**
   * Numbers begin again in another run: the cloud gets to know at once.
   *
   * @param formerHead the last number of the run that has ended
   */
  newEpoch(formerHead: number): void {
    this.#tellLeft(formerHead);
    this.#missing = new MissingNumbers();
    this.#known = this.#newRun();
    this.#ownThrough = this.#options.source.head;
    this.#reconnect();
  }

  /** How it does. */
  status(): ReplicationStatus {
    const { phase } = this.#state;
    const { instanceId, source } = this.#options;
    const { cursor, durable, holes, backfillFrames, sentThrough } = this.#known;
    const { liveFrames, blocks, blockBytes, connects, lagReconnects } = this.#counters;
    const isConnected = phase.kind === "connected";
    return {
      connected: isConnected,
      instance_id: instanceId,
      local_head_seq: source.head,
      cloud_cursor: cursor,
      holes: this.#connection?.backfill?.holes ?? holes,
      live_lag: Math.max(0, source.head - sentThrough),
      backfill_remaining_seqs: this.#connection?.backfill?.missingFrames ?? backfillFrames,
      last_ack: this.#lastAckUs === undefined ? null : formatTimeUs(this.#lastAckUs),
      state: phase.kind,
      ...(!isConnected && this.#reason !== undefined && { reason: this.#reason }),
      ...(phase.kind === "reconnecting" && { next_try: formatTimeUs(this.#nextTryUs) }),
      cloud_durable_seq: durable,
      lost: this.#missing.lost,
      former_epochs: this.#former.status(),
      live_frames_sent: liveFrames,
      backfill_blocks_sent: blocks,
      backfill_bytes_sent: blockBytes,
      reconnects: Math.max(0, connects - 1),
      lag_reconnects: lagReconnects,
    };
  }

  /** Frames that the cloud will never get. */
  get lostFrames(): number {
    return this.#missing.lostFrames;
  }

  /** When the cloud acknowledged last, microseconds since 1970. */
  get lastAckUs(): number | undefined {
    return this.#lastAckUs;
  }

  /** Our certificate: when it ends, and how it does. */
  get certificate(): Pick<LinkSecurity, "endMs" | "health"> {
    return this.#security;
  }

  /** Degraded while there is no connection, or certificates cannot be used; a first try gets its time. */
  health(): LinkHealth {
    const { phase } = this.#state;
    const { fault } = this.#security;
    const why = this.#reason === undefined ? "" : `: ${this.#reason}`;
    switch (phase.kind) {
      case "connected":
        if (fault !== undefined) return { status: "degraded", message: `${fault}; the old ones stay` };
        return healthOf(this.#former.refused);
      case "reconnecting":
        return { status: "degraded", message: `disconnected${why}; next try ${formatTimeUs(this.#nextTryUs)}` };
      case "handshaking": {
        const sinceMs = this.#options.clock.monoMs() - phase.sinceMs;
        const isFirst = this.#reason === undefined && fault === undefined && this.#counters.connects === 0;
        if (isFirst && sinceMs < FIRST_TRY_MS) return { status: "ok" };
        return { status: "degraded", message: `connecting${why && ` again${why}`}` };
      }
      case "disconnected":
        return { status: "degraded", message: "stopped" };
    }
  }

  /** Without a journal that knows former epochs, frames of one that has ended are not sent any more. */
  #tellLeft(head: number): void {
    const { log, target, archive } = this.#options;
    if (archive?.former) return;
    const { cloud_durable_seq: acknowledged, backfill_remaining_seqs: missing } = this.status();
    if ((acknowledged ?? 0) >= head) return;
    const figures = { head, acknowledged: acknowledged ?? undefined, sentThrough: this.#known.sentThrough, missing };
    log.warn("numbers begin again: what the cloud lacks of the former ones stays on this boat", { target, ...figures });
  }

  #newRun(): Known {
    const { skipped } = this.#options.numbers;
    if (skipped) this.#missing.note([{ ...skipped, reason: NEVER_USED }]);
    return { cursor: 0, durable: null, holes: [], backfillFrames: 0, sentThrough: this.#options.source.head };
  }

  /** @param parting how a connection ends that this puts an end to */
  #on(event: LinkEvent, parting: Parting = "cut"): void {
    const { clock, limits, random = Math.random } = this.#options;
    const before = this.#state;
    const { state, effects } = stepLink(before, event, { nowMs: clock.monoMs(), random: random(), limits: limits() });
    this.#state = state;
    if (state.lagReconnectedMs !== before.lagReconnectedMs) this.#counters.lagReconnects++;
    if (state.phase.kind === "reconnecting" && before.phase.kind !== "reconnecting") this.#tellLost(state.phase);
    for (const effect of effects) this.#do(effect, parting);
    this.#arm();
  }

  #do(effect: LinkEffect, parting: Parting): void {
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
        return this.#close(parting);
    }
  }

  #close(parting: Parting): void {
    const connection = this.#connection;
    if (!connection) return;
    this.#keepHoles(connection);
    if (connection.fromSeq > 0) this.#ownThrough = this.#options.source.head;
    this.#connection = undefined;
    const closing = connection.close(parting).finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
  }

  /** What the backfill of a connection that goes misses. */
  #keepHoles({ backfill }: BoatConnection): void {
    if (backfill) this.#known = { ...this.#known, holes: backfill.holes, backfillFrames: backfill.missingFrames };
  }

  /** Looks at the deadline when it is there. */
  #arm(): void {
    const deadlineMs = linkDeadlineMs(this.#state);
    if (deadlineMs === undefined || this.#timer !== undefined) return;
    const waitMs = Math.max(1, deadlineMs - this.#options.clock.monoMs());
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#on({ kind: "tick" });
    }, Math.min(waitMs, this.#options.tickEveryMs ?? TICK_EVERY_MS));
  }

  async #connect(): Promise<void> {
    const connection = this.#connection = this.#newConnection();
    try {
      const welcome = await connection.open(await this.#security.read());
      if (connection === this.#connection) this.#welcomed(connection, welcome);
    } catch (error) {
      if (connection === this.#connection && this.#isToRenew(error)) this.#options.numbers.renew(error.message);
      else this.#failed(connection, error);
    }
  }

  /** The cloud has other frames under these numbers, of a machine that is gone. */
  #isToRenew(error: unknown): error is RpcError {
    if (!(error instanceof RpcError) || error.code !== "ALREADY_EXISTS" || this.#renewals > 0) return false;
    this.#renewals++;
    return true;
  }

  #newConnection(): BoatConnection {
    const { numbers, source } = this.#options;
    const ours = (work: () => void) => {
      if (connection === this.#connection) work();
    };
    const connection = new BoatConnection({
      ...this.#options,
      epoch: numbers.epoch,
      missing: this.#missing,
      former: this.#former,
      events: {
        heard: () => ours(() => this.#on({ kind: "heard" })),
        holds: ({ cursor, durable }) =>
          ours(() => {
            this.#known.cursor = Math.max(this.#known.cursor, cursor);
            this.#known.durable = durable === null ? null : Math.max(this.#known.durable ?? 0, durable);
          }),
        acknowledged: () => ours(() => this.#lastAckUs = this.#options.clock.wallUs()),
        sent: (frames, cursor) =>
          ours(() => {
            this.#counters.liveFrames += frames;
            this.#known.sentThrough = cursor;
            this.#on({ kind: "sent", frames, headSeq: source.head, cursor }, "end");
          }),
        blockSent: (bytes) => {
          this.#counters.blocks++;
          this.#counters.blockBytes += bytes;
        },
        toBackfill: (frames) => ours(() => this.#on({ kind: "missing", frames })),
        failed: (error) => this.#failed(connection, error),
      },
    });
    return connection;
  }

  #welcomed(connection: BoatConnection, { response, isPeer, missingFrames }: Welcome): void {
    const { numbers, log, target } = this.#options;
    const { cursor, features } = response;
    const highest = heldBy(response, this.#missing.all).last ?? 0;
    // A peer counts in one run for ever, whatever the boat says; a cloud that knows digests has judged.
    if (!isPeer && !features.includes("digest") && highest > this.#ownThrough) {
      if (this.#renewals > 0) throw new Error(`the cloud has ${highest} in a run of numbers that was just begun`);
      this.#renewals++;
      numbers.renew(this.#whyRenewed(highest));
      return;
    }
    this.#renewals = 0;
    this.#counters.connects++;
    this.#known = { ...this.#known, holes: [], backfillFrames: 0, sentThrough: connection.fromSeq - 1 };
    log.info("replication connected", { target, cursor, missing: missingFrames, features: features.join(" ") });
    this.#on({ kind: "welcomed", missingFrames, speaksWhenQuiet: features.includes("quiet-status") });
  }

  /** An old image of this boat was restored, or another machine has its identity. */
  #whyRenewed(highest: number): string {
    const unsent = this.#options.source.head - this.#ownThrough;
    const kept = unsent === 0 ? "" : `; the ${unsent} frames since then stay on the boat alone`;
    return `the cloud has ${highest} of this run, and from here it can have ${this.#ownThrough}${kept}`;
  }

  #failed(connection: BoatConnection, error: unknown): void {
    if (connection !== this.#connection) return;
    const reason = error instanceof RpcError ? `${error.code}: ${error.message}` : errorText(error);
    this.#on({ kind: "lost", reason });
  }

  #tellLost({ atMs, reason }: { atMs: number; reason: string }): void {
    const { clock, log, target } = this.#options;
    this.#nextTryUs = clock.wallUs() + Math.round((atMs - clock.monoMs()) * 1000);
    const isNews = reason !== this.#reason || this.#state.failures <= 1;
    this.#reason = reason;
    if (isNews) log.warn("replication disconnected", { target, reason });
  }

  /** Looks whether there are other certificates. */
  async #look(): Promise<void> {
    if (!await this.#security.check() || this.#looking === undefined) return;
    this.#options.log.info("replication certificates replaced");
    this.#reconnect();
  }

  /** Ends the connection in good order, and makes another one at once. */
  #reconnect(): void {
    if (this.#looking === undefined) return;
    this.#on({ kind: "stop" }, "end");
    this.#on({ kind: "start" });
  }
}

/** What the cloud takes none of stays on this boat, and somebody has to know. */
function healthOf(refused: FormerEpochs["refused"]): LinkHealth {
  if (!refused) return { status: "ok" };
  const { frames, reason } = refused;
  return { status: "degraded", message: `the cloud takes none of ${frames} frames of former epochs: ${reason}` };
}

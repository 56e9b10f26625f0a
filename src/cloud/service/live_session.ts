import { type Clock, errorText, turn } from "../../base/mod.ts";
import {
  type BoatStatus,
  type Caller,
  type LiveFrame,
  type LiveStatus,
  type LiveUpstream,
  type MessageStream,
  type Range,
  RpcError,
  SERVICE_NAMES,
} from "../../replication/mod.ts";
import { StreamEvents } from "../state/diagnostic_events.ts";
import type { Instance } from "../instance/instance.ts";
import type { InstanceSession } from "../instance/sessions.ts";
import type { InstanceSettings } from "../instance/settings.ts";

/** What a stream of live frames is served with. */
export interface LiveSessionOptions {
  instance: Instance;
  stream: MessageStream<LiveUpstream, LiveStatus>;
  caller: Caller;
  settings: () => InstanceSettings;
  clock: Clock;
}

/**
 * A boat hears so often what has come, quiet or not. It is looked at once a second, so every four: what a boat sends just
 * after it has heard, and the disk takes a second later, is acknowledged within six.
 */
const STATUS_EVERY_MS = 3500;
/** It hears sooner when so much more is on disk. */
const STATUS_EVERY_FRAMES = 10_000;
/** Frames between two checkpoints. */
const CHECKPOINT_FRAMES = 50_000;
/** Frames that introduce devices, beside the rate: two of each address on every bus. */
const INTRODUCTIONS = 2 * 4 * 254;
/** Frames that are taken before others get their turn. */
const FRAMES_A_TURN = 4096;

/** One stream of live frames, from its first message to its end. */
export class LiveSession implements InstanceSession {
  readonly caller: Caller;
  readonly #options: LiveSessionOptions;
  /** What came before is caught up: the boat's head at the handshake, or told before the first frame. */
  #headAtStart: number;
  #ended: RpcError | undefined;
  #frames = 0;
  #checkpointAt = CHECKPOINT_FRAMES;
  #introductions = 0;
  #sinceTurn = 0;
  #lastStatus: LiveStatus = { ackSeq: 0, receivedThrough: 0 };
  #lastStatusMs = -Infinity;
  #isSending = false;
  readonly #events: StreamEvents;

  constructor(options: LiveSessionOptions) {
    this.#options = options;
    this.caller = options.caller;
    this.#events = new StreamEvents("live", options.instance.note);
    this.#headAtStart = options.instance.record.headSeq;
  }

  /** See {@linkcode InstanceSession}. */
  get connection(): string {
    return this.caller.address;
  }

  /** Ends it; of what it brings nothing counts any more. */
  end(error: RpcError): void {
    this.#ended ??= error;
    this.#noteStop(errorText(error));
    this.#options.stream.fail(error);
  }

  /** See {@linkcode InstanceSession}. */
  started(): void {
    const { instance: { record, received } } = this.#options;
    this.#events.start(`boat at ${record.headSeq}, cursor ${received.cursor}`);
  }

  /**
   * Takes what comes until the boat ends the stream.
   *
   * @throws {RpcError} why it was ended otherwise
   */
  async run(): Promise<void> {
    const { instance, stream } = this.#options;
    await instance.enterLive(this);
    let reason = "the boat ended the stream";
    try {
      this.tick();
      for await (const message of stream) {
        this.#requireGoingOn();
        instance.heard();
        this.#takeMessage(message);
        if (this.#sinceTurn >= FRAMES_A_TURN) await this.#giveTurn();
      }
    } catch (error) {
      reason = errorText(this.#ended ?? error);
      throw this.#ended ?? error;
    } finally {
      this.#noteStop(reason);
      instance.leave(this);
    }
  }

  /** Tells the boat what has come and what is on disk, where it is time to. Once a second. */
  tick(): void {
    const { instance, stream, clock } = this.#options;
    if (this.#ended) return;
    const hole = this.#isPeer ? instance.record.peerHoleDue(clock.monoMs()) : undefined;
    if (hole) return this.end(askAgain(hole));
    if (this.#isSending) return;
    const status = { ackSeq: instance.acknowledge(), receivedThrough: instance.record.receivedThrough };
    const nowMs = clock.monoMs();
    const isDue = nowMs - this.#lastStatusMs >= STATUS_EVERY_MS;
    const isMuch = status.ackSeq - this.#lastStatus.ackSeq >= STATUS_EVERY_FRAMES;
    if (!isDue && (!isMuch || this.#isPeer)) return;
    this.#lastStatus = status;
    this.#lastStatusMs = nowMs;
    this.#isSending = true;
    // Why it cannot be sent, reading tells, too.
    stream.send(status).catch(() => {}).finally(() => this.#isSending = false);
  }

  #noteStop(reason: string): void {
    this.#events.stop(`${this.#frames} frames: ${reason}`);
  }

  /** Peers' boats are used to one status every five seconds. */
  get #isPeer(): boolean {
    return this.caller.service !== SERVICE_NAMES[0];
  }

  #requireGoingOn(): void {
    if (this.#ended) throw this.#ended;
  }

  #takeMessage(message: LiveUpstream): void {
    switch (message.kind) {
      case "frame":
        return this.#takeFrames([message.frame]);
      case "batch":
        return this.#takeFrames(message.frames);
      case "status":
        return this.#takeStatus(message.status);
      case "unknown":
    }
  }

  #takeFrames(frames: readonly LiveFrame[]): void {
    const { instance, settings } = this.#options;
    const { record: { counters } } = instance;
    if (!instance.rate.take(this.#counted(frames))) {
      counters.rateLimited++;
      throw new RpcError("RESOURCE_EXHAUSTED", `live frame rate exceeded (${settings().rateLimit}/s max)`);
    }
    for (const frame of frames) {
      instance.take(frame);
      if (frame.seq > 0) this.#frames++;
    }
    this.#sinceTurn += frames.length;
    if (this.#frames < this.#checkpointAt) return;
    this.#checkpointAt = this.#frames - this.#frames % CHECKPOINT_FRAMES + CHECKPOINT_FRAMES;
    const { received, record: { headSeq, receivedThrough } } = instance;
    const head = Math.max(headSeq, receivedThrough);
    instance.note("checkpoint", `${this.#frames} frames, cursor ${received.cursor}, boat at ${head}`);
  }

  /** How many of the frames count for the rate. */
  #counted(frames: readonly LiveFrame[]): number {
    let [counted, late] = [0, 0];
    for (const { seq } of frames) {
      if (seq === 0 && this.#introductions < INTRODUCTIONS) this.#introductions++;
      else if (seq > 0 && seq <= this.#headAtStart) late++;
      else counted++;
    }
    return late === 0 || this.#options.instance.rate.catchUp(late) ? counted : counted + late;
  }

  #takeStatus(status: BoatStatus): void {
    const { instance, settings } = this.#options;
    const { record } = instance;
    record.told(status);
    if (this.#frames === 0) this.#headAtStart = Math.max(this.#headAtStart, status.headSeq);
    const { maxLiveLagFrames } = settings();
    const lag = status.headSeq - record.receivedThrough;
    // Before the first frame there is nothing to compare with.
    if (this.#frames === 0 || maxLiveLagFrames === 0 || lag <= maxLiveLagFrames) return;
    record.counters.lagClosed++;
    throw new RpcError("RESOURCE_EXHAUSTED", `live lag ${lag} exceeds threshold ${maxLiveLagFrames}`);
  }

  async #giveTurn(): Promise<void> {
    this.#sinceTurn = 0;
    await turn();
  }
}

function askAgain({ start, end }: Range): RpcError {
  return new RpcError("UNAVAILABLE", `frames ${start} to ${end - 1} are missing, and written by now: connect again`);
}

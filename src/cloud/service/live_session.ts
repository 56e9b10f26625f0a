import { type Clock, errorText, type Logger, turn } from "../../base/mod.ts";
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

/** Options of a session that reads `Up` and sends `Down`. */
export interface SessionOptions<Up, Down> {
  instance: Instance;
  stream: MessageStream<Up, Down>;
  caller: Caller;
  settings: () => InstanceSettings;
  clock: Clock;
  log: Logger;
}

/**
 * Minimum interval between statuses. It is checked once a second, so a status is sent every three: a frame that is collected
 * for a second, arrives just after a status and is synced a second later is acknowledged within six.
 */
const STATUS_EVERY_MS = 2500;
/** A status is sent sooner when this many further frames are durable. */
const STATUS_EVERY_FRAMES = 10_000;
/** Frames between two checkpoints. */
const CHECKPOINT_FRAMES = 50_000;
/** Frames that introduce devices and do not count for the rate: two for each address on every bus. */
const INTRODUCTIONS = 2 * 4 * 254;
/** Frames received before the event loop serves others. */
const FRAMES_PER_TURN = 4096;

/** Serves one live stream. */
export class LiveSession implements InstanceSession {
  readonly caller: Caller;
  readonly #options: SessionOptions<LiveUpstream, LiveStatus>;
  /** The boat's head at the handshake, or in a status before the first frame: frames up to it are late ones. */
  #headAtStart: number;
  #ended: RpcError | undefined;
  #frames = 0;
  #checkpointAt = CHECKPOINT_FRAMES;
  #introductions = 0;
  #sinceTurn = 0;
  #lastStatus: LiveStatus = { ackSeq: 0, receivedThrough: 0, collectMs: 0 };
  #lastStatusMs = -Infinity;
  #isSending = false;
  readonly #events: StreamEvents;

  constructor(options: SessionOptions<LiveUpstream, LiveStatus>) {
    this.#options = options;
    this.caller = options.caller;
    this.#events = new StreamEvents("live", options.instance.note);
    this.#headAtStart = options.instance.record.headSeq;
  }

  /** See {@linkcode InstanceSession}. */
  get connection(): string {
    return this.caller.connection;
  }

  /** Ends the stream; frames that arrive later are ignored. */
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
   * Receives frames until the boat ends the stream.
   *
   * @throws {RpcError} why the cloud has ended it
   */
  async run(): Promise<void> {
    const { instance, stream } = this.#options;
    await instance.enterLive(this);
    let reason = "the boat ended the stream";
    try {
      this.tick();
      for await (const message of stream) {
        if (this.#ended) throw this.#ended;
        instance.noteActivity();
        this.#receive(message);
        if (this.#sinceTurn < FRAMES_PER_TURN) continue;
        this.#sinceTurn = 0;
        await turn();
      }
    } catch (error) {
      reason = errorText(this.#ended ?? error);
      throw this.#ended ?? error;
    } finally {
      this.#noteStop(reason);
      instance.leave(this);
    }
  }

  /** Sends a status if one is due. Must be called once a second. */
  tick(): void {
    const { instance, stream, clock } = this.#options;
    if (this.#ended) return;
    const hole = this.#isPeer ? instance.record.peerHoleDue(clock.monoMs()) : undefined;
    if (hole) return this.end(reconnectFor(hole));
    if (this.#isSending) return;
    const ackSeq = instance.acknowledge();
    const collectMs = this.#isPeer ? 0 : instance.live.collectMs;
    // A reader waits for the frames.
    const isChanged = collectMs !== this.#lastStatus.collectMs;
    const nowMs = clock.monoMs();
    const isDue = isChanged || nowMs - this.#lastStatusMs >= STATUS_EVERY_MS;
    const isMuch = ackSeq - this.#lastStatus.ackSeq >= STATUS_EVERY_FRAMES;
    if (!isDue && (!isMuch || this.#isPeer)) return;
    const storedThrough = instance.record.storedThrough();
    const { receivedThrough } = instance.record;
    const status = { ackSeq, receivedThrough, ...(storedThrough !== undefined && { storedThrough }), collectMs };
    this.#lastStatus = status;
    this.#lastStatusMs = nowMs;
    this.#isSending = true;
    // The reading side reports the same error.
    stream.send(status).catch(() => {}).finally(() => this.#isSending = false);
  }

  #noteStop(reason: string): void {
    this.#events.stop(`${this.#frames} frames: ${reason}`);
  }

  /** True for a peer's boat, which expects one status every five seconds. */
  get #isPeer(): boolean {
    return this.caller.service !== SERVICE_NAMES[0];
  }

  #receive(message: LiveUpstream): void {
    if (message.kind === "frame") this.#receiveFrames([message.frame]);
    else if (message.kind === "batch") this.#receiveFrames(message.frames);
    else if (message.kind === "status") this.#receiveStatus(message.status);
    else if (message.kind === "clock") {
      this.#options.instance.live.correct(message.spans);
      // Thousands of corrections take as long as thousands of frames.
      this.#sinceTurn += message.spans.length;
    }
  }

  #receiveFrames(frames: readonly LiveFrame[]): void {
    const { instance, settings } = this.#options;
    const { record: { counters } } = instance;
    if (!instance.live.rate.take(this.#counted(frames))) {
      counters.rateLimited++;
      throw new RpcError("RESOURCE_EXHAUSTED", `live frame rate exceeded (${settings().rateLimit}/s max)`);
    }
    for (const frame of frames) {
      instance.live.receive(frame);
      if (frame.seq > 0) this.#frames++;
    }
    this.#sinceTurn += frames.length;
    if (this.#frames < this.#checkpointAt) return;
    this.#checkpointAt = this.#frames - this.#frames % CHECKPOINT_FRAMES + CHECKPOINT_FRAMES;
    const { received, record } = instance;
    instance.note("checkpoint", `${this.#frames} frames, cursor ${received.cursor}, boat at ${record.newestSeq}`);
  }

  /** Number of frames that count for the rate. */
  #counted(frames: readonly LiveFrame[]): number {
    let [counted, late] = [0, 0];
    for (const { seq } of frames) {
      if (seq === 0 && this.#introductions < INTRODUCTIONS) this.#introductions++;
      else if (seq > 0 && seq <= this.#headAtStart) late++;
      else counted++;
    }
    return late === 0 || this.#options.instance.live.rate.catchUp(late) ? counted : counted + late;
  }

  #receiveStatus(status: BoatStatus): void {
    const { instance, settings } = this.#options;
    const { record } = instance;
    record.updateHead(status);
    if (this.#frames === 0) this.#headAtStart = Math.max(this.#headAtStart, status.headSeq);
    const { maxLiveLagFrames } = settings();
    const lag = status.headSeq - record.receivedThrough;
    // Before the first frame the lag is unknown.
    if (this.#frames === 0 || maxLiveLagFrames === 0 || lag <= maxLiveLagFrames) return;
    record.counters.lagClosed++;
    throw new RpcError("RESOURCE_EXHAUSTED", `live lag ${lag} exceeds threshold ${maxLiveLagFrames}`);
  }
}

function reconnectFor({ start, end }: Range): RpcError {
  const text = `frames ${start} to ${end - 1} are missing and can be backfilled after a reconnect`;
  return new RpcError("UNAVAILABLE", text);
}

import type { Clock, Logger, StallDetector } from "../../base/mod.ts";
import type { Broker } from "../../broker/mod.ts";
import { compileFilter, type Filter } from "../../filter/mod.ts";
import { newStoredFrame, sourceOfId } from "../../frame/mod.ts";
import { manufacturerCode } from "../../pgn/mod.ts";
import { followDevices } from "../../stream/mod.ts";
import { MqttHomeAssistant } from "./home_assistant.ts";
import { type MqttAccess, MqttLink } from "./link.ts";
import { type MqttItem, type MqttMessages, MqttQueue, MqttUnconfirmed, oneFrame } from "./queue.ts";

/** Settings of {@linkcode MqttBridge}. */
export interface MqttSettings extends Omit<MqttAccess, "keepaliveS" | "connectTimeoutMs"> {
  /** Prefix of all topics; may consist of several levels. */
  topicPrefix: string;
  /** Maximum queued frames, a power of two. */
  bufferFrames: number;
  /** Filter of published frames; `{}`: all. */
  filter: Filter;
  /** Adds `decoded` to each frame. */
  decode: boolean;
  /** Also publishes each frame to `{prefix}/pgn/{pgn}/{src}`. */
  pgnTopics: boolean;
  /** Publishes values and discovery messages for Home Assistant. */
  homeAssistant: boolean;
  /** See {@linkcode MqttAccess}; default 15. */
  keepaliveS?: number;
  /** See {@linkcode MqttAccess}; default 10 000. */
  connectTimeoutMs?: number;
  /** Reconnects after this time without an acknowledgement, milliseconds; default 30 000. */
  ackTimeoutMs?: number;
}

/** Dependencies of the bridge. */
export interface MqttBridgeOptions {
  settings: MqttSettings;
  broker: Broker;
  clock: Clock;
  stall: StallDetector;
  log: Logger;
}

/** Totals of the bridge since the start. */
export interface MqttCounters {
  /** Frames that the MQTT broker has acknowledged; at QoS 0: that were written. */
  published: number;
  /** Frames that it did not receive, or not for certain. */
  dropped: number;
  /** Connections since the start. */
  connects: number;
}

/** Maximum unacknowledged messages. */
export const WINDOW_MESSAGES = 16;
/** Frames are collected for this time before they are sent. */
const BATCH_MS = 4;
/** Interval of timeout checks, pings and values for Home Assistant. */
const HOUSEKEEPING_MS = 1000;
const KEEPALIVE_S = 15;
const CONNECT_TIMEOUT_MS = 10_000;
export const ACK_TIMEOUT_MS = 30_000;
/** At a stop: time for the queued frames … */
const DRAIN_MS = 1500;
/** … and then for the status `offline`. */
const DISCONNECT_MS = 500;

/** A frame or a notice being sent. */
interface Delivery {
  readonly item: MqttItem;
  /** Number of its messages that are not acknowledged yet. */
  left: number;
  failed: boolean;
}

/**
 * Publishes frames to an MQTT broker: one message per frame on `{prefix}/frames`, with the frame's JSON as payload. Never
 * blocks the bus: frames that the MQTT broker does not accept in time are dropped, counted, and reported on
 * `{prefix}/dropped` before the next frame.
 */
export class MqttBridge {
  readonly #settings: MqttSettings;
  readonly #broker: Broker;
  readonly #clock: Clock;
  readonly #stall: StallDetector;
  readonly #log: Logger;
  readonly #link: MqttLink;
  readonly #queue: MqttQueue;
  readonly #unconfirmed = new MqttUnconfirmed();
  readonly #homeAssistant: MqttHomeAssistant | undefined;
  readonly #text: (seq: number) => string | undefined;
  readonly #stored = newStoredFrame();
  readonly #closeFilter: () => void;
  #inFlight = new Set<Delivery>();
  /** Messages in flight. */
  #messages = 0;
  #published = 0;
  /** Since when messages are in flight, monotonic. */
  #busySinceMs = 0;
  #isSending = false;
  #batchTimer: ReturnType<typeof setTimeout> | undefined;
  #housekeeping: ReturnType<typeof setInterval> | undefined;
  #drained: (() => void) | undefined;

  constructor({ settings, broker, clock, stall, log }: MqttBridgeOptions) {
    this.#settings = settings;
    this.#broker = broker;
    this.#clock = clock;
    this.#stall = stall;
    this.#log = log;
    const { json } = broker;
    this.#text = settings.decode ? (seq) => json.decodedOf(seq) : (seq) => json.of(seq);
    const compiled = compileFilter(settings.filter, { buses: broker.buses, manufacturerCode });
    const { accept, close } = followDevices(compiled, broker.registry);
    this.#closeFilter = close;
    this.#queue = new MqttQueue(broker, {
      capacity: settings.bufferFrames,
      accept,
      read: (seq) => this.#messagesOf(seq),
      wake: () => this.#wake(),
      beforeClear: () => this.#sendQueued(),
    });
    const access = { keepaliveS: KEEPALIVE_S, connectTimeoutMs: CONNECT_TIMEOUT_MS, ...settings };
    this.#link = new MqttLink({
      access,
      statusTopic: this.#topic("status"),
      clock,
      log,
      up: () => this.#up(),
      down: () => this.#down(),
      ping: () => this.#unconfirmed.ping(),
      pong: () => this.#unconfirmed.pong(),
    });
    if (!settings.homeAssistant) return;
    const publish = this.#link.publish.bind(this.#link);
    const { topicPrefix, clientId } = settings;
    this.#homeAssistant = new MqttHomeAssistant({ broker, clock, topicPrefix, clientId, publish });
  }

  /** Totals since the start. */
  get counters(): MqttCounters {
    return { published: this.#published, dropped: this.#queue.dropped, connects: this.#link.connects };
  }

  /** Queued frames. */
  get waiting(): number {
    return this.#queue.waiting;
  }

  /** Degraded while not connected. */
  health(): { status: "ok" | "degraded"; message?: string } {
    const { state } = this.#link;
    if (state.kind === "up") return { status: "ok" };
    const reason = state.kind === "down" ? state.reason : "has not answered yet";
    return { status: "degraded", message: `no connection to ${this.#settings.url}: ${reason}` };
  }

  /**
   * Begins to connect; does not wait for the MQTT broker. Never rejects. Loading the client library blocks the event loop
   * for a tenth of a second: await `start` before frames arrive.
   */
  async start(): Promise<void> {
    this.#housekeeping = setInterval(() => this.#stall.run("mqtt", () => this.#keepHouse()), HOUSEKEEPING_MS);
    await this.#link.start();
  }

  /** Sends queued frames and disconnects. Takes at most two seconds. */
  async stop(): Promise<void> {
    this.#queue.close();
    await this.#drain();
    clearInterval(this.#housekeeping);
    clearTimeout(this.#batchTimer);
    this.#closeFilter();
    await this.#link.stop(DISCONNECT_MS);
    const frames = this.#queue.waiting + [...this.#inFlight].filter(({ item }) => item.kind === "frame").length;
    if (frames > 0) this.#log.warn("frames were not published to the MQTT broker before the stop", { frames });
  }

  #topic(name: string): string {
    return `${this.#settings.topicPrefix}/${name}`;
  }

  async #drain(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#drained = resolve;
    const timer = setTimeout(resolve, DRAIN_MS);
    this.#sendQueued();
    this.#checkDrained();
    await promise;
    clearTimeout(timer);
  }

  #checkDrained(): void {
    if (!this.#link.isUp || (this.#queue.waiting === 0 && this.#messages === 0)) this.#drained?.();
  }

  #wake(): void {
    if (!this.#link.isUp) return;
    this.#batchTimer ??= setTimeout(() => {
      this.#batchTimer = undefined;
      this.#stall.run("mqtt", () => this.#sendQueued());
    }, BATCH_MS);
  }

  #up(): void {
    this.#homeAssistant?.connected();
    this.#sendQueued();
  }

  #down(): void {
    // At QoS 1 and 2 the client library sends in-flight messages again, and acknowledgements follow.
    if (this.#settings.qos === 0) {
      this.#inFlight.clear();
      this.#messages = 0;
      const { frames, notices } = this.#unconfirmed.take();
      if (frames) this.#queue.addLost(frames);
      if (notices) this.#queue.report(notices);
    }
    this.#checkDrained();
  }

  #keepHouse(): void {
    const { ackTimeoutMs = ACK_TIMEOUT_MS } = this.#settings;
    const waitedMs = this.#clock.monoMs() - Math.max(this.#busySinceMs, this.#link.acknowledgedMs);
    if (this.#messages > 0 && waitedMs > ackTimeoutMs) this.#link.reconnect("the broker acknowledges nothing");
    if (!this.#link.isUp) return;
    if (this.#unconfirmed.needsPing) this.#link.sendPing();
    this.#homeAssistant?.publish();
    this.#sendQueued();
  }

  /** Sends queued frames until the window is full. */
  #sendQueued(): void {
    if (this.#isSending) return;
    this.#isSending = true;
    const messagesOfFrame = this.#settings.pgnTopics ? 2 : 1;
    while (this.#link.isUp && this.#messages + messagesOfFrame <= WINDOW_MESSAGES) {
      const item = this.#queue.next();
      if (!item) break;
      this.#send(item);
    }
    this.#isSending = false;
  }

  #messagesOf(seq: number): MqttMessages | undefined {
    const text = this.#text(seq);
    if (text === undefined) return undefined;
    const frames = this.#topic("frames");
    if (!this.#settings.pgnTopics || !this.#broker.ring.read(seq, this.#stored)) return { [frames]: text };
    return { [frames]: text, [this.#topic(`pgn/${this.#stored.pgn}/${sourceOfId(this.#stored.id)}`)]: text };
  }

  #send(item: MqttItem): void {
    const messages = item.kind === "frame" ? item.messages : { [this.#topic("dropped")]: JSON.stringify(item.dropped) };
    const topics = Object.entries(messages);
    const delivery: Delivery = { item, left: topics.length, failed: false };
    this.#inFlight.add(delivery);
    if (this.#messages === 0) this.#busySinceMs = this.#clock.monoMs();
    this.#messages += topics.length;
    if (this.#settings.qos === 0) this.#unconfirmed.sent(item);
    for (const [topic, payload] of topics) {
      this.#link.publish(topic, payload, { done: (error) => this.#delivered(delivery, Boolean(error)) });
    }
  }

  #delivered(delivery: Delivery, failed: boolean): void {
    // Counted as lost already: its connection was closed.
    if (!this.#inFlight.has(delivery)) return;
    this.#messages--;
    delivery.failed ||= failed;
    if (--delivery.left === 0) {
      this.#inFlight.delete(delivery);
      this.#finish(delivery);
    }
    this.#sendQueued();
    this.#checkDrained();
  }

  #finish({ item, failed }: Delivery): void {
    if (!failed && item.kind === "frame") this.#published++;
    // Failures at QoS 0 are counted when the connection closes.
    if (!failed || this.#settings.qos === 0) return;
    if (item.kind === "frame") this.#queue.addLost(oneFrame(item.seq));
    else this.#queue.report(item.dropped);
  }
}

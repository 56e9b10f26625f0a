import type { Clock, Logger, StallDetector } from "../../base/mod.ts";
import type { Broker } from "../../broker/mod.ts";
import { compileFilter, type Filter } from "../../filter/mod.ts";
import { newStoredFrame, sourceOfId } from "../../frame/mod.ts";
import { manufacturerCode } from "../../pgn/mod.ts";
import { followDevices } from "../../stream/mod.ts";
import { MqttHomeAssistant } from "./home_assistant.ts";
import { type MqttAccess, MqttLink } from "./link.ts";
import { type MqttItem, type MqttMessages, MqttQueue } from "./queue.ts";
import { MqttUnconfirmed, oneFrame } from "./unconfirmed.ts";

/** Settings of the MQTT bridge. */
export interface MqttSettings extends Omit<MqttAccess, "keepaliveS" | "connectTimeoutMs"> {
  /** First level of all topics; may have several. */
  topicPrefix: string;
  /** Maximum queued frames, a power of two. */
  bufferFrames: number;
  /** Filter of published frames; `{}`: all. */
  filter: Filter;
  /** Adds `decoded` to each frame. */
  decode: boolean;
  /** Publishes each frame to `{prefix}/pgn/{pgn}/{src}`, too. */
  pgnTopics: boolean;
  /** Publishes values and discovery messages for Home Assistant. */
  homeAssistant: boolean;
  /** See {@linkcode MqttAccess}; default 15. */
  keepaliveS?: number;
  /** See {@linkcode MqttAccess}; default 10 000. */
  connectTimeoutMs?: number;
  /** A broker that acknowledges nothing for so long is connected to anew, milliseconds; default 30 000. */
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
  /** Frames that the MQTT broker has acknowledged; at QoS 0: that have left. */
  published: number;
  /** Frames that it did not get, or not for certain. */
  dropped: number;
  /** Connections since the start. */
  connects: number;
}

/** Maximum unacknowledged messages. */
export const WINDOW_MESSAGES = 16;
/** Frames wait this long for company. */
const TICK_MS = 4;
/** How often unacknowledged messages are confirmed, and values published for Home Assistant. */
const ROUND_MS = 1000;
const KEEPALIVE_S = 15;
const CONNECT_TIMEOUT_MS = 10_000;
export const ACK_TIMEOUT_MS = 30_000;
/** At a stop: what waits may still leave for so long, */
const LAST_FRAMES_MS = 1500;
/** and then the goodbye. */
const GOODBYE_MS = 500;

/** A frame being sent. */
interface Delivery {
  readonly item: MqttItem;
  /** Messages of it that are not acknowledged yet. */
  left: number;
  failed: boolean;
}

/**
 * Publishes frames to an MQTT broker: one message a frame on `{prefix}/frames`, its JSON as payload. Never holds up
 * anybody: what the broker does not take in time is dropped, counted, and told on `{prefix}/dropped` before the next frame.
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
  #underWay = new Set<Delivery>();
  #messages = 0;
  #published = 0;
  /** Since when something is under way. */
  #busySinceMs = 0;
  #pumping = false;
  #tick: ReturnType<typeof setTimeout> | undefined;
  #rounds: ReturnType<typeof setInterval> | undefined;
  #idle: (() => void) | undefined;

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
      beforeClear: () => this.#pump(),
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
   * Begins to connect; does not wait for the MQTT broker. Never rejects. Loading the client holds the event loop for a
   * tenth of a second: await it before frames come.
   */
  async start(): Promise<void> {
    this.#rounds = setInterval(() => this.#stall.run("mqtt", () => this.#round()), ROUND_MS);
    await this.#link.start();
  }

  /** Lets what waits leave, says goodbye and disconnects: within two seconds, whatever the broker does. */
  async stop(): Promise<void> {
    this.#queue.close();
    await this.#drain();
    clearInterval(this.#rounds);
    clearTimeout(this.#tick);
    this.#closeFilter();
    await this.#link.stop(GOODBYE_MS);
    const frames = this.#queue.waiting + [...this.#underWay].filter(({ item }) => item.kind === "frame").length;
    if (frames > 0) this.#log.warn("frames were not published to the MQTT broker before the stop", { frames });
  }

  #topic(name: string): string {
    return `${this.#settings.topicPrefix}/${name}`;
  }

  async #drain(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#idle = resolve;
    const timer = setTimeout(resolve, LAST_FRAMES_MS);
    this.#pump();
    this.#tellIdle();
    await promise;
    clearTimeout(timer);
  }

  #tellIdle(): void {
    if (!this.#link.isUp || (this.#queue.waiting === 0 && this.#messages === 0)) this.#idle?.();
  }

  #wake(): void {
    if (!this.#link.isUp) return;
    this.#tick ??= setTimeout(() => {
      this.#tick = undefined;
      this.#stall.run("mqtt", () => this.#pump());
    }, TICK_MS);
  }

  #up(): void {
    this.#homeAssistant?.up();
    this.#pump();
  }

  #down(): void {
    // At QoS 1 and 2 the client sends again what is under way, and acknowledgements follow.
    if (this.#settings.qos === 0) {
      this.#underWay.clear();
      this.#messages = 0;
      const { frames, notices } = this.#unconfirmed.take();
      if (frames) this.#queue.lose(frames);
      if (notices) this.#queue.tell(notices);
    }
    this.#tellIdle();
  }

  #round(): void {
    const { ackTimeoutMs = ACK_TIMEOUT_MS } = this.#settings;
    const waitsMs = this.#clock.monoMs() - Math.max(this.#busySinceMs, this.#link.acknowledgedMs);
    if (this.#messages > 0 && waitsMs > ackTimeoutMs) this.#link.renew("the broker acknowledges nothing");
    if (!this.#link.isUp) return;
    if (this.#unconfirmed.wantsPing) this.#link.sendPing();
    this.#homeAssistant?.round();
    this.#pump();
  }

  /** Publishes what waits, as far as the window is open. */
  #pump(): void {
    if (this.#pumping) return;
    this.#pumping = true;
    const messagesOfFrame = this.#settings.pgnTopics ? 2 : 1;
    while (this.#link.isUp && this.#messages + messagesOfFrame <= WINDOW_MESSAGES) {
      const item = this.#queue.next();
      if (!item) break;
      this.#send(item);
    }
    this.#pumping = false;
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
    this.#underWay.add(delivery);
    if (this.#messages === 0) this.#busySinceMs = this.#clock.monoMs();
    this.#messages += topics.length;
    if (this.#settings.qos === 0) this.#unconfirmed.sent(item);
    for (const [topic, payload] of topics) {
      this.#link.publish(topic, payload, { done: (error) => this.#delivered(delivery, Boolean(error)) });
    }
  }

  #delivered(delivery: Delivery, failed: boolean): void {
    // Forgotten: the connection that it was sent on is gone.
    if (!this.#underWay.has(delivery)) return;
    this.#messages--;
    delivery.failed ||= failed;
    if (--delivery.left === 0) {
      this.#underWay.delete(delivery);
      this.#settle(delivery);
    }
    this.#pump();
    this.#tellIdle();
  }

  #settle({ item, failed }: Delivery): void {
    if (!failed && item.kind === "frame") this.#published++;
    // What fails at QoS 0 was lost with its connection, and is counted there.
    if (!failed || this.#settings.qos === 0) return;
    if (item.kind === "frame") this.#queue.lose(oneFrame(item.seq));
    else this.#queue.tell(item.dropped);
  }
}

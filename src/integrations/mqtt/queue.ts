import { type Accept, type Broker, type DroppedFrames, extendDropped, type Subscription } from "../../broker/mod.ts";

/** Payloads by topic. */
export type MqttMessages = Readonly<Record<string, string>>;

/** An element of the queue: a frame, or a notice of dropped frames. */
export type MqttItem =
  | { kind: "frame"; seq: number; messages: MqttMessages }
  | { kind: "dropped"; dropped: DroppedFrames };

/** Dropped frames, and the number of frames removed from the queue before they are reported. */
interface Gap {
  after: number;
  dropped: DroppedFrames;
}

/** Options of {@linkcode MqttQueue}. */
export interface MqttQueueOptions {
  /** Maximum number of queued frames, a power of two. */
  capacity: number;
  accept: Accept;
  /** Messages of a frame; undefined when the ring no longer has it. */
  read: (seq: number) => MqttMessages | undefined;
  /** Called when the queue was empty and has a frame now. */
  wake: () => void;
  /** Called before the ring is cleared. */
  beforeClear: () => void;
}

/** Frames to be published, and notices of dropped frames, in the order in which they occurred. */
export class MqttQueue {
  readonly #broker: Broker;
  readonly #subscription: Subscription;
  readonly #read: MqttQueueOptions["read"];
  /** At most one per queued frame. */
  readonly #gaps: Gap[] = [];
  /** To be reported next: frames lost after they were removed from the queue, older than any queued frame. */
  #unreported: DroppedFrames | undefined;
  /** A frame that was read, and comes after the notice in `#unreported`. */
  #nextItem: MqttItem | undefined;
  #taken = 0;
  #dropped = 0;

  constructor(broker: Broker, options: MqttQueueOptions) {
    this.#broker = broker;
    this.#read = options.read;
    const beforeClear = () => {
      options.beforeClear();
      this.#dropAll();
    };
    this.#subscription = broker.subscribe({ ...options, beforeClear });
  }

  /** Number of queued frames. */
  get waiting(): number {
    return this.#subscription.waiting + (this.#nextItem ? 1 : 0);
  }

  /** Frames dropped since the start: the queue was full, or delivery failed. */
  get dropped(): number {
    return this.#subscription.droppedTotal + this.#dropped;
  }

  /** Removes and returns the next item; undefined when the queue is empty. */
  next(): MqttItem | undefined {
    this.#recordGap();
    this.#nextItem ??= this.#nextFrame();
    const dropped = this.#unreported;
    this.#unreported = undefined;
    if (dropped) return { kind: "dropped", dropped };
    const item = this.#nextItem;
    this.#nextItem = undefined;
    return item;
  }

  /** Counts and reports frames that were removed from the queue and not delivered. */
  addLost(lost: DroppedFrames): void {
    this.#dropped += lost.count;
    this.report(lost);
  }

  /** Reports drops that are counted already, for example because the first notice was not delivered. */
  report(dropped: DroppedFrames): void {
    this.#unreported = extendDropped(this.#unreported, dropped);
  }

  /** Accepts no more frames; queued ones can still be removed. */
  close(): void {
    this.#broker.unsubscribe(this.#subscription);
  }

  /**
   * Only a full queue drops frames, and only this class removes frames from it: drops since the last call come after all
   * frames that are queued now.
   */
  #recordGap(): void {
    const dropped = this.#subscription.takeDropped();
    if (!dropped) return;
    const after = this.#taken + this.#subscription.waiting;
    const last = this.#gaps.at(-1);
    if (last?.after === after) last.dropped = extendDropped(last.dropped, dropped);
    else this.#gaps.push({ after, dropped });
  }

  /** Drops all queued frames. */
  #dropAll(): void {
    this.#recordGap();
    for (const { dropped } of this.#gaps.splice(0)) this.report(dropped);
    this.#subscription.drain((seq) => this.addLost(oneFrame(seq)));
  }

  /** The next frame that can still be read. Frames dropped before it are reported before it. */
  #nextFrame(): MqttItem | undefined {
    for (;;) {
      const [gap] = this.#gaps;
      if (gap && gap.after <= this.#taken) {
        this.#gaps.shift();
        this.report(gap.dropped);
      }
      let seq: number | undefined;
      this.#subscription.drain((next) => seq = next, 1);
      if (seq === undefined) return undefined;
      this.#taken++;
      const messages = this.#read(seq);
      if (messages) return { kind: "frame", seq, messages };
      this.addLost(oneFrame(seq));
    }
  }
}

/** One frame as a range. */
export function oneFrame(seq: number): DroppedFrames {
  return { from_seq: seq, to_seq: seq, count: 1 };
}

/** Frames and notices whose delivery a lost connection leaves uncertain. */
export interface Unconfirmed {
  frames: DroppedFrames | undefined;
  /** Drops that earlier notices reported. */
  notices: DroppedFrames | undefined;
}

/**
 * Messages of QoS 0 that the MQTT broker may not have read. They are not acknowledged, but a broker answers in order: it
 * has read what was sent before a ping when it answers the ping. Bounded: two ranges per unanswered ping.
 */
export class MqttUnconfirmed {
  #sent: Unconfirmed = { frames: undefined, notices: undefined };
  #pinged: Unconfirmed[] = [];

  /** True when a ping would confirm messages, and none is unanswered. */
  get needsPing(): boolean {
    return this.#pinged.length === 0 && (this.#sent.frames ?? this.#sent.notices) !== undefined;
  }

  /** An item was sent. */
  sent(item: MqttItem): void {
    if (item.kind === "dropped") this.#sent.notices = extendDropped(this.#sent.notices, item.dropped);
    else this.#sent.frames = extendDropped(this.#sent.frames, oneFrame(item.seq));
  }

  /** A ping was sent. */
  ping(): void {
    this.#pinged.push(this.#sent);
    this.#sent = { frames: undefined, notices: undefined };
  }

  /** The oldest ping was answered. */
  pong(): void {
    this.#pinged.shift();
  }

  /** The connection was lost: returns and forgets everything unconfirmed. */
  take(): Unconfirmed {
    const all: Unconfirmed = { frames: undefined, notices: undefined };
    for (const { frames, notices } of [...this.#pinged, this.#sent]) {
      if (frames) all.frames = extendDropped(all.frames, frames);
      if (notices) all.notices = extendDropped(all.notices, notices);
    }
    this.#pinged = [];
    this.#sent = { frames: undefined, notices: undefined };
    return all;
  }
}

import { type Accept, type Broker, type DroppedFrames, extendDropped, type Subscription } from "../../broker/mod.ts";

/** Payloads by topic. */
export type MqttMessages = Readonly<Record<string, string>>;

/** What is to be published next. */
export type MqttItem =
  | { kind: "frame"; seq: number; messages: MqttMessages }
  | { kind: "dropped"; dropped: DroppedFrames };

/** Drops that are told when so many frames have been taken. */
interface Gap {
  after: number;
  dropped: DroppedFrames;
}

/** How a queue is made. */
export interface MqttQueueOptions {
  /** Most frames that may wait, a power of two. */
  capacity: number;
  accept: Accept;
  /** What is published of a frame; nothing when the ring has let it go. */
  read: (seq: number) => MqttMessages | undefined;
  /** Called when a frame waits and none did before. */
  wake: () => void;
  /** Called before the ring forgets all frames. */
  beforeClear: () => void;
}

/** Frames on their way to the MQTT broker, and between them what was dropped: in the order in which it happened. */
export class MqttQueue {
  readonly #broker: Broker;
  readonly #subscription: Subscription;
  readonly #read: MqttQueueOptions["read"];
  /** At most one for each place of the queue. */
  readonly #gaps: Gap[] = [];
  /** Lost after it was taken: older than whatever waits. */
  #lost: DroppedFrames | undefined;
  /** A frame that was read when it showed that others before it are gone. */
  #held: MqttItem | undefined;
  #taken = 0;
  #dropped = 0;

  constructor(broker: Broker, options: MqttQueueOptions) {
    this.#broker = broker;
    this.#read = options.read;
    const beforeClear = () => {
      options.beforeClear();
      this.#giveUp();
    };
    this.#subscription = broker.subscribe({ ...options, beforeClear });
  }

  /** Frames that wait. */
  get waiting(): number {
    return this.#subscription.waiting + (this.#held ? 1 : 0);
  }

  /** Frames ever dropped: there was no room, or they were lost on their way. */
  get dropped(): number {
    return this.#subscription.droppedTotal + this.#dropped;
  }

  /** Takes what is next; nothing when nothing waits. */
  next(): MqttItem | undefined {
    this.#noteGap();
    this.#held ??= this.#nextFrame();
    const dropped = this.#lost;
    this.#lost = undefined;
    if (dropped) return { kind: "dropped", dropped };
    const item = this.#held;
    this.#held = undefined;
    return item;
  }

  /** Counts and tells frames that were taken and did not arrive. */
  lose(lost: DroppedFrames): void {
    this.#dropped += lost.count;
    this.tell(lost);
  }

  /** Tells once more of what is counted already: the first telling did not arrive. */
  tell(dropped: DroppedFrames): void {
    this.#lost = extendDropped(this.#lost, dropped);
  }

  /** Takes no more frames; what waits can still be taken. */
  close(): void {
    this.#broker.unsubscribe(this.#subscription);
  }

  /**
   * Only a full queue drops, and nobody else takes from it: whatever was dropped since the last look comes after all
   * that waits now.
   */
  #noteGap(): void {
    const dropped = this.#subscription.takeDropped();
    if (!dropped) return;
    const after = this.#taken + this.#subscription.waiting;
    const last = this.#gaps.at(-1);
    if (last?.after === after) last.dropped = extendDropped(last.dropped, dropped);
    else this.#gaps.push({ after, dropped });
  }

  /** Drops all that waits. */
  #giveUp(): void {
    this.#noteGap();
    for (const { dropped } of this.#gaps.splice(0)) this.tell(dropped);
    this.#subscription.drain((seq) => this.lose({ from_seq: seq, to_seq: seq, count: 1 }));
  }

  /** The next frame that can still be read. What is dropped before it is told before it. */
  #nextFrame(): MqttItem | undefined {
    for (;;) {
      this.#tellDue();
      let seq: number | undefined;
      this.#subscription.drain((next) => seq = next, 1);
      if (seq === undefined) return undefined;
      this.#taken++;
      const messages = this.#read(seq);
      if (messages) return { kind: "frame", seq, messages };
      this.lose({ from_seq: seq, to_seq: seq, count: 1 });
    }
  }

  /** Tells of the drops that come before the next frame that waits. */
  #tellDue(): void {
    const [first] = this.#gaps;
    if (!first || first.after > this.#taken) return;
    this.#gaps.shift();
    this.tell(first.dropped);
  }
}

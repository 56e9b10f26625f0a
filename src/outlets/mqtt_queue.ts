import { type Accept, type Broker, type DroppedFrames, extendDropped, type Subscription } from "../broker/mod.ts";

/** What is to be published next. */
export type MqttItem = { kind: "frame"; seq: number } | { kind: "dropped"; dropped: DroppedFrames };

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
  /** Called when a frame waits and none did before. */
  wake: () => void;
  /** Called before the ring forgets all frames. */
  lastCall: () => void;
}

/** Frames on their way to the MQTT broker, and between them what was dropped: in the order in which it happened. */
export class MqttQueue {
  readonly #broker: Broker;
  readonly #subscription: Subscription;
  /** At most one for each place of the queue. */
  readonly #gaps: Gap[] = [];
  /** Lost after it was taken: older than whatever waits. */
  #lost: DroppedFrames | undefined;
  #taken = 0;
  #dropped = 0;

  constructor(broker: Broker, options: MqttQueueOptions) {
    this.#broker = broker;
    const lastCall = () => {
      options.lastCall();
      this.#giveUp();
    };
    this.#subscription = broker.subscribe({ ...options, lastCall });
  }

  /** Frames that wait. */
  get waiting(): number {
    return this.#subscription.waiting;
  }

  /** Frames ever dropped: there was no room, or they were lost on their way. */
  get dropped(): number {
    return this.#subscription.droppedTotal + this.#dropped;
  }

  /** Takes what is next; nothing when nothing waits. */
  next(): MqttItem | undefined {
    this.#noteGap();
    const dropped = this.#lost ?? this.#takeGap();
    this.#lost = undefined;
    if (dropped) return { kind: "dropped", dropped };
    let item: MqttItem | undefined;
    this.#subscription.drain((seq) => item = { kind: "frame", seq }, 1);
    if (item) this.#taken++;
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

  #takeGap(): DroppedFrames | undefined {
    const [first] = this.#gaps;
    if (!first || first.after > this.#taken) return undefined;
    this.#gaps.shift();
    return first.dropped;
  }
}

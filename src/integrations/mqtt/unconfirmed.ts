import { type DroppedFrames, extendDropped } from "../../broker/mod.ts";
import type { MqttItem } from "./queue.ts";

/** What a broken connection may have swallowed. */
export interface Unconfirmed {
  frames: DroppedFrames | undefined;
  /** Notices of earlier drops. */
  notices: DroppedFrames | undefined;
}

/**
 * What was sent at QoS 0 and may not have been read. Nobody acknowledges it, but a broker answers in order: what was sent
 * before a ping has been read when the answer is here. Bounded: two ranges for each ping under way.
 */
export class MqttUnconfirmed {
  #sent: Unconfirmed = nothing();
  #pinged: Unconfirmed[] = [];

  /** True when a ping would confirm something, and none is under way. */
  get wantsPing(): boolean {
    return this.#pinged.length === 0 && (this.#sent.frames ?? this.#sent.notices) !== undefined;
  }

  /** Something was sent. */
  sent(item: MqttItem): void {
    if (item.kind === "dropped") this.#sent.notices = extendDropped(this.#sent.notices, item.dropped);
    else this.#sent.frames = extendDropped(this.#sent.frames, oneFrame(item.seq));
  }

  /** A ping was sent. */
  ping(): void {
    this.#pinged.push(this.#sent);
    this.#sent = nothing();
  }

  /** The answer to the oldest ping is here. */
  pong(): void {
    this.#pinged.shift();
  }

  /** The connection is gone: gives what may be lost. */
  take(): Unconfirmed {
    const all = nothing();
    for (const { frames, notices } of [...this.#pinged, this.#sent]) {
      if (frames) all.frames = extendDropped(all.frames, frames);
      if (notices) all.notices = extendDropped(all.notices, notices);
    }
    this.#pinged = [];
    this.#sent = nothing();
    return all;
  }
}

/** One frame as a range. */
export function oneFrame(seq: number): DroppedFrames {
  return { from_seq: seq, to_seq: seq, count: 1 };
}

function nothing(): Unconfirmed {
  return { frames: undefined, notices: undefined };
}

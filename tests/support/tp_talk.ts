import {
  Assembler,
  type AssemblerDrops,
  type TransportEnd,
  TransportSender,
  type TransportSession,
} from "../../src/can/mod.ts";
import type { CanFrame } from "../../src/frame/mod.ts";
import { type Seen, seen, START_US } from "./messages.ts";
import type { TpFrame, TpReceiver } from "./tp_receiver.ts";

export interface TalkFrame {
  atMs: number;
  id: number;
  data: string;
}

export interface TalkOptions {
  /** Whether a frame is lost on its way to the receivers, or back. Default: none is. */
  loses?: (frame: TpFrame) => boolean;
  /** How far time goes at a time, milliseconds. */
  stepMs?: number;
}

/** A frame as a bus hands it over. */
export function busFrame({ id, data }: TpFrame, monoMs: number): CanFrame {
  const bytes = Uint8Array.from(data);
  return { id, data: bytes, offset: 0, length: bytes.length, monoMs, timeUs: START_US + monoMs * 1000 };
}

/** A sender with receivers on one wire, on which the gateway's assembler listens, too. */
export class Talk {
  readonly sender: TransportSender = new TransportSender();
  /** Frames of the sender's. */
  readonly frames: TalkFrame[] = [];
  readonly ends = new Map<TransportSession, TransportEnd & { atMs: number }>();
  /** What the assembler has made of it all. */
  readonly heard: Seen[] = [];
  nowMs = 0;
  readonly #assembler = new Assembler((message) => this.heard.push(seen(message)));
  readonly #receivers: readonly TpReceiver[];
  readonly #loses: (frame: TpFrame) => boolean;
  readonly #stepMs: number;

  constructor(receivers: readonly TpReceiver[] = [], { loses = () => false, stepMs = 5 }: TalkOptions = {}) {
    this.#receivers = receivers;
    this.#loses = loses;
    this.#stepMs = stepMs;
  }

  get drops(): AssemblerDrops {
    return this.#assembler.drops;
  }

  /** Lets time pass until all sessions have ended. Returns when that was. */
  untilOver(limitMs = 1e6): number {
    const endMs = this.nowMs + limitMs;
    while (this.sender.size > 0) {
      if (this.nowMs > endMs) throw new Error(`Not over after ${limitMs} ms`);
      this.pass(this.#stepMs);
    }
    return this.nowMs;
  }

  /** Lets time pass. */
  pass(ms: number): void {
    for (const endMs = this.nowMs + ms; this.nowMs < endMs; this.nowMs += Math.min(this.#stepMs, endMs - this.nowMs)) {
      this.#turn();
    }
    this.#turn();
  }

  /** Puts a frame on the wire as somebody else. */
  say(frame: TpFrame): void {
    this.#assembler.push(busFrame(frame, this.nowMs));
    const over = this.sender.heard(busFrame(frame, this.nowMs));
    if (over) this.#end(over.session, over.end);
  }

  #turn(): void {
    for (let frame = this.sender.take(this.nowMs); frame; frame = this.sender.take(this.nowMs)) {
      this.frames.push({ atMs: this.nowMs, id: frame.id, data: frame.data.toHex() });
      this.#assembler.push(busFrame(frame, this.nowMs));
      if (frame.end) this.#end(frame.session, frame.end);
      if (this.#loses(frame)) continue;
      for (const receiver of this.#receivers) this.#answer(receiver.hear(frame, this.nowMs));
    }
    for (const receiver of this.#receivers) this.#answer(receiver.tick(this.nowMs));
  }

  #answer(frames: readonly TpFrame[]): void {
    for (const frame of frames) if (!this.#loses(frame)) this.say(frame);
  }

  #end(session: TransportSession, end: TransportEnd): void {
    this.ends.set(session, { ...end, atMs: this.nowMs });
    this.sender.remove(session);
  }
}

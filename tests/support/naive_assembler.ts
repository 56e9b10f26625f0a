import type { CanFrame } from "../../src/frame/mod.ts";

/** A whole fast packet as the naive reassembler sees it. */
export interface NaiveMessage {
  /** Identifier of the frame with number 0. */
  id: number;
  data: number[];
}

interface Partial {
  words: string;
  parts: Map<number, number[]>;
  total: number | undefined;
  id: number;
  lastMs: number;
}

/**
 * Fast packets put together in the plainest way, as an oracle: shares no code with the real assembler, keeps a list and
 * looks everything up by walking it. Counts what it begins and why it gives up.
 */
export class NaiveAssembler {
  readonly counts = { begun: 0, completed: 0, timeout: 0, replaced: 0, overflow: 0, malformed: 0, unexpected: 0 };
  /** Fragments that went into messages, and those that were in what was given up. */
  readonly fragments = { fed: 0, emitted: 0, lost: 0 };
  readonly #most: number;
  #partials: Partial[] = [];
  /** When each counter's last message began, and the shortest time between two of them. */
  readonly #rhythm = new Map<string, { last: number; shortest: number }>();

  constructor(most = 4096) {
    this.#most = most;
  }

  get pending(): number {
    return this.#partials.length;
  }

  /** Fragments in unfinished messages. */
  get pendingFragments(): number {
    return this.#partials.reduce((sum, { parts }) => sum + parts.size, 0);
  }

  expire(nowMs: number): void {
    for (const partial of [...this.#partials]) {
      if (nowMs - partial.lastMs > 750) this.#giveUp(partial, "timeout");
    }
  }

  /** Takes a fragment of a fast packet. */
  push(frame: CanFrame): NaiveMessage | undefined {
    this.fragments.fed++;
    const bytes = [...frame.data.slice(frame.offset, frame.offset + frame.length)];
    const [head, second] = bytes;
    if (head === undefined || second === undefined) return void this.counts.malformed++;
    const number = head % 32;
    if (number === 0 && (second === 0 || second > 223)) return void this.counts.malformed++;
    const partial = this.#find(frame, { number, sequence: Math.floor(head / 32) });
    if (number === 0) {
      this.#hear(partial.words, frame.monoMs);
      this.#setLength(partial, second);
    }
    if (partial.total !== undefined && number >= countFrames(partial.total)) return void this.counts.unexpected++;
    if (number === 0 || partial.parts.size === 0) partial.id = frame.id;
    const room = number === 0 ? 6 : 7;
    const payload = bytes.slice(8 - room, 8);
    while (payload.length < room) payload.push(255);
    partial.parts.set(number, payload);
    partial.lastMs = frame.monoMs;
    return this.#finish(partial);
  }

  /** Source, whole PGN field with its destination, and sequence: one message at a time for each. */
  #find(frame: CanFrame, { number, sequence }: { number: number; sequence: number }): Partial {
    const middle = frame.id.toString(2).padStart(29, "0").slice(3, 21);
    const words = `${frame.id % 256} ${middle} ${sequence}`;
    const found = this.#partials.find((each) => each.words === words);
    if (found && this.#canFollow(found, { number, nowMs: frame.monoMs })) return found;
    if (found) this.#giveUp(found, "replaced");
    if (this.#partials.length === this.#most) this.#giveUp(this.#partials[0]!, "overflow");
    this.counts.begun++;
    const fresh = { words, parts: new Map(), total: undefined, id: frame.id, lastMs: frame.monoMs };
    this.#partials.push(fresh);
    return fresh;
  }

  /** After 20 ms only the next one in order, and only while no further message of the counter can be under way. */
  #canFollow({ words, parts, lastMs }: Partial, { number, nowMs }: { number: number; nowMs: number }): boolean {
    if (parts.has(number)) return false;
    if (nowMs - lastMs <= 20) return true;
    for (let before = 0; before < number; before++) if (!parts.has(before)) return false;
    if (parts.size > number) return false;
    const rhythm = this.#rhythm.get(words);
    return rhythm === undefined || nowMs <= rhythm.last + 0.75 * rhythm.shortest - 20;
  }

  /** A message of a counter begins. The shortest time is let grow by a 32nd each time. */
  #hear(words: string, nowMs: number): void {
    const { last, shortest } = this.#rhythm.get(words) ?? { last: nowMs, shortest: Infinity };
    const apart = nowMs - last;
    this.#rhythm.set(words, {
      last: nowMs,
      shortest: apart > 20 ? Math.min(apart, shortest * 1.03125) : shortest,
    });
  }

  #setLength(partial: Partial, total: number): void {
    partial.total = total;
    for (const number of [...partial.parts.keys()]) {
      if (number < countFrames(total)) continue;
      partial.parts.delete(number);
      this.counts.unexpected++;
    }
  }

  #finish(partial: Partial): NaiveMessage | undefined {
    const { total, parts, id } = partial;
    if (total === undefined || parts.size < countFrames(total)) return undefined;
    this.#partials = this.#partials.filter((each) => each !== partial);
    this.counts.completed++;
    this.fragments.emitted += parts.size;
    const data = [...parts.entries()].sort((a, b) => a[0] - b[0]).flatMap(([, bytes]) => bytes).slice(0, total);
    return { id, data };
  }

  #giveUp(partial: Partial, why: "timeout" | "replaced" | "overflow"): void {
    this.counts[why]++;
    this.fragments.lost += partial.parts.size;
    this.#partials = this.#partials.filter((each) => each !== partial);
  }
}

/** Frames of a fast packet: one for 6 bytes, one more for each 7 begun after that. */
function countFrames(total: number): number {
  let frames = 1;
  for (let carried = 6; carried < total; carried += 7) frames++;
  return frames;
}

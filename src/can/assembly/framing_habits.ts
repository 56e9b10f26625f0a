import { type CanFrame, MAX_CAN_BYTES, MAX_FAST_PACKET_BYTES } from "../../frame/mod.ts";
import { REORDER_MS } from "./counter_periods.ts";
import { FAST_FIRST_BYTES } from "./fast_packet.ts";

/** Most streams with known framing per bus; beyond it the oldest entry is removed. */
export const MAX_STREAMS = 1024;

/** Framing of a stream: single frames, with the latest one that looked like a first fragment, or fast packets. */
type Habit = { type: "plain"; head: number; monoMs: number } | { type: "fast" };

/** Observed framing of each stream, for PGNs that devices send both as single frames and as fast packets. */
export class FramingHabits {
  readonly #habits = new Map<number, Habit>();

  /** Framing of the stream; undefined while unknown. */
  of(stream: number): Habit["type"] | undefined {
    return this.#habits.get(stream)?.type;
  }

  learnPlain(stream: number): void {
    if (this.of(stream) !== "plain") this.#set(stream, { type: "plain", head: 0, monoMs: -Infinity });
  }

  learnFast(stream: number): void {
    if (this.of(stream) !== "fast") this.#set(stream, { type: "fast" });
  }

  /** Forgets the framing after an unexpected frame: either a frame was lost, or the source has changed its framing. */
  doubt(stream: number): void {
    this.#habits.delete(stream);
  }

  /**
   * Records a frame of a stream of single frames. True when it clearly continues the one before, fragment 1 right after its
   * fragment 0, so that the source must have changed to fast packets.
   */
  continuesNoted(stream: number, frame: CanFrame): boolean {
    const habit = this.#habits.get(stream);
    if (habit?.type !== "plain") return false;
    const head = frame.data[frame.offset] ?? 0;
    if (head === habit.head + 1 && frame.monoMs - habit.monoMs <= REORDER_MS) return true;
    if (beginsFastPacket(frame)) {
      habit.head = head;
      habit.monoMs = frame.monoMs;
    }
    return false;
  }

  #set(stream: number, habit: Habit): void {
    if (this.#habits.size >= MAX_STREAMS && !this.#habits.has(stream)) {
      const [oldest] = this.#habits.keys();
      if (oldest !== undefined) this.#habits.delete(oldest);
    }
    this.#habits.set(stream, habit);
  }
}

/**
 * Whether a frame of a PGN with both framings can begin a fast packet: index 0, and a length of more bytes than it holds,
 * because a payload that fits one frame needs no fast packet.
 */
export function beginsFastPacket({ data, offset, length }: CanFrame): boolean {
  const total = data[offset + 1] ?? 0;
  return length === MAX_CAN_BYTES && ((data[offset] ?? 0) & 0x1f) === 0 && total > FAST_FIRST_BYTES &&
    total <= MAX_FAST_PACKET_BYTES;
}

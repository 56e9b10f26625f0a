import { type CanFrame, MAX_CAN_BYTES, MAX_FAST_PACKET_BYTES } from "../../frame/mod.ts";
import { REORDER_MS } from "./counter_periods.ts";
import { FAST_FIRST_BYTES } from "./fast_packet.ts";

/** Streams whose habit is remembered for one bus; beyond that the one known longest is forgotten. */
export const MAX_STREAMS = 1024;

/** What is known of a stream: it sends plain frames, of which one lately looked like a first fragment; or fast packets. */
type Habit = { type: "plain"; head: number; monoMs: number } | { type: "fast" };

/** How each source sends a PGN that devices send both ways, as far as its frames have shown. */
export class FramingHabits {
  readonly #habits = new Map<number, Habit>();

  /** What the stream does, undefined while that is not known. */
  of(stream: number): Habit["type"] | undefined {
    return this.#habits.get(stream)?.type;
  }

  learnPlain(stream: number): void {
    if (this.of(stream) !== "plain") this.#set(stream, { type: "plain", head: 0, monoMs: -Infinity });
  }

  learnFast(stream: number): void {
    if (this.of(stream) !== "fast") this.#set(stream, { type: "fast" });
  }

  /** Something was out of order: once is a lost frame, but if it goes on the source has changed its habit. */
  doubt(stream: number): void {
    this.#habits.delete(stream);
  }

  /**
   * Notes a frame of a plain stream. True when it continues one before it so clearly, fragment 1 right after its
   * fragment 0, that the source must send fast packets now.
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
 * Whether a frame of a PGN that travels both ways may begin a fast packet: number 0, and more bytes to come than it
 * holds, as what fits one frame has no need for a fast packet.
 */
export function beginsFastPacket({ data, offset, length }: CanFrame): boolean {
  const total = data[offset + 1] ?? 0;
  return length === MAX_CAN_BYTES && ((data[offset] ?? 0) & 0x1f) === 0 && total > FAST_FIRST_BYTES &&
    total <= MAX_FAST_PACKET_BYTES;
}

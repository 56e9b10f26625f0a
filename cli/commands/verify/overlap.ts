import { newStoredFrame } from "@vessel/gateway/frame";
import { BlockReader } from "@vessel/gateway/journal";
import { isSame } from "../audit/frames.ts";
import type { Overlap } from "./numbers.ts";

/** Compares the frames of blocks that share numbers. */
export class OverlapReader implements Disposable {
  readonly #readers = [new BlockReader(), new BlockReader()] as const;

  /** The first number with different frames; undefined if all are equal. */
  async firstDifference({ one, other }: Overlap): Promise<number | undefined> {
    const [ofOne, ofOther] = await Promise.all([
      this.#readers[0].read(one.path, one),
      this.#readers[1].read(other.path, other),
    ]);
    const [frame, otherFrame] = [newStoredFrame(), newStoredFrame()];
    const [frames, otherFrames] = [ofOne.frames(), ofOther.frames()];
    const lastSeq = Math.min(one.lastSeq, other.lastSeq);
    while (otherFrames.next(otherFrame) && otherFrame.seq <= lastSeq) {
      while (frame.seq < otherFrame.seq) if (!frames.next(frame)) return undefined;
      if (frame.seq === otherFrame.seq && !isSame(frame, otherFrame)) return frame.seq;
      if (otherFrame.seq === lastSeq) return undefined;
    }
    return undefined;
  }

  [Symbol.dispose](): void {
    for (const reader of this.#readers) reader[Symbol.dispose]();
  }
}

import type { Message } from "../frame/mod.ts";
import type { BusCounts } from "../journal/mod.ts";

/** Messages of one bus. */
interface BusTally {
  /** Frames of the message that is being numbered and recorded. */
  inHand: number;
  /** Messages that have a number. */
  numbered: number;
  /** Their frames. */
  frames: number;
}

/** Counts the messages that get a number, and their frames, by bus. */
export class MessageTally {
  readonly #counts: () => readonly BusCounts[];
  readonly #buses: BusTally[] = [];

  /** @param counts returns the counters of the buses, without messages */
  constructor(counts: () => readonly BusCounts[]) {
    this.#counts = counts;
  }

  /** A message is about to get its number. */
  begin({ bus, frames = 1 }: Message): void {
    this.#of(bus).inHand = frames;
  }

  /** Counts a message after it was recorded, so that the counters in a block do not include its first message. */
  end({ bus, frames = 1 }: Message, { isNumbered }: { isNumbered: boolean }): void {
    const tally = this.#of(bus);
    tally.inHand = 0;
    if (!isNumbered) return;
    tally.numbered++;
    tally.frames += frames;
  }

  /** The counters of the buses, with the messages. */
  counts(): readonly BusCounts[] {
    return this.#counts().map(({ fates, ...counts }, bus) => {
      const { inHand, numbered, frames: inMessages } = this.#of(bus);
      return fates ? { ...counts, fates: { ...fates, inMessages, numbered, waiting: fates.waiting + inHand } } : counts;
    });
  }

  #of(bus: number): BusTally {
    return this.#buses[bus] ??= { inHand: 0, numbered: 0, frames: 0 };
  }
}

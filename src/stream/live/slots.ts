/** OpenStreams for streams; several brokers may share them. */
export interface StreamCounter {
  /** Every connection that is, was or will be a stream. */
  readonly taken: number;
  /** Takes one. Returns the way to give it back; safe to call twice. */
  take(): () => void;
}

/** Counts places; how many there are is for who asks to decide. */
export class OpenStreams implements StreamCounter {
  #taken = 0;

  get taken(): number {
    return this.#taken;
  }

  take(): () => void {
    this.#taken++;
    let held = true;
    return () => {
      if (held) this.#taken--;
      held = false;
    };
  }
}

const encoder = new TextEncoder();

/** Frames that leave together. What each kind of client needs of them is made once, on first demand, and shared. */
export class Batch {
  readonly firstSeq: number;
  readonly lastSeq: number;
  readonly count: number;
  readonly #texts: readonly string[];
  #events: Uint8Array<ArrayBuffer> | undefined;
  #envelopes: readonly string[] | undefined;

  /**
   * @param seqs numbers of the frames, ascending, at least one
   * @param texts their JSON
   */
  constructor(seqs: readonly number[], texts: readonly string[]) {
    this.firstSeq = seqs[0] ?? 0;
    this.lastSeq = seqs.at(-1) ?? 0;
    this.count = seqs.length;
    this.#texts = texts;
  }

  /** As server-sent events, in UTF-8. */
  get events(): Uint8Array<ArrayBuffer> {
    return this.#events ??= encoder.encode(`data: ${this.#texts.join("\n\ndata: ")}\n\n`);
  }

  /** As WebSocket messages. */
  get envelopes(): readonly string[] {
    return this.#envelopes ??= this.#texts.map((text) => `{"type":"frame","data":${text}}`);
  }
}

import { destinationOfId, formatHex, formatTimeUs } from "../frame/mod.ts";
import { newStoredFrame, type Ring } from "./ring.ts";

/** JSON texts kept for whoever wants the same frame next, some ticks' worth; a power of two. */
const CACHED_TEXTS = 1024;

/** JSON of frames in the ring: made once, on first demand, and shared by all who ask. */
export class FrameJson {
  readonly #ring: Ring;
  /** `"bus":"can0",` by index; empty texts with a single bus. */
  readonly #busTexts: readonly string[];
  readonly #seqs = new Float64Array(CACHED_TEXTS).fill(NaN);
  readonly #texts: string[] = Array.from({ length: CACHED_TEXTS }, () => "");
  readonly #stored = newStoredFrame();

  /** @param buses names of the buses, in the order of their indexes */
  constructor(ring: Ring, buses: readonly string[]) {
    this.#ring = ring;
    this.#busTexts = buses.map((bus) => buses.length > 1 ? `"bus":${JSON.stringify(bus)},` : "");
  }

  /** JSON of frame `seq`; undefined when the ring has let it go. */
  of(seq: number): string | undefined {
    const slot = seq & (CACHED_TEXTS - 1);
    if (this.#seqs[slot] === seq) return this.#texts[slot];
    const stored = this.#stored;
    if (!this.#ring.read(seq, stored)) return undefined;
    const { id } = stored;
    const text = `{"seq":${seq},"ts":"${formatTimeUs(stored.timeUs)}","prio":${(id >>> 26) & 7},"pgn":${stored.pgn},` +
      `"src":${id & 0xff},"dst":${destinationOfId(id)},${this.#busTexts[stored.bus] ?? ""}` +
      `"data":"${formatHex(stored.data, { start: stored.offset, length: stored.length })}"}`;
    this.#seqs[slot] = seq;
    this.#texts[slot] = text;
    return text;
  }
}

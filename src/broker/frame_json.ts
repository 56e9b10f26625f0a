import { newStoredFrame, type StoredFrame } from "../frame/mod.ts";
import { Decoder } from "./decoder.ts";
import { addDecoded, addLabels, busText, frameText } from "./frame_text.ts";
import type { Ring } from "./ring.ts";

/** JSON texts kept for whoever wants the same frame next: what a burst brings in one turn; a power of two. */
const CACHED_TEXTS = 2048;

/** Texts of frames by number, the newest in each place. */
class TextCache {
  readonly #seqs = new Float64Array(CACHED_TEXTS).fill(NaN);
  readonly #texts: string[] = Array.from({ length: CACHED_TEXTS }, () => "");

  get(seq: number): string | undefined {
    const slot = seq & (CACHED_TEXTS - 1);
    return this.#seqs[slot] === seq ? this.#texts[slot] : undefined;
  }

  set(seq: number, text: string): string {
    const slot = seq & (CACHED_TEXTS - 1);
    this.#seqs[slot] = seq;
    this.#texts[slot] = text;
    return text;
  }

  clear(): void {
    this.#seqs.fill(NaN);
  }
}

/** What is added to the JSON of a frame. */
export interface FrameDetail {
  /** `decoded`: its fields. Default false. */
  decode?: boolean;
  /** `decoded`, and `labels` of codes among the fields. Default false. */
  labels?: boolean;
}

/** JSON of frames in the ring: made once, on first demand, and shared by all who ask. */
export class FrameJson {
  readonly #ring: Ring;
  /** `"bus":"can0",` by index; empty texts with a single bus. */
  readonly #busTexts: readonly string[];
  readonly #decoder: Decoder;
  /** Made when the first client wants frames … */
  #plain: TextCache | undefined;
  /** … and wants them decoded. */
  #decoded: TextCache | undefined;
  /** … with the labels of their codes. */
  #labelled: TextCache | undefined;
  readonly #stored = newStoredFrame();

  /**
   * @param buses names of the buses, in the order of their indexes
   * @param options.decoder default: by the definitions of the PGNs
   */
  constructor(ring: Ring, buses: readonly string[], { decoder = new Decoder() }: { decoder?: Decoder } = {}) {
    this.#ring = ring;
    this.#busTexts = buses.map((bus) => busText(bus, { buses: buses.length }));
    this.#decoder = decoder;
  }

  /** JSON of frame `seq`; undefined when the ring has let it go. */
  of(seq: number): string | undefined {
    const cache = this.#plain ??= new TextCache();
    const known = cache.get(seq);
    if (known !== undefined) return known;
    const stored = this.#stored;
    if (!this.#ring.read(seq, stored)) return undefined;
    return cache.set(seq, this.#format(stored));
  }

  /** The same with `decoded` as its last key; without it when nothing describes the payload. */
  decodedOf(seq: number): string | undefined {
    const cache = this.#decoded ??= new TextCache();
    const known = cache.get(seq);
    if (known !== undefined) return known;
    const text = this.of(seq);
    const stored = this.#stored;
    if (text === undefined || !this.#ring.read(seq, stored)) return undefined;
    return cache.set(seq, this.#addDecoded(text, stored));
  }

  /** The same with `labels` as its last key; without it when the payload has no code whose label is known. */
  labelledOf(seq: number): string | undefined {
    const cache = this.#labelled ??= new TextCache();
    const known = cache.get(seq);
    if (known !== undefined) return known;
    const text = this.decodedOf(seq);
    const stored = this.#stored;
    if (text === undefined || !this.#ring.read(seq, stored)) return undefined;
    return cache.set(seq, this.#addLabels(text, stored));
  }

  /** The text of a frame that a client wants. */
  wantedOf(seq: number, { decode = false, labels = false }: FrameDetail): string | undefined {
    if (labels) return this.labelledOf(seq);
    return decode ? this.decodedOf(seq) : this.of(seq);
  }

  /** JSON of a frame that is kept elsewhere, and so not shared. */
  ofStored(frame: StoredFrame, { decode = false, labels = false }: FrameDetail = {}): string {
    const text = this.#format(frame);
    const decoded = decode || labels ? this.#addDecoded(text, frame) : text;
    return labels ? this.#addLabels(decoded, frame) : decoded;
  }

  /** Forgets all texts: numbers begin again. */
  clear(): void {
    this.#plain?.clear();
    this.#decoded?.clear();
    this.#labelled?.clear();
  }

  #format(frame: StoredFrame): string {
    return frameText(frame, this.#busTexts[frame.bus] ?? "");
  }

  #addLabels(text: string, { pgn, data, offset, length }: StoredFrame): string {
    return addLabels(text, this.#decoder.labels(pgn, data.subarray(offset, offset + length)));
  }

  #addDecoded(text: string, { pgn, data, offset, length }: StoredFrame): string {
    return addDecoded(text, this.#decoder.json(pgn, data.subarray(offset, offset + length)));
  }
}

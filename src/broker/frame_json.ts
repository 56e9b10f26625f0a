import {
  destinationOfId,
  formatHex,
  formatTimeUs,
  newStoredFrame,
  priorityOfId,
  sourceOfId,
  type StoredFrame,
} from "../frame/mod.ts";
import { Decoder } from "./decoder.ts";
import type { Ring } from "./ring.ts";

/** Cached JSON texts: about the frames of one burst in one event loop turn. A power of two. */
const CACHED_TEXTS = 2048;

/** JSON texts by sequence number; a newer frame overwrites the older one in its slot. */
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

/** Optional members of a frame's JSON. */
export interface FrameDetail {
  /** Adds `decoded`, the fields. Default false. */
  decode?: boolean;
  /** Adds `decoded`, and `labels` of the lookup fields. Default false. */
  labels?: boolean;
}

/** JSON of frames in the ring: formatted once, on first demand, and shared by all clients. */
export class FrameJson {
  readonly #ring: Ring;
  /** `"bus":"can0",` by bus index; empty with a single bus. */
  readonly #busTexts: readonly string[];
  readonly #decoder: Decoder;
  /** The caches are created when the first client needs them. */
  #plain: TextCache | undefined;
  #decoded: TextCache | undefined;
  #labelled: TextCache | undefined;
  readonly #stored = newStoredFrame();

  /**
   * @param buses names of the buses, in the order of their indexes
   * @param options.decoder default: decodes by the PGN definitions
   */
  constructor(ring: Ring, buses: readonly string[], { decoder = new Decoder() }: { decoder?: Decoder } = {}) {
    this.#ring = ring;
    this.#busTexts = buses.map((bus) => busText(bus, { buses: buses.length }));
    this.#decoder = decoder;
  }

  /** JSON of frame `seq`; undefined when it is not in the ring. */
  of(seq: number): string | undefined {
    const cache = this.#plain ??= new TextCache();
    const known = cache.get(seq);
    if (known !== undefined) return known;
    const stored = this.#stored;
    if (!this.#ring.read(seq, stored)) return undefined;
    return cache.set(seq, this.#format(stored));
  }

  /** As `of`, with `decoded` as the last key if a definition matches the payload. */
  decodedOf(seq: number): string | undefined {
    const cache = this.#decoded ??= new TextCache();
    const known = cache.get(seq);
    if (known !== undefined) return known;
    const text = this.of(seq);
    const stored = this.#stored;
    if (text === undefined || !this.#ring.read(seq, stored)) return undefined;
    return cache.set(seq, this.#addDecoded(text, stored));
  }

  /** As `decodedOf`, with `labels` as the last key if a lookup value has a known label. */
  labelledOf(seq: number): string | undefined {
    const cache = this.#labelled ??= new TextCache();
    const known = cache.get(seq);
    if (known !== undefined) return known;
    const text = this.decodedOf(seq);
    const stored = this.#stored;
    if (text === undefined || !this.#ring.read(seq, stored)) return undefined;
    return cache.set(seq, this.#addLabels(text, stored));
  }

  /** JSON of frame `seq` in the detail that a client requested; undefined when it is not in the ring. */
  wantedOf(seq: number, { decode = false, labels = false }: FrameDetail): string | undefined {
    if (labels) return this.labelledOf(seq);
    return decode ? this.decodedOf(seq) : this.of(seq);
  }

  /** JSON of a frame from another source than the ring; not cached. */
  ofStored(frame: StoredFrame, { decode = false, labels = false }: FrameDetail = {}): string {
    const text = this.#format(frame);
    const decoded = decode || labels ? this.#addDecoded(text, frame) : text;
    return labels ? this.#addLabels(decoded, frame) : decoded;
  }

  /** Empties the caches, because numbers begin again. */
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

/** The `bus` member of a frame's JSON; empty on a server with a single bus. */
export function busText(bus: string, { buses }: { buses: number }): string {
  return buses > 1 ? `"bus":${JSON.stringify(bus)},` : "";
}

/** JSON of a frame, in the same form on every interface. `bus`: see {@linkcode busText}. */
export function frameText(frame: StoredFrame, bus: string): string {
  const { id } = frame;
  return `{"seq":${frame.seq},"ts":"${formatTimeUs(frame.timeUs)}","prio":${priorityOfId(id)},"pgn":${frame.pgn},` +
    `"src":${sourceOfId(id)},"dst":${destinationOfId(id)},${bus}` +
    `"data":"${formatHex(frame.data, { start: frame.offset, length: frame.length })}"}`;
}

/** Adds the JSON of the decoded fields as the last key. Unchanged when there is none. */
export function addDecoded(text: string, decoded: string | undefined): string {
  return addMember(text, "decoded", decoded);
}

/** Adds the labels of lookup values as the last key. Unchanged when there are none. */
export function addLabels(text: string, labels: object | undefined): string {
  return addMember(text, "labels", labels && JSON.stringify(labels));
}

function addMember(text: string, name: string, value: string | undefined): string {
  return value === undefined ? text : `${text.slice(0, -1)},"${name}":${value}}`;
}

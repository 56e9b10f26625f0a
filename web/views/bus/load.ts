import type { ClientFrame, KnownPgn } from "@vessel/gateway/client";
import { Rate } from "./log.ts";

/** Bit rate of NMEA 2000. */
const BITS_PER_SECOND = 250_000;
/** Bits of a CAN frame with a 29-bit identifier besides its data, the pause after it included. */
const FRAME_BITS = 67;
/** Bits that the controllers insert, as a part of the others: about, since it depends on the data. */
const STUFFING = 0.1;
const FRAME_BYTES = 8;
const FIRST_FAST_BYTES = 6;
const MORE_FAST_BYTES = 7;
/** Longer payloads use the ISO transport protocol. */
const MAX_FAST_BYTES = 223;

/** CAN frames that a message takes, each with 8 data bytes if there are several. */
export function canFrames(bytes: number, framing: KnownPgn["framing"] | undefined): number {
  const isFast = framing === "fast" || (framing !== "single" && bytes > FRAME_BYTES);
  if (bytes > MAX_FAST_BYTES || (framing === "single" && bytes > FRAME_BYTES)) {
    return 1 + Math.ceil(bytes / MORE_FAST_BYTES);
  }
  return isFast ? 1 + Math.ceil(Math.max(0, bytes - FIRST_FAST_BYTES) / MORE_FAST_BYTES) : 1;
}

/** Bits that a message takes on the bus, about. */
export function busBits(bytes: number, framing: KnownPgn["framing"] | undefined): number {
  const frames = canFrames(bytes, framing);
  const isOneOf = frames > 1 || framing === "fast";
  const dataBytes = isOneOf ? frames * FRAME_BYTES : bytes;
  return (frames * FRAME_BITS + dataBytes * 8) * (1 + STUFFING);
}

/** Rate of one PGN. */
export interface PgnRate {
  pgn: number;
  /** Messages each second. */
  perSecond: number;
}

/** Rates of PGNs and load of buses, of all messages that it is given. */
export class LoadMeter {
  readonly #framings = new Map<number, KnownPgn["framing"]>();
  readonly #bits = new Map<string, Rate>();
  readonly #pgns = new Map<number, Rate>();
  #all = new Rate();
  #sinceMs = 0;

  /** How PGNs are framed; without it, by their length. */
  learn(known: readonly KnownPgn[]): void {
    for (const { pgn, framing } of known) this.#framings.set(pgn, framing);
  }

  /** Messages are received from now on; those counted so far are forgotten. */
  begin(nowMs: number): void {
    this.#sinceMs = nowMs;
    this.#all = new Rate(nowMs);
    this.#pgns.clear();
    this.#bits.clear();
  }

  received({ pgn, bus = "", data }: Pick<ClientFrame, "pgn" | "bus" | "data">, nowMs: number): void {
    this.#all.add(nowMs);
    this.#rateOf(this.#pgns, pgn).add(nowMs);
    this.#rateOf(this.#bits, bus).add(nowMs, busBits(data.length / 2, this.#framings.get(pgn)));
  }

  /** Messages each second. */
  perSecond(nowMs: number): number {
    return this.#all.perSecond(nowMs);
  }

  /** Load of each bus as a part of 1; the name is empty where there is only one. */
  loads(nowMs: number): { bus: string; load: number }[] {
    return [...this.#bits].map(([bus, rate]) => ({ bus, load: rate.perSecond(nowMs) / BITS_PER_SECOND }));
  }

  /** PGNs that were received within the last seconds, the most frequent first. */
  pgns(nowMs: number): PgnRate[] {
    return [...this.#pgns].map(([pgn, rate]) => ({ pgn, perSecond: rate.perSecond(nowMs) }))
      .filter(({ perSecond }) => perSecond > 0).sort((a, b) => b.perSecond - a.perSecond || a.pgn - b.pgn);
  }

  #rateOf<Key>(rates: Map<Key, Rate>, key: Key): Rate {
    const rate = rates.get(key) ?? new Rate(this.#sinceMs);
    rates.set(key, rate);
    return rate;
  }
}

import type { Message } from "../frame/mod.ts";
import { decode } from "../pgn/mod.ts";
import { QUANTITY_PGNS, type QuantityValue, readQuantities } from "../quantities/mod.ts";
import type { Sample, Sender, Track } from "./model.ts";

/** Interval at which a value of a device is decoded, milliseconds. */
export const SAMPLE_MS = 900;
/** Newest samples kept of a value. */
const KEPT = 64;

/** Where messages of a PGN say which of several things they are about: two bytes from `at`, of which `mask` counts. */
const DISCRIMINATORS: ReadonlyMap<number, { at: number; mask: number }> = new Map([
  [127250, { at: 7, mask: 0x03 }],
  [129026, { at: 1, mask: 0x03 }],
  [130306, { at: 5, mask: 0x07 }],
  [127245, { at: 0, mask: 0xff }],
  [127488, { at: 0, mask: 0xff }],
  [127489, { at: 0, mask: 0xff }],
  [127493, { at: 0, mask: 0xff }],
  [127505, { at: 0, mask: 0xff }],
  [127508, { at: 0, mask: 0xff }],
  [127506, { at: 1, mask: 0xff }],
  [130311, { at: 1, mask: 0xff }],
  [130312, { at: 1, mask: 0xffff }],
  [130313, { at: 1, mask: 0xffff }],
  [130314, { at: 1, mask: 0xffff }],
  [130316, { at: 1, mask: 0xffff }],
]);

const WITH_VALUES: ReadonlySet<number> = new Set(QUANTITY_PGNS);

/** An empty table of the times of decoding, for a PGN with values. */
export function dueOf(pgn: number): Map<number, number> | undefined {
  return WITH_VALUES.has(pgn) ? new Map() : undefined;
}

/** Which of several things a message is about: an instance, a reference; 0 where there is only one. */
export function discriminatorOf({ pgn, data, offset, length }: Message): number {
  const rule = DISCRIMINATORS.get(pgn);
  if (!rule || rule.at >= length) return 0;
  return ((data[offset + rule.at] ?? 0) | ((data[offset + rule.at + 1] ?? 0) << 8)) & rule.mask;
}

/** Reads the values of messages. */
export class ValueReader {
  readonly #maxTracks: number;
  #tracks = 0;

  /** @param maxTracks most values that are tracked, of all senders */
  constructor(maxTracks: number) {
    this.#maxTracks = maxTracks;
  }

  /** Decodes a message and notes its values. Returns their tracks. */
  read(sender: Sender, message: Message, seq: number): Track[] {
    const { pgn, data, offset, length, monoMs: atMs } = message;
    const decoded = decode(pgn, data.subarray(offset, offset + length));
    if (!decoded) return [];
    return readQuantities(pgn, decoded).flatMap(({ key, row, value }): Track[] => {
      const track = value === undefined ? undefined : this.#trackOf(sender, { key, row });
      if (!track || value === undefined) return [];
      note(track, { value, atMs, seq });
      return [track];
    });
  }

  /** Frees the values of a sender that is gone. */
  forget({ tracks }: Sender): void {
    this.#tracks -= tracks.size;
    tracks.clear();
  }

  #trackOf(sender: Sender, { key, row }: Pick<Track, "key" | "row">): Track | undefined {
    const known = sender.tracks.get(key);
    if (known || this.#tracks >= this.#maxTracks) return known;
    this.#tracks++;
    const track = { sender, key, row, samples: [], changedMs: -Infinity, count: 0 };
    sender.tracks.set(key, track);
    return track;
  }
}

function note(track: Track, sample: Sample): void {
  const last = track.samples.at(-1);
  if (!last || !isSame(last.value, sample.value)) track.changedMs = sample.atMs;
  track.samples.push(sample);
  if (track.samples.length > KEPT) track.samples.shift();
  track.count++;
}

function isSame(a: QuantityValue, b: QuantityValue): boolean {
  if (typeof a === "object" && typeof b === "object") return a.latitude === b.latitude && a.longitude === b.longitude;
  return a === b;
}

/** Newest sample of a track. */
export function newest({ samples }: Track): Sample | undefined {
  return samples.at(-1);
}

/** Distance of two positions, metres; exact enough for some miles. */
export function distanceM(
  a: { latitude: number; longitude: number },
  b: { latitude: number; longitude: number },
): number {
  const north = b.latitude - a.latitude;
  const wrapped = ((b.longitude - a.longitude + 540) % 360) - 180;
  const east = wrapped * Math.cos((a.latitude + b.latitude) / 2 * Math.PI / 180);
  return Math.hypot(north, east) * 60 * 1852;
}

/** Difference of two angles, radians, 0 to π. */
export function angleBetween(a: number, b: number): number {
  const turns = Math.abs(a - b) % (2 * Math.PI);
  return turns > Math.PI ? 2 * Math.PI - turns : turns;
}

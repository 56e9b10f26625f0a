import { TRACK_GAP_MS } from "./thresholds.ts";

/** A point of a track. */
export interface TrackPoint {
  /** Degrees, positive to the north. */
  latitude: number;
  /** Degrees, positive to the east. */
  longitude: number;
  /** Milliseconds since 1970. */
  timeMs: number;
}

/** A track. */
export interface Track {
  /** Its name, for people. */
  name: string;
  /** In the order of time. */
  points: Iterable<TrackPoint> | AsyncIterable<TrackPoint>;
}

/** Options of {@linkcode gpxOf}. */
export interface GpxOptions {
  /** Longest time between two points of a segment, milliseconds; default two minutes. */
  maxGapMs?: number;
}

/** Characters of a piece of text, about. */
const PIECE_CHARACTERS = 16_384;
/** A ten-millionth of a degree is a centimetre. */
const DIGITS = 7;

/**
 * Writes tracks as GPX 1.1, in pieces of text, while they are read. A new segment begins where points are missing. Tracks
 * without points are left out.
 *
 * @example
 * ```ts
 * const points = [{ latitude: 54.5, longitude: 10.25, timeMs: 0 }];
 * let text = "";
 * for await (const piece of gpxOf([{ name: "Kiel", points }])) text += piece;
 * ```
 */
export async function* gpxOf(
  tracks: Iterable<Track> | AsyncIterable<Track>,
  { maxGapMs = TRACK_GAP_MS }: GpxOptions = {},
): AsyncGenerator<string, void> {
  const writer = new GpxWriter(maxGapMs);
  for await (const { points, name } of tracks) {
    writer.begin(name);
    // An iterable that is not asynchronous is read without waits.
    if (Symbol.iterator in points) {
      for (const point of points) {
        writer.add(point);
        if (writer.isFull) yield writer.take();
      }
      continue;
    }
    for await (const point of points) {
      writer.add(point);
      if (writer.isFull) yield writer.take();
    }
  }
  yield writer.end();
}

/** Builds the text. */
class GpxWriter {
  readonly #maxGapMs: number;
  #text = '<?xml version="1.0" encoding="UTF-8"?>\n' +
    '<gpx version="1.1" creator="Vessel Bus Gateway" xmlns="http://www.topografix.com/GPX/1/1">\n';
  /** Name of the track that begins with the next point. */
  #next: string | undefined;
  #isOpen = false;
  #lastMs = NaN;

  constructor(maxGapMs: number) {
    this.#maxGapMs = maxGapMs;
  }

  get isFull(): boolean {
    return this.#text.length >= PIECE_CHARACTERS;
  }

  begin(name: string): void {
    this.#close();
    this.#next = name;
  }

  add({ latitude, longitude, timeMs }: TrackPoint): void {
    if (this.#next !== undefined) {
      this.#text += `<trk><name>${escaped(this.#next)}</name><trkseg>\n`;
      this.#next = undefined;
      this.#isOpen = true;
    } else if (timeMs - this.#lastMs > this.#maxGapMs) this.#text += "</trkseg><trkseg>\n";
    this.#lastMs = timeMs;
    const time = new Date(timeMs).toISOString();
    const position = `lat="${latitude.toFixed(DIGITS)}" lon="${longitude.toFixed(DIGITS)}"`;
    this.#text += `<trkpt ${position}><time>${time}</time></trkpt>\n`;
  }

  take(): string {
    const text = this.#text;
    this.#text = "";
    return text;
  }

  end(): string {
    this.#close();
    this.#text += "</gpx>\n";
    return this.take();
  }

  #close(): void {
    if (this.#isOpen) this.#text += "</trkseg></trk>\n";
    this.#isOpen = false;
    this.#next = undefined;
  }
}

/** Characters that XML has no text for. */
// deno-lint-ignore no-control-regex -- they are what is removed
const NO_TEXT = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g;

function escaped(text: string): string {
  return text.toWellFormed().replace(NO_TEXT, "").replaceAll("&", "&amp;").replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;");
}
